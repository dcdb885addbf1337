"""gs.compile: a function that is captured once per signature and then runs as generated NumPy source."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...runtime.errors import CompileError, EagerWarning, VerifyError
from ...tracer.exits import warn_at_user
from ...tracer.modes import LOCAL
from ...tracer.site import prune
from ..scope import scope
from ..transform import Transform
from .failure import Failure, definition

if TYPE_CHECKING:
    from .specialise import Entry, Inputs, Specialisation

__all__ = ["Compiled", "compile"]

MANY = 512  # signatures (batch sizes, for one) that share those texts, after which they are forgotten
LIMIT = 16  # specialisations with a text of their own, after which new signatures run eagerly


@functools.cache
def _machinery() -> Any:
    """The compiler proper, which stands on gast and is loaded when something is first compiled."""
    from . import specialise

    return specialise


class Compiled(Transform):
    """What `gs.compile` returns: called like the function, it runs generated source, or says why it does not."""

    kind = "compile"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.verify: bool = options["verify"]
        self._last: Entry | None = None
        self._entries: dict[Any, list[Entry]] = {}
        self._texts: dict[Any, Specialisation] = {}
        self._number_misses: dict[Any, int] = {}
        self._eager: Failure | None = None
        self._said: set[Failure] = set()
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and LOCAL.depth == 0:
            try:
                fits = last.check(*args, **kwargs)
            except (TypeError, ValueError, AttributeError, KeyError):
                fits = False
            if fits:
                result = last.call(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        return self._slow(args, kwargs)

    def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if LOCAL.depth or self._eager is not None:  # within another transform: it sees the function itself
            return self._run_eagerly(args, kwargs)
        with self._lock:
            return self._specialised(args, kwargs)

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if LOCAL.depth:
            return scope().rebuild(self.function)(*args, **kwargs)
        return self.function(*args, **kwargs)

    def _specialised(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = _machinery().Inputs(self.function, args, kwargs)
        if inputs.refused is not None:
            self._say(inputs.refused, stays=False)
            return self._run_eagerly(args, kwargs)
        key = inputs.key
        for entry in self._entries.get(key, ()):
            if entry.fits(args, kwargs):
                if entry.specialisation.unchecked:
                    result = self._checked_again(entry, inputs, args, kwargs)
                else:
                    result = entry.call(*args, **kwargs)
                if result is not NotImplemented:
                    if not entry.specialisation.unchecked and self._eager is None:
                        self._last = entry
                    return result
        if len(self._texts) >= LIMIT:
            self._say(Failure(
                f"has {LIMIT} specialisations already; other signatures run eagerly. Pass what varies as arrays or floats",
                definition(self.function),
            ), stays=False)  # fmt: skip
            return self._run_eagerly(args, kwargs)
        return self._capture(inputs, args, kwargs, key)

    def _capture(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        try:
            result, made = _machinery().captured(self.function, inputs)
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
            self._mismatch(problem)
            return result
        text = (made.entry.specialisation.text, made.entry.specialisation.rebuild)
        known = self._texts.get(text)
        entry = made.entry if known is None else _machinery().Entry(made.entry.check, known, made.entry.extras)
        if known is None:
            self._texts[text] = made.entry.specialisation
        if len(self._entries) > MANY:
            self._entries.clear()
        self._entries.setdefault(key, []).insert(0, entry)
        if known is not None and not known.unchecked:
            self._last = entry
        return result

    def _checked_again(self, entry: Entry, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first call whose inputs differ runs both ways."""
        specialisation = entry.specialisation
        specialisation.unchecked -= 1
        if inputs.digest() == specialisation.digest:
            result = entry.call(*args, **kwargs)
            if result is NotImplemented:
                specialisation.unchecked += 1
            return result
        found = entry.tried(inputs.copied())
        if found is NotImplemented:  # a guard fails: this call is another's
            specialisation.unchecked += 1
            return found
        result = self._run_eagerly(args, kwargs)
        problem = f"it raised {found!r}" if isinstance(found, Exception) else _machinery().difference(found, result)
        if problem is not None:
            self._mismatch(problem)
        specialisation.unchecked = 0
        return result

    def _mismatch(self, problem: str) -> None:
        self._last = None
        self._eager = Failure(f"gave another result compiled than eagerly ({problem})", definition(self.function))
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
            return
        self._said.add(failure)
        warn_at_user(f"gs.compile: `{self._label()}` runs eagerly: {failure}.", EagerWarning)

    def specialisation(self, *args: Any, **kwargs: Any) -> Specialisation:
        """The specialisation that serves a call with these arguments, captured now if need be."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EagerWarning)
            inputs = _machinery().Inputs(self.function, args, kwargs)
            if inputs.refused is None:
                found = self._serving(inputs, args, kwargs)
                if found is not None:
                    return found
                if self._eager is None:
                    self._slow(args, kwargs)
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


def compile(function: Any = None, *, verify: bool = False) -> Any:
    """`function` as generated NumPy source: captured at the first call of each signature, checked against eager, then run.

    Works on any function of arrays, also on `gs.grad(f)` and `gs.grad(gs.grad(f))`. A signature is the structure of the
    arguments and the dtype, shape and strides of each array; Python floats stay run-time inputs, other
    values are fixed. What cannot be compiled runs eagerly, and a gs.EagerWarning names the line. `verify=True` turns
    a difference between compiled and eager results into a VerifyError.

    >>> import numpy as np, gradscribe as gs
    >>> f = gs.compile(gs.grad(lambda x: np.sum(np.sin(x))))
    >>> bool(np.all(f(np.arange(3.0)) == np.cos(np.arange(3.0))))
    True
    """
    if function is None:
        return functools.partial(compile, verify=verify)
    return Compiled(function, {"verify": verify})
