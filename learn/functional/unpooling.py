"""Max-pools undone: each maximum is put back where it stood, among zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.support import happens
from .pooling import Lengths
from .shared import arrays, counted, per_axis

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:  # fmt: skip
    """The maxima of `max_pool1d(..., return_indices=True)` at their `indices`, and zeros elsewhere.

    The result has the length of a pool's input, `(n - 1) * stride - 2 * padding + kernel_size`, or `output_size`, which is less
    than a stride from that, else a ValueError. Of several at one place the last stays. Places that do not exist, and shapes that
    disagree, are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool1d(np.array([[5.0, 3.0]]), np.array([[1, 3]]), 2)
    array([[0., 5., 0., 3.]])
    """
    return _put_back("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:  # fmt: skip
    """`max_unpool1d` over two axes.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool2d(np.array([[[5.0]]]), np.array([[[2]]]), 2)
    array([[[0., 0.],
            [5., 0.]]])
    """
    return _put_back("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:  # fmt: skip
    """`max_unpool1d` over three axes.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool3d(np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, 1), int), 2).sum()
    np.float64(1.0)
    """
    return _put_back("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def _put_back(
    name: str, n: int, input: Any, indices: Any, kernel_size: Lengths, stride: Any, padding: Lengths, output_size: Any
) -> Any:
    x, places = arrays(input, indices)
    if np.ndim(x) not in (n + 1, n + 2):
        raise ShapeError(f"Input to {name} should be a {n + 1}d or {n + 2}d Tensor, but got {np.ndim(x)} dimensions")
    if places.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): elements in indices should be type int64 but got: {places.dtype}")
    if np.shape(places) != np.shape(x):
        raise ShapeError(
            f"{name}(): Expected shape of indices to be same as that of the input tensor ({list(np.shape(x))}) but got indices "
            f"tensor with shape: {list(np.shape(places))}"
        )
    size = per_axis(kernel_size, n)
    strides = size if stride is None or stride == () or stride == [] else per_axis(stride, n)
    lengths = _lengths(np.shape(x)[-n:], size, strides, per_axis(padding, n), output_size)
    total = int(np.prod(lengths))
    if happens((places < 0) | (places >= total)):
        raise RuntimeError(f"Found an invalid max index: the output has the size {' x '.join(map(str, lengths))}")
    front = np.shape(x)[:-n]
    lines = int(np.prod(front))
    out = np.zeros_like(x, shape=(lines, total))
    out[counted(places, lines)[:, None], np.reshape(places, (lines, -1))] = np.reshape(x, (lines, -1))
    return np.reshape(out, (*front, *lengths))


def _lengths(given: Any, size: Any, strides: Any, padding: Any, output_size: Any) -> list[int]:
    """The lengths of the result."""
    found = [(int(m) - 1) * s - 2 * p + k for m, s, p, k in zip(given, strides, padding, size, strict=True)]
    if output_size is None:
        return found
    wanted = list(output_size)[-len(found) :]
    if len(wanted) != len(found) or len(output_size) not in (len(found), len(found) + 2):
        raise ValueError(
            f"output_size should be a sequence containing {len(found)} or {len(found) + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    if any(not f - s < w < f + s for f, s, w in zip(found, strides, wanted, strict=True)):
        raise ValueError(f"invalid output_size {wanted}: each length must be less than a stride from {found}")
    return [int(w) for w in wanted]
