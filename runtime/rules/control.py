"""Ops that NumPy has no function for: sizes, and the guards of the compiler."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...unpatched import np
from ..memory import NEW
from ..ops import Kind, shape_of
from ..registry import undifferentiable
from ..result_types import UNKNOWN

SHAPE = undifferentiable(shape_of, "x", Kind.creation, path="shape", types=lambda x: x.shape)


def size_of(x: Any, axis: int) -> int:
    """The length of one axis."""
    return int(shape_of(x)[axis])


SIZE = undifferentiable(size_of, "x, axis", Kind.creation, path="size", types=lambda: 0)


def count_of(x: Any) -> int:
    """How many elements there are."""
    return int(x.size)


COUNT = undifferentiable(count_of, "x", Kind.creation, path="count", types=lambda: 0)

# Python's functions of numbers that a compiler calls with sizes; of Tensors they are other ops.
for _fn, _signature, _types in (
    (int, "x", lambda: 0), (round, "x, ndigits=None", UNKNOWN), (min, "*xs", UNKNOWN), (max, "*xs", UNKNOWN),
    (sum, "xs, start=0", UNKNOWN), (math.ceil, "x", lambda: 0), (math.floor, "x", lambda: 0), (math.trunc, "x", lambda: 0),
    (math.isqrt, "n", lambda: 0), (math.factorial, "n", lambda: 0), (math.comb, "n, k", lambda: 0),
    (math.perm, "*xs", lambda: 0), (math.gcd, "*xs", lambda: 0), (math.lcm, "*xs", lambda: 0),
):  # fmt: skip
    _path = _fn.__name__ if _fn.__module__ == "builtins" else f"math.{_fn.__name__}"
    undifferentiable(_fn, _signature, Kind.opaque, path=_path, memory=NEW, types=_types)

SIZES = frozenset([SHAPE, SIZE, COUNT])  # these read no element, so that an array that is written over will do


class GuardMissError(Exception):
    """A value is not what the specialisation was captured with."""


_HOWS: dict[str, Callable[[Any], Any]] = {
    "bool": bool, "float": float, "int": int, "index": int, "complex": complex,
    "item": lambda v: getattr(v, "item", lambda: v)(),
    "iscomplexobj": np.iscomplexobj,
    "length": lambda v: tuple(map(int, v)) if isinstance(v, tuple) else int(v),
}  # fmt: skip


def observed(value: Any, how: str) -> Any:
    """Return the Python value that an exit of kind `how` hands to the user's code."""
    return _HOWS[how](value)


def guard(value: Any, how: str, expect: Any) -> Any:
    """`value`, if the exit `how` shows what it showed while capturing; else GuardMissError."""
    found = observed(value, how)
    if found != expect and repr(found) != repr(expect):  # a NaN is what it was
        raise GuardMissError(found)
    return value


GUARD = undifferentiable(
    guard, "value, how, expect", Kind.opaque, path="guard", may_raise=True, types=lambda value: value
)
