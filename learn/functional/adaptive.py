"""Pools to a given size: the means or the maxima of pieces as equal as can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .shared import arrays

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]  # fmt: skip


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """`output_size` means along the last axis, of pieces as equal as can be: the k-th of what lies in `[k n / m, (k + 1) n / m)`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool1d(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2)
    array([[2., 4.]])
    """
    return _mean("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """`adaptive_avg_pool1d` along the last two axes; None in place of a length keeps that axis as it is.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool2d(np.arange(6.0).reshape(1, 2, 3), (1, None))
    array([[[1.5, 2.5, 3.5]]])
    """
    return _mean("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """`adaptive_avg_pool1d` along the last three axes; None in place of a length keeps that axis as it is.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[3.5]]]])
    """
    return _mean("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of the pieces that `adaptive_avg_pool1d` takes the means of; of equal elements the first takes the gradient.

    With `return_indices` also where each maximum stands, counted along the axes that are pooled.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool1d(np.array([[1.0, 5.0, 3.0, 4.0, 2.0]]), 2, return_indices=True)
    (array([[5., 4.]]), array([[1, 3]]))
    """
    return _greatest("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d` along the last two axes; None in place of a length keeps that axis as it is.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool2d(np.arange(6.0).reshape(1, 2, 3), (1, None))
    array([[[3., 4., 5.]]])
    """
    return _greatest("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d` along the last three axes; None in place of a length keeps that axis as it is.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[7.]]]])
    """
    return _greatest("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _mean(name: str, n: int, input: Any, output_size: Any) -> Any:
    (x,) = arrays(input)
    for axis, m in _axes(name, n, x, output_size):
        pieces = [np.mean(x[at], axis=axis) for at in _pieces(x, axis, m)]
        x = np.stack(pieces, axis=axis) if m else x[_along(axis, slice(0, 0))]
    return x


def _greatest(name: str, n: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    (x,) = arrays(input)
    shape = (*(1,) * (np.ndim(x) - n), *np.shape(x)[-n:])
    where = np.reshape(np.cumsum(np.ones_like(x, dtype=np.int64, shape=shape)) - 1, shape) if return_indices else None
    axes = list(_axes(name, n, x, output_size))
    for axis, m in reversed(axes):  # so that of equal elements the first in C order is left
        pieces = list(_pieces(x, axis, m))
        first = [np.argmax(x[at], axis=axis, keepdims=True) for at in pieces]

        def of(v: Any, axis: int = axis, pieces: Any = pieces, first: Any = first) -> Any:
            found = [np.take_along_axis(v[at], k, axis) for at, k in zip(pieces, first, strict=True)]
            return np.concatenate(found, axis=axis) if found else v[_along(axis, slice(0, 0))]

        x, where = of(x), None if where is None else of(where)
    return x if where is None else (x, where)


def _axes(name: str, n: int, x: Any, output_size: Any) -> Iterator[tuple[int, int]]:
    """The axes that are pooled, and to which length."""
    if np.ndim(x) not in (n + 1, n + 2):
        raise ShapeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(np.shape(x))}")
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(given) != n:
        raise ShapeError(f"{name}: output_size must be {n}, but got {len(given)} lengths")
    for axis, m in zip(range(-n, 0), given, strict=True):
        if m is not None and m < 0:
            raise ShapeError(
                f"{name}: elements of output_size must be greater than or equal to 0 but received {list(given)}"
            )
        if m is not None:
            yield axis, m


def _pieces(x: Any, axis: int, m: int) -> Iterator[Any]:
    """The index of each of `m` pieces along an axis."""
    k = np.shape(x)[axis]
    for j in range(m):
        yield _along(axis, slice(j * k // m, -(-(j + 1) * k // m)))


def _along(axis: int, part: slice) -> Any:
    return (..., part, *[slice(None)] * (-axis - 1))
