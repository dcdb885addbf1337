"""Losses of numbers: distances, and minus the logarithms of probabilities."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.activations import cross_entropy_of_logit, cross_entropy_of_probability, raised
from ...runtime.rules.activations import softplus as _softplus
from ...runtime.rules.support import happens
from .shared import alike, arrays, drawn, paired, reduced, reduction_of, titled, weighted

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


def mse_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Any = None,
) -> Any:  # fmt: skip
    """Compute the mean of `(input - target) ** 2`; with weights of the input's shape the weighted mean.

    `reduction` is "mean", "sum" or "none", here and in every other loss; another word is a ValueError. A target of another
    shape is broadcast, with PyTorch's warning. One that does not broadcast is a ValueError, weights of another shape a
    ShapeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    input, target = paired(input, target)
    alike(input, target)
    return titled(_mean_of((input - target) ** 2, input, weight, reduction, size_average, reduce), "MseLoss")


def l1_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Any = None,
) -> Any:  # fmt: skip
    """Compute the mean of `abs(input - target)`, with `weight` and `reduction` as in `mse_loss`.

    Errors are those of `mse_loss`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.l1_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]), reduction="none")
    array([0., 2.])
    """
    input, target = paired(input, target)
    alike(input, target)
    return _mean_of(np.abs(input - target), input, weight, reduction, size_average, reduce)


def _mean_of(
    losses: Any, input: Any, weight: Any, reduction: str, size_average: bool | None, reduce: bool | None
) -> Any:
    how = reduction_of(reduction, size_average, reduce)
    losses = weighted(losses, weight, input)
    return np.sum(losses) / np.sum(weight) if how == "mean" and weight is not None else reduced(losses, how)


def smooth_l1_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """Compute the mean of `d ** 2 / (2 * beta)` for differences `d` smaller than `beta`, of `abs(d) - beta / 2` for others.

    A negative `beta` is a RuntimeError; at 0 it is `l1_loss`. Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.smooth_l1_loss(np.array([0.0, 0.0]), np.array([1.0, 4.0]), reduction="none")
    array([0.5, 3.5])
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta: it is {beta}.")
    input, target = paired(input, target)
    alike(input, target)
    d = input - target
    size = np.abs(d)
    losses = np.where(size < beta, 0.5 / beta * d**2, size - 0.5 * beta) if beta else size
    return titled(reduced(losses, reduction, size_average, reduce), "SmoothL1Loss")


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Compute the mean of `d ** 2 / 2` for differences up to `delta`, of `delta * (abs(d) - delta / 2)` for others (Huber, 1964).

    Weights have the input's shape, and do not count in the mean. A `delta` that is not positive is a RuntimeError. Other
    errors are those of `mse_loss`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.huber_loss(np.array([0.0, 0.0]), np.array([1.0, 4.0]), delta=2.0, reduction="none")
    array([0.5, 6. ])
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta: it is {delta}.")
    input, target = paired(input, target)
    alike(input, target)
    d = input - target
    size = np.abs(d)
    losses = np.where(size <= delta, 0.5 * d**2, delta * (size - 0.5 * delta))
    return titled(reduced(weighted(losses, weight, input), reduction), "HuberLoss")


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `-(t * log(p) + (1 - t) * log(1 - p))` for probabilities `p`; no logarithm counts as less than -100.

    Weights broadcast, and do not count in the mean. Another shape of the target is a ShapeError, a
    `p` outside of 0 to 1 a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.binary_cross_entropy(np.array([0.5, 0.0]), np.array([1.0, 1.0]), reduction="none")
    array([  0.69314718, 100.        ])
    """
    input, target = paired(input, target)
    if np.shape(target) != np.shape(input):
        raise ShapeError(
            f"Using a target size ({np.shape(target)}) that is different to the input size ({np.shape(input)}) is deprecated. "
            "Please ensure they have the same size."
        )
    if drawn(input):
        input = np.where((input < 0) | (input > 1), np.nan, input)
    elif np.size(input) and happens((input < 0) | (input > 1)):
        raise RuntimeError(
            "all elements of input should be between 0 and 1: binary_cross_entropy takes probabilities, "
            "binary_cross_entropy_with_logits any numbers"
        )
    losses = cross_entropy_of_probability(input, target)
    losses = losses if weight is None else losses * arrays(weight)[0]
    return titled(reduced(losses, reduction, size_average, reduce), "BinaryCrossEntropy")


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """Compute `binary_cross_entropy` of `sigmoid(input)`, right for logits of any size.

    `pos_weight` counts the targets of 1: `-(w * t * log(p) + (1 - t) * log(1 - p))`. Weights broadcast, and do not count in
    the mean. Another shape of the target is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.binary_cross_entropy_with_logits(np.array([0.0, -1000.0]), np.array([1.0, 1.0]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """
    input, target = paired(input, target)
    if np.shape(target) != np.shape(input):
        raise ShapeError(f"Target size ({np.shape(target)}) must be the same as input size ({np.shape(input)})")
    if pos_weight is None:
        losses = cross_entropy_of_logit(input, target)
    else:
        losses = (1 - target) * input + (1 + (arrays(pos_weight)[0] - 1) * target) * _softplus(-input)
    losses = losses if weight is None else losses * arrays(weight)[0]
    return titled(reduced(losses, reduction, size_average, reduce), "BinaryCrossEntropyWithLogits")


