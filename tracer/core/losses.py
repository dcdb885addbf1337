"""Lost gradients in words: the function that took a value out of its Tensor, the user's line, and the remedy."""

from __future__ import annotations

import functools
import re
import sys
import types
from typing import Any

from ...runtime.errors import AutogradError, GradientLossError, NoRuleError
from ...unpatched import np
from .libraries import OURS
from .site import add_line, is_ours, library_of, user_site
from .thread_state import LOCAL, RUNNING, Era

__all__ = [
    "WATCHING",
    "Suppressing",
    "asks_for_a_library",
    "caught",
    "loss",
    "read_from_outside",
    "running",
    "taking_no_tensors",
    "telling",
    "watching",
]


_BY_NAME = "Where no gradient is wanted, say so: gs.stop_gradient(x), x.detach(), or `with gs.no_grad():`."


def read_from_outside(who: str, given: str, taker: str) -> Exception:
    """Return the error about a function whose derivative is of its arguments, and that computes with what was not passed."""
    return GradientLossError(
        f"{who} reads a value that requires grad from outside, and its gradient would be lost: {given}. "
        f"Pass it to `{taker}`, or read gs.stop_gradient of it."
    )


def loss(how: str, asked: bool = True) -> Exception:
    """Return the error about a value that would leave its Tensor, and its gradient with it.

    It is remembered, in case that something swallows it. C code that only tries whether there is a number (`asked=False`) may:
    there it is a loss if it was raised further.
    """
    taken = {
        "float": "took a plain float of", "complex": "took a plain complex number of", "item": "took a plain number of",
        "tolist": "made a list of plain numbers of", "pickle": "pickled", "dlpack": "took the memory of",
    }.get(how, "took the plain array of")  # fmt: skip
    by, way = _library()
    if not by and how == "array":
        way += "A draw around it is written with one that does not depend on it: mean + scale * rng.normal(size=n). "
    if not by and not asked:
        way += "Where a whole number is meant (an index, a range), write int(x). "
    by = by or {"tolist": "`tolist()`", "array": "NumPy", "numpy": "`numpy()`"}.get(how, "Code that knows no Tensors")
    error = GradientLossError(
        f"{by} {taken} a value that depends on what is differentiated, and its gradient would be lost.\n{way}{_BY_NAME}"
    )
    _add_user_line(error)
    era = running()
    if era is not None and asked:
        era.loss = error
    elif era is not None:
        era.judge_tried()
        era.tried = error
    return error


def running() -> Era | None:
    """Return the outermost transform that runs: in this thread, or in the one that may have begun it."""
    era = LOCAL.era
    if era is not None:
        return era
    return RUNNING[-1] if RUNNING else None


def caught() -> None:
    """A handler of the user's begins: what it has caught must not be an error that plain NumPy would not have met."""
    _refuse_to_swallow(sys.exc_info()[1])


def _refuse_to_swallow(error: BaseException | None) -> None:
    """Raise where code goes on after an error that NumPy's number would not have met: `time.sleep(t)` takes no Tensor."""
    era = running()
    if era is None or not isinstance(error, Exception):
        return
    if type(error) in (AutogradError, GradientLossError, NoRuleError) or _is_refusal(error):
        era.loss = error
        raise error
    if LOCAL.grad and "Tensor" in str(error) and not _is_numpys(error):  # of any class: sqlite3 has its own
        found = GradientLossError(
            "The code goes on after an error that it would not have met without gradscribe, and a gradient would be lost:\n"
            f"{error}\n{_BY_NAME}"
        )
        _add_user_line(found)
        era.loss = found
        raise found from error


# What Python says of a number as well, and of an array: code that asks in this way what it was given goes on.
_OF_NUMBERS = re.compile(
    r"'Tensor' object is not (callable|an iterator|reversible|iterable)|object of type 'Tensor' has no len|"
    r"(unsupported operand|not supported between).*'(str|bytes|NoneType|dict|list|tuple|set|function|type|ellipsis)'|"
    r"(str|bytes)\b.*(not|,) \"?Tensor|cannot convert 'Tensor' object to bytes"
)

_STORED = re.compile(r"'Tensor' object has no attribute '(\w+)'")  # what Python says of `t.name = ...`


def _is_numpys(error: Exception) -> bool:
    """Whether an error that names a Tensor would have been one about the number or the array, too."""
    if isinstance(error, AttributeError):
        stored = _STORED.fullmatch(str(error)) if error.obj is None else None
        if stored is not None:
            return not any(hasattr(cls, stored[1]) for cls in (np.ndarray, np.float64))
        return hasattr(error.obj, "_value") and not hasattr(error.obj._value, str(error.name))
    return isinstance(error, TypeError) and _OF_NUMBERS.search(str(error)) is not None


