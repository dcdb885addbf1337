"""Indexing: reading by index, and the functional writes that NumPy lacks (set, add, place, scatter)."""

from __future__ import annotations

import functools
import math
import operator
import sys
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, lifted, shifted
from ..memory import NEW, Memory
from ..ops import Kind
from ..registry import batching, op, primitive, require, rule, takes_out
from ..result_types import BY_VALUE, LENGTHS, RUN
from .elementwise import astype
from .places import added_to_rows, place_of
from .support import NUMPY, literal


def is_basic(index: Any) -> bool:
    """Whether an index is basic (numbers, slices, None, Ellipsis), so that it names each element once."""
    parts = index if isinstance(index, tuple) else (index,)
    basic = (int, np.integer, slice, type(None), type(Ellipsis))
    return all(isinstance(p, basic) and not isinstance(p, bool) for p in parts)


def _gives_view(index: Any) -> bool:
    """Whether an index is basic, with whole numbers of Python's that may be Values; of a 0-d array NumPy makes a copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(is_basic(p) or getattr(getattr(p, "type", None), "kind", "") == "python" for p in parts)


def _is_advanced(index: Any) -> bool:
    """Whether one of the parts is an array with axes, so that NumPy makes a copy of what is read."""
    for p in index if isinstance(index, tuple) else (index,):
        known = getattr(p, "type", None)
        if isinstance(p, np.ndarray) if known is None else known.kind == "array" and known.shape:
            return True
    return False


def _memory_of(index: Any) -> Memory:
    if _is_advanced(index):
        return NEW
    return Memory("view" if _gives_view(index) else "may", ("x",))


def _has_mask(index: Any) -> bool:
    """Whether one of the parts is a mask, so that lengths follow from its values."""
    return any(getattr(p, "dtype", None) == np.bool_ for p in (index if isinstance(index, tuple) else (index,)))


def names_once(index: Any) -> bool:
    """Whether an index surely names each element once: basic parts and boolean masks, no arrays of positions."""
    for p in index if isinstance(index, tuple) else (index,):
        if type(p) not in _BASIC and not isinstance(p, (int, np.integer)) and not _is_mask(p) and not _is_place(p):
            return False
    return True


def _is_place(part: Any) -> bool:
    """Whether a part is one whole number: of an array, or traced."""
    return getattr(part, "ndim", None) == 0 and part.dtype.kind in "iu"


def _has_place(index: Any) -> bool:
    """Whether one of the parts is a single whole number."""
    parts = index if isinstance(index, tuple) else (index,)
    return any((isinstance(p, (int, np.integer)) and not isinstance(p, bool)) or _is_place(p) for p in parts)


_BASIC = {int, slice, type(None), type(Ellipsis)}


def _is_mask(part: Any) -> bool:
    while isinstance(part, list) and part:
        part = part[0]
    return isinstance(part, bool) or getattr(part, "dtype", None) == np.bool_


@primitive("v, index, shape, dtype", Kind.linear, stores=0, types=lambda shape, dtype: np.empty(shape, dtype))
def place(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` written at `index`, which names each element once."""
    out = np.zeros(shape, dtype)
    out[index] = v
    return out


