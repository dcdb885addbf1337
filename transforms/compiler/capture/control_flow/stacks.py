"""Stacks that a loop fills or walks, one item for each trip, while capturing: one item stands for a list of any length."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....runtime.ir.graph import Value
from .....tracer.core.listening import control_flow
from .....tracer.core.tensor_base import wrap
from .....tracer.tensors.tensor import Tensor

__all__ = ["META", "Stack", "stacked"]

META = ((), np.dtype(object))  # what the engine knows of the cotangent of a stack


class Stack(Tensor):
    """A Tensor that holds the list; `_value` is a list of one item."""

    __slots__ = ()

    _levels: tuple[Any, ...]  # the vmaps whose axes each item hides

    @property
    def shape(self) -> Any:
        """None: what the engine compares."""
        return ()

    @property
    def dtype(self) -> Any:
        """None of NumPy's."""
        return META[1]

    def __add__(self, other: Any) -> Any:
        """The sum of two cotangents, item by item."""
        return control_flow().sum_of_stacks(self, other)


def stacked(item: Any, ir: Value | None, node: Any = None) -> Stack:
    """A stack of which one item is known."""
    made: Stack = wrap([item], node)
    made.__class__ = Stack
    if ir is not None:
        made._ir = ir
    return made
