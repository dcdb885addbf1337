"""Losses of margins: what lies on the right side of one by enough counts nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.rules.activations import cross_entropy_of_logit
from ...runtime.rules.activations import softplus as _softplus
from .shared import arrays, paired, reduced
from .vectors import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multilabel_soft_margin_loss",
    "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The mean of `input` where the target is 1, of `max(0, margin - input)` where it is -1.

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
    """The mean of `max(0, margin - target * (input1 - input2))`, where a target of 1 wants the first to be larger, -1 the second.

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
    """The mean of `1 - cos` of two vectors where the target is 1, of `max(0, cos - margin)` where it is -1.

    The inputs have the shape (batch, n) and the target (batch,), or (n,) and ().

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
    """The mean of `max(0, margin + d(anchor, positive) - d(anchor, negative))` of `pairwise_distance` (Balntas et al. 2016).

    With `swap`, `d(positive, negative)` counts where it is the smaller. A `margin` that is not positive is a ValueError.

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


def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """The mean of `log(1 + exp(-target * input))` for targets of 1 and -1, without an overflow.

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
    """The mean over the last axis of `binary_cross_entropy_with_logits`, then over the rest. Weights broadcast.

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
