"""Windows that slide over an array: read, put back, and their maxima, which convolutions and pools are made of.

Each function takes how the windows lie as plain numbers: how far they reach (`span`) along which `axes`, from where the axes of
the window are moved (`ends`) to the `front`, and the index that leaves out places by dilation and stride (`steps`). The axes
count from the end, so that others may stand before. With the examples last in memory, one position of all windows is a few
long runs, over which NumPy is as fast as it gets: a position at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..batching import BatchedCall, alone
from ..ops import Kind
from ..registry import batching, primitive, rule, singular_at
from ..unpatched import np

__all__ = ["Lie", "first_hits", "folded", "lie", "max_windows", "windows"]


class Lie(NamedTuple):
    """How windows lie over an array, as the functions below take it."""

    span: tuple[int, ...]
    axes: tuple[int, ...]
    steps: Any
    ends: tuple[int, ...]
    front: tuple[int, ...]


def lie(size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], behind: int) -> Lie:
    """Windows of a `size`, over axes that `behind` others follow."""
    n = len(size)
    span = tuple([d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True)])
    axes = tuple(range(-n - behind, -behind))
    steps: Any = Ellipsis
    if any(s != 1 for s in (*stride, *dilation)):
        inside = () if set(dilation) == {1} else tuple([_every(d) for d in dilation])
        steps = (*inside, ..., *[_every(s) for s in stride], *[slice(None)] * behind)
    return Lie(span, axes, steps, tuple(range(-n, 0)), tuple(range(n)))


def _every(step: int) -> slice:
    return slice(None) if step == 1 else slice(None, None, step)


def _shape(x: Any, span: Any, axes: Any, steps: Any, ends: Any, front: Any) -> tuple[int, ...]:
    """The shape of all windows, the axes of a window first."""
    shape: tuple[int, ...] = np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, span, axes), ends, front)[steps].shape
    return shape


@primitive(
    "x, span, axes, steps, ends, front", Kind.linear,
    types=lambda x, span, axes, steps, ends, front: np.empty(_shape(x, span, axes, steps, ends, front), x.dtype),
)  # fmt: skip
def windows(x: Any, span: Any, axes: Any, steps: Any, ends: Any, front: Any) -> Any:
    """Return the elements of each window, the axes of the window first."""
    return np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, span, axes), ends, front)[steps].copy()


@primitive(
    "g, size, span, axes, steps, ends, front, shape, dtype", Kind.linear,
    types=lambda shape, dtype: np.empty(shape, dtype),
)  # fmt: skip
def folded(g: Any, size: Any, span: Any, axes: Any, steps: Any, ends: Any, front: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape to which what each window holds is added: `windows`, put back."""
    out = np.zeros(shape, dtype)
    view = np.lib.stride_tricks.sliding_window_view(out, span, axes, writeable=True)
    places = np.moveaxis(view, ends, front)[steps]
    for at in np.ndindex(size):
        places[at] += g[at]
    return out


def _size(g: Any, front: Any) -> tuple[int, ...]:
    """How many positions a window has along each of its axes."""
    return tuple([int(n) for n in np.shape(g)[: len(front)]])


rule(
    windows,
    x=lambda g, span, axes, steps, ends, front, x_shape, x_dtype: folded(
        g, _size(g, front), span, axes, steps, ends, front, x_shape, x_dtype
    ),
)


@batching(windows)
def batched_windows(call: BatchedCall) -> Any:
    """The batch axis goes to the front again."""
    return np.moveaxis(call.run(), len(call["front"]), 0) if call.only("x") else NotImplemented


rule(folded, g=lambda g, span, axes, steps, ends, front: windows(g, span, axes, steps, ends, front))


@batching(folded)
def batched_folded(call: BatchedCall) -> Any:
    """The batch axis goes behind those of the window."""
    if not call.only("g"):
        return NotImplemented
    return call.run(g=np.moveaxis(call["g"], 0, len(call["front"])), shape=(call.size, *call["shape"]))


# A rule of its own: the maximum of `windows` would copy each window, and `np.max` shares the cotangent among equal elements,
# where PyTorch gives it to the first. Behind a ReLU equal elements are the rule.


@primitive(
    "x, size, span, axes, steps, ends, front", Kind.opaque,
    types=lambda x, size, span, axes, steps, ends, front: np.empty(
        _shape(x, span, axes, steps, ends, front)[len(size) :], x.dtype
    ),
)  # fmt: skip
def max_windows(x: Any, size: Any, span: Any, axes: Any, steps: Any, ends: Any, front: Any) -> Any:
    """The greatest element of each window."""
    parts = np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, span, axes), ends, front)[steps]
    first, *others = np.ndindex(size)
    out = parts[first].copy()
    for at in others:
        np.maximum(out, parts[at], out=out)
    return out


@primitive(
    "x, top, size, span, axes, steps, ends, front", Kind.opaque,
    types=lambda x, span, axes, steps, ends, front: np.empty(_shape(x, span, axes, steps, ends, front), bool),
)  # fmt: skip
def first_hits(x: Any, top: Any, size: Any, span: Any, axes: Any, steps: Any, ends: Any, front: Any) -> Any:
    """Where in its window the first element stands that is no less than the greatest one, the axes of the window first."""
    parts = np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, span, axes), ends, front)[steps]
    hits, free = np.zeros(parts.shape, bool), np.ones(top.shape, bool)
    for at in np.ndindex(size):
        hits[at] = free & ~(parts[at] < top)
        free &= ~hits[at]
    return hits


rule(first_hits, x=None, top=None)


@batching(first_hits)
def batched_first_hits(call: BatchedCall) -> Any:
    """The batch axis goes to the front again."""
    return np.moveaxis(call.run(x=call.spread("x"), top=call.spread("top")), len(call["front"]), 0)


rule(
    max_windows,
    x=lambda g, x, out, size, span, axes, steps, ends, front, x_shape, x_dtype: folded(
        np.where(first_hits(x, out, size, span, axes, steps, ends, front), g, 0),
        size, span, axes, steps, ends, front, x_shape, x_dtype,
    ),
)  # fmt: skip


def tied(x: Any, top: Any, size: Any, *how: Any) -> Any:
    """Tell where elements share the maximum of a window with others."""
    equal = windows(x, *how) == top
    several = equal & (np.sum(equal, axis=how[-1]) > 1)
    return folded(several, size, *how, np.shape(x), np.dtype(bool))


singular_at(
    max_windows,
    x=lambda x, out, size, span, axes, steps, ends, front: tied(x, out, size, span, axes, steps, ends, front),
)
batching(max_windows)(alone)
