"""Images and sequences at another size: each element of the result is a mean of its nearest ones, one axis after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .pooling import adaptive_avg_pool
from .shared import arrays, counted

__all__ = ["interpolate", "upsample"]

_OF_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_MODES = ("nearest", "nearest-exact", "area", *_OF_AXES)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Bring (examples, channels, ...), with one to three axes more, to `size`, or to `scale_factor` times what it is.

    `mode` is "nearest" (as PyTorch rounds it; "nearest-exact" takes the middle of each element), "linear", "bilinear" or
    "trilinear" by the number of axes, "bicubic", or "area" (`adaptive_avg_pool`). With `align_corners` the middles of the outer
    elements lie on one another, else their edges. Raises ValueError and NotImplementedError as PyTorch does, and
    NotImplementedError for `antialias`.

    >>> import numpy as np, gradscribe as gs
    >>> x = np.array([[[1.0, 3.0]]])
    >>> gs.functional.interpolate(x, scale_factor=2)
    array([[[1., 1., 3., 3.]]])
    >>> gs.functional.interpolate(x, size=4, mode="linear")
    array([[[1. , 1.5, 2.5, 3. ]]])
    """
    (x,) = arrays(input)
    n = np.ndim(x) - 2
    _may_be(x, mode, align_corners, antialias)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    lengths, scales = _sizes(x, n, size, scale_factor, bool(recompute_scale_factor) or mode == "area")
    if mode == "area":
        return adaptive_avg_pool(n, x, lengths)
    along: Callable[..., Any] = {"bicubic": _cubic, "nearest": _nearest, "nearest-exact": _nearest}.get(mode, _linear)
    option = mode == "nearest-exact" if mode.startswith("nearest") else bool(align_corners)
    for axis, length, scale in zip(range(-1, -n - 1, -1), reversed(lengths), reversed(scales), strict=True):
        x = along(x, axis, length, scale, option)
    return x


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """Call `interpolate` by an older name, with PyTorch's warning.

    Options, shapes and errors are those of `interpolate`.

    >>> import numpy as np, gradscribe as gs, warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     gs.functional.upsample(np.array([[[1.0, 3.0]]]), scale_factor=2)
    array([[[1., 1., 3., 3.]]])
    """
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def _taken(x: Any, places: Any, axis: int) -> Any:
    """The elements at places along an axis, of which those beyond the ends are the last ones."""
    return np.take(x, np.clip(places, 0, np.shape(x)[axis] - 1).astype(np.int64), axis=axis)


def _nearest(x: Any, axis: int, m: int, scale: float | None, exact: bool) -> Any:
    n = np.shape(x)[axis]
    if m == n and scale in (None, 1.0):
        return x
    if m % n == 0 and scale in (None, m // n):  # a whole number of times each
        return np.repeat(x, m // n, axis=axis)
    dtype = np.float32 if x.dtype == np.float16 else x.dtype
    numbers = (counted(x, m, np.float64) + (0.5 if exact else 0.0)).astype(dtype)
    places = numbers * (n / m if scale is None else 1 / scale)
    places = places.astype(np.float32)  # as PyTorch rounds it
    return _taken(x, np.floor(places), axis)


def _middles(x: Any, n: int, m: int, scale: float | None, align: bool) -> Any:
    """Where the elements of the result lie among those of the input."""
    if align:
        return counted(x, m, np.float64) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    return (counted(x, m, np.float64) + 0.5) * (n / m if scale is None else 1 / scale) - 0.5


def _linear(x: Any, axis: int, m: int, scale: float | None, align: bool) -> Any:
    n = np.shape(x)[axis]
    if m == n and scale in (None, 1.0):
        return x
    places = np.maximum(_middles(x, n, m, scale, align), 0.0)
    before = np.minimum(np.floor(places), n - 1)
    share = _shaped(np.minimum(places - before, 1.0), x, axis)
    return _taken(x, before, axis) * (1 - share) + _taken(x, before + 1, axis) * share


def _cubic(x: Any, axis: int, m: int, scale: float | None, align: bool) -> Any:
    """By cubic convolution with the slope -0.75 (Keys, 1981)."""
    n = np.shape(x)[axis]
    if m == n and scale in (None, 1.0):
        return x
    places = _middles(x, n, m, scale, align)
    before = np.floor(places)
    a, parts = -0.75, []
    for k in (-1, 0, 1, 2):
        d = np.abs(places - before - k)
        weight = ((a + 2) * d - (a + 3)) * d * d + 1 if k in (0, 1) else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        parts.append(_taken(x, before + k, axis) * _shaped(weight, x, axis))
    return sum(parts[1:], parts[0])


def _shaped(v: Any, x: Any, axis: int) -> Any:
    """Numbers along an axis, in the dtype of the array that they multiply."""
    return np.reshape(v, (-1, *(1,) * (-axis - 1))).astype(x.dtype)


def _sizes(x: Any, n: int, size: Any, scale_factor: Any, recompute: bool) -> tuple[list[int], list[float | None]]:
    """The lengths of the result, and what each axis grows by where that counts."""
    spatial = [int(k) for k in np.shape(x)[2:]]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    what, given = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    each = list(given) if isinstance(given, (tuple, list)) else [given] * n
    if len(each) != n:
        raise ValueError(
            f"Input and {'output' if scale_factor is None else what} must have the same number of spatial dimensions, but got "
            f"input with spatial dimensions of {spatial} and {what} of {given}. It has the shape (N, C, d1, d2, ...)"
        )
    lengths = (
        [int(e) for e in each] if scale_factor is None else [int(k * e) for k, e in zip(spatial, each, strict=True)]
    )
    if min([*lengths, *spatial]) <= 0:
        raise ShapeError(
            f"Input and output sizes should be greater than 0, but got input {spatial} and output {lengths}"
        )
    return lengths, [None if scale_factor is None or recompute else float(e) for e in each]


def _may_be(x: Any, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Raise PyTorch's errors where the options make no sense together."""
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias:
        raise NotImplementedError("interpolate does not filter in gradscribe (antialias=True): use avg_pool2d before")
    if mode not in _MODES:
        raise NotImplementedError(f"unknown mode {mode!r}: it is one of {', '.join(_MODES)}")
    if np.ndim(x) not in (3, 4, 5):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported"
            f" (got {np.ndim(x)}D) for the modes: {' | '.join(_MODES)} (got {mode})"
        )
    wanted = _OF_AXES.get(mode, np.ndim(x) - 2)
    if wanted != np.ndim(x) - 2:
        raise NotImplementedError(f"Got {np.ndim(x)}D input, but {mode} mode needs {wanted + 2}D input")
