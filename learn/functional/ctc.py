"""Connectionist temporal classification: the probability of a sequence of classes, over all ways to spread it over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.support import happens
from .shared import arrays, counted, reduced, reduction_of

__all__ = ["ctc_loss"]

NEVER = -1e30  # the logarithm of nothing: a finite one, of which every difference and derivative is finite


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Return minus the log-probability of targets, classes repeated over time with blanks between (Graves et al., 2006).

    `log_probs` is (time, batch, classes), or (time, classes), as `log_softmax` gives it; `targets` is (batch, longest), or all
    of them one after the other; the lengths have one number for each example. The mean is that of the losses over their target
    lengths. Where the input is too short for its target the loss is infinite, and its gradient no number; with
    `zero_infinity` both are 0.

    The recursion runs over time in NumPy, on logarithms, so that no sequence is too long, and derivatives of every order
    exist. The gradient with respect to `log_probs` is the derivative, where PyTorch's takes the softmax before it in:
    behind `log_softmax` both are the same. Raises ShapeError (a RuntimeError) where shapes or lengths disagree. A class
    that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> even = np.log(np.full((2, 3), 1 / 3))  # 2 steps, 3 classes, of which 0 is blank: "1" is "01", "10" or "11"
    >>> np.exp(-gs.functional.ctc_loss(even, np.array([1]), 2, 1)).round(6)
    np.float64(0.333333)
    """
    lp, targets, steps, counts = arrays(log_probs, targets, input_lengths, target_lengths)
    how = reduction_of(reduction)
    single = np.ndim(lp) == 2
    if single:
        lp = np.expand_dims(lp, 1)
        steps, counts = np.reshape(steps, (-1,)), np.reshape(counts, (-1,))
    labels = _labels(lp, targets, steps, counts, blank)
    length, batch, _ = np.shape(lp)
    states = np.reshape(np.stack([np.full_like(labels, blank), labels], axis=2), (batch, 2 * np.shape(labels)[1]))
    states = np.pad(states, ((0, 0), (0, 1)), constant_values=blank)  # blanks before, between and behind the labels
    # from a label one may go on to the next without the blank between them, unless they are equal
    skips = (states != blank) & (states != _later(states, 2, blank))
    rows = np.take_along_axis(lp, np.broadcast_to(states, (length, *np.shape(states))), axis=2)
    rows = np.maximum(rows, NEVER)
    ways = np.where(np.cumsum(np.ones_like(states), axis=1) == 1, 0.0, NEVER).astype(lp.dtype)  # before the first step
    for t in range(length):
        total = np.logaddexp(ways, _later(ways, 1, NEVER))
        total = np.logaddexp(total, np.where(skips, _later(ways, 2, NEVER), NEVER))
        ways = np.where((steps > t)[:, None], total + rows[t], ways)
    last = 2 * counts[:, None]
    ended = np.take_along_axis(ways, last, axis=1)
    within = np.take_along_axis(ways, np.maximum(last - 1, 0), axis=1)
    found = np.logaddexp(ended, np.where(last > 0, within, NEVER))[:, 0]
    losses = -found * np.where(found > NEVER / 2, 1.0, 0.0 if zero_infinity else np.inf).astype(lp.dtype)
    if how == "mean":
        losses = losses / np.maximum(counts, 1).astype(lp.dtype)
    return losses[0] if single and how == "none" else reduced(losses, how)


def _later(states: Any, by: int, first: Any) -> Any:
    """Moved on by some positions."""
    return np.pad(states, ((0, 0), (by, 0)), constant_values=first)[:, :-by]


def _labels(lp: Any, targets: Any, steps: Any, counts: Any, blank: int) -> Any:
    """The targets as (batch, longest), with blanks behind the end of each; errors where something disagrees."""
    if np.ndim(lp) != 3:
        raise ShapeError(f"log_probs must have the shape (time, batch, classes) or (time, classes), not {np.shape(lp)}")
    length, batch, classes = np.shape(lp)
    if not 0 <= blank < classes:
        raise ShapeError(f"blank must be in label range: it is {blank}, of {classes} classes")
    for name, given in (("input_lengths", steps), ("target_lengths", counts)):
        if given.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral, but has the dtype {given.dtype}")
        if np.shape(given) != (batch,):
            raise ShapeError(
                f"{name} must be of size batch_size: it has the shape {np.shape(given)}, the batch {batch}"
            )
    if targets.dtype.kind not in "iu":
        raise RuntimeError(f"targets must be integral class indices, but have the dtype {targets.dtype}")
    if happens(steps > length):
        raise ShapeError(f"Expected input_lengths to have value at most {length}, the length of log_probs in time")
    if happens((steps < 0) | (counts < 0)):
        raise ShapeError("Expected input_lengths and target_lengths to have value at least 0")
    if np.ndim(targets) == 1:
        longest = int(np.max(counts)) if batch else 0
        if happens(np.sum(counts) != np.size(targets)):
            raise ShapeError(
                f"Expected tensor to have size {int(np.sum(counts))} at dimension 0, but got size {np.size(targets)} for targets"
            )
        columns = counted(counts, longest)
        places = (np.cumsum(counts) - counts)[:, None] + columns
        found = np.take(targets, np.minimum(places, max(np.size(targets) - 1, 0))) if longest else places
    elif np.ndim(targets) == 2:
        longest = np.shape(targets)[1]
        if np.shape(targets)[0] != batch:
            raise ShapeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {np.shape(targets)[0]} for targets"
            )
        if happens(counts > longest):
            raise ShapeError(
                f"Expected tensor to have size at least {int(np.max(counts))} at dimension 1, but got size {longest} for targets"
            )
        found, columns = targets, counted(counts, longest)
    else:
        raise ShapeError(f"targets must have one or two axes, but have the shape {np.shape(targets)}")
    return np.where(columns < counts[:, None], found, blank)
