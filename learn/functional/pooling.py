"""Pools: the maximum or the mean of what lies in each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.windows import Lie, first_hits, lie, max_windows, windows
from .shared import arrays, per_axis

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

Lengths = int | Sequence[int]


def max_pool1d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, dilation: Lengths = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The maximum of each window of `kernel_size`, every `stride` (by default the window's size).

    The input is (examples, channels, length), where the examples may be missing. Of equal elements the first takes the
    gradient, as in PyTorch. `padding` counts as minus infinity; under `ceil_mode` the last window may reach beyond the end. With
    `return_indices` also where each maximum stands, counted along the axes that the windows slide over. Raises ShapeError (a
    RuntimeError) where sizes make no sense.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2, return_indices=True)
    (array([[5., 3.]]), array([[1, 3]]))
    """
    return _greatest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, dilation: Lengths = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool1d` over two axes: (examples, channels, height, width).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 5.,  7.],
            [13., 15.]]])
    """
    return _greatest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, dilation: Lengths = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool1d` over three axes: (examples, channels, depth, height, width).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[7.]]]])
    """
    return _greatest("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of `kernel_size`, every `stride` (by default the window's size): of (examples, channels, length).

    The zeros of `padding` count as elements unless `count_include_pad` is False; what `ceil_mode` lets a window reach beyond
    them never counts. Raises ShapeError (a RuntimeError) where sizes make no sense.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2)
    array([[3. , 2.5]])
    """
    return _mean("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """`avg_pool1d` over two axes: (examples, channels, height, width); `divisor_override` takes the place of the count.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """
    return _mean("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """`avg_pool2d` over three axes: (examples, channels, depth, height, width).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[3.5]]]])
    """
    return _mean("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def lp_pool1d(
    input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False
) -> Any:
    """The `norm_type`-norm of each window: `(sum of x**p) ** (1 / p)`, of infinity the greatest absolute value.

    As in PyTorch a sum that is negative counts as it is, and so gives NaN unless `1 / p` is a whole number. Without `stride`
    windows do not overlap.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool1d(np.array([[3.0, 4.0, 0.0, 2.0]]), 2, 2)
    array([[5., 2.]])
    """
    return _of_powers("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False
) -> Any:
    """`lp_pool1d` over two axes.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool2d(np.array([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)
    array([[[2.]]])
    """
    return _of_powers("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False
) -> Any:
    """`lp_pool1d` over three axes.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.lp_pool3d(np.ones((1, 2, 2, 4)), 1, 2)
    array([[[[8., 8.]]]])
    """
    return _of_powers("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


def _greatest(
    name: str, n: int, input: Any, kernel_size: Lengths, stride: Any, padding: Lengths, dilation: Lengths, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    (x,) = arrays(input)
    plan = Plan(name, n, x, kernel_size, stride, padding, dilation, ceil_mode)
    x, size, how = plan.last(x), plan.size, plan.how
    padded = plan.padded(x, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
    found = max_windows(padded, size, *how)
    if not return_indices:
        return plan.first(found)
    shape = (1, *np.shape(x)[1 : n + 1], *(1,) * plan.many)
    places = np.reshape(np.cumsum(np.ones_like(x, dtype=np.int64, shape=shape)) - 1, shape)
    hits = first_hits(padded, found, size, *how)
    where = np.sum(np.where(hits, windows(plan.padded(places, 0), *how), 0), axis=how.front)
    return plan.first(found), plan.first(where)


def _mean(
    name: str, n: int, input: Any, kernel_size: Lengths, stride: Any, padding: Lengths, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    (x,) = arrays(input)
    if divisor == 0:
        raise ShapeError("divisor must be not zero")
    plan = Plan(name, n, x, kernel_size, stride, padding, 1, ceil_mode)
    x, how = plan.last(x), plan.how

    def total(v: Any) -> Any:
        return np.sum(windows(v, *how), axis=how.front)

    sums = total(plan.padded(x, 0))
    if divisor is not None:
        return plan.first(sums / divisor)
    if any(plan.beyond) or (any(plan.padding) and not count_include_pad):  # windows of different counts
        one = np.ones_like(x, shape=(1, *np.shape(x)[1 : n + 1], *(1,) * plan.many))
        return plan.first(sums / total(plan.padded(one, 0, 1 if count_include_pad else 0)))
    return plan.first(sums / int(np.prod(plan.size)))


def _of_powers(name: str, n: int, input: Any, p: float, kernel_size: Lengths, stride: Any, ceil_mode: bool) -> Any:
    (x,) = arrays(input)
    if abs(p) == np.inf:
        sign = 1 if p > 0 else -1
        return sign * _greatest(name, n, sign * np.abs(x), kernel_size, stride, 0, 1, ceil_mode, False)
    count = int(np.prod(per_axis(kernel_size, n)))
    return (_mean(name, n, x**p, kernel_size, stride, 0, ceil_mode, True, None) * count) ** (1.0 / p)


class Plan:
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
