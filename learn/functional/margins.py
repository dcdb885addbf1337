"""Losses of margins: a score on the right side by at least the margin costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.rules.activations import cross_entropy_of_logit
from ...runtime.rules.activations import relu as _relu
from ...runtime.rules.activations import softplus as _softplus
from ...runtime.rules.softmaxes import picked
from ...runtime.rules.support import happens
from .shared import arrays, counted, paired, reduced, reduction_of, taken
from .vectors import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `input` where the target is 1, of `max(0, margin - input)` where it is -1.

    Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.hinge_embedding_loss(np.array([0.25, 0.25]), np.array([1, -1]), reduction="none")
    array([0.25, 0.75])
    """
    input, target = paired(input, target)
    far = np.where(target != 1, _at_least_0(margin - input), 0)
    return reduced(far + np.where(target != -1, input, 0), reduction, size_average, reduce)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `max(0, margin - target * (input1 - input2))`.

    A target of 1 wants the first to be larger, -1 the second. Inputs of different numbers of axes are a RuntimeError.
    Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.margin_ranking_loss(np.array([1.0, 1.0]), np.array([3.0, 0.0]), np.array([1, 1]), reduction="none")
    array([2., 0.])
    """
    input1, input2, target = paired(input1, input2, target)
    if not np.ndim(input1) == np.ndim(input2) == np.ndim(target):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {np.shape(input1)}, input2: {np.shape(input2)}, target: {np.shape(target)} "
        )
    return reduced(_at_least_0(-target * (input1 - input2) + margin), reduction, size_average, reduce)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `1 - cos` of two vectors where the target is 1, of `max(0, cos - margin)` where it is -1.

    The inputs have the shape (batch, n) and the target (batch,), or (n,) and (). Other numbers of axes are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> x = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> gs.functional.cosine_embedding_loss(x, np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([1, -1]), reduction="none")
    array([1., 1.])
    """
    input1, input2, target = paired(input1, input2, target)
    if np.ndim(target) > 1 or not np.ndim(input1) == np.ndim(input2) == np.ndim(target) + 1:
        many = "0D or 1D target tensor expected, multi-target not supported: " if np.ndim(target) > 1 else ""
        raise RuntimeError(
            f"{many}{np.ndim(target)}D target tensor expects {np.ndim(target) + 1}D input tensors, "
            f"but found inputs with sizes {np.shape(input1)} and {np.shape(input2)}."
        )
    tiny = 1e-12
    lengths = (np.sum(input1**2, axis=-1) + tiny) * (np.sum(input2**2, axis=-1) + tiny)
    cos = np.sum(input1 * input2, axis=-1) / np.sqrt(lengths)
    losses = np.where(target == 1, 1 - cos, 0) + np.where(target == -1, _at_least_0(cos - margin), 0)
    return reduced(losses, reduction, size_average, reduce)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `max(0, margin + d(anchor, positive) - d(anchor, negative))` (Balntas et al., 2016).

    `d` is `pairwise_distance`. With `swap`, `d(positive, negative)` counts where it is the smaller. A `margin` that is not
    positive is a ValueError. Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> float(np.round(gs.functional.triplet_margin_loss(a, b, a), 4))
    6.0
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(_at_least_0(margin + near - far), reduction, size_average, reduce)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute `triplet_margin_loss` with a distance of one's own, by default `pairwise_distance`.

    Errors are those of `triplet_margin_loss`.

    >>> import numpy as np, gradscribe as gs
    >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> city = lambda x, y: np.sum(np.abs(x - y), axis=-1)
    >>> gs.functional.triplet_margin_with_distance_loss(a, b, a, distance_function=city)
    np.float64(8.0)
    """
    how = reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    anchor, positive, negative = arrays(anchor, positive, negative)
    if not np.ndim(anchor) == np.ndim(positive) == np.ndim(negative):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {np.ndim(anchor)}D, positive {np.ndim(positive)}D, and negative {np.ndim(negative)}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return reduced(_at_least_0(margin + near - far), how)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `sum over i != target of max(0, margin - input[target] + input[i])**p / classes`.

    This is the loss of Crammer and Singer (2001). The input has the shape (batch, classes) and the target (batch,), or
    (classes,) and (); `weight` has one number for each class, and counts by the target's. `p` is 1 or 2, else a ValueError;
    a class that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.multi_margin_loss(np.array([[0.0, 0.5, 2.0]]), np.array([1]))
    np.float64(1.0)
    """
    how = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    input, target = arrays(input, target)
    x, index = _rows_of(input, target, "multi_margin_loss")
    classes = np.shape(x)[1]
    if weight is not None:
        (weight,) = arrays(weight)
        if np.ndim(weight) != 1:
            raise ValueError("weight must be one-dimensional")
        if np.size(weight) != classes:
            raise RuntimeError(f"inconsistent weight size, expected {classes} but got {np.shape(weight)}")
    if happens((index < 0) | (index >= classes)):
        raise IndexError(f"target out of range: class indices are from 0 to {classes - 1}")
    terms = _relu(margin - picked(x, index)[:, None] + x)
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * taken(weight, index)[:, None]
    here = index[:, None] == counted(index, classes)
    losses = np.sum(np.where(here, 0, terms), axis=1) / classes
    return losses[0] if how == "none" and not np.ndim(target) else reduced(losses, how)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """Compute the mean of `max(0, 1 - (input[j] - input[i]))` for each target j and each i that is none.

    The sum is divided by the number of classes. Input and target have the shape (batch, classes) or (classes,); of each row
    of the target the class indices before the first -1 count. Other shapes are a RuntimeError. So is a class that does not
    exist, and a target of floats.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.multilabel_margin_loss(np.array([0.0, 0.5, 2.0]), np.array([1, -1, -1])).round(6)
    np.float64(1.0)
    """
    how = reduction_of(reduction, size_average, reduce)
    input, target = arrays(input, target)
    if np.shape(input) != np.shape(target) or np.ndim(input) not in (1, 2):
        raise RuntimeError(f"inconsistent target size: {np.shape(target)} for input of size: {np.shape(input)}")
    _check_indices(target)
    one = np.ndim(input) == 1
    x, index = (v[None] if one else v for v in (input, target))
    classes = np.shape(x)[1]
    if happens((index < -1) | (index >= classes)):
        raise RuntimeError(f"target out of range: class indices are from 0 to {classes - 1}, and -1 ends them")
    counts = np.cumsum(index < 0, axis=1) == 0
    index = np.where(counts, index, 0)
    hit = np.any((index[:, :, None] == counted(index, classes)) & counts[:, :, None], axis=1)
    between = 1 - np.take_along_axis(x, index, axis=1)[:, :, None] + x[:, None, :]
    terms = np.where(counts[:, :, None] & ~hit[:, None, :], _relu(between), 0)
    losses = np.sum(terms, axis=(1, 2)) / classes
    return losses[0] if how == "none" and one else reduced(losses, how)


