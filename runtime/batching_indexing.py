"""Batching of reads and writes by index, where the array, the index and what is written may each carry the batch axis."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .batching import Call, batching, lifted, shifted
from .rules.differences import entry
from .rules.elementwise import astype
from .rules.indexing import (
    add_place,
    index_add,
    index_add_at,
    index_set,
    place,
    read_last,
    scatter,
    scatter_along,
    undelete,
)

__all__: list[str] = []


class Place(NamedTuple):
    """An index for arrays with the batch axis, and how what it reads is ordered."""

    index: Any
    ndim: int  # how many axes it reads, without the batch axis
    source: Any = None  # where it leaves axes that belong elsewhere
    destination: Any = None

    def outward(self, found: Any) -> Any:
        """What was read, with the batch axis first and the others where they belong."""
        return found if self.source is None else np.moveaxis(found, self.source, self.destination)

    def inward(self, value: Any, mapped: bool) -> Any:
        """What is to be written, as the index wants it."""
        extra = int(np.ndim(value)) - mapped - self.ndim
        if extra > 0:  # NumPy writes (1, 3) into (3,)
            shape = np.shape(value)
            value = np.reshape(value, (*shape[:mapped], *shape[mapped + extra :]))
        if mapped:
            value = lifted(value, self.ndim)
        elif self.source is not None:
            value = np.reshape(value, (1,) * (self.ndim + 1 - np.ndim(value)) + tuple(np.shape(value)))
        return value if self.source is None else np.moveaxis(value, self.destination, self.source)


def place_of(call: Call, ndim: int, array_mapped: bool) -> Place | None:
    """The index of a call for an array of `ndim` axes besides the batch axis; None where there is no such index."""
    given = call["index"]
    flags = call.mapped[call._places["index"]]
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
    """How many axes of the array a part of an index is about."""
    if rank != "basic":
        return rank[1] or 1
    return 0 if part is None or part is Ellipsis else 1


def _made(part: Any, rank: Any, left: int) -> int:
    """How many axes of the result a basic part gives."""
    if rank != "basic" or _is_number(part):
        return 0
    return left if part is Ellipsis else 1


def _with_batch(parts: list[Any]) -> Any:
    return (slice(None), *parts)


# Reading --------------------------------------------------------------------------------------------


@batching(operator.getitem, entry)
def getitem(call: Call) -> Any:
    """`x[index]`."""
    if call.op.name == "entry":
        if call.is_mapped("x"):
            return np.take(call["x"], call["k"], axis=1) if call.only("x") else NotImplemented
        return call.run()
    mapped = call.mapped[0] is True
    found = place_of(call, call.ndim("x"), mapped)
    if found is None:
        return NotImplemented
    return found.outward(call.run(index=found.index))


@batching(read_last)
def last(call: Call) -> Any:
    """`x[index]`, but zero where a later part of the index names the same element."""
    found = place_of(call, call.ndim("x"), call.is_mapped("x"))
    if found is None or not call.is_mapped("x"):
        return NotImplemented
    return found.outward(call.run(index=found.index))


@batching(np.take)
def take(call: Call) -> Any:
    """Along one axis."""
    axis, ndim = call["axis"], call.ndim("x")
    if not call.is_mapped("indices"):
        if axis is None:
            return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
        return call.run(axis=shifted(axis, ndim))
    if not call.is_mapped("x"):
        if axis is None:
            return call.run()
        shifted(axis, ndim)
        return np.moveaxis(call.run(), axis % ndim, 0)
    if call["mode"] != "raise":
        return NotImplemented
    x = np.reshape(call["x"], (call.size, -1)) if axis is None else call["x"]
    indices, rank = call["indices"], call.ndim("indices")
    axis = 0 if axis is None else axis % ndim
    rows = np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * rank))
    found = np.moveaxis(x, axis + 1, 1)[rows, indices]
    return np.moveaxis(found, tuple(range(1, 1 + rank)), tuple(range(1 + axis, 1 + axis + rank))) if axis else found


@batching(np.take_along_axis)
def take_along_axis(call: Call) -> Any:
    """Along one axis of both."""
    if call["axis"] is None:
        return call.run(x=np.reshape(call.spread("x"), (call.size, -1)), indices=call.spread("indices"), axis=1)
    return call.run(x=call.spread("x"), indices=call.spread("indices"), axis=shifted(call["axis"], call.ndim("x")))


@batching(np.compress, np.delete)
def chosen(call: Call) -> Any:
    """Along an axis that is one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    if call["axis"] is None:
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.extract)
def extract(call: Call) -> Any:
    """Of the flat array."""
    if not call.only("x"):
        return NotImplemented
    flat = np.reshape(call["x"], (call.size, -1))
    return call.apply(np.compress, np.reshape(call["condition"], -1), flat, axis=1)


