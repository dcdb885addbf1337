"""Windows that slide over an array: read, put back, and their maxima, which convolutions and pools are made of.

Each function takes how the windows lie as plain numbers: how far they reach (`span`) along which `axes`, from where the axes of
the window are moved (`ends`) to the `front`, and the index that leaves out places by dilation and stride (`steps`). The axes
count from the end, so that others may stand before. With the examples last in memory, one position of all windows is a few
long runs, over which NumPy is as fast as it gets: a position at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...unpatched import np
from ..batching import BatchedCall, alone
from ..errors import NoRuleError
from ..ops import Kind
from ..registry import batching, forms, op, primitive, rule, singular_at

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


def _of_call(window_shape: Any, axis: Any, ndim: int) -> tuple[Any, ...]:
    """The span of the windows that NumPy's function slides, their axes, and where the axes of a window come from and go."""
    span = tuple(map(int, window_shape)) if np.iterable(window_shape) else (int(window_shape),)
    axes = range(ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    n = len(span)
    return span, tuple([k % ndim - ndim for k in axes]), tuple(range(-n, 0)), tuple(range(n))


def unslide(g: Any, window_shape: Any, axis: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of the array that windows slid over: each element is in several of them."""
    span, axes, ends, front = _of_call(window_shape, axis, len(x_shape))
    return folded(np.moveaxis(g, ends, front), span, span, axes, ..., ends, front, x_shape, x_dtype)


op(np.lib.stride_tricks.sliding_window_view, "x, window_shape, axis=None, *, subok=False, writeable=False", Kind.shaping)
rule(
    np.lib.stride_tricks.sliding_window_view,
    x=lambda g, window_shape, axis, x_shape, x_dtype: unslide(g, window_shape, axis, x_shape, x_dtype),
)


@forms(np.lib.stride_tricks.sliding_window_view)
def read_only(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows are read: to write into one would write into others."""
    if writeable:
        raise NoRuleError(
            "np.lib.stride_tricks.sliding_window_view(writeable=True) has no gradient rule in gradscribe: its elements share "
            "memory. Read from windows, and write into the array (np.add.at)."
        )
    return NotImplemented


@batching(np.lib.stride_tricks.sliding_window_view)
def batched_sliding_window_view(call: BatchedCall) -> Any:
    """Over the axes behind the batch axis."""
    if not call.only("x"):
        return NotImplemented
    span, axes, _, _ = _of_call(call["window_shape"], call["axis"], call.ndim("x"))
    return call.run(window_shape=span, axis=axes)


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
