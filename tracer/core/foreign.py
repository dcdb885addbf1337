"""Foreign arrays beside Tensors: which class defers to which (NEP 13 and NEP 18), and subclasses of ndarray."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ...runtime.arrays import is_class_of_cupys, is_plain_array
from ...unpatched import np
from .tensor_base import Operand

__all__ = [
    "KNOWN", "Foreign", "base_of", "conversion", "defers", "defers_function", "is_known", "is_masked", "library_of",
    "not_repeated", "plain_of", "protocol_of",
]  # fmt: skip

# The classes of plain operands, to which tensor.py adds its own.
KNOWN: set[Any] = {float, int, complex, bool, list, tuple, type(None), np.ndarray, *np.sctypeDict.values()}
_AS_DATA = ("pandas", __name__.partition(".")[0])  # what holds plain numbers, or is one, as a traced size


# How what these libraries call an array becomes NumPy's.
_CONVERSIONS = {
    "pandas": "{}.to_numpy()", "xarray": "{}.to_numpy()", "polars": "{}.to_numpy()", "scipy": "{}.toarray()",
    "torch": "{}.detach().numpy()", "jax": "np.asarray({})", "jaxlib": "np.asarray({})", "tensorflow": "{}.numpy()",
    "cupy": "{}.get()", "dask": "{}.compute()",
}  # fmt: skip


class Foreign(TypeError):
    """An operand that is not an array of numbers: its own class may know what to do with a Tensor."""


def is_known(value: Any) -> bool:
    """Whether a value is plain, and needs no second look."""
    return type(value) in KNOWN or isinstance(value, Operand)


def protocol_of(cls: type) -> Any:
    """The `__array_ufunc__` of a class that has one of its own; None of all others."""
    found = getattr(cls, "__array_ufunc__", None)
    if is_class_of_cupys(cls):
        return None
    if found is None or found is np.ndarray.__array_ufunc__ or issubclass(cls, Operand):
        return None
    return None if cls.__module__.partition(".")[0] in _AS_DATA else found


def defers(value: Any) -> bool:
    """Whether an operation with this operand is its class's to do: it has a protocol, or refuses ufuncs."""
    cls = type(value)
    return protocol_of(cls) is not None or getattr(cls, "__array_ufunc__", True) is None


def defers_function(types: Iterable[type]) -> bool:
    """Whether a NumPy function of arguments of these types is another class's to do."""
    own = np.ndarray.__array_function__
    return any(
        not issubclass(cls, Operand) and getattr(cls, "__array_function__", own) is not own
        and not (is_class_of_cupys(cls))
        and cls.__module__.partition(".")[0] not in _AS_DATA
        for cls in types
    )  # fmt: skip


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array, whose mask a Tensor would lose."""
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray)


def conversion(value: Any, name: str = "x") -> str | None:
    """Return the expression that makes an array of another library, called `name`, one of NumPy's; None of all else."""
    if isinstance(value, (Operand, type)) or is_plain_array(value):
        return None
    if is_masked(value):
        return f"{name}.filled(0.0)"
    for cls in type(value).__mro__:
        form = _CONVERSIONS.get(cls.__module__.partition(".")[0])
        if form is not None:
            arrays = hasattr(value, "__array__") or hasattr(value, "toarray")
            return form.format(name) if arrays and not callable(value) else None
    return None


def plain_of(value: Any) -> Any:
    """Return an array of another library that counts as the numbers that it holds (a Series, a tensor of PyTorch) as NumPy's."""
    foreign = conversion(value) is not None and hasattr(value, "__array__") and not is_masked(value)
    return np.asarray(value) if foreign or type(value).__module__ == "array" else value


def library_of(value: Any) -> str:
    """Return the library whose an array is, as a user calls it."""
    top = type(value).__module__.partition(".")[0]
    return {"jaxlib": "jax", "numpy": "numpy.ma", "scipy": "scipy.sparse"}.get(top, top)


def base_of(value: Any) -> Any:
    """An array of a subclass (np.matrix, np.memmap, np.recarray ...) as the ndarray that it is."""
    return np.asarray(value) if isinstance(value, np.ndarray) and type(value) is not np.ndarray else value


def not_repeated(x: Any, y: Any) -> None:
    """Raise Foreign for a list beside a number of Python's: what that means, repeated or an error, is Python's."""
    for sequence, number in ((x, y), (y, x)):
        if type(sequence) in (list, tuple) and type(getattr(number, "_value", None)) in (int, float, complex):
            raise Foreign(f"a {type(sequence).__name__} met a number of Python's")
