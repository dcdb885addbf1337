"""Images read at places that are computed: grids of an affine map, and means of the elements nearest to each place."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .shared import arrays, constant, counted

__all__ = ["affine_grid", "grid_sample"]


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """Return places for `grid_sample`: those of an image of `size` (n, c, height, width), mapped by matrices `theta` (n, 2, 3).

    A size of five numbers takes matrices (n, 3, 4). Coordinates go from -1 to 1, x first: from the middles of the outer elements
    with `align_corners`, else from their edges; PyTorch's warning asks which. Other shapes are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> theta = np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> gs.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    array([[[[0., 0.],
             [1., 0.]]]])
    """
    align = _aligned(align_corners)
    (theta,) = arrays(theta)
    n = len(size) - 2
    if theta.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if n not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes. Got size {list(size)}.")
    if np.ndim(theta) != 3 or np.shape(theta)[1:] != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {list(size)}. Got {np.shape(theta)}."
        )
    if align and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
            "intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    places = np.reshape(theta[:, :, n], (-1, *(1,) * n, n))
    for k, m in enumerate(reversed(size[2:])):  # x, y, z
        along = counted(theta, m, theta.dtype)
        along = (along * 2 / (m - 1) - 1 if m > 1 else along * 0) if align else (along * 2 + 1) / m - 1
        places = places + np.reshape(along, (-1, *(1,) * (k + 1))) * np.reshape(theta[:, :, k], (-1, *(1,) * n, n))
    return places


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Read an image (n, c, height, width) at the places of `grid` (n, h, w, 2), as `affine_grid` has them: (n, c, h, w).

    Or one of three axes, at places of three numbers. `mode` is "bilinear" or "nearest"; outside are "zeros", the "border", or the
    image's "reflection" (Jaderberg et al., 2015). Another word is a ValueError, "bicubic" a NotImplementedError, and shapes
    that disagree a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> x, place = np.array([[[[1.0, 3.0]]]]), np.array([[[[0.0, 0.0], [2.0, 0.0]]]])
    >>> gs.functional.grid_sample(x, place, align_corners=True)
    array([[[[2. , 1.5]]]])
    """
    x, places = arrays(input, grid)
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if mode == "bicubic":
        raise NotImplementedError("grid_sample has no mode 'bicubic' in gradscribe")
    align = _aligned(align_corners)
    n = np.ndim(x) - 2
    _may_be(x, places, n)
    sizes = np.shape(x)[2:]
    at = [_within(places[..., n - 1 - k], m, padding_mode, align) for k, m in enumerate(sizes)]
    if mode == "nearest":
        return _read(x, [np.round(constant(v)) for v in at], sizes)
    low = [np.floor(constant(v)) for v in at]
    above = [v - f for v, f in zip(at, low, strict=True)]
    parts = []
    for corner in itertools.product((0, 1), repeat=n):
        share: Any = 1.0
        for c, a in zip(corner, above, strict=True):
            share = share * (a if c else 1 - a)
        near = _read(x, [f + c for f, c in zip(low, corner, strict=True)], sizes)
        parts.append(near * np.expand_dims(share, 1).astype(x.dtype))
    return sum(parts[1:], parts[0])


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
    return bool(align_corners)


def _may_be(x: Any, places: Any, n: int) -> None:
    if np.ndim(x) not in (4, 5) or np.ndim(places) != np.ndim(x):
        raise ShapeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(np.shape(x))} and grid with sizes {list(np.shape(places))}"
        )
    if np.shape(x)[0] != np.shape(places)[0]:
        raise ShapeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(np.shape(x))} and grid with sizes {list(np.shape(places))}"
        )
    if np.shape(places)[-1] != n:
        raise ShapeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {list(np.shape(places))}"
        )


def _within(v: Any, m: int, padding_mode: str, align: bool) -> Any:
    """Coordinates from -1 to 1 as places along an axis of `m` elements."""
    v = (v + 1) / 2 * (m - 1) if align else ((v + 1) * m - 1) / 2
    if padding_mode == "zeros":
        return v
    if padding_mode == "reflection":
        low, span = (0.0, m - 1.0) if align else (-0.5, float(m))
        if span == 0:
            return v * 0
        far = np.abs(v - low)
        rest = far % span
        v = np.where(np.floor(far / span) % 2 == 0, rest, span - rest) + low
    return np.where((v > 0) & (v < m - 1), v, np.clip(constant(v), 0, m - 1))  # of slope 0 at the ends, as in PyTorch


def _read(x: Any, at: list[Any], sizes: Any) -> Any:
    """The elements at whole places, and zeros outside."""
    there: Any = True
    flat: Any = 0
    for v, m in zip(at, sizes, strict=True):
        there = there & (v >= 0) & (v < m)
        flat = flat * m + np.clip(v, 0, m - 1).astype(np.int64)
    batch, channels = np.shape(x)[:2]
    spread = np.broadcast_to(np.reshape(flat, (batch, 1, -1)), (batch, channels, int(np.prod(np.shape(flat)[1:]))))
    found = np.take_along_axis(np.reshape(x, (batch, channels, -1)), spread, axis=2)
    return np.where(np.expand_dims(there, 1), np.reshape(found, (batch, channels, *np.shape(flat)[1:])), 0)
