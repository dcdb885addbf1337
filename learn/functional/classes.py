"""Losses of class indices, and of probabilities of classes: cross-entropy and the negative log-likelihood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.softmaxes import log_softmax, peak, picked
from ...runtime.rules.support import happens
from .shared import arrays, decided_by, drawn, plain, reduced, reduction_of, taken, titled, undecided

__all__ = ["cross_entropy", "nll_loss"]


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """Compute the mean of `-log(softmax(input)[target])`, right for logits of any size.

    The input has the shape (classes,), (batch, classes) or (batch, classes, d1, ...); the target is of class indices, in the
    same shape without the classes, or of probabilities, in that of the input. `weight` has one number for each class, and
    counts in the mean where there are indices. What stands at `ignore_index` counts nothing. With label smoothing, a share of
    each target is spread evenly over the classes.

    A class index out of range is an IndexError, shapes that do not fit and other dtypes are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> logits = np.array([[0.0, np.log(3.0)], [1000.0, 0.0]])
    >>> gs.functional.cross_entropy(logits, np.array([0, 1]), reduction="none")
    array([   1.38629436, 1000.        ])
    >>> gs.functional.cross_entropy(logits, np.array([[0.5, 0.5], [0.5, 0.5]]), reduction="none")
    array([  0.83698822, 500.        ])
    """
    input, target = arrays(input, target)
    how = reduction_of(reduction, size_average, reduce)
    classes = _classes(input, weight, "cross_entropy: ")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape:
        return _of_probabilities(input, target, weight, ignore_index, how, classes, label_smoothing)
    # A composition: its backward pass multiplies exp(z), which it has, where the rule of log_softmax takes an exponential more
    # and a rule of the whole a division. By benchmarks/losses.py it takes half the time of log_softmax's rule, compiled at
    # 256 x 100 (eagerly 0.8 of it; at 32 x 10, for its nodes, 1.6 times).
    x, index = _rows(input, target, classes)
    index, kept = _checked(index, classes, ignore_index)
    z = x - peak(x, 1)
    chosen = picked(z, index)
    log_total = np.log(np.sum(np.exp(z), axis=1))
    losses, counts = log_total - chosen, None
    if weight is not None:
        counts = taken(weight, index)
        losses = losses * counts
    if label_smoothing:
        if weight is None:
            spread = log_total - np.mean(z, axis=1)
        else:
            spread = np.mean(weight * (log_total[:, None] - z), axis=1)
        losses = (1 - label_smoothing) * losses + label_smoothing * spread
    return titled(_reduced(losses, counts, kept, how, target.shape), "NllLoss")


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean of `-input[target]` for log-probabilities: `cross_entropy` of class indices behind its `log_softmax`.

    Shapes, `weight`, `ignore_index` and errors are those of `cross_entropy`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.nll_loss(np.log(np.array([[0.25, 0.75]])), np.array([0]))
    np.float64(1.3862943611198906)
    """
    input, target = arrays(input, target)
    how = reduction_of(reduction, size_average, reduce)
    classes = _classes(input, weight, "")
    x, index = _rows(input, target, classes)
    index, kept = _checked(index, classes, ignore_index)
    losses, counts = -picked(x, index), None
    if weight is not None:
        counts = taken(weight, index)
        losses = losses * counts
    return titled(_reduced(losses, counts, kept, how, target.shape), "NllLoss")


def _of_probabilities(
    input: Any, target: Any, weight: Any, ignore_index: int, how: str, classes: int, label_smoothing: float
) -> Any:
    """Cross-entropy of probabilities, whose mean is over the batch, whatever the weights."""
    if target.dtype.kind != "f":
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
    if ignore_index >= 0:
        raise RuntimeError(f"ignore_index is not supported for floating point target: it is {ignore_index}")
    axis = min(np.ndim(input) - 1, 1)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = log_softmax(input, axis) * target
    if weight is not None:
        terms = terms * np.reshape(weight, (classes, *(1,) * (np.ndim(input) - 1 - axis)))
    return reduced(-np.sum(terms, axis=axis), how)


# Class indices.


def _classes(input: Any, weight: Any, name: str) -> int:
    """How many classes there are; weights must be as many."""
    if not np.ndim(input):
        raise ShapeError(
            "Expected 1 or more dimensions (got 0): the input has the shape (classes,), (batch, classes) or more"
        )
    # A number, though the input may come of what was drawn (dropout), whose sizes a capture follows.
    classes = int(input.shape[min(np.ndim(input) - 1, 1)])
    if weight is not None and np.shape(weight) != (classes,):
        raise ShapeError(
            f"{name}weight tensor should be defined either for all {classes} classes or no classes "
            f"but got weight tensor of shape: {np.shape(weight)}"
        )
    return classes


def _rows(input: Any, target: Any, classes: int) -> tuple[Any, Any]:
    """The input with one row for each target, and the targets as a vector."""
    shape = input.shape
    if target.dtype.kind not in "iu":
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype}: a target of class indices is of integers, "
            f"and one of probabilities has the shape of the input, {shape}, and not {target.shape}"
        )
    expected = shape[:1] * (len(shape) > 1) + shape[2:]
    if target.shape != expected:
        if len(shape) == 2 and np.ndim(target) > 1:
            raise ShapeError(
                f"0D or 1D target tensor expected, multi-target not supported: it has the shape {target.shape}"
            )
        if target.shape[:1] != expected[:1] and len(shape) > 1:
            raise ShapeError(
                f"Expected input batch_size ({shape[0]}) to match target batch_size ({(*target.shape, 'none')[0]})."
            )
        if len(shape) == 1:
            raise ShapeError(f"size mismatch (got input: {shape}, target: {target.shape}): one index is a number")
        raise ShapeError(f"Expected target size {expected}, got {target.shape}")
    if len(shape) == 2:
        return input, target
    count = math.prod(expected)
    rows = np.moveaxis(input, 1, -1) if len(shape) > 1 else input
    return np.reshape(rows, (count, classes)), np.reshape(target, (count,))


def _checked(index: Any, classes: int, ignore_index: int) -> tuple[Any, Any]:
    """Indices within range, and which of them count (None: all of them); IndexError where one is out of range."""
    seen = decided_by(index)
    outside = (seen < 0) | (seen >= classes)
    if undecided(outside) or drawn(outside):  # negative indices are not to be taken from the end
        kept = index != ignore_index
        return np.where(kept, np.where(index < 0, classes, index), 0), kept
    if not happens(outside) and not 0 <= ignore_index < classes:
        return index, None
    if happens(outside & (seen != ignore_index)):
        wrong = plain(index)[plain(outside & (seen != ignore_index))][0]
        raise IndexError(
            f"Target {wrong} is out of bounds: class indices are from 0 to {classes - 1}, or {ignore_index} to be ignored"
        )
    kept = index != ignore_index
    return np.where(kept, index, 0), kept


def _reduced(losses: Any, counts: Any, kept: Any, how: str, shape: tuple[int, ...]) -> Any:
    """The reduction, in which what is ignored counts nothing."""
    if kept is not None:
        losses = np.where(kept, losses, 0)
    if how == "none":
        return np.reshape(losses, shape) if losses.shape != shape else losses
    if how == "sum" or not np.size(losses) or (counts is None and kept is None):
        return reduced(losses, how)
    if counts is None:
        total = np.sum(kept, dtype=losses.dtype)
    else:
        total = np.sum(counts if kept is None else np.where(kept, counts, 0))
    return np.sum(losses) / total
