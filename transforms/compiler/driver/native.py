"""The native target of one compiled function: builds kernels, holds them to the source of NumPy, and lets them take over."""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....runtime.errors import CompileError, is_of_a_signal
from ....tracer.core.exits import warn_at_user
from ...difference import difference
from ...trees import flatten_row, unflatten
from ..capture.copies import with_copies
from ..native.build import Build, BuildError
from ..native.emit import FLAT, Kernel, kernel_of
from ..native.inlining import inlined
from ..native.kernel import Loaded
from ..native.rounding import slack
from ..native.values import RefusedError
from ..schedule.signature import built as built_tree
from . import cache
from .generated import Specialisation, coarsest
from .guards.quick import joined

if TYPE_CHECKING:
    from ..schedule.program import Program
    from .guards.inputs import Inputs
    from .specialise import Entry

__all__ = ["Native", "Ran", "c_source", "kernel_for"]

_POLL = 0.02  # seconds between two looks after a build
_PAIRS = 10_000  # of arrays, of which it is asked whether they share memory
_LEFT = 16  # calls that a kernel may leave to NumPy, and a quarter of those that it ends, before it is not asked again
# Calls whose lengths, where these follow from values, a kernel learns in any case; and one more for so many that it ends.
_LEARNT = 16
_said: set[str] = set()  # of what was warned of


class Ran(NamedTuple):
    """What serves the calls of a specialisation: a kernel and the ops that Python runs for it, or why there is none."""

    kernel: Kernel | None
    reason: str = ""

    def __str__(self) -> str:
        if self.kernel is None:
            return f"numpy: {self.reason}"
        calls = ", ".join(f"{op} ({n})" if n > 1 else op for op, n in sorted(self.kernel.called_out.items()))
        n = self.kernel.called_out.total()
        return (
            f"native, {f'with {n} call' + 's' * (n > 1) + ' of Python: ' + calls if n else 'without a call of Python'}"
        )


def kernel_for(specialisation: Specialisation) -> Kernel:
    """Write the kernel of a specialisation; RefusedError with the reason where it has none."""
    return kernel_of(_program_of(specialisation))


def _program_of(specialisation: Specialisation) -> Program:
    """The Program that is written in C; RefusedError with the reason where there is none."""
    signature = specialisation.signature
    outside = dict(zip(specialisation.graph.inputs[::-1], signature.extras[::-1], strict=False))
    written = next((outside[v] for v in signature.writes if v in outside), None)
    if written is not None:
        raise RefusedError(f"it writes into `{written}`, an array from outside")
    return specialisation.program(["in_place"], inlined)


def c_source(specialisation: Specialisation) -> str:
    """The C of a specialisation, without what all kernels share; CompileError with the reason where it has none."""
    try:
        return kernel_for(specialisation).text
    except RefusedError as why:
        name = specialisation.function.__name__
        raise CompileError(f"`{name}` has no C, because {why}; NumPy runs it") from None