# Writing --------------------------------------------------------------------------------------------


@batching(place, add_place, scatter)
def placed(call: Call) -> Any:
    """Zeros with `v` at the index."""
    shape = call["shape"]
    found = place_of(call, len(shape), array_mapped=True)
    if found is None:
        return NotImplemented
    v = found.inward(call["v"], call.is_mapped("v"))
    return call.run(v=v, index=found.index, shape=(call.size, *shape))


@batching(index_set, index_add, index_add_at)
def written(call: Call) -> Any:
    """A copy with `v` written, or added, at the index."""
    name = call.op.params[0].name
    found = place_of(call, call.ndim(name), array_mapped=True)
    if found is None:
        return masked(call) if call.op.name == "index_set" else NotImplemented
    v = found.inward(call["v"], call.is_mapped("v"))
    return call.run(**{name: call.spread(name), "index": found.index, "v": v})


def masked(call: Call) -> Any:
    """`x[mask] = v` of one number for each example."""
    x, mask, v, ndim = call.spread("x"), call["index"], call["v"], call.ndim("x")
    if call.mapped[1] is not True or getattr(mask, "dtype", None) != np.bool_ or np.ndim(v) - call.is_mapped("v"):
        return NotImplemented
    mask = np.reshape(mask, (*np.shape(mask), *(1,) * (ndim - call.ndim("index"))))
    found = np.where(mask, lifted(v, ndim) if call.is_mapped("v") else v, x)
    return found if found.dtype == x.dtype else astype(found, x.dtype)


@batching("gradscribe.runtime.rules.fft.doubled")
def doubled(call: Call) -> Any:
    """Twice `x`, but for the piece at the index."""
    found = place_of(call, call.ndim("x"), array_mapped=True)
    return call.run(index=found.index) if found is not None and call.only("x") else NotImplemented


@batching(scatter_along)
def scattered_along(call: Call) -> Any:
    """Zeros with `v` added along one axis."""
    shape = call["shape"]
    v, indices = call.spread("v"), call.spread("indices")
    return call.run(v=v, indices=indices, axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))


@batching(undelete)
def undeleted(call: Call) -> Any:
    """Zeros with `g` where something was left along one axis."""
    shape = call["shape"]
    return (
        call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))
        if call.only("g")
        else NotImplemented
    )


@batching("gradscribe.runtime.rules.tables.rows")
def rows(call: Call) -> Any:
    """Rows of one table, or of one for each example."""
    x, index = call["x"], call["index"]
    if not call.is_mapped("x"):
        return call.run()
    if not call.is_mapped("index"):
        return x[:, index]
    return x[np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * call.ndim("index"))), index]


@batching("gradscribe.runtime.rules.tables.added_rows")
def added_rows(call: Call) -> Any:
    """Added to the rows of one long table, which holds those of all examples."""
    (n, m), index = call["shape"], call.spread("index")
    first = np.reshape(call.apply(np.arange, call.size), (-1, *(1,) * call.ndim("index"))) * n
    found = call.run(g=call.spread("g"), index=index + first, shape=(call.size * n, m))
    return np.reshape(found, (call.size, n, m))