def _check_indices(target: Any) -> None:
    """Raise where a target is not of whole numbers."""
    if target.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}: the target is of class indices")


def _rows_of(input: Any, target: Any, name: str) -> tuple[Any, Any]:
    """An input of classes with one row for each target, and the targets as a vector."""
    if np.ndim(input) not in (1, 2) or np.shape(target) not in (np.shape(input)[:-1], (1,) * (np.ndim(input) == 1)):
        raise RuntimeError(
            f"{name}: target tensor should be 1-D with size equal to the number of input samples (batch size): the input has the "
            f"shape {np.shape(input)}, the target {np.shape(target)}"
        )
    _check_indices(target)
    return np.reshape(input, (-1, np.shape(input)[-1])), np.reshape(target, (-1,))


def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """Compute the mean of `log(1 + exp(-target * input))` for targets of 1 and -1, without an overflow.

    Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.soft_margin_loss(np.array([0.0, 1000.0]), np.array([1, -1]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """
    input, target = paired(input, target)
    return reduced(_softplus(-target * input), reduction, size_average, reduce)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean over the last axis of `binary_cross_entropy_with_logits`, then over the rest. Weights broadcast.

    Shapes that do not broadcast are a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.multilabel_soft_margin_loss(np.array([[0.0, 1000.0]]), np.array([[1.0, 1.0]]))
    np.float64(0.34657359027997264)
    """
    input, target = paired(input, target)
    losses = cross_entropy_of_logit(input, target)
    losses = losses if weight is None else losses * arrays(weight)[0]
    return reduced(np.sum(losses, axis=-1) / np.shape(input)[-1], reduction, size_average, reduce)


def _at_least_0(x: Any) -> Any:
    """`max(x, 0)`, of slope 1 at 0, where PyTorch's losses have it."""
    return np.clip(x, 0, None)
