"""gs.compile: a function that is captured once per signature and then runs as generated NumPy source."""

from __future__ import annotations

import functools
import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...runtime.errors import CompileError, EagerWarning, VerifyError
from ...tracer.exits import warn_at_user
from ...tracer.modes import LOCAL
from ...tracer.site import prune
from ..scope import scope
from ..transform import Transform
from .environment import dump, eager_only
from .failure import Failure, definition

if TYPE_CHECKING:
    from .misses import Miss
    from .specialise import Entry, Inputs, Specialisation

__all__ = ["Compiled", "compile"]

MANY = 512  # signatures (batch sizes, for one) that share those texts, after which they are forgotten
LIMIT = 16  # specialisations with a text of their own, after which new signatures run eagerly


@functools.cache
def _machinery() -> Any:
    """The compiler proper, which stands on gast and is loaded when something is first compiled."""
    from . import machinery

    return machinery


class Compiled(Transform):
    """What `gs.compile` returns: called like the function, it runs generated source, or says why it does not."""

    kind = "compile"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.verify: Any = options[
            "verify"
        ]  # True: every call; "first calls", as without it, but differences are errors
        self.limit: int = options.get("max_specialisations", LIMIT)
        self._optimised = _machinery().passes_of(options) if {"passes", "dump"} & options.keys() else None
        self._last: Entry | None = None
        self._entries: dict[Any, list[Entry]] = {}
        self._texts: dict[Any, Specialisation] = {}
        self._hits: dict[Specialisation, int] = {}  # of entries that were forgotten
        self._misses: deque[Miss] = deque(maxlen=16)
        self._number_misses: dict[Any, int] = {}
        self._eager: Failure | None = None
        self._said: dict[Failure, int] = {}  # why calls ran eagerly, and how many did
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and LOCAL.depth == 0 and LOCAL.anomaly is None:
            try:
                fits = last.check(*args, **kwargs)
            except (TypeError, ValueError, AttributeError, LookupError):
                fits = False
            if fits:
                try:
                    result = last.call(*args, **kwargs)
                except Exception as error:
                    raise _machinery().located(error, last.specialisation) from error.__cause__
                if result is not NotImplemented:
                    last.hits += 1
                    return result
        return self._slow(args, kwargs)

    def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if LOCAL.depth or self._eager is not None or LOCAL.anomaly is not None or eager_only():
            return self._run_eagerly(args, kwargs)  # who looks on sees the function itself
        return self._specialised(args, kwargs)

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._eager is not None:
            self._said[self._eager] = self._said.get(self._eager, 0) + 1
        if LOCAL.depth:
            return scope().rebuild(self.function)(*args, **kwargs)
        return self.function(*args, **kwargs)

    def _specialised(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = _machinery().Inputs(self.function, args, kwargs)
        if inputs.refused is not None:
            self._say(inputs.refused, stays=False)
            return self._run_eagerly(args, kwargs)
        for entry in tuple(self._entries.get(inputs.key, ())):
            if not entry.specialisation.unchecked and self.verify is not True and entry.fits(args, kwargs):
                result = self._called(entry, args, kwargs)
                if result is not NotImplemented:
                    if self._eager is None:
                        self._last = entry
                    return result
        if not self._lock.acquire(blocking=False):  # another thread specialises; waiting for it could be for ever
            return self._run_eagerly(args, kwargs)
        try:
            return self._specialised_alone(inputs, args, kwargs)
        finally:
            self._lock.release()

    def _called(self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            result = entry.call(*args, **kwargs)
        except Exception as error:
            raise _machinery().located(error, entry.specialisation) from error.__cause__
        if result is not NotImplemented:
            entry.hits += 1
        return result

    def _specialised_alone(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call where something is not known yet: one thread at a time."""
        for entry in tuple(self._entries.get(inputs.key, ())):
            if not entry.fits(args, kwargs):
                continue
            checking = entry.specialisation.unchecked or self.verify is True
            result = self._checked_again(entry, inputs, args, kwargs) if checking else self._called(entry, args, kwargs)
            if result is not NotImplemented:
                if not entry.specialisation.unchecked and self._eager is None and self.verify is not True:
                    self._last = entry
                return result
        if len(self._texts) >= self.limit:
            self._say(Failure(
                f"has {self.limit} specialisations already; other signatures run eagerly. Pass what varies as arrays or floats",
                definition(self.function),
            ), stays=False)  # fmt: skip
            return self._run_eagerly(args, kwargs)
        self._note_miss(inputs)
        return self._capture(inputs, args, kwargs, inputs.key)

    def _note_miss(self, inputs: Inputs) -> None:
        """Remember why nothing that is known serves a call: what the newest entries of its kind say, else of any."""
        known: Sequence[Entry] = self._entries.get(inputs.key, ())[:4]
        if not known:
            newest = {entry.specialisation: entry for entries in self._entries.values() for entry in entries[:1]}
            known = tuple(newest.values())
        miss = _machinery().missed(known, inputs)
        if miss is not None:
            self._misses.append(miss)

    def _capture(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        options = () if self._optimised is None else (self._optimised,)
        try:
            result, made = _machinery().captured(self.function, inputs, *options)
        except Exception as error:
            raise prune(error) from error.__cause__
        if isinstance(made, Exception):
            if self.verify:
                raise made
            made = Failure(f"could not be written as source ({made!r}); please report it", definition(self.function))
        if isinstance(made, Failure):
            self._say(made, stays=True)
            return result
        if made.number_guards:
            self._number_misses[key] = self._number_misses.get(key, 0) + 1
            if self._number_misses[key] > 2:
                self._say(
                    Failure("turns a traced float into a number that differs from call to call", made.number_site),
                    stays=True,
                )
                return result
        problem = made.first_check(result)
        if problem is not None:
            self._mismatch(problem, made.entry, inputs)
            return result
        text = (made.entry.specialisation.text, made.entry.specialisation.rebuild)
        known = self._texts.get(text)
        entry = made.entry if known is None else _machinery().Entry(made.entry.plan, known, made.entry.extras)
        if known is None:
            self._texts[text] = made.entry.specialisation
            dump(made.entry.specialisation.filename, made.entry.specialisation.text)
        if len(self._entries) > MANY:
            self._hits = self.hits()
            self._entries.clear()
        self._entries.setdefault(key, []).insert(0, entry)
        if known is not None and not known.unchecked and self.verify is not True:
            self._last = entry
        return result

    def _checked_again(self, entry: Entry, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first call whose inputs differ runs both ways; with `verify=True` every call does."""
        specialisation = entry.specialisation
        if self.verify is not True:
            specialisation.unchecked -= 1
            if inputs.digest() == specialisation.digest:
                result = self._called(entry, args, kwargs)
                if result is NotImplemented:
                    specialisation.unchecked += 1
                return result
        found = entry.tried(inputs.copied())
        if found is NotImplemented:  # a guard fails: this call is another's
            specialisation.unchecked += self.verify is not True
            return found
        before = inputs.again()
        try:
            result = self._run_eagerly(args, kwargs)
        except Exception as error:
            if type(error) is not type(found) and self.verify is True:
                self._mismatch(f"eager raised {error!r}, compiled gave {found!r}", entry, before)
            raise
        entry.hits += 1
        problem = f"it raised {found!r}" if isinstance(found, Exception) else _machinery().difference(found, result)
        if problem is not None:
            self._mismatch(problem, entry, before)
        specialisation.unchecked = 0
        return result

    def _mismatch(self, problem: str, entry: Entry, inputs: Inputs) -> None:
        statement = _machinery().first_difference(entry, inputs)
        self._last = None
        self._eager = Failure(
            f"gave another result compiled than eagerly ({problem}{'; ' * bool(statement)}{statement})",
            definition(self.function),
        )
        if self.verify:
            raise VerifyError(
                f"gs.compile({self._label()}): {self._eager}. Please report it; the function runs eagerly."
            )
        self._say(self._eager, stays=True)

    def _label(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    def _say(self, failure: Failure, stays: bool) -> None:
        if stays:
            self._eager = failure
            self._last = None
        elif failure in self._said:
            self._said[failure] += 1
            return
        self._said[failure] = 1
        warn_at_user(f"gs.compile: `{self._label()}` runs eagerly: {failure}.", EagerWarning)

    def hits(self) -> dict[Specialisation, int]:
        """How many calls each specialisation served; several threads at once may lose a few."""
        found = dict.fromkeys(self._texts.values(), 0) | self._hits
        for entries in list(self._entries.values()):
            for entry in entries:
                found[entry.specialisation] = found.get(entry.specialisation, 0) + entry.hits
        return found

    def specialisation(self, *args: Any, **kwargs: Any) -> Specialisation:
        """The specialisation that serves a call with these arguments, captured now if need be."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EagerWarning)
            inputs = _machinery().Inputs(self.function, args, kwargs)
            if inputs.refused is None:
                found = self._serving(inputs, args, kwargs)
                if found is not None:
                    return found
                if self._eager is None and not LOCAL.depth:
                    self._specialised(args, kwargs)
                    found = self._serving(inputs, args, kwargs)
                    if found is not None:
                        return found
        reason = self._eager or inputs.refused or Failure("has too many specialisations", None)
        raise CompileError(f"`{self._label()}` has no generated source, because it runs eagerly: {reason}.")

    def _serving(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialisation | None:
        for entry in self._entries.get(inputs.key, ()):
            if entry.fits(args, kwargs):
                found = entry.tried(inputs.copied())
                if isinstance(found, Exception):
                    raise found
                if found is not NotImplemented:
                    return entry.specialisation
        return None


def compile(
    function: Any = None, *, verify: bool | str = False, max_specialisations: int = LIMIT, passes: Sequence[str] | None = None,
    dump: bool | str = False,
) -> Any:  # fmt: skip
    """`function` as generated NumPy source: captured at the first call of each signature, checked against eager, then run.

    Works on any function of arrays, also on `gs.grad(f)` and `gs.grad(gs.grad(f))`. A signature is the structure of the
    arguments and the dtype, shape and strides of each array; Python floats stay run-time inputs, other
    values are fixed. What cannot be compiled runs eagerly, and a gs.EagerWarning names the line; `gs.explain` shows
    what happened so far.

    `verify=True` runs every call both ways, returns eager's result, and raises VerifyError, which names the first statement
    that differs; with `verify="first calls"` the checks are those that always run, as errors. After
    `max_specialisations` different sources, new signatures run eagerly. `passes` names the optimisations that run,
    all by default, in their own order; `dump=True` prints the graph after each as a diff, `dump="file.txt"` adds it
    to that file.

    >>> import numpy as np, gradscribe as gs
    >>> f = gs.compile(gs.grad(lambda x: np.sum(np.sin(x))))
    >>> bool(np.all(f(np.arange(3.0)) == np.cos(np.arange(3.0))))
    True
    """
    if verify not in (True, False, "first calls"):
        raise ValueError(f'verify is True, False or "first calls", not {verify!r}')
    if type(max_specialisations) is not int or max_specialisations < 1:
        raise ValueError(f"max_specialisations is a number of at least 1, not {max_specialisations!r}")
    options: dict[str, Any] = {"verify": verify, "max_specialisations": max_specialisations}
    options |= {} if passes is None else {"passes": (passes,) if isinstance(passes, str) else tuple(passes)}
    options |= {"dump": dump} if dump else {}
    return functools.partial(Compiled, options=options) if function is None else Compiled(function, options)
