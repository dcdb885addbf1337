"""Tables read by whole numbers: their rows, and sums, means and maxima of bags of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import DtypeError, ShapeError
from ...runtime.rules.support import happens
from ...runtime.rules.tables import rows
from ...tracer.core.thread_state import no_grad
from .shared import arrays, constant, counted, drawn, taken

__all__ = ["embedding", "embedding_bag"]


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """Read the rows of a table `weight` (n, m) at the whole numbers of `input`: of shape (...), the result is (..., m).

    The row `padding_idx` takes no gradient. With `max_norm` rows that are read and longer, by the `norm_type`-norm, are first
    shortened in the table itself, which is not recorded. With `scale_grad_by_freq` the gradient of a row is divided by how
    often it is read. Numbers outside of [0, n) are an IndexError, a table of another shape a ShapeError, an input that
    holds no whole numbers a DtypeError; `sparse` is a NotImplementedError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.embedding(np.array([2, 0]), np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]))
    array([[3. , 3.5],
           [1. , 1.5]])
    """
    index, table = arrays(input, weight)
    index, padding_idx = _checked(index, table, padding_idx, sparse)
    if max_norm is not None:
        _shorten(table, index, max_norm, norm_type)
    found = rows(table, index)
    if scale_grad_by_freq:
        counts = taken(np.bincount(np.reshape(index, (-1,)), minlength=int(np.shape(table)[0])), index)
        kept = constant(found)
        found = kept + (found - kept) / counts[..., None].astype(found.dtype)
    if padding_idx is None:
        return found
    return np.where(np.expand_dims(index == padding_idx, -1), constant(found), found)


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Return the mean, "sum" or "max" of the rows of a table in each bag of whole numbers: (bags, m), of no rows zeros.

    `input` is (bags, length), or all bags one after the other, of which `offsets` says where each begins (and with
    `include_last_offset` where the last one ends). What is `padding_idx` counts nothing. `per_sample_weights`, of the input's
    shape, multiply the rows of a sum. `max_norm`, `scale_grad_by_freq` and the errors of numbers are those of `embedding`;
    forms and options that do not fit together are a ValueError, an offset out of order a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> table = np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    >>> gs.functional.embedding_bag(np.array([0, 1, 2, 2]), table, np.array([0, 3]), mode="sum")
    array([[6. , 7.5],
           [3. , 3.5]])
    """
    index, table = arrays(input, weight)
    weights = None if per_sample_weights is None else arrays(per_sample_weights)[0]
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max: it is {mode!r}")
    if weights is not None and np.shape(weights) != np.shape(index):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({np.shape(weights)}) is not None, then it must have the same shape as "
            f"the input ({np.shape(index)})"
        )
    if weights is not None and mode != "sum":
        raise NotImplementedError(f"per_sample_weights is only supported for mode='sum' (got mode={mode!r})")
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {what}")
    index, there, weights = _bags(index, offsets, weights, include_last_offset)
    if padding_idx is not None and np.ndim(table) == 2:
        there = there & (index != padding_idx % int(np.shape(table)[0]))
    found = embedding(index, table, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    there = there[..., None]
    if mode == "max":
        first = np.argmax(np.where(there, constant(found), -np.inf), axis=1, keepdims=True)
        most = np.take_along_axis(found, first, axis=1)[:, 0]
        return np.where(np.any(there, axis=1), most, 0)
    total = np.sum(np.where(there, found if weights is None else found * weights[..., None], 0), axis=1)
    return total if mode == "sum" else total / np.maximum(np.sum(there, axis=1), 1).astype(total.dtype)


def _bags(index: Any, offsets: Any, weights: Any, include_last_offset: bool) -> tuple[Any, Any, Any]:
    """The numbers as one row for each bag, which of them are there, and their weights."""
    if np.ndim(index) == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as each row of the input is a bag")
        return index, np.ones_like(index, dtype=bool), weights
    if np.ndim(index) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {np.ndim(index)}")
    if offsets is None or np.ndim(offsets) != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {None if offsets is None else np.shape(offsets)}")
    (starts,) = arrays(offsets)
    n = np.size(index)
    if include_last_offset:
        starts, ends = starts[:-1], starts[1:]
    else:
        ends = np.concatenate([starts[1:], np.full_like(starts[:1], n)])
    if happens(starts[:1] != 0):
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0."
        )
    if happens((ends < starts) | (ends > n)):
        raise RuntimeError(f"offsets must go up, and none can be greater than input's length {n}")
    longest = int(np.max(ends - starts)) if np.size(starts) else 0
    columns = counted(starts, longest)
    places = np.minimum(starts[:, None] + columns, max(n - 1, 0))
    there = columns < (ends - starts)[:, None]
    if not n:
        return places, there, weights
    return taken(index, places), there, None if weights is None else taken(weights, places)


def _checked(index: Any, table: Any, padding_idx: int | None, sparse: bool) -> tuple[Any, int | None]:
    """The numbers, and which of them takes no gradient, both from 0 on; errors where they are none of a table's rows."""
    if sparse:
        raise NotImplementedError("gradients are dense in gradscribe: embedding has no `sparse`")
    if index.dtype.kind not in "iu":
        raise DtypeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{index.dtype} instead (while checking arguments for embedding)"
        )
    if np.ndim(table) != 2:
        raise ShapeError(f"'weight' must be 2-D, but has the shape {np.shape(table)}")
    n = int(np.shape(table)[0])
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise AssertionError(f"Padding_idx must be within num_embeddings: {padding_idx}, of {n}")
        padding_idx = padding_idx % n
    if drawn(index):
        return np.where(index < 0, n, index), padding_idx  # NumPy's IndexError, and none taken from the end
    if happens((index < 0) | (index >= n)):
        raise IndexError(f"index out of range in self: the table has {n} rows, and the numbers must lie in [0, {n})")
    return index, padding_idx


def _shorten(table: Any, index: Any, max_norm: float, norm_type: float) -> None:
    """Rows that are longer are given the length `max_norm`, in the table; PyTorch's 1e-7 keeps off a division by zero."""
    with no_grad():
        index = np.reshape(index, (-1,))
        read = constant(table)[index]
        norms = np.linalg.norm(read, None if norm_type == 2 else norm_type, axis=1, keepdims=True)
        table[index] = read * np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0).astype(read.dtype)
