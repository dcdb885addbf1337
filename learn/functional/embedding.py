"""Tables read by whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import DtypeError, ShapeError
from ...runtime.rules.support import happens
from ...runtime.rules.tables import rows
from .shared import arrays, constant, drawn

__all__ = ["embedding"]


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of a table `weight` (n, m) at the whole numbers of `input`: of shape (...), the result is (..., m).

    The row `padding_idx` takes no gradient. Numbers outside of [0, n) are an IndexError, a table of another shape a ShapeError,
    an input that holds no whole numbers a DtypeError. Not here are `max_norm`, which changes the table, `scale_grad_by_freq` and
    `sparse`: a NotImplementedError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.embedding(np.array([2, 0]), np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]))
    array([[3. , 3.5],
           [1. , 1.5]])
    """
    index, table = arrays(input, weight)
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding has no max_norm, scale_grad_by_freq or sparse in gradscribe: scale the table, or its gradient, outside"
        )
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
        index = np.where(index < 0, n, index)  # NumPy's IndexError, and none taken from the end
    elif happens((index < 0) | (index >= n)):
        raise IndexError(f"index out of range in self: the table has {n} rows, and the numbers must lie in [0, {n})")
    found = rows(table, index)
    if padding_idx is None:
        return found
    return np.where(np.expand_dims(index == padding_idx, -1), constant(found), found)
