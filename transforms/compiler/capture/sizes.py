"""Shapes while capturing: tuples of traced sizes, which are ints that remember the axis they came from, and who asked."""

from __future__ import annotations

import dis
import linecache
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ....tracer.core.count import size_called
from ....tracer.core.site import Site

__all__ = ["Compared", "Shape", "Size"]


class Compared(NamedTuple):
    """A place where the user's code decided by a size, and what it found there."""

    site: Site
    outcome: bool

    @property
    def found(self) -> str:
        """The outcome, where the expression is itself the comparison."""
        name = dis.opname[self.site.code.co_code[self.site.offset]]
        return repr(self.outcome) if name in ("COMPARE_OP", "CONTAINS_OP") or "JUMP" in name else "as at these sizes"

    @property
    def words(self) -> str:
        """The user's expression, such as `x.shape[0] > 3`."""
        spans = list(self.site.code.co_positions())
        line, end_line, column, end_column = spans[self.site.offset // 2]
        text = linecache.getline(self.site.code.co_filename, self.site.line)
        if line != end_line or line is None or not text:
            return text.strip() or "a size"
        return text.encode()[column:end_column].decode()


class Owner(Protocol):
    """The capture that sizes belong to."""

    codes: set[types.CodeType]
    compared: dict[Compared, None]

    def size_tensor(self, size: Size) -> Any: ...


class Size(int):
    """An int that remembers how it follows from the axes of inputs, so that generated source can say so."""

    origin: tuple[Any, ...]  # ("axis", value, k) or (operator, *operands)
    owner: Owner
    __gradscribe_int__ = True
    shape: Any = None  # of a Tensor's `size`, which may be called

    def __call__(self, dim: Any = None) -> Any:
        if self.shape is None:
            raise TypeError("'int' object is not callable")
        return size_called(self.shape, dim)

    def __new__(cls, number: int, origin: tuple[Any, ...], owner: Owner) -> Size:
        made = super().__new__(cls, number)
        made.origin = origin
        made.owner = owner
        return made

    def _combined(self, op: Callable[..., Any], *operands: Any) -> Any:
        if any(type(n) not in (int, Size) for n in operands):
            return NotImplemented
        return Size(op(*map(int, operands)), (op, *operands), self.owner)

    def decided(self, outcome: Any) -> Any:
        """What a comparison two frames up gave; one in the user's code is remembered."""
        frame = sys._getframe(2)
        if type(outcome) is bool and frame.f_code in self.owner.codes:
            site = Site(frame.f_code, frame.f_lasti, frame.f_lineno)
            self.owner.compared.setdefault(Compared(site, outcome))
        return outcome

    def __eq__(self, other: Any) -> Any:
        return self.decided(int.__eq__(self, other))

    def __ne__(self, other: Any) -> Any:
        return self.decided(int.__ne__(self, other))

    def __lt__(self, other: Any) -> Any:
        return self.decided(int.__lt__(self, other))

    def __le__(self, other: Any) -> Any:
        return self.decided(int.__le__(self, other))

    def __gt__(self, other: Any) -> Any:
        return self.decided(int.__gt__(self, other))

    def __ge__(self, other: Any) -> Any:
        return self.decided(int.__ge__(self, other))

    def __bool__(self) -> bool:
        return bool(self.decided(int.__bool__(self)))

    __hash__ = int.__hash__

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

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combined(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._combined(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._combined(operator.mod, other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None and type(other) in (int, Size) and int(other) >= 0:
            return self._combined(operator.pow, self, other)
        return int.__pow__(self, other, modulus)

    def __neg__(self) -> Any:
        return self._combined(operator.neg, self)

    def __truediv__(self, other: Any) -> Any:
        return self.owner.size_tensor(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.owner.size_tensor(self)


class Shape(tuple[Size, ...]):
    """The shape of a traced value: equal to the plain tuple, and made of sizes."""

    value: Any  # the IR value whose shape this is

    def __new__(cls, value: Any, sizes: list[Size]) -> Shape:
        made = super().__new__(cls, sizes)
        made.value = value
        return made

    def __eq__(self, other: object) -> bool:
        return bool(self[0].decided(_plain(self) == _plain(other)))

    def __ne__(self, other: object) -> bool:
        return bool(self[0].decided(_plain(self) != _plain(other)))

    __hash__ = tuple.__hash__


def _plain(x: Any) -> Any:
    """A shape, or anything else, with ints in place of sizes."""
    return tuple([int(n) if type(n) is Size else n for n in x]) if isinstance(x, tuple) else x
