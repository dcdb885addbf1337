"""Products with weights: linear and bilinear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .shared import arrays

__all__ = ["bilinear", "linear"]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return `input @ weight.T + bias`: of shape (..., n), (m, n) and (m,), the result is (..., m).

    A weight of one axis gives one number for each row. Raises ShapeError (a RuntimeError) where the sizes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.linear(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 1.0]]), np.array([0.0, 10.0]))
    array([ 1., 15.])
    """
    x, w = arrays(input, weight)
    if not 1 <= np.ndim(w) <= 2:
        raise ShapeError(f"linear expects a weight with <= 2 dimensions, but self is {np.ndim(w)}D")
    if not np.ndim(x) or np.shape(x)[-1] != np.shape(w)[-1]:
        rows = np.shape(x)
        found = f"{_product(rows[:-1])}x{rows[-1]}" if rows else "a number"
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({found} and {'x'.join(map(str, np.shape(w)[::-1]))}): "
            f"the input has {np.shape(x)}, the weight {np.shape(w)}, whose last axes must be of one length"
        )
    found = x @ w.T
    return found if bias is None else found + arrays(bias)[0]


def _product(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """Return `input1 @ weight[k] @ input2 + bias[k]` for each k: of (..., n), (..., m) and (k, n, m), the result is (..., k).

    Raises ShapeError where the sizes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.bilinear(np.array([[1.0, 2.0]]), np.array([[3.0]]), np.array([[[1.0], [10.0]]]))
    array([[63.]])
    """
    x, y, w = arrays(input1, input2, weight)
    if np.ndim(w) != 3:
        raise ShapeError(f"bilinear(): weight must have 3 dimensions, but has the shape {np.shape(w)}")
    for axis, (one, other) in enumerate(zip(np.shape(x)[:-1], np.shape(y)[:-1], strict=False)):
        if one != other:
            raise ShapeError(f"bilinear(): input batch dimensions do not match at dim {axis}: got {one} and {other}")
    if np.ndim(x) != np.ndim(y):
        raise ShapeError(f"bilinear(): input dimensions do not match: got {np.ndim(x)} and {np.ndim(y)}")
    for k, v in ((1, x), (2, y)):
        if np.shape(v)[-1] != np.shape(w)[k]:
            raise ShapeError(
                f"bilinear(): input{k} size does not match weight size: got {np.shape(v)[-1]} but expected {np.shape(w)[k]}"
            )
    # x @ w[k] for all k in one product; then a sum for each k
    found = np.sum(np.tensordot(x, w, (-1, 1)) * np.expand_dims(y, -2), axis=-1)
    if bias is None:
        return found
    (b,) = arrays(bias)
    if np.shape(b)[0] != np.shape(w)[0]:
        raise ShapeError(
            f"bilinear(): bias size does not match weight size: got {np.shape(b)[0]} but expected {np.shape(w)[0]}"
        )
    return found + b
