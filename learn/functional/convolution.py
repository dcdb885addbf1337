"""Convolutions in one, two and three dimensions, and their transposes: windows that slide, and one product.

Measured against other forms (benchmarks/convolution.py): NumPy reads windows fastest where the examples lie last in memory, so
that what it copies are long runs, and one matrix product takes all of them. What comes out lies in memory in that order, too,
in which the next layer wants it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.windows import folded, lie, windows
from .shared import Lengths, arrays, over_axes, per_axis

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def conv(
    n: int, input: Any, weight: Any, bias: Any = None, stride: Lengths = 1, padding: Lengths | str = 0, dilation: Lengths = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the cross-correlation over `n` axes, plus a bias."""
    name = f"conv{n}d"
    x, w = arrays(input, weight)
    strides, dilations = lengths("stride", stride, n), lengths("dilation", dilation, n)
    _may_be(name, n, x, w, strides, dilations, groups)
    size = tuple([int(k) for k in np.shape(w)[2:]])
    channels, out = np.shape(x)[-n - 1], np.shape(w)[0]
    if out % groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(np.shape(w))}] instead"
        )
    if np.shape(w)[1] * groups != channels:
        raise ShapeError(
            f"Given groups={groups}, weight of size {list(np.shape(w))}, expected input{list(np.shape(x))} to have "
            f"{np.shape(w)[1] * groups} channels, but got {channels} channels instead"
        )
    pads = _pads(padding, n, size, strides, dilations)
    span = [d * (k - 1) + 1 for k, d in zip(size, dilations, strict=True)]
    padded = [m + a + b for m, (a, b) in zip(np.shape(x)[-n:], pads, strict=True)]
    if any(m < k for m, k in zip(padded, span, strict=True)):
        raise ShapeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, span))}). Kernel size can't be greater than actual input size"
        )
    many = np.ndim(x) == n + 2
    if many:
        x = np.moveaxis(x, 0, -1)
    if any(p != (0, 0) for p in pads):
        x = np.pad(x, ((0, 0), *pads, *[(0, 0)] * many))
    pieces = windows(x, *lie(size, strides, dilations, int(many)))
    if groups == 1:
        found = np.tensordot(w, pieces, ((*range(2, n + 2), 1), tuple(range(n + 1))))
    else:  # of each group a product of its own
        lines = np.reshape(pieces, (*size, groups, channels // groups, -1))
        lines = np.reshape(np.moveaxis(lines, n, 0), (groups, int(np.prod(size)) * (channels // groups), -1))
        rows = np.reshape(np.moveaxis(w, 1, -1), (groups, out // groups, -1))
        found = np.reshape(rows @ lines, (out, *np.shape(pieces)[n + 1 :]))
    return _finished(found, bias, w, out, many)


conv1d, conv2d, conv3d = over_axes(
    conv,
    """Cross-correlate (examples, channels, length) with a weight (out, channels / groups, k), and add a bias (out,).

    The axis of examples may be missing. `padding` is a number of zeros, "valid" (none), or "same" (as many as keep the
    length). Both sides are promoted as NumPy does it. Raises ShapeError (a RuntimeError) where sizes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv1d(np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([[[-1.0, 1.0]]]))
    array([[1., 2., 4.]])
    """,
    """Apply `conv1d` over two axes: (examples, channels, height, width) with a weight (out, channels / groups, k, l).

    Errors are those of `conv1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv2d(np.arange(9.0).reshape(1, 3, 3), np.ones((1, 1, 2, 2)), padding="same")
    array([[[ 8., 12.,  7.],
            [20., 24., 13.],
            [13., 15.,  8.]]])
    """,
    """Apply `conv1d` over three axes: (examples, channels, depth, height, width), weight (out, channels / groups, k, l, m).

    Errors are those of `conv1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv3d(np.ones((2, 1, 4, 5, 6)), np.ones((3, 1, 2, 2, 2))).shape
    (2, 3, 3, 4, 5)
    """,
)


def conv_transpose(
    n: int, input: Any, weight: Any, bias: Any = None, stride: Lengths = 1, padding: Lengths = 0, output_padding: Lengths = 0,
    groups: int = 1, dilation: Lengths = 1,
) -> Any:  # fmt: skip
    """Return the transpose of `conv` over `n` axes, plus a bias."""
    name = f"conv_transpose{n}d"
    x, w = arrays(input, weight)
    strides, dilations = lengths("stride", stride, n), lengths("dilation", dilation, n)
    cut, more = lengths("padding", padding, n), lengths("output_padding", output_padding, n)
    _may_be(name, n, x, w, strides, dilations, groups)
    _not_negative(cut)
    if any(m >= max(s, d) for m, s, d in zip(more, strides, dilations, strict=True)):
        raise ShapeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {more} "
            f"stride: {strides} dilation: {dilations}"
        )
    channels, size = np.shape(x)[-n - 1], tuple([int(k) for k in np.shape(w)[2:]])
    if channels % groups or np.shape(w)[0] != channels:
        raise ShapeError(
            f"Given transposed=1, weight of size {list(np.shape(w))}, expected input{list(np.shape(x))} to have "
            f"{np.shape(w)[0]} channels, but got {channels} channels instead"
        )
    many = np.ndim(x) == n + 2
    if many:
        x = np.moveaxis(x, 0, -1)
    places, out = np.shape(x)[1:], np.shape(w)[1] * groups
    rows = np.reshape(w, (groups, channels // groups, -1))
    lines = np.swapaxes(rows, 1, 2) @ np.reshape(x, (groups, channels // groups, -1))
    pieces = np.moveaxis(np.reshape(lines, (out, *size, *places)), tuple(range(1, n + 1)), tuple(range(n)))
    how = lie(size, strides, dilations, int(many))
    full = [(m - 1) * s + k for m, s, k in zip(places[:n], strides, how.span, strict=True)]
    left = [a + m - 2 * c for a, m, c in zip(full, more, cut, strict=True)]
    if min(left) < 1:
        raise ShapeError(
            f"Given input size per channel: ({' x '.join(map(str, places[:n]))}). "
            f"Calculated output size per channel: ({' x '.join(map(str, left))}). Output size is too small"
        )
    found = folded(pieces, size, *how, (out, *full, *places[n:]), pieces.dtype)
    if any(more):
        found = np.pad(found, ((0, 0), *[(0, m) for m in more], *[(0, 0)] * many))
    if any(cut):
        found = found[(slice(None), *[slice(c, c + m) for c, m in zip(cut, left, strict=True)])]
    return _finished(found, bias, w, out, many, "transposed=1, ")


conv_transpose1d, conv_transpose2d, conv_transpose3d = over_axes(
    conv_transpose,
    """Apply the transpose of `conv1d` in its input: (examples, channels, length) with a weight (channels, out / groups, k).

    The result has the length `(length - 1) * stride - 2 * padding + dilation * (k - 1) + 1 + output_padding`. Raises
    ShapeError (a RuntimeError) where sizes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv_transpose1d(np.array([[1.0, 10.0]]), np.array([[[1.0, 2.0, 3.0]]]), stride=2)
    array([[ 1.,  2., 13., 20., 30.]])
    """,
    """Apply the transpose of `conv2d` in its input, by a weight (channels, out / groups, k, l).

    Errors are those of `conv_transpose1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv_transpose2d(np.array([[[2.0]]]), np.arange(4.0).reshape(1, 1, 2, 2))
    array([[[0., 2.],
            [4., 6.]]])
    """,
    """Apply the transpose of `conv3d` in its input, by a weight (channels, out / groups, k, l, m).

    Errors are those of `conv_transpose1d`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.conv_transpose3d(np.ones((2, 3, 4, 5, 6)), np.ones((3, 1, 2, 2, 2)), stride=2).shape
    (2, 1, 8, 10, 12)
    """,
)


def lengths(name: str, value: Lengths, n: int) -> tuple[int, ...]:
    """One number for each of `n` axes; a single one stands for all."""
    found = per_axis(value, n)
    if len(found) != n:
        raise ShapeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
            f"but got {name}={list(found)}"
        )
    return found


def _finished(found: Any, bias: Any, w: Any, out: Any, many: bool, how: str = "") -> Any:
    """With the bias added, and the axis of examples, if there is one, in front."""
    if bias is not None:
        (b,) = arrays(bias)
        if np.shape(b) != (out,):
            raise ShapeError(
                f"Given {how}weight of size {list(np.shape(w))}, expected bias to be 1-dimensional with {out} elements, but "
                f"got bias of size {list(np.shape(b))} instead"
            )
        found = found + np.reshape(b, (-1, *(1,) * (np.ndim(found) - 1)))
    return np.moveaxis(found, -1, 0) if many else found


def _may_be(
    name: str, n: int, x: Any, w: Any, strides: tuple[int, ...], dilations: tuple[int, ...], groups: int
) -> None:
    """Raise where the arguments make no sense together."""
    if np.ndim(x) not in (n + 1, n + 2):
        raise ShapeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(np.shape(x))}"
        )
    if np.ndim(w) != n + 2:
        raise ShapeError(f"{name} expects a weight of {n + 2} dimensions, but got weight of size {list(np.shape(w))}")
    if min(strides) <= 0:
        raise ShapeError(f"non-positive stride is not supported, but got {list(strides)}")
    if min(dilations) <= 0:
        raise ShapeError(f"dilation should be greater than zero, but got {list(dilations)}")
    if groups <= 0:
        raise ShapeError(f"non-positive groups is not supported, but got {groups}")


def _pads(
    padding: Any, n: int, size: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> list[tuple[int, int]]:
    """How many zeros stand before and behind each axis."""
    if padding == "valid":
        return [(0, 0)] * n
    if padding == "same":
        if any(s != 1 for s in strides):
            raise ShapeError(
                "padding='same' is not supported for strided convolutions: give numbers for padding, or take stride=1"
            )
        total = [d * (k - 1) for k, d in zip(size, dilations, strict=True)]
        return [(t // 2, t - t // 2) for t in total]
    if isinstance(padding, str):
        raise ShapeError(f"Invalid padding string: {padding!r}; it is 'valid', 'same', or numbers")
    given = lengths("padding", padding, n)
    _not_negative(given)
    return [(p, p) for p in given]


def _not_negative(padding: tuple[int, ...]) -> None:
    if min(padding) < 0:
        raise ShapeError(f"negative padding is not supported, but got {list(padding)}")
