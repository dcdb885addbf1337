"""The native target of one compiled function: builds kernels, holds them to the source of NumPy, and lets them take over."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....runtime.errors import CompileError
from ....tracer.core.exits import warn_at_user
from ...difference import difference
from ...trees import flatten_row, unflatten
from ..native.build import BuildError, built
from ..native.emit import FLAT, Kernel, kernel_of
from ..native.kernel import Loaded
from ..native.values import RefusedError
from ..schedule.signature import built as built_tree
from ..schedule.steps import program_of
from . import cache
from .generated import Specialisation, coarsest

if TYPE_CHECKING:
    from .guards.inputs import Inputs
    from .specialise import Entry

__all__ = ["Native", "Ran", "c_source", "kernel_for"]

_LEFT = 16  # calls that a kernel may leave to NumPy, after which it is not asked again
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
    if specialisation.paths:
        raise RefusedError("it has several paths, and C is not written for these")
    signature = specialisation.signature
    if signature.writes or signature.stores:
        raise RefusedError("it writes into an argument, or stores what it computes")
    program = program_of(specialisation.graph, signature, specialisation.function.__name__, ["in_place"])
    return kernel_of(program)


def c_source(specialisation: Specialisation) -> str:
    """The C of a specialisation, without what all kernels share; CompileError with the reason where it has none."""
    try:
        return kernel_for(specialisation).text
    except RefusedError as why:
        name = specialisation.function.__name__
        raise CompileError(f"`{name}` has no C, because {why}; NumPy runs it") from None


class Native:
    """The kernels of one compiled function."""

    def __init__(self, compiled: Any) -> None:
        self._label = compiled._label
        self._served: dict[Specialisation, _Served | str] = {}

    def ran(self, specialisation: Specialisation) -> Ran:
        """What serves the calls of a specialisation."""
        found = self._served.get(specialisation, "it has several paths")
        if isinstance(found, str):
            return Ran(None, found)
        return Ran(None, found.reason) if found.reason else Ran(found.kernel)

    def take_over(self, entry: Entry, inputs: Inputs) -> None:
        """Let a kernel serve an entry, if it gives on these inputs what the source of NumPy gives."""
        specialisation = entry.specialisation
        if specialisation not in self._served:
            self._served[specialisation] = self._made(specialisation)
        served = self._served[specialisation]
        if isinstance(served, str) or served.reason:
            return
        problem = served.checked(entry, inputs)
        if problem is None:
            served.serve(entry)
        elif problem.failed:
            served.give_up(problem.words)
            self._warn(f"gave another result natively than with NumPy ({problem.words})")
        elif not served.entries:
            served.give_up(problem.words)

    def _made(self, specialisation: Specialisation) -> _Served | str:
        try:
            kernel = kernel_for(specialisation)
        except RefusedError as why:
            return str(why)
        except Exception as error:  # of ours: NumPy's source does as well
            self._warn(f"could not be written in C ({error!r}); please report it")
            return f"it could not be written in C ({error!r})"
        try:
            path = built(kernel.whole, _folder(), cache.keep)
            return _Served(specialisation, kernel, path, self._warn)
        except BuildError as why:
            self._warn(str(why), of_all=True)
            return str(why)

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


class _Problem(NamedTuple):
    words: str
    failed: bool  # or else the kernel is merely not asked


class _Served:
    """One kernel, and the entries that it serves."""

    def __init__(self, specialisation: Specialisation, kernel: Kernel, path: str, warn: Callable[[str], None]) -> None:
        self.specialisation, self.kernel = specialisation, kernel
        self.reason = ""
        self.entries: list[tuple[Entry, Any]] = []
        self._warn = warn
        self._left = 0  # calls that the kernel has left to NumPy
        self._unfinished = False
        self._lock = threading.RLock()
        self._loaded = Loaded(path, kernel, self._fallback, self._unprobed)
        raw: Any = specialisation.raw
        self._eps = max(coarsest(raw), specialisation.eps)

    def _fallback(self, why: int, *args: Any) -> Any:
        """A call that the kernel does not finish: NumPy's source runs it whole, since a kernel changes nothing."""
        self._left += why == 1
        result = self.specialisation.by_position()(*args)
        if why == 2 and result is not NotImplemented:
            problem = self._problem(lambda: self._whole(self._loaded.probe(*args)), result)
            if problem is not None and problem.failed:
                self.give_up(problem.words)
                self._warn(f"gave another result natively than with NumPy ({problem.words})")
        if self._left > _LEFT and not self.reason:
            self.give_up("C leaves too many of its calls to NumPy")
        return result

    def _unprobed(self, why: int, *args: Any) -> Any:
        """A call that does not count, and that the kernel does not finish."""
        self._unfinished = True
        return self.specialisation.by_position()(*args)

    def give_up(self, reason: str) -> None:
        """Let NumPy serve again."""
        self.reason = reason
        for entry, call in self.entries:
            entry.call = call
        self.entries.clear()

    def serve(self, entry: Entry) -> None:
        """Let the kernel serve an entry."""
        self.entries.append((entry, entry.call))
        entry.call = self._call_of(entry, self._loaded.function)

    def _call_of(self, entry: Entry, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel as the call of an entry."""
        names = entry.plan.names[entry.plan.positional :]
        rebuild, whole = self.specialisation.rebuild, self._whole
        if not (names or entry.extras or rebuild is not None or self.kernel.nested is not None):
            return function
        outside = entry.outside_now

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
        copies = inputs.copied()
        expected = entry.tried(inputs.copied())
        if isinstance(expected, Exception) or expected is NotImplemented:
            return _Problem("its first call raised", False)
        probe = self._call_of(entry, self._loaded.probe)
        return self._problem(lambda: probe(*copies[0], **copies[1]), expected)

    def _problem(self, run: Callable[[], Any], expected: Any) -> _Problem | None:
        with self._lock, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._unfinished = False
            try:
                found = run()
            except Exception as error:
                return _Problem(f"it raised {error!r}", True)
            if self._unfinished:
                return _Problem("C leaves its first call to NumPy", False)
        problem = difference(_plain(found), _plain(expected), self._eps)
        if problem is None:
            return None
        return _Problem(problem, "has dtype, shape, strides" not in problem)


def _plain(result: Any) -> Any:
    """A result with NumPy's floats in the place of Python's, which are compared as such."""
    leaves, structure = flatten_row(result)
    return unflatten(structure, [np.float64(v) if type(v) is float else v for v in leaves])
