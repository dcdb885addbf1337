"""What values of a Program are in C: numbers, arrays as base and strides, tuples of these, and objects of Python's."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Type, Value

__all__ = [
    "CTYPES", "Arr", "CValue", "Num", "Obj", "RefusedError", "Stk", "Tup", "UnmodelledError", "cast", "contiguous", "is_native",
    "literal", "product", "suffix",
]  # fmt: skip

CTYPES = {"float64": "double", "float32": "float", "int64": "int64_t", "bool": "uint8_t"}
_SUFFIXES = {"float64": "d", "float32": "f", "int64": "l", "bool": "b"}


class RefusedError(Exception):
    """A Program that does not run natively, with the reason."""


class UnmodelledError(Exception):
    """A call without a C form."""


class Num(NamedTuple):
    """A number: a C expression without effects; `kind` is that of the Value: scalar, python or (0-d) array."""

    c: str
    dtype: np.dtype[Any]
    kind: str


class Arr(NamedTuple):
    """An array: a pointer, lengths and strides in elements as C expressions; `obj` is the Python object, where there is one.

    A length that is "1" in the text is 1 in every call. One that is `dense` is in C order by construction, and the object of one
    that is `made` was made by the kernel. `maybe` is an object that is this array, or NULL where none is.
    """

    p: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    dtype: np.dtype[Any]
    obj: str = ""
    dense: bool = False
    made: bool = False
    maybe: str = ""


class Tup(NamedTuple):
    """A tuple of Python's."""

    items: tuple[Any, ...]


class Obj(NamedTuple):
    """An object of Python's: an expression for a PyObject pointer that somebody else owns."""

    c: str


class Stk(NamedTuple):
    """A list that C keeps: an expression for a Stack pointer, and what an item is; or the `rows` of an array."""

    c: str
    element: Value
    rows: Arr | None = None


CValue = Num | Arr | Tup | Obj | Stk


def is_native(type: Type) -> bool:
    """Whether C has values of a type."""
    return type.kind in ("array", "scalar", "python") and type.dtype.isnative and type.dtype.name in CTYPES


def suffix(dtype: np.dtype[Any]) -> str:
    """The letter of a dtype in names of the prelude."""
    return _SUFFIXES[dtype.name]


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as a C constant of a dtype; UnmodelledError where it does not fit."""
    if dtype.kind == "f":
        number = float(value)
        if math.isnan(number):
            return "NAN"
        if math.isinf(number):
            return "(-INFINITY)" if number < 0 else "INFINITY"
        if dtype.itemsize == 4:
            with np.errstate(all="ignore"):
                number = float(np.float32(number))
            return literal(number, np.dtype(np.float64)) if math.isinf(number) else _atom(f"{number!r}f")
        return _atom(repr(number))
    if dtype.kind == "b":
        return str(int(bool(value)))
    whole = int(value)
    if whole != value or not -(2**63) < whole < 2**63:
        raise UnmodelledError
    return _atom(f"{whole}LL" if abs(whole) >= 2**31 else str(whole))


def _atom(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def cast(text: str, have: np.dtype[Any], want: np.dtype[Any]) -> str:
    """An expression of one dtype as one of another."""
    if have == want:
        return text
    return f"(uint8_t)({text} != 0)" if want.kind == "b" else f"({CTYPES[want.name]}){text}"


def contiguous(dims: tuple[str, ...]) -> tuple[str, ...]:
    """The strides of an array in C order, in elements."""
    return tuple([product(dims[k + 1 :]) for k in range(len(dims))])


def product(dims: tuple[str, ...]) -> str:
    """The product of lengths."""
    return " * ".join([d for d in dims if d != "1"]) or "1"
