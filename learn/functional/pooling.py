"""Pools: the maximum or the mean of each window, or of each of so many pieces; and maxima put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.support import happens
from ...runtime.rules.windows import Lie, first_hits, lie, max_windows, windows
from .shared import Lengths, arrays, counted, over_axes, per_axis

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def max_pool(
    n: int, input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, dilation: Lengths = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maximum of each window over `n` axes."""
    return _greatest(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


max_pool1d, max_pool2d, max_pool3d = over_axes(
    max_pool,
    """Return the maximum of each window of `kernel_size`, every `stride` (by default the window's size).

    The input is (examples, channels, length), where the examples may be missing. Of equal elements the first takes the
    gradient, as in PyTorch. `padding` counts as minus infinity; under `ceil_mode` the last window may reach beyond the end. With
    `return_indices` also where each maximum stands, counted along the axes that the windows slide over. Raises ShapeError (a
    RuntimeError) where sizes make no sense.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2, return_indices=True)
    (array([[5., 3.]]), array([[1, 3]]))
    """,
    """Apply `max_pool1d` over two axes: (examples, channels, height, width).

    Errors are those of `max_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 5.,  7.],
            [13., 15.]]])
    """,
    """Apply `max_pool1d` over three axes: (examples, channels, depth, height, width).

    Errors are those of `max_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[7.]]]])
    """,
)


def avg_pool1d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """Return the mean of each window of `kernel_size`, every `stride` (by default the window's size).

    The input is (examples, channels, length), where the examples may be missing. The zeros of `padding` count as elements
    unless `count_include_pad` is False; what `ceil_mode` lets a window reach beyond them never counts. Raises ShapeError (a
    RuntimeError) where sizes make no sense.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2)
    array([[3. , 2.5]])
    """
    return _mean("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool(
    n: int, input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Return the mean of each window over `n` axes."""
    return _mean(
        f"avg_pool{n}d", n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


avg_pool2d, avg_pool3d = over_axes(
    avg_pool,
    """Apply `avg_pool1d` over two axes: (examples, channels, height, width); `divisor_override` takes the place of the count.

    A `divisor_override` of 0 is a ShapeError; other errors are those of `avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """,
    """Apply `avg_pool2d` over three axes: (examples, channels, depth, height, width).

    Errors are those of `avg_pool2d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[3.5]]]])
    """,
)


def lp_pool(
    n: int, input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False
) -> Any:
    """Return the norm of each window over `n` axes."""
    name = f"lp_pool{n}d"
    (x,) = arrays(input)
    if abs(norm_type) == np.inf:
        sign = 1 if norm_type > 0 else -1
        return sign * _greatest(name, n, sign * np.abs(x), kernel_size, stride, 0, 1, ceil_mode, False)
    count = int(np.prod(per_axis(kernel_size, n)))
    return (_mean(name, n, x**norm_type, kernel_size, stride, 0, ceil_mode, True, None) * count) ** (1.0 / norm_type)


lp_pool1d, lp_pool2d, lp_pool3d = over_axes(
    lp_pool,
    """Return the `norm_type`-norm of each window: `(sum of x**p) ** (1 / p)`, of infinity the greatest absolute value.

    As in PyTorch a sum that is negative counts as it is, and so gives NaN unless `1 / p` is a whole number. Without
    `stride` windows do not overlap. Raises ShapeError (a RuntimeError) for another number of axes, and where no window
    fits.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool1d(np.array([[3.0, 4.0, 0.0, 2.0]]), 2, 2)
    array([[5., 2.]])
    """,
    """Apply `lp_pool1d` over two axes: (examples, channels, height, width).

    Errors are those of `lp_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool2d(np.array([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)
    array([[[2.]]])
    """,
    """Apply `lp_pool1d` over three axes: (examples, channels, depth, height, width).

    Errors are those of `lp_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool3d(np.ones((1, 2, 2, 4)), 1, 2)
    array([[[[8., 8.]]]])
    """,
)


def _greatest(
    name: str, n: int, input: Any, kernel_size: Lengths, stride: Any, padding: Lengths, dilation: Lengths, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    (x,) = arrays(input)
    layout = Layout(name, n, x, kernel_size, stride, padding, dilation, ceil_mode)
    x, size, how = layout.last(x), layout.size, layout.how
    padded = layout.padded(x, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
    found = max_windows(padded, size, *how)
    if not return_indices:
        return layout.first(found)
    shape = (1, *np.shape(x)[1 : n + 1], *(1,) * layout.many)
    places = np.reshape(np.cumsum(np.ones_like(x, dtype=np.int64, shape=shape)) - 1, shape)
    hits = first_hits(padded, found, size, *how)
    where = np.sum(np.where(hits, windows(layout.padded(places, 0), *how), 0), axis=how.front)
    return layout.first(found), layout.first(where)


def _mean(
    name: str, n: int, input: Any, kernel_size: Lengths, stride: Any, padding: Lengths, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    (x,) = arrays(input)
    if divisor == 0:
        raise ShapeError("divisor must be not zero")
    layout = Layout(name, n, x, kernel_size, stride, padding, 1, ceil_mode)
    x, how = layout.last(x), layout.how

    def total(v: Any) -> Any:
        return np.sum(windows(v, *how), axis=how.front)

    sums = total(layout.padded(x, 0))
    if divisor is not None:
        return layout.first(sums / divisor)
    if any(layout.beyond) or (any(layout.padding) and not count_include_pad):  # windows of different counts
        one = np.ones_like(x, shape=(1, *np.shape(x)[1 : n + 1], *(1,) * layout.many))
        return layout.first(sums / total(layout.padded(one, 0, 1 if count_include_pad else 0)))
    return layout.first(sums / int(np.prod(layout.size)))


class Layout:
    """How the windows of a pool lie, and how its input is padded."""

    def __init__(
        self, name: str, n: int, x: Any, kernel_size: Lengths, stride: Any, padding: Lengths, dilation: Lengths, ceil: bool
    ) -> None:  # fmt: skip
        if np.ndim(x) not in (n + 1, n + 2):
            raise ShapeError(
                f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor, non-empty, for input, but got: {list(np.shape(x))}"
            )
        each: Callable[[str, Any], tuple[int, ...]] = lambda what, v: _each(name, what, v, n)
        self.size, self.padding = each("kernel_size", kernel_size), each("padding", padding)
        strides = self.size if stride is None or stride == () or stride == [] else each("stride", stride)
        dilations = each("dilation", dilation)
        if min(*self.size, *strides) <= 0:
            raise ShapeError(
                f"{name}: stride should not be zero, nor kernel_size, but got stride={strides}, kernel_size={self.size}"
            )
        if min(dilations) <= 0:
            raise ShapeError(f"{name}: dilation should be greater than zero, but got dilation={dilations}")
        span = [d * (k - 1) + 1 for k, d in zip(self.size, dilations, strict=True)]
        if any(p < 0 or p > (s if n > 1 else k) // 2 for p, s, k in zip(self.padding, span, self.size, strict=True)):
            raise ShapeError(
                f"{name}: pad should be at most half of effective kernel size (padding should be at most half of kernel "
                f"size), but got padding={self.padding}, kernel_size={self.size} and dilation={dilations}"
            )
        self.many = np.ndim(x) == n + 2
        self.how: Lie = lie(self.size, strides, dilations, int(self.many))
        self.beyond: list[int] = []  # how far the last windows reach over the padding
        counts = []  # how many windows there are
        for m, p, s, k in zip(np.shape(x)[-n:], self.padding, strides, span, strict=True):
            room = int(m) + 2 * p - k
            count = (-(-room // s) if ceil else room // s) + 1
            if ceil and (count - 1) * s >= m + p:  # a window must begin within the input or before it
                count -= 1
            counts.append(count)
            self.beyond.append(max((count - 1) * s - room, 0))
        if min(counts) <= 0:
            raise ShapeError(
                f"{name}: Given input size: {np.shape(x)[-n - 1 :]}. Calculated output size: {tuple(counts)}. "
                "Output size is too small (Invalid computed output size)"
            )

    def last(self, x: Any) -> Any:
        """With the axis of examples last, as the windows are read fastest."""
        return np.moveaxis(x, 0, -1) if self.many else x

    def first(self, x: Any) -> Any:
        """With the axis of examples first."""
        return np.moveaxis(x, -1, 0) if self.many else x

    def padded(self, x: Any, value: Any, within: Any = None) -> Any:
        """With a value around it: `within` in the padding, if that is another than beyond it."""
        if within is not None and within != value and any(self.padding):
            x = self._surrounded(x, [(p, p) for p in self.padding], within)
            return self._surrounded(x, [(0, b) for b in self.beyond], value)
        return self._surrounded(x, [(p, p + b) for p, b in zip(self.padding, self.beyond, strict=True)], value)

    def _surrounded(self, x: Any, pads: list[tuple[int, int]], value: Any) -> Any:
        if all(p == (0, 0) for p in pads):
            return x
        wide = ((0, 0), *pads, *[(0, 0)] * self.many)
        return np.pad(x, wide, constant_values=value) if value else np.pad(x, wide)


def _each(name: str, what: str, value: Any, n: int) -> tuple[int, ...]:
    found = per_axis(value, n)
    if len(found) != n:
        raise ShapeError(f"{name}: {what} must either be a single int, or a tuple of {n} ints, but got {value}")
    return found


# Pools to a given size.


def adaptive_avg_pool(n: int, input: Any, output_size: Any) -> Any:
    """Return the means of pieces along the last `n` axes."""
    name = f"adaptive_avg_pool{n}d"
    (x,) = arrays(input)
    for axis, m in _axes(name, n, x, output_size):
        pieces = [np.mean(x[at], axis=axis) for at in _pieces(x, axis, m)]
        x = np.stack(pieces, axis=axis) if m else x[_along(axis, slice(0, 0))]
    return x


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = over_axes(
    adaptive_avg_pool,
    """Return `output_size` means along the last axis, of pieces as equal as can be: the k-th of `[k n / m, (k + 1) n / m)`.

    The input is (channels, n) or (examples, channels, n). Raises ShapeError (a RuntimeError) for another number of axes, or
    a negative length.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool1d(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2)
    array([[2., 4.]])
    """,
    """Apply `adaptive_avg_pool1d` along the last two axes; None in place of a length keeps that axis as it is.

    Errors are those of `adaptive_avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool2d(np.arange(6.0).reshape(1, 2, 3), (1, None))
    array([[[1.5, 2.5, 3.5]]])
    """,
    """Apply `adaptive_avg_pool1d` along the last three axes; None in place of a length keeps that axis as it is.

    Errors are those of `adaptive_avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[3.5]]]])
    """,
)


def adaptive_max_pool(n: int, input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of pieces along the last `n` axes."""
    name = f"adaptive_max_pool{n}d"
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


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = over_axes(
    adaptive_max_pool,
    """Return the maxima of the pieces that `adaptive_avg_pool1d` takes the means of.

    With `return_indices` also where each maximum stands, counted along the axes that are pooled. Of equal elements the
    first takes the gradient. Errors are those of `adaptive_avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool1d(np.array([[1.0, 5.0, 3.0, 4.0, 2.0]]), 2, return_indices=True)
    (array([[5., 4.]]), array([[1, 3]]))
    """,
    """Apply `adaptive_max_pool1d` along the last two axes; None in place of a length keeps that axis as it is.

    Errors are those of `adaptive_avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool2d(np.arange(6.0).reshape(1, 2, 3), (1, None))
    array([[[3., 4., 5.]]])
    """,
    """Apply `adaptive_max_pool1d` along the last three axes; None in place of a length keeps that axis as it is.

    Errors are those of `adaptive_avg_pool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[7.]]]])
    """,
)


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


