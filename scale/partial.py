"""What a shard, or several, come to: value and gradient with their weight, added in the order of the shards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Partial", "combined"]


class Partial(NamedTuple):
    """The sum over shards, or their mean with its weight; `aux` of each shard, in order."""

    leaves: list[Any]  # the value, where there is one, and each array of the gradient
    weight: float
    aux: list[Any]
    notes: tuple[str, ...]
    counts: tuple[int, ...]  # which shards: none is counted twice


def combined(parts: list[Partial], mean: bool) -> Partial:
    """Return the partials of neighbours as one, added from the first to the last.

    A mean is the mean of means, each with its share of the weight: it cannot overflow where they do not.
    """
    weight = sum([part.weight for part in parts])
    present = [part for part in parts if part.leaves]  # of a mean, shards without rows have none
    leaves: list[Any] = []
    for columns in zip(*[part.leaves for part in present], strict=True):
        shares = [part.weight / weight for part in present] if mean and len(present) > 1 else None
        leaves.append(_added(columns, shares))
    notes = tuple(dict.fromkeys([note for part in parts for note in part.notes]))
    counts = tuple([k for part in parts for k in part.counts])
    return Partial(leaves, weight, [aux for part in parts for aux in part.aux], notes, counts)


def _added(columns: tuple[Any, ...], shares: list[float] | None) -> Any:
    if columns[0] is None:
        return None
    if len(columns) == 1:
        return columns[0]
    total: Any = None
    for k, column in enumerate(columns):
        term = column if shares is None else column * shares[k]
        if total is None:
            total = np.array(term) if isinstance(term, np.ndarray) else term  # nobody else's memory
        elif isinstance(total, np.ndarray) and total.shape:
            total += term
        else:
            total = total + term
    return total