def _is_refusal(error: Exception) -> bool:
    """Whether code of ours says that it has no gradient for a form of a function: the plain function would have gone on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return isinstance(error, NotImplementedError) and trace is not None and is_ours(trace.tb_frame.f_code.co_filename)


def taking_no_tensors(function: Any) -> Any:
    """Return a C function of another library, whose TypeError about a traced number is a loss: a float would have done."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            era = running()
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if (
                era is None
                or inside
                or not any(hasattr(type(a), "_node") and a._node for a in (*args, *kwargs.values()))
            ):
                raise
            found = GradientLossError(
                f"`{function.__name__}` takes no value that depends on what is differentiated ({error}), and its gradient "
                f"would be lost.\n{_BY_NAME}"
            )
            _add_user_line(found)
            era.loss = found
            raise found from error

    return call


class Suppressing:
    """A context manager that tells of what it suppresses."""

    __slots__ = ("manager",)

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return self.manager.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if self.manager.__exit__(kind, error, trace):
            _refuse_to_swallow(error)
            return True
        return False


_NEVER = frozenset(["numpy", "io", "_io", "threading", "_thread", "warnings", "decimal", *OURS])  # suppress no error


def telling(manager: Any) -> Any:
    """Return the context manager that a `with` enters: where its end may suppress an error, one that tells."""
    kind = type(manager)
    known = kind.__module__.partition(".")[0] in _NEVER or not hasattr(kind, "__exit__")
    return manager if known else Suppressing(manager)


WATCHING = "__gradscribe_watching__"  # of functions that have no rule, and are only watched


def watching(function: Any) -> Any:
    """Return a library's function that raises the GradientLossError which it, or C code in it, has swallowed."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        era = running()
        if era is None:
            return function(*args, **kwargs)
        before = era.forget_loss()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            if era.loss is None or isinstance(error, GradientLossError):
                raise
            raise era.loss from error
        if era.loss is not None:
            raise era.loss
        era.loss = before
        return result

    setattr(call, WATCHING, True)
    return call


_WAYS = {
    "scipy": (
        "gradscribe has no rule for this function of SciPy: register one with gs.op and gs.rule, use one of NumPy or "
        "scipy.special that has one (`python -m gradscribe coverage`), or gs.fixed_point for what is solved iteratively. "
    ),
    "pandas": "Convert it (df.to_numpy(), df[name].to_numpy()), and compute with NumPy's functions. ",
    "xarray": "Convert it (a.to_numpy()), and compute with NumPy's functions. ",
    "matplotlib": "Return the value (has_aux=True) and draw it outside of the transform. ",
    "json": "Return the value (has_aux=True) and write it outside of the transform, where it is a plain number. ",
    "pickle": "Return the value (has_aux=True) and store it outside of the transform, where it is a plain array. ",
    "statistics": "Use NumPy's functions: np.mean, np.std, np.median ... ",
}

_WAYS_IN = {  # parts of libraries
    (
        "scipy",
        "sparse",
    ): "Write a product as m @ x, a multiple as t * m, or convert the sparse matrix (m.toarray() @ x). ",
    ("numpy", "ma"): "Convert the masked array (m.filled(0.0), or np.where(m.mask, 0.0, x * m.data)). ",
}


def _library() -> tuple[str, str]:
    """Return who takes the value, by the name of what the user called, and the way out for it."""
    frame: types.FrameType | None = sys._getframe(1)
    words = way = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if words and frame.f_code.co_qualname == f"{watching.__name__}.<locals>.call" and name == __file__:
            called = frame.f_locals["function"]  # by its public name, where decorators are what runs
            words = f"`{getattr(called, '__qualname__', words)}` of {words.rpartition(' of ')[2]}"
        if not is_ours(name):
            found = library_of(name)
            if found is None:
                break
            if not words or "<" not in frame.f_code.co_qualname:  # and no wrapper around what was called
                words = f"`{_public_name(frame)}` of {found}"
            parts = str(frame.f_globals.get("__name__", "")).split(".")
            known = _WAYS_IN.get((parts[0], parts[1] if len(parts) > 1 else "")) or _WAYS.get(found.partition(".")[0])
            way = known or way
        frame = frame.f_back
    if words:
        return words, way or "Compute with NumPy's functions, which keep it. "
    return "", "Compute with NumPy's functions, or those of `math`, which keep it. "


def _public_name(frame: types.FrameType) -> str:
    """Return the name of the function of a frame; of a method of a distribution that of its family."""
    owner: Any = frame.f_locals.get("self")
    if type(owner).__module__.startswith("scipy.stats.") and isinstance(getattr(owner, "name", None), str):
        return f"stats.{owner.name}.{frame.f_code.co_name}"
    return frame.f_code.co_qualname


def _add_user_line(error: Exception) -> None:
    place = _user_line()
    if place is not None:
        add_line(error, *place)


def _user_line() -> tuple[str, int] | None:
    """Return the innermost line that is neither ours nor a library's; of a user's installed package, its line."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_ours(name) and library_of(name) is None:
            return name, frame.f_lineno or frame.f_code.co_firstlineno
        frame = frame.f_back
    site = user_site()
    return None if site is None else (site.code.co_filename, site.line)


def asks_for_a_library() -> bool:
    """Return whether the innermost code that is not ours belongs to Python or an installed library, not to the user."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and library_of(frame.f_code.co_filename) is not None