def kl_div(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """Compute the divergence `t * (log(t) - input)` of log-probabilities `input` from probabilities `t`.

    With `log_target` the target is of log-probabilities, too. "batchmean" divides the sum by the length of axis 0, as the
    definition has it; "mean", by all, warns as PyTorch does. Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.kl_div(np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]]), reduction="batchmean")
    np.float64(0.6931471805599453)
    """
    input, target = paired(input, target)
    if log_target:
        losses = np.exp(target) * (target - input)
    else:
        losses = target * (np.log(np.where(target == 0, 1, target)) - input)
    if reduction == "batchmean" and size_average is None and reduce is None:
        return np.sum(losses) / np.shape(input)[0] if np.ndim(input) else losses
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    return reduced(losses, reduction, size_average, reduce)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute minus the logarithm of a Poisson probability: the mean of `exp(input) - target * input`.

    With `log_input=False` the input is the rate itself: `input - target * log(input + eps)`. `full` adds Stirling's formula
    for the logarithm of the factorial, for targets above 1. Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.poisson_nll_loss(np.array([0.0, 1.0]), np.array([2.0, 1.0]), reduction="none")
    array([1.        , 1.71828183])
    """
    input, target = paired(input, target)
    losses = np.exp(input) - target * input if log_input else input - target * np.log(input + eps)
    if full:
        many = target > 1
        t = np.where(many, target, 1)
        losses = losses + np.where(many, t * np.log(t) - t + 0.5 * np.log(2 * math.pi * t), 0)
    return reduced(losses, reduction, size_average, reduce)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Compute minus the logarithm of a normal density: the mean of `(log(var) + (input - target) ** 2 / var) / 2`.

    No variance counts as less than `eps`, in the value; the gradient is as if it did not. `var` has the input's shape, or
    1 for one of the axes, or lacks the last one; else, and where it is negative, that is a ValueError. `full` adds
    `log(2 * pi) / 2`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.gaussian_nll_loss(np.array([1.0]), np.array([3.0]), np.array([1.0]))
    np.float64(2.0)
    """
    input, target, var = paired(input, target, var)
    how = reduction_of(reduction)
    if drawn(var):
        var = np.where(var < 0, np.nan, var)
    elif np.size(var) and happens(var < 0):
        raise ValueError("var has negative entry/entries: variances are at least 0")
    shape, given = np.shape(input), np.shape(var)
    if given not in ((), shape):
        if given == shape[:-1]:
            var = np.expand_dims(var, -1)
        elif len(given) != len(shape) or sum(n for m, n in zip(shape, given, strict=True) if m != n) != 1:
            raise ShapeError(f"var is of incorrect size: it has the shape {given}, and the input {shape}")
    var = raised(var, eps)
    losses = 0.5 * (np.log(var) + (input - target) ** 2 / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, how)
