"""Ops that NumPy has no function for: sizes, and the guards of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import Kind, shape_of
from ..registry import undifferentiable

SHAPE = undifferentiable(shape_of, "x", Kind.creation, path="shape", types=lambda x: x.shape)


def size_of(x: Any, axis: int) -> int:
    """The length of one axis."""
    return int(shape_of(x)[axis])


SIZE = undifferentiable(size_of, "x, axis", Kind.creation, path="size", types=lambda: 0)


def count_of(x: Any) -> int:
    """How many elements there are."""
    return int(x.size)


COUNT = undifferentiable(count_of, "x", Kind.creation, path="count", types=lambda: 0)

SIZES = frozenset([SHAPE, SIZE, COUNT])  # these read no element, so that an array that is written over will do


class GuardMissError(Exception):
    """A value is not what the specialisation was captured with."""


_HOWS: dict[str, Callable[[Any], Any]] = {
    "bool": bool, "float": float, "int": int, "index": int, "complex": complex,
    "item": lambda v: getattr(v, "item", lambda: v)(),
}  # fmt: skip


def observed(value: Any, how: str) -> Any:
    """What an exit of kind `how` showed the user's code."""
    return _HOWS[how](value)


def guard(value: Any, how: str, expect: Any) -> Any:
    """`value`, if the exit `how` shows what it showed while capturing; else GuardMissError."""
    found = observed(value, how)
    if found != expect and repr(found) != repr(expect):  # a NaN is what it was
        raise GuardMissError(found)
    return value


GUARD = undifferentiable(guard, "value, how, expect", Kind.opaque, path="guard", may_raise=True, types=lambda value: value)
