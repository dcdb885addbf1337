"""Normalisation: each group of numbers is brought to mean zero and variance one, then scaled and shifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from .shared import arrays, axis_of, constant

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Give the last axes, of lengths `normalized_shape`, mean zero and variance one; times `weight`, plus `bias`.

    The variance is the biased one (Ba, Kiros and Hinton, 2016). Raises ShapeError (a RuntimeError) where shapes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), (2,), eps=0.0001).round(3)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    (x,) = arrays(input)
    axes = _last("layer_norm", x, normalized_shape, weight=weight, bias=bias)
    return _scaled(_normalised(x, axes, eps), weight, bias)


def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root of the mean square over the last axes (Zhang and Sennrich, 2019), times `weight`.

    `eps` is added to the mean square; by default the smallest step of the dtype. Raises ShapeError where shapes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.rms_norm(np.array([3.0, 4.0, 5.0, 0.0]), (4,)) * np.sqrt(12.5)
    array([3., 4., 5., 0.])
    """
    (x,) = arrays(input)
    axes = _last("rms_norm", x, normalized_shape, weight=weight)
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    return _scaled(x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps), weight, None)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Give each group of channels (axis 1) of each example mean zero and variance one (Wu and He, 2018).

    `weight` and `bias` have one number for each channel. Raises ShapeError (a RuntimeError) where the groups do not divide
    the channels, or sizes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2).round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    (x,) = arrays(input)
    shape = np.shape(x)
    if len(shape) < 2:
        raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups < 1 or shape[1] % num_groups:
        raise ShapeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for name, v in (("weight", weight), ("bias", bias)):
        if v is not None and np.shape(v) != (shape[1],):
            raise ShapeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(np.shape(v))} and input of shape {list(shape)}"
            )
    grouped = np.reshape(x, (shape[0], num_groups, shape[1] // num_groups, *shape[2:]))
    axes = tuple(range(2, np.ndim(grouped)))
    return _per_channel(np.reshape(_normalised(grouped, axes, eps), shape), weight, bias)


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Apply `batch_norm` to each example by itself; the running statistics take the mean of those of the examples.

    The input has three axes or more, else it raises ShapeError (a RuntimeError). One value for each channel of an example
    is a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.instance_norm(np.array([[[1.0, 3.0]], [[4.0, 8.0]]])).round(3)
    array([[[-1.,  1.]],
    <BLANKLINE>
           [[-1.,  1.]]])
    """
    (x,) = arrays(input)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if np.ndim(x) < 3:
        raise ShapeError(f"instance_norm expects an input with at least 3 axes, but got one of shape {np.shape(x)}")
    if np.prod(np.shape(x)[2:], dtype=int) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {np.shape(x)}")
    axes = tuple(range(2, np.ndim(x)))
    if running_mean is not None and running_var is not None:
        _update(running_mean, np.mean(np.mean(x, axis=axes), axis=0), momentum)
        _update(running_var, np.mean(np.var(x, axis=axes, ddof=1), axis=0), momentum)
    return _per_channel(_normalised(x, axes, eps), weight, bias)


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Give each channel (axis 1) mean zero and variance one; times `weight`, plus `bias` (Ioffe and Szegedy, 2015).

    While `training`, mean and biased variance are those of the batch, and `running_mean` and `running_var` are changed in
    place: `momentum` times the batch's mean and unbiased variance, and the rest of what they were; both may be None.
    Otherwise they are what is used. Raises ShapeError (a RuntimeError) where sizes disagree, ValueError for a batch of one
    value for each channel, one of the two without the other, or an `eps` that is not positive.

    >>> import numpy as np, gradscribe as gs
    >>> mean, var = np.zeros(1), np.ones(1)
    >>> gs.functional.batch_norm(np.array([[1.0], [3.0]]), mean, var, training=True, eps=1e-12)
    array([[-1.],
           [ 1.]])
    >>> mean, var
    (array([0.2]), array([1.1]))
    """
    (x,) = arrays(input)
    shape = np.shape(x)
    if len(shape) < 2:
        axis_of(x, 1)  # raises, as PyTorch does
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, v in named.items():
        if v is not None and np.size(v) != shape[1]:
            raise ShapeError(f"{name} should contain {shape[1]} elements not {np.size(v)}")
    if eps < 0 or (training and eps == 0):
        raise ValueError(
            f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}"
        )
    if not training:
        if running_mean is None:
            raise ShapeError("running_mean must be defined in evaluation mode")
        mean, var = (_beside(v, x) for v in arrays(running_mean, running_var))
        return _per_channel((x - mean) / np.sqrt(var + eps), weight, bias)
    axes = (0, *range(2, len(shape)))
    if np.size(x) <= shape[1]:
        if np.size(x):
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
        return _per_channel(np.copy(x), weight, bias)
    if running_mean is not None:
        _update(running_mean, np.mean(x, axis=axes), momentum)
        _update(running_var, np.var(x, axis=axes, ddof=1), momentum)
    return _per_channel(_normalised(x, axes, eps), weight, bias)


def _normalised(x: Any, axes: Any, eps: float) -> Any:
    """Less the mean along some axes, over the root of the biased variance."""
    off = x - np.mean(x, axis=axes, keepdims=True)
    return off / np.sqrt(np.mean(off * off, axis=axes, keepdims=True) + eps)


def _update(running: Any, found: Any, momentum: float) -> None:
    running[...] = (1 - momentum) * running + momentum * constant(found)


def _last(function: str, x: Any, shape: Sequence[int], **others: Any) -> int | tuple[int, ...]:
    """The last axes, whose lengths must be `shape`, as those of the weights must."""
    if not isinstance(shape, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(shape).__name__}"
        )
    if not shape:
        raise ShapeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, v in others.items():
        if v is not None and np.shape(v) != tuple(shape):
            raise ShapeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(np.shape(v))} "
                f"and normalized_shape = {list(shape)}"
            )
    if np.shape(x)[-len(shape) :] != tuple(shape):
        raise ShapeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got "
            f"input of size{list(np.shape(x))}"
        )
    return -1 if len(shape) == 1 else tuple(range(-len(shape), 0))


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        x = x * arrays(weight)[0]
    return x if bias is None else x + arrays(bias)[0]


def _per_channel(x: Any, weight: Any, bias: Any) -> Any:
    return _scaled(x, *[None if v is None else _beside(arrays(v)[0], x) for v in (weight, bias)])


def _beside(v: Any, x: Any) -> Any:
    """A number for each channel, so that it broadcasts against `x`."""
    return v if np.ndim(x) == 2 else np.reshape(v, (-1, *(1,) * (np.ndim(x) - 2)))


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Return `x / (k + alpha * mean of x**2 over the `size` nearest channels)**beta` (Krizhevsky et al., 2012).

    Channels are axis 1, of three axes or more; of those beyond the ends the squares count as 0. Fewer axes are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.local_response_norm(np.ones((1, 3, 1)), size=3, alpha=3.0, beta=1.0).ravel()
    array([0.33333333, 0.25      , 0.33333333])
    """
    (x,) = arrays(input)
    if np.ndim(x) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {np.ndim(x)} dimensions)")
    if not np.size(x):
        return x
    pads = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (np.ndim(x) - 2)]
    squares, channels = np.pad(x * x, pads), np.shape(x)[1]
    near = [squares[:, j : j + channels] for j in range(size)]
    return x / (alpha * (sum(near[1:], near[0]) / size) + k) ** beta
