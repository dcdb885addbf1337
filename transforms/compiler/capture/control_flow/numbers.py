"""Python numbers in a region: Tensors that hold them, on which operators give such Tensors again."""

from __future__ import annotations

from typing import Any

from .....tracer.core.tensor_base import Operand

__all__ = ["is_number"]


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's, traced."""
    return isinstance(value, Operand) and type(value._value) in (int, float, bool)
