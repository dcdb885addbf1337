"""Vectors along an axis: their lengths, angles and distances, and one-hot vectors of class indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.support import happens
from .shared import arrays, axis_of, counted

__all__ = ["cosine_similarity", "normalize", "one_hot", "pairwise_distance", "pdist"]


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Divide vectors along `dim` by their `p`-norms, of which none counts as less than `eps`.

    A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    (x,) = arrays(input)
    return x / np.clip(_norm(x, p, axis_of(x, dim), True), eps, None)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Return the cosine of the angle between vectors along `dim`; no length counts as less than `eps`.

    A `dim` that does not exist is an IndexError. Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.cosine_similarity(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
    array([0.6])
    """
    x1, x2 = arrays(x1, x2)
    axis = axis_of(x1 if np.ndim(x1) >= np.ndim(x2) else x2, dim) - max(np.ndim(x1), np.ndim(x2))
    lengths = np.clip(_norm(x1, 2, axis, False), eps, None) * np.clip(_norm(x2, 2, axis, False), eps, None)
    return np.sum(x1 * x2, axis=axis) / lengths


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """Return the `p`-norm of `x1 - x2 + eps` along the last axis.

    Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.pairwise_distance(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]), eps=0.0)
    array([5.])
    """
    x1, x2 = arrays(x1, x2)
    return _norm(x1 - x2 + eps, p, -1, keepdim)


def pdist(input: Any, p: float = 2.0) -> Any:
    """Return the `p`-norms of the differences of all pairs of rows, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Of equal rows the gradient is 0. Raises ShapeError (a RuntimeError) where there are no rows, or `p` is negative.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.pdist(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).round(3)
    array([5.   , 1.   , 4.243])
    """
    (x,) = arrays(input)
    if np.ndim(x) != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {np.ndim(x)}D")
    if p < 0:
        raise ShapeError(f"pdist only supports non-negative p values, got: {p}")
    n = int(np.shape(x)[0])
    pairs = np.triu(np.ones_like(x, dtype=bool, shape=(n, n)), 1)
    return _norm((x[:, None] - x[None])[pairs], p, -1, False)


def _norm(x: Any, p: float, axis: int, keepdims: bool) -> Any:
    return np.linalg.norm(x, None if p == 2 else p, axis=axis, keepdims=keepdims)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Make of each class index a row of `num_classes` zeros (by default the largest index plus one) with a one at the index.

    Indices that are no integers, are negative or too large are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.one_hot(np.array([1, 0]), 3)
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    (index,) = arrays(tensor)
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor: it is of {index.dtype}")
    if np.size(index) and happens(index < 0):
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not np.size(index):
            raise RuntimeError("Can not infer total number of classes from empty tensor: give num_classes.")
        num_classes = int(np.max(index)) + 1
    elif num_classes < 1:
        raise RuntimeError(f"num_classes should be positive: it is {num_classes}")
    elif np.size(index) and happens(index >= num_classes):
        raise RuntimeError(f"Class values must be smaller than num_classes: it is {num_classes}.")
    return (index[..., None] == counted(index, num_classes)).astype(np.int64)
