"""Arrays of other classes beside Tensors: who defers to whom (NEP 13 and NEP 18), and what subclasses of ndarray are."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from .tensor_base import Operand

__all__ = [
    "KNOWN", "Foreign", "base_of", "defers", "defers_function", "is_known", "is_masked", "not_repeated", "protocol_of",
]  # fmt: skip

# The classes of plain operands, to which tensor.py adds its own.
KNOWN: set[Any] = {float, int, complex, bool, list, tuple, type(None), np.ndarray, *np.sctypeDict.values()}
_AS_DATA = ("pandas",)  # containers of plain numbers: they count as the array that they hold


class Foreign(TypeError):
    """An operand that is not an array of numbers: its own class may know what to do with a Tensor."""


def is_known(value: Any) -> bool:
    """Whether a value is plain, and needs no second look."""
    return type(value) in KNOWN or isinstance(value, Operand)


def protocol_of(cls: type) -> Any:
    """The `__array_ufunc__` of a class that has one of its own; None of all others."""
    found = getattr(cls, "__array_ufunc__", None)
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
        and cls.__module__.partition(".")[0] not in _AS_DATA
        for cls in types
    )  # fmt: skip


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array, whose mask a Tensor would lose."""
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray)


def base_of(value: Any) -> Any:
    """An array of a subclass (np.matrix, np.memmap, np.recarray ...) as the ndarray that it is."""
    return np.asarray(value) if isinstance(value, np.ndarray) and type(value) is not np.ndarray else value


def not_repeated(x: Any, y: Any) -> None:
    """Raise Foreign for a list beside a number of Python's: what that means, repeated or an error, is Python's."""
    for sequence, number in ((x, y), (y, x)):
        if type(sequence) in (list, tuple) and type(getattr(number, "_value", None)) in (int, float, complex):
            raise Foreign(f"a {type(sequence).__name__} met a number of Python's")
