"""Where rules make their arrays: in NumPy, or, while they compute with arrays of CuPy's, in CuPy.

A function of NumPy's that is given an array of CuPy's hands over to CuPy. One that makes an array of a shape or of numbers is
given none: once the first array of CuPy's has arrived, those of `unpatched` look here. Before that nothing
is changed, and computing with NumPy alone costs nothing.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..unpatched import np
from .arrays import PLACE, computing_with, is_array, library_of_arrays, when_arrived
from .ops import Kind, Op
from .registry import also, lookup, registered

__all__ = ["MAKING", "explained", "explained_backward", "function_of", "has_no_protocol", "module_of_ops", "of_numbers"]

MAKING = (
    "zeros", "ones", "empty", "full", "arange", "eye", "identity", "linspace", "logspace", "array", "asarray", "asanyarray",
    "ascontiguousarray", "asfortranarray", "tri", "indices",
)  # fmt: skip


_OF_NUMBERS = (
    "math.",
    "cmath.",
    "gradscribe.runtime.rules.python_math.",
    "float",
    "complex",
    "np.float64",
    "np.complex128",
)


@when_arrived
def _follow(cls: type) -> None:
    """Let the functions that make arrays look where, from now on."""
    for name in MAKING:
        numpys = getattr(np, name)
        found = lookup(numpys)
        setattr(np, name, _following(name, numpys))
        if found is not None:
            also(getattr(np, name), found)
    for op in registered():
        op.doors.clear()


def _following(name: str, numpys: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(numpys)
    def make(*args: Any, **kwargs: Any) -> Any:
        module = PLACE.module
        return numpys(*args, **kwargs) if module is None else getattr(module, name)(*args, **kwargs)

    return make


def module_of_ops(path: str) -> Any:
    """The module of CuPy's that has what stands under NumPy's or SciPy's name, `np.linalg.norm`; None without one."""
    parts = path.split(".")
    if parts[0] == "scipy":
        name = "cupyx.scipy." + ".".join(parts[1:-1])
        if name not in sys.modules:
            try:
                __import__(name)
            except ImportError:
                return None
        return sys.modules.get(name)
    module: Any = sys.modules.get("cupy")
    for part in parts[1:-1]:
        module = getattr(module, part, None)
    return module


def has_no_protocol(op: Op) -> bool:
    """Whether it takes more than NumPy's protocols to compute an op with CuPy: `function_of` is asked then."""
    return op.inline or op.kind is Kind.creation or op.name in MAKING or not op.path.startswith("np.")


def function_of(op: Op, values: tuple[Any, ...]) -> Callable[..., Any]:
    """What computes an op of these values: the op's own function, which NumPy's protocols lead to CuPy, or CuPy's."""
    module = library_of_arrays(values)
    if module is None:
        if PLACE.module is None:
            return op.fn
        if op.inline and any(isinstance(v, np.ndarray) for v in _each(values)):
            return functools.partial(_inside, None, op)
        if op.kind is not Kind.creation or not op.path.startswith("np."):
            return op.fn
        return getattr(PLACE.module, op.name, op.fn)
    if op.path.startswith("np.") and op.name in MAKING:
        return getattr(module, op.name)  # type: ignore[no-any-return]
    if op.inline or op.kind is Kind.creation:
        return functools.partial(_inside, module, op)
    if op.path.startswith("scipy.") and not isinstance(op.fn, np.ufunc):
        there = getattr(module_of_ops(op.path), op.name, None)
        if there is None:
            raise _lacking(op)
        return there  # type: ignore[no-any-return]
    return op.fn


def of_numbers(op: Op) -> bool:
    """Whether an op is a function of Python's numbers, as `math.sin` and `float`: it would take them off the device."""
    return op.path.startswith(_OF_NUMBERS)


def _inside(module: Any, op: Op, *args: Any, **kwargs: Any) -> Any:
    with computing_with(module):
        return op.fn(*args, **kwargs)


class _Told:
    """The errors of this module, by identity: none of them is explained once more on its way out."""

    last: Exception | None = None


def _told(text: str) -> TypeError:
    _Told.last = made = TypeError(text)
    return made


def _lacking(op: Op) -> TypeError:
    version = getattr(sys.modules.get("cupy"), "__version__", "")
    theirs = op.path.replace("np.", "cupy.", 1) if op.path.startswith("np.") else "cupyx." + op.path
    return _told(
        f"`{op.path}` was given an array of CuPy's, and CuPy {version} has no `{theirs}`: compute this in terms of other "
        "functions, or on the host, with NumPy arrays (x.get() copies one)"
    )


def explained(op: Op, values: tuple[Any, ...], error: Exception) -> Exception:
    """The error of an op of arrays of CuPy's in plain words, where it is about what CuPy takes; other errors as they are."""
    if error is _Told.last or not isinstance(error, (TypeError, NotImplementedError, AttributeError)):
        return error
    if library_of_arrays(values) is None:
        return error
    if any(is_array(v) and library_of_arrays(v) is None for v in _each(values)):
        return _told(
            f"`{op.path}` was given arrays of CuPy's and of NumPy's: nothing is copied between them unasked. Move one: "
            "cupy.asarray(x) to the device, x.get() to the host"
        )
    if not op.inline and not op.infix and getattr(module_of_ops(op.path), op.name, None) is None:
        return _lacking(op)
    return _told(
        f"`{op.path}` of arrays of CuPy's: CuPy refuses this call ({error}). Leave away what it does not take, or compute this "
        "on the host, with NumPy arrays (x.get() copies one)"
    )


def explained_backward(op: Op, error: Exception) -> Exception:
    """The error of a rule that computed with CuPy, in plain words, where it is about what CuPy takes; others as they are."""
    if error is _Told.last or not isinstance(error, (TypeError, NotImplementedError, AttributeError)):
        return error
    return _told(
        f"the gradient of `{op.path}` is not to be had on CuPy's arrays: CuPy refuses a call of its rule ({error}). Compute this "
        "in terms of other functions, or on the host, with NumPy arrays (x.get() copies one)"
    )


def _each(values: Any) -> Any:
    for v in values:
        if type(v) in (list, tuple):
            yield from _each(v)
        else:
            yield v
