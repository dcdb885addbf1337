"""Rows of a table, read by whole numbers from zero on: `table[index]`, and its gradient the same bits."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall
from ..memory import MAY
from ..ops import Kind
from ..registry import batching, primitive, rule
from .indexing import scatter_rows

__all__ = ["rows"]


@primitive("x, index", Kind.linear, memory=MAY)
def rows(x: Any, index: Any) -> Any:
    """The rows of a matrix at whole numbers from zero on."""
    return x[index]


rule(rows, x=lambda g, index, x_shape, x_dtype: scatter_rows(g, index, x_shape, x_dtype), index=None)


@batching(rows)
def batched_rows(call: BatchedCall) -> Any:
    """Rows of one table, or of one for each example."""
    x, index = call["x"], call["index"]
    if not call.is_mapped("x"):
        return call.run()
    if not call.is_mapped("index"):
        return x[:, index]
    return x[np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * call.ndim("index"))), index]
