"""Rows of a table, read by whole numbers and added back.

A rule of its own: `np.add.at` adds single numbers at single places five times as fast as rows (2,048 of 64 numbers each), so that
here each number has its place. They are added in the same order, and give the same bits as `table[index]` differentiated.
"""

from __future__ import annotations

from typing import Any

from ..batching import BatchedCall
from ..memory import MAY
from ..ops import Kind
from ..registry import batching, primitive, rule
from ..unpatched import np

__all__ = ["added_rows", "rows"]


@primitive("x, index", Kind.linear, memory=MAY)
def rows(x: Any, index: Any) -> Any:
    """The rows of a matrix at whole numbers from zero on."""
    return x[index]


@primitive("g, index, shape, dtype", Kind.linear)
def added_rows(g: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a matrix's shape to whose rows, at whole numbers from zero on, others are added: `rows`, put back."""
    out = np.zeros(shape, dtype)
    places = np.arange(out.size).reshape(shape)[index]
    np.add.at(out.reshape(-1), places.reshape(-1), g.reshape(-1))
    return out


rule(rows, x=lambda g, index, x_shape, x_dtype: added_rows(g, index, x_shape, x_dtype), index=None)


@batching(rows)
def batched_rows(call: BatchedCall) -> Any:
    """Rows of one table, or of one for each example."""
    x, index = call["x"], call["index"]
    if not call.is_mapped("x"):
        return call.run()
    if not call.is_mapped("index"):
        return x[:, index]
    return x[np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * call.ndim("index"))), index]


rule(added_rows, g=lambda g, index: rows(g, index), index=None)


@batching(added_rows)
def batched_added_rows(call: BatchedCall) -> Any:
    """Added to the rows of one long table, which holds those of all examples."""
    (n, m), index = call["shape"], call.spread("index")
    first = np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * call.ndim("index"))) * n
    found = call.run(g=call.spread("g"), index=index + first, shape=(call.size * n, m))
    return np.reshape(found, (call.size, n, m))