# Max-pools undone.


def max_unpool(
    n: int, input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Return maxima put back where they stood along the last `n` axes."""
    name = f"max_unpool{n}d"
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
    lengths = _unpooled(np.shape(x)[-n:], size, strides, per_axis(padding, n), output_size)
    total = int(np.prod(lengths))
    if happens((places < 0) | (places >= total)):
        raise RuntimeError(f"Found an invalid max index: the output has the size {' x '.join(map(str, lengths))}")
    front = np.shape(x)[:-n]
    lines = int(np.prod(front))
    out = np.zeros_like(x, shape=(lines, total))
    out[counted(places, lines)[:, None], np.reshape(places, (lines, -1))] = np.reshape(x, (lines, -1))
    return np.reshape(out, (*front, *lengths))


max_unpool1d, max_unpool2d, max_unpool3d = over_axes(
    max_unpool,
    """Put the maxima of `max_pool1d(..., return_indices=True)` back at their `indices`, and zeros elsewhere.

    The result has the length of a pool's input, `(n - 1) * stride - 2 * padding + kernel_size`, or `output_size`, which is less
    than a stride from that, else a ValueError. Of several at one place the last stays. Places that do not exist, and shapes that
    disagree, are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool1d(np.array([[5.0, 3.0]]), np.array([[1, 3]]), 2)
    array([[0., 5., 0., 3.]])
    """,
    """Apply `max_unpool1d` over two axes: (examples, channels, height, width).

    Errors are those of `max_unpool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool2d(np.array([[[5.0]]]), np.array([[[2]]]), 2)
    array([[[0., 0.],
            [5., 0.]]])
    """,
    """Apply `max_unpool1d` over three axes: (examples, channels, depth, height, width).

    Errors are those of `max_unpool1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_unpool3d(np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, 1), int), 2).sum()
    np.float64(1.0)
    """,
)


def _unpooled(given: Any, size: Any, strides: Any, padding: Any, output_size: Any) -> list[int]:
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
