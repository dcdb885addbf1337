"""The operators of a Tensor: Python's signs, each an op of the table; in-place ones go through eager_writes.py."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...runtime.arrays import is_array, is_plain_array
from ...runtime.registry import made_of_ops, require
from ...runtime.rules.indexing import names_once
from ...unpatched import np
from ..core import tensor_base
from ..core.dispatch import apply, apply1, apply2, has_tensor, stack_nested, through_door
from ..core.exits import is_numpys, leave, told
from ..core.foreign import Foreign, protocol_of
from ..core.losses import asks_for_a_library, loss
from ..core.pieces import Pieces
from ..core.tensor_base import Operand, alias, levels_of
from ..core.thread_state import LOCAL, capturing
from ..memory import eager_writes, traced_writes
from ..memory.survivors import compared

if TYPE_CHECKING:
    from .method_types import MethodTypes as _Base
    from .tensor import Tensor
else:
    _Base = Operand

__all__ = ["Operators"]


def _unary(fn: Callable[..., Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return apply1(op, self)

    op = require(fn)
    return method


def _binary(fn: Callable[..., Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operator's method and its reflection."""
    op = require(fn)
    ufunc: Any = getattr(np, op.path.removeprefix("np."))

    def method(self: Any, other: Any) -> Any:
        try:
            return apply2(op, self, other)
        except Foreign:
            if has_tensor(other) and type(self._value) not in _PYTHONS:
                return apply2(op, self, stack_nested(other))
            if (made := made_of_ops(other)) is not None:
                return fn(self, made)
            if LOCAL.depth and type(other).__module__ == "fractions":  # as NumPy's numbers do
                return apply2(op, self, float(other))
            return ufunc(self, other) if _answers(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        try:
            return apply2(op, other, self)
        except Foreign:
            if has_tensor(other) and type(self._value) not in _PYTHONS:
                return apply2(op, stack_nested(other), self)
            if (made := made_of_ops(other)) is not None:
                return fn(made, self)
            if LOCAL.depth and type(other).__module__ == "fractions":  # as NumPy's numbers do
                return apply2(op, float(other), self)
            return ufunc(other, self) if _answers(other) else NotImplemented

    return method, reflected


_PYTHONS = (int, float, complex)  # types of numbers that Python itself computes with


def _answers(other: Any) -> bool:
    """Whether the class of an operand says by `__array_ufunc__` what an operation with a Tensor is."""
    return protocol_of(type(other)) is not None and not is_array(other)


def _answered(found: Any) -> Any:
    """The answer of a comparison of Python's numbers as Python's own: a method `__bool__` may return it, and nothing else."""
    if not LOCAL.depth or not isinstance(found, Operand) or type(found._value) is not bool:
        return found
    unseen = LOCAL.watch is None or type(LOCAL.watch) is Pieces  # gs.why wants to know where it is tested
    return found if capturing() or levels_of(found) or not unseen else found._value


def _compares(fn: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """`<` and its like."""
    compare = _binary(fn)[0]

    def method(self: Any, other: Any) -> Any:
        found = compare(self, other)
        return found if found is NotImplemented else _answered(found)

    return method


def _asks(fn: Callable[..., Any], otherwise: bool) -> Callable[[Any, Any], Any]:
    """`==` and `!=`: beside what holds no numbers, one answer; inside a transform NumPy's, one for each element."""
    ask = _binary(fn)[0]

    def method(self: Any, other: Any) -> Any:
        found = ask(self, other)
        if found is NotImplemented and LOCAL.depth and not hasattr(type(other), "__array_ufunc__"):
            return apply(require(np.full), (self.shape, otherwise), {}) if self.shape else otherwise
        return found if found is NotImplemented else _answered(compared(found, otherwise, self, other))

    return method


def _in_place(fn: Callable[..., Any], symbol: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        scalar = not is_plain_array(self._value) or bool(levels_of(self) and not self.ndim)
        if scalar and is_numpys(self):
            return eager_writes.rebound(self, apply2(op, self, other), f"x {symbol} y", other)
        if symbol == "@=" and np.ndim(other) == 1:
            raise ValueError("inplace matrix multiplication takes a second operand of at least two dimensions")
        try:
            return eager_writes.update(self, lambda x: apply2(op, x, other), f"x {symbol} y", other)
        except Foreign:
            return NotImplemented

    op = require(fn)
    return method


class Operators(_Base):
    """The operators of Tensor: arithmetic, comparison and indexing."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Tensor:
        if not LOCAL.__dict__["depth"] and is_plain_array(self._value) and not is_numpys(self):
            parts = index if isinstance(index, tuple) else (index,)
            if all(isinstance(p, (int, np.integer, slice)) and not isinstance(p, bool) for p in parts):
                index = (*parts, ...)  # so that one element of a bare Tensor is a view, as in PyTorch
        door = None if LOCAL.__dict__["slow"] or tensor_base.volatile_class else _GETITEM.doors.get(2)
        found = through_door(_GETITEM, (self, index), {}) if door is None else door(self, index)
        if found is NotImplemented:
            found = apply(_GETITEM, (self, index), {})
        if LOCAL.__dict__["depth"]:
            scalar = isinstance(found._value, np.generic)
            if type(index) is int or (type(index) is tuple and {*map(type, index)} == _INT):
                if scalar:  # as `note_read` does, whose call costs as much as the read
                    found._read = (weakref.ref(self), weakref.ref(self._value), index)
            elif scalar or not names_once(index):
                traced_writes.note_read(found, self, index)
        return found  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        eager_writes.set_item(self, index, value)

    if not TYPE_CHECKING:  # method_types.pyi has their types
        __add__, __radd__ = _binary(operator.add)
        __sub__, __rsub__ = _binary(operator.sub)
        __mul__, __rmul__ = _binary(operator.mul)
        __truediv__, __rtruediv__ = _binary(operator.truediv)
        __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
        __mod__, __rmod__ = _binary(operator.mod)
        __pow__, __rpow__ = _binary(operator.pow)
        __matmul__, __rmatmul__ = _binary(operator.matmul)
        __and__, __rand__ = _binary(operator.and_)
        __or__, __ror__ = _binary(operator.or_)
        __xor__, __rxor__ = _binary(operator.xor)
        __lshift__, __rlshift__ = _binary(operator.lshift)
        __rshift__, __rrshift__ = _binary(operator.rshift)
        __lt__, __gt__ = _compares(operator.lt), _compares(operator.gt)
        __le__, __ge__ = _compares(operator.le), _compares(operator.ge)
        __eq__, __ne__ = _asks(operator.eq, False), _asks(operator.ne, True)
        __neg__ = _unary(operator.neg)
        __pos__ = _unary(operator.pos)
        __abs__ = _unary(abs)
        __invert__ = _unary(operator.invert)
        __iadd__ = _in_place(operator.add, "+=")
        __isub__ = _in_place(operator.sub, "-=")
        __imul__ = _in_place(operator.mul, "*=")
        __itruediv__ = _in_place(operator.truediv, "/=")
        __ifloordiv__ = _in_place(operator.floordiv, "//=")
        __imod__ = _in_place(operator.mod, "%=")
        __ipow__ = _in_place(operator.pow, "**=")
        __imatmul__ = _in_place(operator.matmul, "@=")
        __iand__ = _in_place(operator.and_, "&=")
        __ior__ = _in_place(operator.or_, "|=")
        __ixor__ = _in_place(operator.xor, "^=")
        __ilshift__ = _in_place(operator.lshift, "<<=")
        __irshift__ = _in_place(operator.rshift, ">>=")

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            if LOCAL.depth and not levels_of(self):  # an int, whose slope is zero: nothing is lost
                return round(leave(alias(apply(require(np.rint), (self,), {})), "int"))
            return round(float(leave(self, "step")))
        if type(self._value) is float and not levels_of(
            self
        ):  # Python's, which rounds the decimal number; its slope is zero
            if LOCAL.watch is not None:
                apply(require(np.round), (self, digits), {})  # a step at nearly the same places
            return told(self, round(leave(self, "step"), digits))
        return apply(require(np.round), (self, digits), {})

    @property
    def base(self) -> Any:
        """The array that the memory belongs to, None where it is this one's own."""
        return np.asarray(leave(self, "flags")).base

    def __trunc__(self) -> int:
        return int(float(leave(self, "step")))

    def __floor__(self) -> int:
        return math.floor(float(leave(self, "step")))

    def __ceil__(self) -> int:
        return math.ceil(float(leave(self, "step")))

    def hex(self) -> str:
        """The number in hexadecimal, as `float.hex` writes it."""
        return self._double().hex()

    def as_integer_ratio(self) -> tuple[int, int]:
        """The number as a fraction, as `float.as_integer_ratio` gives it; to a library, which computes with it, only without a
        gradient (GradientLossError).
        """
        if self._node is not None and LOCAL.depth and LOCAL.grad and asks_for_a_library():
            raise loss("float")
        return self._double().as_integer_ratio()

    def _double(self) -> float:
        return float(np.asarray(leave(self, "step")).item())

    def is_integer(self) -> bool:
        """Whether a number is a whole one, as `float.is_integer` says."""
        return self._double().is_integer()


_GETITEM = require(operator.getitem)
_INT = {int}
