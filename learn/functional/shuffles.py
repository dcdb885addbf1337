"""Elements of images moved between channels and places, and channels among each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .shared import arrays

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Turn (..., channels * r * r, height, width) into (..., channels, height * r, width * r) (Shi et al., 2016).

    Raises ShapeError (a RuntimeError) where the channels are no multiple of the factor's square.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2)
    array([[[0., 1.],
            [2., 3.]]])
    """
    (x,) = arrays(input)
    r = _factor("pixel_shuffle", "an upscale_factor", x, upscale_factor)
    *some, c, h, w = np.shape(x)
    if c % (r * r):
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    k = len(some)
    pieces = np.reshape(x, (*some, c // (r * r), r, r, h, w))
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return np.reshape(np.transpose(pieces, order), (*some, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Undo `pixel_shuffle`: (..., channels, height * r, width * r) becomes (..., channels * r * r, height, width).

    Raises ShapeError (a RuntimeError) where the factor does not divide height and width.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.pixel_unshuffle(np.arange(4.0).reshape(1, 2, 2), 2).ravel()
    array([0., 1., 2., 3.])
    """
    (x,) = arrays(input)
    r = _factor("pixel_unshuffle", "a downscale_factor", x, downscale_factor)
    *some, c, h, w = np.shape(x)
    for name, n, axis in (("height", h, -2), ("width", w, -1)):
        if n % r:
            raise ShapeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})={n} is not "
                f"divisible by {r}"
            )
    k = len(some)
    pieces = np.reshape(x, (*some, c, h // r, r, w // r, r))
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return np.reshape(np.transpose(pieces, order), (*some, c * r * r, h // r, w // r))


def channel_shuffle(input: Any, groups: int) -> Any:
    """Interleave the channels (axis 1) of `groups`: the first of each, then the second of each (Zhang et al., 2018).

    Raises ShapeError (a RuntimeError) where the groups cannot be of one size.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
    array([0., 2., 1., 3.])
    """
    (x,) = arrays(input)
    shape = np.shape(x)
    if len(shape) < 3:
        raise ShapeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise ShapeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise ShapeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    pieces = np.reshape(x, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return np.reshape(np.swapaxes(pieces, 1, 2), shape)


def _factor(name: str, what: str, x: Any, factor: int) -> int:
    if np.ndim(x) < 3:
        raise ShapeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {np.ndim(x)} dimension(s)"
        )
    if factor <= 0:
        raise ShapeError(f"{name} expects a positive {what.split()[-1]}, but got {factor}")
    return factor
