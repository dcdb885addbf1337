"""Shapes while capturing: tuples of traced sizes, which are ints that remember the axis they came from."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["Shape", "Size"]


class Size(int):
    """An int that remembers how it follows from the axes of inputs, so that generated source can say so."""

    origin: tuple[Any, ...]  # ("axis", value, k) or (operator, left, right)
    to_tensor: Callable[[Any], Any]

    def __new__(cls, number: int, origin: tuple[Any, ...], to_tensor: Callable[[Any], Any]) -> Size:
        made = super().__new__(cls, number)
        made.origin = origin
        made.to_tensor = to_tensor
        return made

    def _combined(self, op: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        if type(left) not in (int, Size) or type(right) not in (int, Size):
            return NotImplemented
        return Size(op(int(left), int(right)), (op, left, right), self.to_tensor)

    def __add__(self, other: Any) -> Any:
        return self._combined(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._combined(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._combined(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._combined(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._combined(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._combined(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._combined(operator.floordiv, self, other)

    def __truediv__(self, other: Any) -> Any:
        return self.to_tensor(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.to_tensor(self)


class Shape(tuple[int, ...]):
    """The shape of a traced value: equal to the plain tuple, and made of sizes."""

    value: Any  # the IR value whose shape this is

    def __new__(cls, value: Any, sizes: list[Size]) -> Shape:
        made = super().__new__(cls, sizes)
        made.value = value
        return made