@primitive("v, index, shape, dtype", Kind.linear, types=lambda shape, dtype: np.empty(shape, dtype))
def add_place(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` added at `index`: as `place` but for -0.0, so that a loop's first trip is like its others."""
    out = np.zeros(shape, dtype)
    out[index] += v
    return out


@primitive("v, index, shape, dtype", Kind.linear, stores=0, types=lambda shape, dtype: np.empty(shape, dtype))
def scatter(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` added at `index`, which may name an element more than once."""
    out = np.zeros(shape, dtype)
    np.add.at(out, index, v)
    return out


def _scatter_rows(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """`scatter_rows` of arrays: by SciPy's sparse product where there is one and the work is worth it."""
    product = sparse_product(v.size) if takes_product(dtype) and v.dtype == dtype else None
    return (_scatter_rows_by_numpy if product is None else product)(v, index, shape, dtype)


def takes_product(dtype: Any) -> bool:
    """Whether SciPy's product adds as NumPy does: it has no float16, and of complex numbers `inf` times 1 is not `inf`."""
    return bool(dtype == np.float64 or dtype == np.float32)


def sparse_product(size: int) -> Any:
    """`scatter_rows` by SciPy's product, for so many numbers; None where there is no SciPy, or NumPy is done sooner.

    The first product of a process takes a third of a second, in which SciPy is loaded.
    """
    if size < PRODUCTS or (size < _LOADING and "scipy.sparse" not in sys.modules):
        return None
    return _product()


PRODUCTS = 1 << 14  # numbers from which on a product is the quicker, its preparation included
_LOADING = 1 << 18  # and where SciPy is still to be loaded


@functools.cache
def _product() -> Any:
    try:
        from .row_products import multiply_rows  # stands on SciPy
    except ImportError:
        return None
    return multiply_rows


@primitive(
    "v, index, shape, dtype", Kind.linear, types=lambda shape, dtype: np.empty(shape, dtype), quick=_scatter_rows
)  # fmt: skip
def scatter_rows(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` added at rows, of which `index` may name one more than once.

    Each number has its place, since `np.add.at` adds single numbers five times as fast as rows.
    """
    out = np.zeros(shape, dtype)
    width = out[:1].size
    places = np.arange(len(out))[index].reshape(-1, 1) * width + np.arange(width)
    np.add.at(out.reshape(-1), places.reshape(-1), v.reshape(-1))
    return out


_scatter_rows_by_numpy = require(scatter_rows).fn


def names_rows(index: Any, ndim: int) -> bool:
    """Whether an index is whole numbers alone, which name rows of an array with so many axes."""
    return ndim > 1 and (type(index) is list or (not isinstance(index, tuple) and _is_of_ints(index)))


def _is_of_ints(index: Any) -> bool:
    return getattr(index, "ndim", 0) > 0 and index.dtype.kind in "iu"


def _add_into(acc: Any, index: Any, v: Any) -> Any:
    acc[index] += v
    return acc


def _add_at_into(acc: Any, index: Any, v: Any) -> Any:
    np.add.at(acc, index, v)
    return acc


@primitive("acc, index, v", Kind.linear, consuming=_add_into, stores=2, types=lambda acc: np.empty_like(acc))
def index_add(acc: Any, index: Any, v: Any) -> Any:
    """A copy of `acc` to which `v` is added at `index`, which names each element once."""
    out = np.array(acc)
    out[index] += v
    return out


@primitive("acc, index, v", Kind.linear, consuming=_add_at_into, stores=2, types=lambda acc: np.empty_like(acc))
def index_add_at(acc: Any, index: Any, v: Any) -> Any:
    """A copy of `acc` to which `v` is added at `index`, which may name an element more than once."""
    out = np.array(acc)
    np.add.at(out, index, v)
    return out


@primitive("acc, index, v", Kind.linear, consuming=_add_into, stores=2, types=lambda acc: np.empty_like(acc))
def index_increase(acc: Any, index: Any, v: Any) -> Any:
    """`acc[index] += v` of a copy: where `index` names an element more than once, NumPy adds what comes last alone."""
    out = np.array(acc)
    out[index] += v
    return out


def _set_into(x: Any, index: Any, v: Any) -> Any:
    x[index] = v
    return x


@primitive("x, index, v", Kind.linear, stores=2, types=lambda x: np.empty_like(x))
def index_set(x: Any, index: Any, v: Any) -> Any:
    """A copy of `x` in which `v` stands at `index`: the functional `x[index] = v`."""
    out = np.array(x)
    out[index] = v
    return out


require(index_set).consuming = _set_into  # in generated source; here `x` may be anybody's


@primitive("x, index", Kind.linear)
def read_last(x: Any, index: Any) -> Any:
    """`x[index]`, but zero where a later part of the index names the same element: whose write `x[index] = v` kept."""
    out = x[index]
    order = np.arange(out.size).reshape(out.shape)
    last = np.empty(x.shape, int)
    last[index] = order
    out = np.where(last[index] == order, out, 0)
    return out


def new_axes(index: Any) -> tuple[int, ...] | None:
    """The axes of length 1 that an index adds, where it does no more than that: it reads all, in the order in which it lies."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(p is None or p is Ellipsis or _is_whole(p) for p in parts):
        return None
    before = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    return tuple([k if k < before else k - len(parts) for k, p in enumerate(parts) if p is None])


def _is_whole(part: Any) -> bool:
    return type(part) is slice and part.start is part.stop is part.step is None


def read_back(g: Any, acc: Any, index: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The running sum of the cotangent of `x`, with that of `x[index]` added in."""
    if acc is not None and len(x_shape) == 0:  # of which NumPy makes a number, into which nothing can be added
        return acc + read_back(g, None, index, x_shape, x_dtype)
    if type(index) is int or (type(index) is slice and not _is_whole(index)):  # as most often, and so first
        if acc is not None:
            return index_add(acc, index, g)
        return add_place(g, index, x_shape, x_dtype) if type(index) is int else place(g, index, x_shape, x_dtype)
    if names_once(index):
        new = new_axes(index)
        if new is not None and (acc is None or new):
            whole = np.squeeze(g, new[0] if len(new) == 1 else new) if new else g
            return whole if acc is None else acc + whole
        if acc is not None:
            return index_add(acc, index, g)
        first = add_place if _has_place(index) else place
        return first(g, index, x_shape, x_dtype)
    return scattered(g, index, x_shape, x_dtype) if acc is None else index_add_at(acc, index, g)


def scattered(g: Any, index: Any, x_shape: Any, x_dtype: Any) -> Any:
    """Zeros with `g` added at `index`, which may name an element more than once."""
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    put = scatter_rows if names_rows(index, len(x_shape)) else scatter
    return put(g, index, x_shape, x_dtype)


def read_written(g: Any, index: Any, v_shape: Any) -> Any:
    """The cotangent of what was written at `index`."""
    found = g[index] if names_once(index) else read_last(g, index)
    missing = len(v_shape) - np.ndim(found)  # NumPy writes (1, 3) into (3,)
    return found if missing <= 0 else np.reshape(found, (1,) * missing + np.shape(found))


op(
    operator.getitem, "x, index", Kind.shaping, path="operator.getitem", title="Index",
    memory=_memory_of,
    types=lambda index: BY_VALUE if _has_mask(index) else RUN,
)  # fmt: skip
rule(operator.getitem, x=read_back)


@batching(operator.getitem)
def batched_getitem(call: BatchedCall) -> Any:
    """`x[index]`."""
    mapped = call.mapped[0] is True
    found = place_of(call, call.ndim("x"), mapped)
    if found is None:
        return NotImplemented
    return found.outward(call.run(index=found.index))


rule(place, v=read_written)
rule(add_place, v=read_written)
rule(scatter, v=lambda g, index: g[index])
rule(scatter_rows, v=lambda g, index: g[index])
rule(index_add, acc=lambda g: g, v=lambda g, index: g[index])
rule(index_add_at, acc=lambda g: g, v=lambda g, index: g[index])
rule(index_increase, acc=lambda g: g, v=lambda g, index: g[index] if names_once(index) else read_last(g, index))
rule(index_set, x=lambda g, index: index_set(g, index, 0.0), v=read_written)
rule(read_last, x=lambda g, index, x_shape, x_dtype: place(g, index, x_shape, x_dtype))


@batching(read_last)
def batched_read_last(call: BatchedCall) -> Any:
    """`x[index]`, but zero where a later part of the index names the same element."""
    found = place_of(call, call.ndim("x"), call.is_mapped("x"))
    if found is None or not call.is_mapped("x"):
        return NotImplemented
    return found.outward(call.run(index=found.index))


@batching(place, add_place, scatter)
def batched_placed(call: BatchedCall) -> Any:
    """Zeros with `v` at the index."""
    shape = call["shape"]
    found = place_of(call, len(shape), array_mapped=True)
    if found is None:
        return NotImplemented
    v = found.inward(call["v"], call.is_mapped("v"))
    return call.run(v=v, index=found.index, shape=(call.size, *shape))


batching(scatter_rows)(added_to_rows)


@batching(index_add, index_add_at, index_increase)
def batched_addition(call: BatchedCall) -> Any:
    """A copy with `v` added at the index."""
    found = place_of(call, call.ndim("acc"), array_mapped=True)
    if found is None:
        return NotImplemented
    v = found.inward(call["v"], call.is_mapped("v"))
    return call.run(acc=call.spread("acc"), index=found.index, v=v)


@batching(index_set)
def batched_index_set(call: BatchedCall) -> Any:
    """A copy with `v` written at the index."""
    found = place_of(call, call.ndim("x"), array_mapped=True)
    if found is None:
        return batched_mask(call)
    v = found.inward(call["v"], call.is_mapped("v"))
    return call.run(x=call.spread("x"), index=found.index, v=v)


def batched_mask(call: BatchedCall) -> Any:
    """`x[mask] = v` of one number for each example."""
    x, mask, v, ndim = call.spread("x"), call["index"], call["v"], call.ndim("x")
    if call.mapped[1] is not True or getattr(mask, "dtype", None) != np.bool_ or np.ndim(v) - call.is_mapped("v"):
        return NotImplemented
    mask = np.reshape(mask, (*np.shape(mask), *(1,) * (ndim - call.ndim("index"))))
    found = np.where(mask, lifted(v, ndim) if call.is_mapped("v") else v, x)
    return found if found.dtype == x.dtype else astype(found, x.dtype)


op(np.take, "x, indices, axis=None, *, mode='raise'", Kind.linear, memory=NEW)
rule(
    np.take,
    x=lambda g, indices, axis, mode, x_shape, x_dtype: untake(g, indices, axis, mode, x_shape, x_dtype),
)
takes_out("a indices axis out mode", np.take)


@batching(np.take)
def batched_take(call: BatchedCall) -> Any:
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


def untake(g: Any, indices: Any, axis: Any, mode: str, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of `np.take`: added where each element came from."""
    if axis is None:
        size = math.prod(x_shape)
        return np.reshape(scatter(g, _within(indices, size, mode, g), (size,), x_dtype), x_shape)
    axis = axis % len(x_shape)
    places = _within(indices, x_shape[axis], mode, g)
    return scattered(g, (*[slice(None)] * axis, places) if axis else places, x_shape, x_dtype)


def _within(indices: Any, n: Any, mode: str, g: Any) -> Any:
    if mode == "raise":
        return indices
    indices = literal(indices, g)
    return np.remainder(indices, n) if mode == "wrap" else np.clip(indices, 0, n - 1)


@primitive("v, indices, axis, shape, dtype", Kind.linear, types=lambda shape, dtype: np.empty(shape, dtype))
def scatter_along(v: Any, indices: Any, axis: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` added at `indices` along one axis: what `np.take_along_axis` read, put back."""
    out = np.zeros(shape, dtype)
    at = list(np.ogrid[tuple([slice(n) for n in shape])])
    at[axis] = indices
    np.add.at(out, tuple(at), v)
    return out


rule(scatter_along, v=lambda g, indices, axis: np.take_along_axis(g, indices, axis))


@batching(scatter_along)
def batched_scatter_along(call: BatchedCall) -> Any:
    """Zeros with `v` added along one axis."""
    shape = call["shape"]
    v, indices = call.spread("v"), call.spread("indices")
    return call.run(v=v, indices=indices, axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))


_AXIS = "axis=-1" if NUMPY >= (2, 3) else "axis"
op(np.take_along_axis, f"x, indices, {_AXIS}", Kind.linear, memory=NEW, types=LENGTHS)
rule(
    np.take_along_axis,
    x=lambda g, indices, axis, x_shape, x_dtype: (
        np.reshape(scatter(g, indices, (math.prod(x_shape),), x_dtype), x_shape)
        if axis is None
        else scatter_along(g, indices, axis, x_shape, x_dtype)
    ),
)


@batching(np.take_along_axis)
def batched_take_along_axis(call: BatchedCall) -> Any:
    """Along one axis of both."""
    if call["axis"] is None:
        return call.run(x=np.reshape(call.spread("x"), (call.size, -1)), indices=call.spread("indices"), axis=1)
    return call.run(x=call.spread("x"), indices=call.spread("indices"), axis=shifted(call["axis"], call.ndim("x")))


op(np.compress, "condition, x, axis=None", Kind.linear, memory=NEW, types=BY_VALUE)
rule(np.compress, x=lambda g, condition, axis, x_shape, x_dtype: uncompress(g, condition, axis, x_shape, x_dtype))
takes_out("condition a axis out", np.compress)

op(np.extract, "condition, x", Kind.linear, memory=NEW, types=BY_VALUE)
rule(np.extract, x=lambda g, condition, x_shape, x_dtype: uncompress(g, condition, None, x_shape, x_dtype))


@batching(np.extract)
def batched_extract(call: BatchedCall) -> Any:
    """Of the flat array."""
    if not call.only("x"):
        return NotImplemented
    flat = np.reshape(call["x"], (call.size, -1))
    return call.apply(np.compress, np.reshape(call["condition"], -1), flat, axis=1)


def uncompress(g: Any, condition: Any, axis: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of what a condition chose."""
    chosen = np.flatnonzero(condition)
    return untake(g, chosen if hasattr(condition, "dtype") else chosen.tolist(), axis, "raise", x_shape, x_dtype)


op(
    np.delete, "x, obj, axis=None", Kind.linear, memory=NEW,
    types=lambda obj: BY_VALUE if isinstance(obj, np.ndarray) else RUN,
)  # fmt: skip
rule(np.delete, x=lambda g, obj, axis, x_shape, x_dtype: undelete_back(g, obj, axis, x_shape, x_dtype))


@batching(np.compress, np.delete)
def batched_chosen(call: BatchedCall) -> Any:
    """Along an axis that is one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    if call["axis"] is None:
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


def undelete_back(g: Any, obj: Any, axis: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of what `np.delete` took from."""
    if axis is None:
        return np.reshape(undelete(g, obj, 0, (math.prod(x_shape),), x_dtype), x_shape)
    return undelete(g, obj, axis, x_shape, x_dtype)


@primitive("g, obj, axis, shape, dtype", Kind.linear)
def undelete(g: Any, obj: Any, axis: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `g` where `np.delete` left something along an axis."""
    out = np.zeros(shape, dtype)
    np.moveaxis(out, axis, 0)[np.delete(np.arange(shape[axis]), obj)] = np.moveaxis(g, axis, 0)
    return out


rule(undelete, g=lambda g, obj, axis: np.delete(g, obj, axis))


@batching(undelete)
def batched_undelete(call: BatchedCall) -> Any:
    """Zeros with `g` where something was left along one axis."""
    shape = call["shape"]
    return (
        call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))
        if call.only("g")
        else NotImplemented
    )
