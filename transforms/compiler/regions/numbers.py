"""Python's own numbers in a region: Tensors that hold them, among which Python's operators run and give such again."""

from __future__ import annotations

from typing import Any

from ....tracer.operand import Operand, wrap

__all__ = ["is_number", "number"]


def number(value: Any, ir: Any) -> Any:
    """A number of Python's that stands for a value of a region."""
    made = wrap(value)
    made._ir = ir
    return made


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's, traced."""
    return isinstance(value, Operand) and type(value._value) in (int, float, bool)
