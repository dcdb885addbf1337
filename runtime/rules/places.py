"""Indices under a batch axis, which the array, the index and the written values may each have."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...unpatched import np
from ..batching import BatchedCall, lifted

__all__ = ["Place", "added_to_rows", "place_of"]


class Place(NamedTuple):
    """An index for arrays with the batch axis, and how what it reads is ordered."""

    index: Any
    ndim: int  # how many axes it reads, without the batch axis
    source: Any = None  # where it leaves axes that belong elsewhere
    destination: Any = None

    def outward(self, found: Any) -> Any:
        """Return the elements that were read, with the batch axis first and the others where they belong."""
        return found if self.source is None else np.moveaxis(found, self.source, self.destination)

    def inward(self, value: Any, mapped: bool) -> Any:
        """Return the elements to write, in the shape that the index asks for."""
        extra = int(np.ndim(value)) - mapped - self.ndim
        if extra > 0:  # NumPy writes (1, 3) into (3,)
            shape = np.shape(value)
            value = np.reshape(value, (*shape[:mapped], *shape[mapped + extra :]))
        if mapped:
            value = lifted(value, self.ndim)
        elif self.source is not None:
            value = np.reshape(value, (1,) * (self.ndim + 1 - np.ndim(value)) + tuple(np.shape(value)))
        return value if self.source is None else np.moveaxis(value, self.destination, self.source)


def place_of(call: BatchedCall, ndim: int, array_mapped: bool) -> Place | None:
    """The index of a call for an array of `ndim` axes besides the batch axis; None where there is no such index."""
    given = call["index"]
    flags = call.flags("index")
    whole = not isinstance(given, tuple)
    parts = [given] if whole else list(given)
    marks: list[Any] = [flags] if whole else list(flags) if flags else [False] * len(parts)
    if any(m not in (True, False) for m in marks):
        return None
    ranks = [_rank(p, m) for p, m in zip(parts, marks, strict=True)]
    if any(r is None for r in ranks):
        return None
    taken = sum(_consumed(p, r) for p, r in zip(parts, ranks, strict=True))
    made = [_made(p, r, ndim - taken) for p, r in zip(parts, ranks, strict=True)]
    rest = sum(made) + (0 if any(p is Ellipsis for p in parts) else ndim - taken)
    block = [k for k, r in enumerate(ranks) if r != "basic" or _is_number(parts[k])]  # what NumPy broadcasts together
    fancy = any(r != "basic" and r[0] > 0 for r in ranks)
    rank = max([r[0] for r in ranks if r != "basic"], default=0)
    some = any(marks)
    if not fancy and not some:
        return Place(_with_batch(parts) if array_mapped else given, rest)
    together = block == list(range(block[0], block[-1] + 1))
    before = sum(made[: block[0]]) if together else 0
    if not some:
        if together or not array_mapped:
            return Place(_with_batch(parts) if array_mapped else given, rest + rank)
        return Place(_with_batch(parts), rest + rank, rank, 0)
    if any(r != "basic" and r[1] for r in ranks):  # a mask beside mapped positions
        return None
    parts = [lifted(p, rank) if m else p for p, m in zip(parts, marks, strict=True)]
    if not array_mapped:  # the batch axis comes where the positions stand
        index = parts[0] if whole else tuple(parts)
        return Place(index, rest + rank, before, 0) if before else Place(index, rest + rank)
    rows = call.apply(np.arange, call.size)
    if rank:
        rows = np.reshape(rows, (-1, *(1,) * rank))
    index = (rows, *parts)
    if not before or not rank:
        return Place(index, rest + rank)
    return Place(index, rest + rank, tuple(range(1, 1 + rank)), tuple(range(1 + before, 1 + before + rank)))


def _is_number(part: Any) -> bool:
    return isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))


def _rank(part: Any, mapped: bool) -> Any:
    """How many axes positions have, and of how many axes a mask is; "basic" for other parts, None for what is neither."""
    if isinstance(part, (slice, type(None), type(Ellipsis))) or _is_number(part):
        return "basic"
    if isinstance(part, (bool, np.bool_)):
        return None
    dtype = part.dtype if hasattr(part, "dtype") else np.asarray(part).dtype
    ndim = int(np.ndim(part)) - mapped
    if dtype.kind == "b":
        return None if mapped or not ndim else (1, ndim)
    return (ndim, 0)


def _consumed(part: Any, rank: Any) -> int:
    """Return the number of axes of the array that a part of an index is about."""
    if rank != "basic":
        return rank[1] or 1
    return 0 if part is None or part is Ellipsis else 1


def _made(part: Any, rank: Any, left: int) -> int:
    """Return the number of axes of the result that a basic part gives."""
    if rank != "basic" or _is_number(part):
        return 0
    return left if part is Ellipsis else 1


def _with_batch(parts: list[Any]) -> Any:
    return (slice(None), *parts)


def added_to_rows(call: BatchedCall) -> Any:
    """Rows as wide as those of all examples; where each has an index of its own, rows of one table after the other."""
    index, (n, *rest) = call["index"], call["shape"]
    rank = call.ndim("index")
    if not call.is_mapped("index"):
        found = call.run(v=np.moveaxis(call["v"], 0, rank), shape=(n, call.size, *rest))
        return np.moveaxis(found, 1, 0)
    table = np.reshape(call.apply(np.arange, call.size * n), (call.size, n))
    own = np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * rank))
    found = call.run(v=call.spread("v"), index=table[own, index], shape=(call.size * n, *rest))
    return np.reshape(found, (call.size, n, *rest))
