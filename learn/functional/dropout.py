"""Dropout: while training, elements or channels are zero by chance, and the others scaled up."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...tracer.random.generator import generator as generator_of
from .shared import arrays, over_axes, written

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, generator: Any = None) -> Any:
    """Set each element to zero with probability `p`, and multiply the others by `1 / (1 - p)` (Srivastava et al., 2014).

    If not `training` it is the input. Drawn is from `generator` (a `np.random.Generator`), else from gradscribe's own, which
    `gs.manual_seed` starts. Under `gs.vmap` all examples share what is drawn. A `p` that is no probability is a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.dropout(np.ones(6), 0.25, generator=np.random.default_rng(0)).round(3)
    array([1.333, 1.333, 0.   , 0.   , 1.333, 1.333])
    """
    (x,) = arrays(input)
    return written(x, inplace, _dropped(x, p, training, np.shape(x), generator))


def _dropout(
    n: int, input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, generator: Any = None
) -> Any:
    """Drop whole channels, each of `n` axes."""
    name = f"dropout{n}d"
    (x,) = arrays(input)
    ndim = np.ndim(x)
    if ndim not in (n + 1, n + 2):
        if n == 1:
            raise ShapeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input.")
        warnings.warn(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead.",
            stacklevel=3,
        )
    if n == 2 and ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired: "
            "the input is read as (N, C, L). To maintain that, please switch to using dropout1d instead.",
            stacklevel=3,
        )
    counted = 1 if ndim == n + 1 and n != 2 else 2
    return written(x, inplace, _dropped(x, p, training, _channels(x, counted), generator))


dropout1d, dropout2d, dropout3d = over_axes(
    _dropout,
    """Drop whole channels, as `dropout` does elements: of (channel, length) or (example, channel, length).

    Another number of axes is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.dropout1d(np.ones((3, 2)), 0.5, generator=np.random.default_rng(0))
    array([[2., 2.],
           [0., 0.],
           [0., 0.]])
    """,
    """Drop whole channels, as `dropout` does elements: of (example, channel, height, width).

    Three axes are (example, channel, length), with PyTorch's warning. One axis is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.dropout2d(np.ones((1, 3, 1, 2)), 0.5, generator=np.random.default_rng(0))
    array([[[[2., 2.]],
    <BLANKLINE>
            [[0., 0.]],
    <BLANKLINE>
            [[0., 0.]]]])
    """,
    """Drop whole channels, as `dropout` does elements: of (example, channel, depth, height, width), or all but the first.

    One axis is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.dropout3d(np.ones((3, 1, 1, 2)), 0.5, generator=np.random.default_rng(0))[:, 0, 0]
    array([[2., 2.],
           [0., 0.],
           [0., 0.]])
    """,
)


def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False, *, generator: Any = None
) -> Any:
    """Drop elements so that mean and variance of what `selu` gives are kept (Klambauer et al., 2017).

    Random numbers and errors are those of `dropout`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.alpha_dropout(np.zeros(4), 0.5, True, generator=np.random.default_rng(0)).round(3)
    array([ 0.779, -0.779, -0.779, -0.779])
    """
    (x,) = arrays(input)
    return written(x, inplace, _alpha_dropped(x, p, training, np.shape(x), generator))


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False, *, generator: Any = None
) -> Any:
    """Drop whole channels (axis 1), as `alpha_dropout` does elements.

    One axis is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.feature_alpha_dropout(np.zeros((1, 2, 2)), 0.5, True, generator=np.random.default_rng(0)).round(3)
    array([[[ 0.779,  0.779],
            [-0.779, -0.779]]])
    """
    (x,) = arrays(input)
    return written(x, inplace, _alpha_dropped(x, p, training, _channels(x, 2), generator))


def _channels(x: Any, counted: int) -> tuple[Any, ...]:
    """The shape of one number for each channel."""
    if np.ndim(x) < 2:
        raise ShapeError(f"Feature dropout requires at least 2 dimensions in the input, not {np.ndim(x)}")
    return (*np.shape(x)[:counted], *(1,) * (np.ndim(x) - counted))


def _kept(p: float, shape: tuple[Any, ...], generator: Any) -> Any:
    return generator_of(generator).random(shape) >= p


def _dropped(x: Any, p: float, training: bool, shape: tuple[Any, ...], generator: Any) -> Any:
    _probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    return np.where(_kept(p, shape, generator), x * (1 / (1 - p)), 0)


def _alpha_dropped(x: Any, p: float, training: bool, shape: tuple[Any, ...], generator: Any) -> Any:
    _probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    low = -1.7580993408473766  # what selu tends to: minus its scale times its alpha
    a = (1 / np.sqrt((1 - p) * (1 + p * low * low))).item()
    return a * np.where(_kept(p, shape, generator), x, low) - a * low * p


def _probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