class Native:
    """The kernels of one compiled function."""

    def __init__(self, compiled: Any, waits: bool = True) -> None:
        self._label, self._inputs = compiled._label, compiled.inputs
        self._waits = waits  # for builds; or else calls run NumPy's source until these are there
        self._served: dict[Specialisation, _Served | str] = {}
        self._builds: dict[Specialisation, tuple[Kernel, Build]] = {}
        self._lock = threading.Lock()

    def ran(self, specialisation: Specialisation) -> Ran:
        """What serves the calls of a specialisation."""
        waits = (
            "its C is built once it is called again" if specialisation not in self._builds else "its C is being built"
        )
        found = self._served.get(specialisation, "no call of it was checked yet" if self._waits else waits)
        if isinstance(found, str):
            return Ran(None, found)
        return Ran(None, found.reason) if found.reason else Ran(found.kernel)

    def count(self) -> None:
        """Add what kernels counted to what the paths of outcome trees have served."""
        for served in self._served.values():
            if isinstance(served, _Served):
                served.count()

    def take_over(self, entry: Entry, inputs: Inputs) -> None:
        """Let a kernel serve an entry, if it gives on these inputs what the source of NumPy gives."""
        specialisation = entry.specialisation
        if specialisation not in self._served and not self._waits:
            _Waiting(self, entry, inputs.again())
            return
        if specialisation not in self._served:
            self._served[specialisation] = self._made(specialisation)
        served = self._served[specialisation]
        if isinstance(served, str) or served.reason:
            return
        try:
            problem = served.checked(entry, inputs)
        except Exception as error:  # of ours
            if is_of_a_signal(error):
                raise
            problem = _Problem(f"its check raised {error!r}", True)
        if problem is None:
            served.learn(entry)
        elif problem.failed:
            served.give_up(problem.words)
            self._warn(f"gave another result natively than with NumPy ({problem.words})")
        elif not served.entries:
            served.give_up(problem.words)

    def _learn_from(self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let a kernel serve the lengths of one more call, if it gives what the source of NumPy gives."""
        self.take_over(entry, self._inputs(args, kwargs))

    def _made(self, specialisation: Specialisation) -> _Served | str:
        """The kernel of a specialisation, or why it has none; waits for its build."""
        found = self._begun(specialisation)
        if isinstance(found, str):
            return found
        kernel, build = found
        try:
            return _Served(specialisation, kernel, build.wait(), self._warn, self._learn_from)
        except BuildError as why:
            self._warn(str(why), of_all=True)
            return str(why)

    def _begun(self, specialisation: Specialisation) -> tuple[Kernel, Build] | str:
        """The kernel of a specialisation and its build, or why it has none."""
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            why = "threads of this Python run without a lock, which kernels were not tried with"
            self._warn(why, of_all=True)
            return why
        try:
            kernel = kernel_for(specialisation)
        except RefusedError as why:
            return str(why)
        except Exception as error:  # of ours: NumPy's source does as well
            if is_of_a_signal(error):
                raise
            self._warn(f"could not be written in C ({error!r}); please report it")
            return f"it could not be written in C ({error!r})"
        try:
            return kernel, Build(kernel.whole, _folder(), cache.keep)
        except BuildError as why:
            self._warn(str(why), of_all=True)
            return str(why)

    def poll(self, specialisation: Specialisation) -> bool:
        """Whether it is known what serves a specialisation: begins its build, or looks after it."""
        if specialisation in self._served or not self._lock.acquire(blocking=False):  # another thread looks
            return specialisation in self._served
        try:
            if specialisation not in self._builds:
                found = self._begun(specialisation)
                if isinstance(found, str):
                    self._served[specialisation] = found
                    return True
                self._builds[specialisation] = found
            kernel, build = self._builds[specialisation]
            try:
                path = build.poll()
                if path is None:
                    return False
                self._served[specialisation] = _Served(specialisation, kernel, path, self._warn, self._learn_from)
            except BuildError as why:
                self._warn(str(why), of_all=True)
                self._served[specialisation] = str(why)
            del self._builds[specialisation]
            return True
        finally:
            self._lock.release()

    def _warn(self, problem: str, of_all: bool = False) -> None:
        text = f"gs.compile(target='native'): {problem}; NumPy runs it instead."
        if not of_all:
            text = f"gs.compile(target='native'): `{self._label()}` {problem}; NumPy runs it instead."
        if text not in _said:
            _said.add(text)
            warn_at_user(text, RuntimeWarning)


def _folder() -> str | None:
    """The folder of the cache; None where there is none to be trusted."""
    place = cache.folder()
    return place if place is not None and cache.refused(place) is None else None


class _Waiting:
    """An entry whose calls run NumPy's source while its kernel is built: it is looked after at the first, and then at times."""

    def __init__(self, native: Native, entry: Entry, inputs: Inputs) -> None:
        self._native, self._entry, self._inputs = native, entry, inputs
        self._next = 0.0
        self._numpy = numpy = entry.call
        monotonic = time.monotonic

        def call(*args: Any, **kwargs: Any) -> Any:
            if monotonic() > self._next:
                self.look()
            return numpy(*args, **kwargs)

        entry.call = call

    def look(self) -> None:
        """Look after the build, and let the kernel take over once it is there."""
        self._next = time.monotonic() + _POLL
        if not self._native.poll(self._entry.specialisation):
            return
        self._next = math.inf
        self._entry.call = self._numpy
        self._native.take_over(self._entry, self._inputs)


class _Problem(NamedTuple):
    words: str
    failed: bool  # or else the kernel is merely not asked


class _Served:
    """One kernel, and the entries that it serves."""

    def __init__(
        self, specialisation: Specialisation, kernel: Kernel, path: str, warn: Callable[[str], None],
        learn_from: Callable[..., None],
    ) -> None:  # fmt: skip
        self.specialisation, self.kernel = specialisation, kernel
        self.reason = ""
        self.entries: list[tuple[Entry, Any]] = []
        self._warn, self._learn_from = warn, learn_from
        self._left = 0  # calls that the kernel has left to NumPy
        self._learnt = 0  # calls that it was to learn lengths from
        self._unfinished = False
        self._changes = bool(specialisation.signature.writes)
        self._lock = threading.RLock()
        self._loaded = Loaded(path, kernel, self._fallback, self._unprobed)
        raw: Any = specialisation.raw
        self._eps = max(coarsest(raw), specialisation.eps)

    def _fallback(self, why: int, *args: Any) -> Any:
        """A call that the kernel does not finish: NumPy's source runs it whole, since a kernel changes nothing."""
        if why == 3 and self._loaded.is_usual_again():
            return self._loaded.function(*args)
        self._left += why == 1 and not self.kernel.lengths  # of which it learns more
        given = [_copied(args), _copied(args)] if why == 2 and self._changes else [args, args]
        result = self.specialisation.by_position()(*args)
        if why == 2 and result is not NotImplemented:
            expected = self.specialisation.by_position()(*given[0]) if self._changes else result
            run = self._loaded.probe
            problem = self._problem(lambda f, given: self._whole(f(*given)), run, expected, given)
            if problem is not None and problem.failed:
                self.give_up(problem.words)
                self._warn(f"gave another result natively than with NumPy ({problem.words})")
        if self._left > max(_LEFT, self._loaded.calls() // 4) and not self.reason:
            self.give_up("C leaves too many of its calls to NumPy")
        return result

    def _unprobed(self, why: int, *args: Any) -> Any:
        """A call that does not count, and that the kernel does not finish."""
        self._unfinished = True
        return self.specialisation.by_position()(*args)

    def count(self) -> None:
        """Add what was counted to what the paths of an outcome tree have served."""
        for path, hits in zip(self.specialisation.paths, self._loaded.taken(), strict=False):
            path.left[0] += hits

    def give_up(self, reason: str) -> None:
        """Let NumPy serve again."""
        self.reason = reason
        for entry, call in self.entries:
            entry.call = call
        self.entries.clear()

    def learn(self, entry: Entry) -> None:
        """Let the kernel serve an entry, and the lengths that follow from values of the call that was checked."""
        self._loaded.learn()
        if not any(known is entry for known, _ in self.entries):
            self.serve(entry)

    def serve(self, entry: Entry) -> None:
        """Let the kernel serve an entry."""
        self.entries.append((entry, entry.call))
        call = self._call_of(entry, self._loaded.function)
        call = self._storing(entry, call) if entry.stores else call
        entry.call = call if entry.lengths is None else self._learning(entry, call, entry.call)

    def _learning(self, entry: Entry, kernel: Callable[..., Any], numpy: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel, and NumPy's source for a call whose lengths it does not know, after which it knows them."""

        def call(*args: Any, **kwargs: Any) -> Any:
            result = kernel(*args, **kwargs)
            if result is not NotImplemented:
                return result
            result = numpy(*args, **kwargs)
            if result is not NotImplemented and self._learnt < _LEARNT + self._loaded.calls() // _LEARNT:
                self._learnt += 1
                if not self._changes:
                    self._learn_from(entry, args, kwargs)
            return result

        return call

    def _storing(self, entry: Entry, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel whose last results are stored in containers of the caller's."""

        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if result is NotImplemented:
                return result
            result, values = result
            for store, value in zip(entry.stores, values, strict=True):
                store.do(value)
            return result

        return call

    def _call_of(self, entry: Entry, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel as the call of an entry."""
        names = entry.plan.names[entry.plan.positional :]
        rebuild, whole = self.specialisation.rebuild, self._whole
        if not (names or entry.extras or rebuild is not None or self.kernel.nested is not None):
            return function
        outside = entry.outside_now
        if not names and rebuild is None and self.kernel.nested is None:
            found = joined(function, outside)
            if found is not None:
                return found

        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, *[kwargs[name] for name in names], *outside())
            if result is NotImplemented:
                return result
            return whole(result) if rebuild is None else unflatten(rebuild, result)

        return call

    def _whole(self, result: Any) -> Any:
        """A result as NumPy's source gives it, of one whose leaves the kernel gives in a row."""
        if type(result) is not tuple or not result or result[0] is not FLAT:
            return result
        return built_tree(self.kernel.nested, result[1:].__getitem__)

    def checked(self, entry: Entry, inputs: Inputs) -> _Problem | None:
        """What speaks against the kernel on these inputs; None where it gives what NumPy's source gives."""
        copies, others = inputs.copied(), inputs.copied()
        expected = entry.tried(others)
        if isinstance(expected, Exception) or expected is NotImplemented:
            return _Problem("its first call raised", False)

        def run(function: Callable[..., Any], given: Any) -> Any:
            return self._call_of(entry, function)(*given[0], **given[1])

        return self._problem(run, self._loaded.probe, expected, (others, copies))

    def _problem(
        self, run: Callable[..., Any], kernel: Callable[..., Any], expected: Any, given: Sequence[Any]
    ) -> _Problem | None:
        """What speaks against a run of the kernel: `given` are the arguments of NumPy's source, and those of the kernel.

        `run` calls a kernel with arguments.
        """
        again = _copied(given[1]) if self._changes else given[1]
        with self._lock, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._unfinished = False
            try:
                found = run(kernel, given[1])
            except Exception as error:
                if is_of_a_signal(error):
                    raise
                return _Problem(f"it raised {error!r}", True)
            if self._unfinished:
                return _Problem("C leaves its first call to NumPy", False)
        left, wanted = self._left_by(found, given[1]), self._left_by(expected, given[0])
        problem = difference(left, wanted, self._eps, [0.0] * len(flatten_row(wanted)[0]))
        if problem is not None and " differs by " in problem:  # what cancels, or is wrong

            def shaken(function: Callable[..., Any]) -> Any:
                given = _copied(again) if self._changes else again
                return self._left_by(run(function, given), given)

            far = slack(_program_of(self.specialisation), shaken, wanted, self._eps)
            problem = problem if far is None else difference(left, wanted, self._eps, far)
        if problem is not None:
            return _Problem(problem, "has dtype, shape, strides" not in problem)
        if _aliases(found, given[1]) != _aliases(expected, given[0]):
            return _Problem("its results share memory with other arrays", True)
        return None

    def _left_by(self, result: Any, given: Any) -> Any:
        """What a call leaves behind: its result, and behind it the arrays of its arguments, where it may write into them."""
        return (_plain(result), _arrays(given)) if self._changes else (_plain(result), ())


def _copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with copies of their arrays, which overlap as these do."""
    leaves, structure = flatten_row(args)
    return tuple(unflatten(structure, list(with_copies(dict(enumerate(leaves))).values())))


def _arrays(values: Any) -> tuple[Any, ...]:
    return tuple([leaf for leaf in flatten_row(values)[0] if type(leaf) is np.ndarray])


def _aliases(result: Any, given: Any) -> list[tuple[bool, bool]]:
    """Which arrays of a result are, or lie in the memory of, an argument or another result."""
    results, arguments = _arrays(result), _arrays(given)
    others = [*arguments, *results]
    if sum(map(np.size, others)) == 0 or len(others) * len(results) > _PAIRS:
        return []
    return [(a is b, np.may_share_memory(a, b)) for a in results for b in others]


def _plain(result: Any) -> Any:
    """A result with NumPy's floats in the place of Python's, which are compared as such."""
    leaves, structure = flatten_row(result)
    return unflatten(structure, [np.float64(v) if type(v) is float else v for v in leaves])
