"""Python's own numbers in a region: a counter stays an int, and is calculated with Python's operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ....runtime.registry import require
from ....tracer.modes import LOCAL
from ....tracer.operand import Operand, wrap
from ....tracer.tensor import Tensor

__all__ = ["Number", "number"]

_PLAIN = (int, float, bool)


def number(value: Any, ir: Any) -> Number:
    """A number of Python's that stands for a value of a region."""
    made: Number = wrap(value)
    made.__class__ = Number
    made._ir = ir
    return made


def _with(other: Any) -> bool:
    return type(other) in _PLAIN or (isinstance(other, int) and not isinstance(other, Operand)) or is_number(other)


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's, traced."""
    return isinstance(value, Operand) and type(value._value) in _PLAIN


def calculated(fn: Callable[..., Any], *operands: Any) -> Any:
    """`fn` of traced numbers and plain ones, written down as Python's operation."""
    recorder: Any = LOCAL.recorder
    if recorder is None:
        return fn(*[v._value if isinstance(v, Operand) else v for v in operands])
    return recorder.regions.calculated(require(fn), operands)


def _binary(fn: Callable[..., Any], name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    usual = getattr(Tensor, name)
    reflected = getattr(Tensor, f"__r{name[2:]}", None)

    def method(self: Any, other: Any) -> Any:
        return calculated(fn, self, other) if _with(other) else usual(self, other)

    def swapped(self: Any, other: Any) -> Any:
        return calculated(fn, other, self) if _with(other) else reflected(self, other)  # type: ignore[misc]

    return method, swapped


def _unary(fn: Callable[..., Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return calculated(fn, self)

    return method


class Number(Tensor):
    """A Tensor that holds a number of Python's: among its like it stays one."""

    __slots__ = ()

    __add__, __radd__ = _binary(operator.add, "__add__")
    __sub__, __rsub__ = _binary(operator.sub, "__sub__")
    __mul__, __rmul__ = _binary(operator.mul, "__mul__")
    __truediv__, __rtruediv__ = _binary(operator.truediv, "__truediv__")
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv, "__floordiv__")
    __mod__, __rmod__ = _binary(operator.mod, "__mod__")
    __pow__, __rpow__ = _binary(operator.pow, "__pow__")
    __and__, __rand__ = _binary(operator.and_, "__and__")
    __or__, __ror__ = _binary(operator.or_, "__or__")
    __xor__, __rxor__ = _binary(operator.xor, "__xor__")
    __lt__, __le__ = _binary(operator.lt, "__lt__")[0], _binary(operator.le, "__le__")[0]
    __gt__, __ge__ = _binary(operator.gt, "__gt__")[0], _binary(operator.ge, "__ge__")[0]
    __eq__, __ne__ = _binary(operator.eq, "__eq__")[0], _binary(operator.ne, "__ne__")[0]
    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __invert__ = _unary(operator.invert)
    __abs__ = _unary(abs)
    __iadd__, __isub__, __imul__ = __add__, __sub__, __mul__
    __itruediv__, __ifloordiv__, __imod__, __ipow__ = __truediv__, __floordiv__, __mod__, __pow__
    __hash__ = Tensor.__hash__
