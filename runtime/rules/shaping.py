"""Ops that move, join, cut, repeat and pad: each rule moves the cotangent back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, alone, lifted, of_matrices, shifted
from ..memory import MAY, NEW, VIEW
from ..ops import Kind
from ..registry import batching, forms, on_arrays, op, primitive, rule, takes_out
from ..result_types import BY_VALUE, LENGTHS, RUN
from .support import along_diagonal, is_traced, listed, on_diagonal, place_diagonal

shaping, linear = Kind.shaping, Kind.linear


def inverse(axes: Any) -> Any:
    """The permutation that undoes `np.transpose(x, axes)`."""
    if axes is None:
        return None
    order = [int(a) % len(axes) for a in axes]
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def plain_order(order: str) -> Any:
    """The element order of a reshape, refused where it depends on memory, which a cotangent does not share."""
    if order not in ("C", "F"):
        raise NotImplementedError(f"order={order!r} follows the memory's layout: no gradient rule; use 'C' or 'F'")
    return order


def along(axis: int, part: Any) -> Any:
    """The index that takes `part` of one axis and all of the others."""
    if axis < 0:
        return (Ellipsis, part, *[slice(None)] * (-axis - 1))
    return (*[slice(None)] * axis, part) if axis else part


# Views: the same elements under another shape.

op(np.transpose, "x, axes=None", shaping)
rule(np.transpose, x=lambda g, axes: np.transpose(g, inverse(axes)))
on_arrays(np.transpose, np.ndarray.transpose, "axes")


@batching(np.transpose)
def batched_transpose(call: BatchedCall) -> Any:
    """The batch axis stays in front."""
    ndim, axes = call.ndim("x"), call["axes"]
    order = range(ndim - 1, -1, -1) if axes is None else [a % ndim if -ndim <= a < ndim else a for a in axes]
    return NotImplemented if len(order) != ndim else call.run(axes=(0, *[int(a) + 1 for a in order]))


op(np.swapaxes, "x, axis1, axis2", shaping)
rule(np.swapaxes, x=lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2))
on_arrays(np.swapaxes, np.ndarray.swapaxes)


@batching(np.swapaxes)
def batched_swapaxes(call: BatchedCall) -> Any:
    """Both axes one further back."""
    ndim = call.ndim("x")
    return call.run(axis1=shifted(call["axis1"], ndim), axis2=shifted(call["axis2"], ndim))


op(np.matrix_transpose, "x", shaping)
rule(np.matrix_transpose, x=lambda g: np.matrix_transpose(g))
batching(np.matrix_transpose)(of_matrices)

op(np.moveaxis, "x, source, destination", shaping)
rule(np.moveaxis, x=lambda g, source, destination: np.moveaxis(g, destination, source))


@batching(np.moveaxis)
def batched_moveaxis(call: BatchedCall) -> Any:
    """From and to, one further back."""
    ndim = call.ndim("x")
    return call.run(source=shifted(call["source"], ndim), destination=shifted(call["destination"], ndim))


op(np.rollaxis, "x, axis, start=0", shaping)
rule(np.rollaxis, x=lambda g, x_shape, axis, start: np.transpose(g, inverse(rolled(len(x_shape), axis, start))))


@batching(np.rollaxis)
def batched_rollaxis(call: BatchedCall) -> Any:
    """The permutation that it is."""
    order = rolled(call.ndim("x"), call["axis"], call["start"])
    return np.transpose(call["x"], (0, *[a + 1 for a in order]))


# A complex number is its two parts, side by side in memory: a cotangent is that of the real part less i times the other's.


@primitive("x", shaping, title="ViewAsReal", memory=VIEW)
def view_as_real(x: Any) -> Any:
    """The real and the imaginary parts of `x` in a new last axis, on the memory of `x`."""
    return np.asarray(x)[..., None].view(np.asarray(x).real.dtype)


rule(view_as_real, x=lambda g: g[..., 0] - 1j * g[..., 1])


@primitive("x", shaping, title="ViewAsComplex", may_raise=True, memory=MAY)
def view_as_complex(x: Any) -> Any:
    """The complex numbers whose real and imaginary parts stand in the last axis, on the memory of `x` where it is contiguous."""
    return np.ascontiguousarray(x, x.dtype.newbyteorder("=")).view(np.result_type(x, np.complex64))[..., 0]


rule(view_as_complex, x=lambda g: np.stack([np.real(g), -np.imag(g)], axis=-1))


@batching(view_as_real, view_as_complex)
def batched_parts(call: BatchedCall) -> Any:
    """The axis of the two parts is the last one."""
    return call.run()


def rolled(ndim: int, axis: int, start: int) -> tuple[int, ...]:
    """The permutation that `np.rollaxis` applies."""
    axis, start = axis % ndim, start + ndim if start < 0 else start
    order = [a for a in range(ndim) if a != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return tuple(order)


def _reshaped(x: Any, shape: Any, order: Any) -> Any:
    """Of an array without gaps a view; of another one a run tells whether it is copied."""
    return x.reshape(shape) if isinstance(x, np.ndarray) and x.flags.c_contiguous and order == "C" else RUN


op(np.reshape, "x, shape, order='C', *, copy=None", shaping, memory=MAY, types=_reshaped)
rule(np.reshape, x=lambda g, x_shape, order: np.reshape(g, x_shape, order=plain_order(order)))
on_arrays(np.reshape, np.ndarray.reshape)


@batching(np.reshape)
def batched_reshape(call: BatchedCall) -> Any:
    """The new shape behind the batch axis."""
    shape = call["shape"]
    return batched_shape(call, tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), call["order"])


op(
    np.ravel, "x, order='C'", shaping, memory=MAY,
    types=lambda x: np.empty(np.size(x), np.asarray(x).dtype) if np.size(x) else RUN,
)  # fmt: skip
rule(np.ravel, x=lambda g, x_shape, order: np.reshape(g, x_shape, order=plain_order(order)))


@batching(np.ravel)
def batched_ravel(call: BatchedCall) -> Any:
    """One axis behind the batch axis."""
    return batched_shape(call, (-1,), call["order"])


def batched_shape(call: BatchedCall, shape: tuple[Any, ...], order: str) -> Any:
    """A mapped `x` with other axes behind the batch axis."""
    x = call["x"]
    if order not in ("C", "F"):
        return NotImplemented  # it follows the memory of each example
    if -1 in shape and math.prod(x.shape) == 0:
        rest = math.prod([n for n in shape if n != -1])
        whole = math.prod(x.shape[1:])
        shape = tuple([whole // rest if n == -1 and rest else n for n in shape])
    if order == "F":
        return np.moveaxis(np.reshape(np.moveaxis(x, 0, -1), (*shape, call.size), order="F"), -1, 0)
    return np.reshape(x, (call.size, *shape))


op(np.expand_dims, "x, axis", shaping)
rule(np.expand_dims, x=lambda g, axis: np.squeeze(g, axis))


@batching(np.expand_dims)
def batched_expand_dims(call: BatchedCall) -> Any:
    """New axes behind the batch axis."""
    axis = call["axis"]
    new = len(axis) if isinstance(axis, (tuple, list)) else 1
    return call.run(axis=shifted(axis, call.ndim("x") + new))


for _fn, _signature in (
    (np.squeeze, "x, axis=None"), (np.atleast_1d, "x"), (np.atleast_2d, "x"), (np.atleast_3d, "x"),
):  # fmt: skip
    op(_fn, _signature, shaping)
    rule(_fn, x=lambda g, x_shape: np.reshape(g, x_shape))


@batching(np.squeeze)
def batched_squeeze(call: BatchedCall) -> Any:
    """Axes of length one, but never the batch axis."""
    if call["axis"] is None:
        return call.run(axis=tuple([k for k, n in enumerate(np.shape(call["x"])) if k and n == 1]))
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.atleast_1d)
def batched_atleast_1d(call: BatchedCall) -> Any:
    """Axes behind the batch axis."""
    return lifted(call["x"], 1)


@batching(np.atleast_2d)
def batched_atleast_2d(call: BatchedCall) -> Any:
    """Axes behind the batch axis."""
    return lifted(call["x"], 2)


@batching(np.atleast_3d)
def batched_atleast_3d(call: BatchedCall) -> Any:
    """Axes behind the batch axis; a matrix gets its third behind its own two."""
    x = call["x"]
    return np.expand_dims(lifted(x, 2), -1) if call.ndim("x") < 3 else x


def _each(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one array that takes several, too, and then gives as many."""
    return lambda *arrays: NotImplemented if len(arrays) == 1 else tuple([fn(a) for a in arrays])


for _fn in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    forms(_fn)(_each(_fn))

op(np.broadcast_to, "x, shape, subok=False", shaping)
rule(np.broadcast_to, x=lambda g: g)


@batching(np.broadcast_to)
def batched_broadcast_to(call: BatchedCall) -> Any:
    """The new shape behind the batch axis."""
    shape = call["shape"] if isinstance(call["shape"], (tuple, list)) else (call["shape"],)
    if len(shape) < call.ndim("x"):
        return NotImplemented
    return call.run(x=lifted(call["x"], len(shape)), shape=(call.size, *shape))


op(np.broadcast_arrays, "*xs, subok=False", shaping, n_out=None, memory=MAY)  # of numbers it makes arrays
rule(np.broadcast_arrays, xs=lambda g, i: g[i])


@batching(np.broadcast_arrays)
def batched_broadcast_arrays(call: BatchedCall) -> Any:
    """Each to the shape that all have together."""
    flags = call.mapped[0]
    shapes = [np.shape(x)[1:] if m else np.shape(x) for x, m in zip(call["xs"], flags, strict=True)]
    shape = np.broadcast_shapes(*shapes)
    return [
        call.apply(np.broadcast_to, lifted(x, len(shape)) if m else x, (call.size, *shape))
        for x, m in zip(call["xs"], flags, strict=True)
    ]


op(np.copy, "x, order='K', subok=False", linear, title="Clone", memory=NEW, types=LENGTHS)
rule(np.copy, x=lambda g: g)
batching(np.copy)(alone)

op(np.flip, "x, axis=None", shaping)
rule(np.flip, x=lambda g, axis: np.flip(g, axis))


@batching(np.flip)
def batched_flip(call: BatchedCall) -> Any:
    """Along axes that are one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.ndim("x") else call["x"]


op(np.fliplr, "x", shaping)
rule(np.fliplr, x=lambda g: np.fliplr(g))


@batching(np.fliplr)
def batched_fliplr(call: BatchedCall) -> Any:
    """The second axis of each."""
    return np.flip(call["x"], 2) if call.ndim("x") >= 2 else NotImplemented


op(np.flipud, "x", shaping)
rule(np.flipud, x=lambda g: np.flipud(g))


@batching(np.flipud)
def batched_flipud(call: BatchedCall) -> Any:
    """The first axis of each."""
    return np.flip(call["x"], 1) if call.ndim("x") else NotImplemented


op(np.rot90, "x, k=1, axes=(0, 1)", shaping)
rule(np.rot90, x=lambda g, k, axes: np.rot90(g, -k, axes))


@batching(np.rot90)
def batched_rot90(call: BatchedCall) -> Any:
    """In the plane of axes that are one further back."""
    return call.run(axes=shifted(tuple(call["axes"]), call.ndim("x"))) if call.ndim("x") >= 2 else NotImplemented


op(np.roll, "x, shift, axis=None", linear, memory=NEW, types=LENGTHS)
rule(np.roll, x=lambda g, shift, axis: np.roll(g, tuple(-s for s in shift) if np.ndim(shift) else -shift, axis))


@batching(np.roll)
def batched_roll(call: BatchedCall) -> Any:
    """Along axes that are one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    x = call["x"]
    if call["axis"] is None:
        rolled_flat = call.run(x=np.reshape(x, (call.size, -1)), axis=1) if np.ndim(call["shift"]) == 0 else None
        return NotImplemented if rolled_flat is None else np.reshape(rolled_flat, np.shape(x))
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


# Joining: the cotangent of each array is a piece of g. (`i` is -1 where the sequence is one array.)


def piece(g: Any, i: int, xs_shape: Any, axis: Any) -> Any:
    """The part of a concatenation's cotangent that belongs to array `i`."""
    if i < 0:
        return np.stack([piece(g, j, xs_shape, axis) for j in range(len(xs_shape))])
    sizes = [_size(s) if axis is None else s[axis] for s in xs_shape]
    start = sum(sizes[1:i], sizes[0]) if i else None
    stop = None if i == len(sizes) - 1 else sizes[i] if start is None else start + sizes[i]
    if axis is None:
        return np.reshape(g[start:stop], xs_shape[i])
    return g[along(axis, slice(start, stop))]


def _size(shape: tuple[Any, ...]) -> Any:
    total: Any = shape[0] if shape else 1
    for n in shape[1:]:
        total = total * n
    return total


def layer(g: Any, i: int, axis: int) -> Any:
    """The part of a stack's cotangent that belongs to array `i`."""
    return np.moveaxis(g, axis, 0) if i < 0 else g[along(axis, i)]


def sheet(g: Any, i: int, xs_shape: Any, shapes: Any, axis: int) -> Any:
    """`piece`, for functions that first bring their arrays to the given shapes."""
    if i < 0:
        return np.stack([sheet(g, j, xs_shape, shapes, axis) for j in range(len(xs_shape))])
    found = piece(g, i, shapes, axis)
    return found if shapes[i] == xs_shape[i] else np.reshape(found, xs_shape[i])


def rows(shape: Any) -> Any:
    """A shape as `np.vstack` sees it."""
    return (1,) * (2 - len(shape)) + tuple(shape)


def line(shape: Any) -> Any:
    """A shape as `np.hstack` sees it."""
    return tuple(shape) or (1,)


def columns(shape: Any) -> Any:
    """A shape as `np.column_stack` sees it."""
    return tuple(shape) if len(shape) > 1 else (*line(shape), 1)


def deep(shape: Any) -> Any:
    """A shape as `np.dstack` sees it."""
    return tuple(shape) if len(shape) > 2 else (*rows(shape), 1)


op(np.concatenate, "[xs], axis=0, *, dtype=None, casting='same_kind'", linear, memory=NEW)
rule(np.concatenate, xs=lambda g, i, xs_shape, axis: piece(g, i, xs_shape, axis))
takes_out("arrays axis out", np.concatenate)


def batched_pieces(call: BatchedCall, axis: int | None, shape: Any = None) -> Any:
    """The arrays of a sequence, each with the batch axis and brought to a shape, concatenated."""
    xs, flags = call["xs"], call.mapped[0]
    if flags is True:  # one array, whose first axis counts
        if shape is not None:
            return NotImplemented
        parts: Any = np.moveaxis(call["xs"], 1, 0)
        ndim = call.ndim("xs") - 1
    else:
        parts = [x if m else call.spread_value(x) for x, m in zip(xs, flags, strict=True)]
        if shape is not None:
            parts = [np.reshape(x, (call.size, *shape(np.shape(x)[1:]))) for x in parts]
        ndim = int(np.ndim(parts[0])) - 1
    if axis is None:
        parts = [np.reshape(x, (call.size, -1)) for x in parts]
    words = {n: call[n] for n in ("dtype", "casting") if call.has(n) and call[n] not in (None, "same_kind")}
    return call.apply(np.concatenate, parts, axis=1 if axis is None else shifted(axis, ndim), **words)


@batching(np.concatenate)
def batched_concatenate(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    return NotImplemented if call["axis"] is None and call.mapped[0] is True else batched_pieces(call, call["axis"])


op(np.append, "x, y, axis=None", linear, memory=NEW)
rule(
    np.append,
    x=lambda g, x_shape, y_shape, axis: piece(g, 0, (x_shape, y_shape), axis),
    y=lambda g, x_shape, y_shape, axis: piece(g, 1, (x_shape, y_shape), axis),
)


@batching(np.append)
def batched_append(call: BatchedCall) -> Any:
    """Two arrays joined."""
    x, y, axis = call.spread("x"), call.spread("y"), call["axis"]
    if axis is None:
        return call.run(x=np.reshape(x, (call.size, -1)), y=np.reshape(y, (call.size, -1)), axis=1)
    return call.run(x=x, y=y, axis=shifted(axis, call.ndim("x")))


op(np.stack, "[xs], axis=0, *, dtype=None, casting='same_kind'", linear, memory=NEW)
rule(np.stack, xs=lambda g, i, axis: layer(g, i, axis))
takes_out("arrays axis out", np.stack)


@batching(np.stack)
def batched_stack(call: BatchedCall) -> Any:
    """Along a new axis that is one further back."""
    xs, flags = call["xs"], call.mapped[0]
    if flags is True:
        return call.run(xs=np.moveaxis(xs, 1, 0), axis=shifted(call["axis"], call.ndim("xs")))
    parts = [x if m else call.spread_value(x) for x, m in zip(xs, flags, strict=True)]
    return call.run(xs=parts, axis=shifted(call["axis"], int(np.ndim(parts[0]))))


op(np.vstack, "[xs], *, dtype=None, casting='same_kind'", linear, memory=NEW)
rule(np.vstack, xs=lambda g, i, xs_shape: sheet(g, i, xs_shape, [rows(s) for s in xs_shape], 0))


@batching(np.vstack)
def batched_vstack(call: BatchedCall) -> Any:
    """Rows."""
    return batched_pieces(call, 0, rows)


op(np.hstack, "[xs], *, dtype=None, casting='same_kind'", linear, memory=NEW)
rule(np.hstack, xs=lambda g, i, xs_shape: sheet(g, i, xs_shape, [line(s) for s in xs_shape], min(1, np.ndim(g) - 1)))


@batching(np.hstack)
def batched_hstack(call: BatchedCall) -> Any:
    """Along the second axis, of vectors along their only one."""
    if call.mapped[0] is True:
        return NotImplemented
    first = int(np.ndim(call["xs"][0])) - call.mapped[0][0]
    return batched_pieces(call, 0 if first <= 1 else 1, line)


op(np.dstack, "[xs]", linear, memory=NEW)
rule(np.dstack, xs=lambda g, i, xs_shape: sheet(g, i, xs_shape, [deep(s) for s in xs_shape], 2))


@batching(np.dstack)
def batched_dstack(call: BatchedCall) -> Any:
    """Along the third axis."""
    return batched_pieces(call, 2, deep)


op(np.column_stack, "[xs]", linear, memory=NEW)
rule(np.column_stack, xs=lambda g, i, xs_shape: sheet(g, i, xs_shape, [columns(s) for s in xs_shape], 1))


@batching(np.column_stack)
def batched_column_stack(call: BatchedCall) -> Any:
    """Vectors as columns."""
    return batched_pieces(call, 1, columns)


op(
    np.meshgrid, "*xs, copy=True, sparse=False, indexing='xy'", linear, n_out=None,
    memory=lambda copy: NEW if copy is True else MAY,
)  # fmt: skip
rule(np.meshgrid, xs=lambda g, i, xs_shape, indexing: unmesh(g[i], i, xs_shape, indexing))


@batching(np.meshgrid)
def batched_meshgrid(call: BatchedCall) -> Any:
    """Each vector along an axis of its own, behind the batch axis."""
    xs, flags, ndim = call["xs"], call.mapped[0], len(call["xs"])
    own = [1 - k if call["indexing"] == "xy" and k < 2 <= ndim else k for k in range(ndim)]
    parts = []
    for k, (x, m) in enumerate(zip(xs, flags, strict=True)):
        shape = tuple([-1 if a == own[k] else 1 for a in range(ndim)])
        parts.append(np.reshape(x, (call.size, *shape) if m else shape))
    if call["sparse"]:
        return [x if m else call.spread_value(x) for x, m in zip(parts, flags, strict=True)]
    lengths = {own[k]: np.shape(x)[own[k] + bool(m)] for k, (x, m) in enumerate(zip(parts, flags, strict=True))}
    whole = (call.size, *[lengths[a] for a in range(ndim)])
    return [np.copy(call.apply(np.broadcast_to, x, whole)) for x in parts]


def unmesh(g: Any, i: int, xs_shape: Any, indexing: str) -> Any:
    """The cotangent of one of `np.meshgrid`'s vectors: summed over the axes of the others."""
    if g is None:
        return None
    own = 1 - i if indexing == "xy" and i < 2 <= len(xs_shape) else i
    return np.reshape(np.sum(g, axis=tuple([a for a in range(len(xs_shape)) if a != own])), xs_shape[i])


# Cutting: the cotangents of the pieces are joined; those that nobody read are None.


def cuts(n: Any, sections: Any) -> list[Any]:
    """The slices of one axis that `np.array_split` makes."""
    if isinstance(sections, (int, np.integer)):
        small, extra = divmod(n, sections)
        ends = [(k + 1) * small + min(k + 1, extra) for k in range(int(sections) - 1)]
    else:
        ends = [int(e) for e in sections]
    return [slice(a, b) for a, b in zip([None, *ends], [*ends, None], strict=True)]


def join(g: Any, sections: Any, axis: int, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of an array that was split along `axis`."""
    from .indexing import index_add, place

    slices = cuts(x_shape[axis], sections)
    bounds = [s.start or 0 for s in slices] + [x_shape[axis]]
    if all(p is not None for p in g) and bounds == sorted(bounds) and min(bounds) >= 0:
        return np.concatenate(list(g), axis=axis)
    total = None
    for p, cut in zip(g, slices, strict=True):
        if p is not None:
            at = along(axis, cut)
            total = place(p, at, x_shape, x_dtype) if total is None else index_add(total, at, p)
    return total


for _split in (np.split, np.array_split):
    op(_split, "x, indices_or_sections, axis=0", shaping, n_out=None)
    rule(
        _split,
        x=lambda g, indices_or_sections, axis, x_shape, x_dtype: join(g, indices_or_sections, axis, x_shape, x_dtype),
    )


@batching(np.split, np.array_split)
def batched_split(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") else NotImplemented


op(np.vsplit, "x, indices_or_sections", shaping, n_out=None)
rule(np.vsplit, x=lambda g, indices_or_sections, x_shape, x_dtype: join(g, indices_or_sections, 0, x_shape, x_dtype))

op(np.hsplit, "x, indices_or_sections", shaping, n_out=None)
rule(
    np.hsplit,
    x=lambda g, indices_or_sections, x_shape, x_dtype: join(
        g, indices_or_sections, min(1, len(x_shape) - 1), x_shape, x_dtype
    ),
)

op(np.dsplit, "x, indices_or_sections", shaping, n_out=None)
rule(np.dsplit, x=lambda g, indices_or_sections, x_shape, x_dtype: join(g, indices_or_sections, 2, x_shape, x_dtype))


def batched_pieces_at(call: BatchedCall, axis: int, least: int) -> Any:
    """The pieces of what has at `least` so many axes."""
    if call.ndim("x") < least:
        return NotImplemented
    return call.apply(np.split, call["x"], call["indices_or_sections"], axis=axis)


batching(np.vsplit)(lambda call: batched_pieces_at(call, 1, 2))
batching(np.hsplit)(lambda call: batched_pieces_at(call, min(2, call.ndim("x")), 1))
batching(np.dsplit)(lambda call: batched_pieces_at(call, 3, 3))


# Diagonals and triangles.

op(np.tril, "x, k=0", linear, memory=NEW, types=LENGTHS)
rule(np.tril, x=lambda g, k: np.tril(g, k))

op(np.triu, "x, k=0", linear, memory=NEW, types=LENGTHS)
rule(np.triu, x=lambda g, k: np.triu(g, k))
batching(np.tril, np.triu)(of_matrices)

op(np.diag, "x, k=0", linear, memory=MAY)  # of a matrix a view, which may not be written
rule(
    np.diag,
    x=lambda g, k, x_shape, x_dtype: (
        np.diagonal(g, k) if len(x_shape) == 1 else on_diagonal(g, k, 0, 1, x_shape, x_dtype)
    ),
)


@batching(np.diag)
def batched_diag(call: BatchedCall) -> Any:
    """The diagonal of a matrix, or a matrix of its diagonal."""
    ndim = call.ndim("x")
    if ndim == 2:
        return np.diagonal(call["x"], call["k"], 1, 2)
    return batched_diagonals(call, call["x"]) if ndim == 1 else NotImplemented


def batched_diagonals(call: BatchedCall, v: Any) -> Any:
    """Matrices with the rows of `v` on a diagonal."""
    n = np.shape(v)[1] + abs(call["k"])
    return place_diagonal(v, call["k"], 1, 2, (call.size, n, n), v.dtype)


op(np.diagflat, "x, k=0", linear, memory=NEW)
rule(np.diagflat, x=lambda g, k, x_shape: np.reshape(np.diagonal(g, k), x_shape))


@batching(np.diagflat)
def batched_diagflat(call: BatchedCall) -> Any:
    """A matrix of its diagonal."""
    return batched_diagonals(call, np.reshape(call["x"], (call.size, -1)))


op(np.diagonal, "x, offset=0, axis1=0, axis2=1", shaping)
rule(
    np.diagonal,
    x=lambda g, offset, axis1, axis2, x_shape, x_dtype: on_diagonal(g, offset, axis1, axis2, x_shape, x_dtype),
)

op(np.trace, "x, offset=0, axis1=0, axis2=1, dtype=None", linear, memory=NEW, types=LENGTHS)
rule(
    np.trace,
    x=lambda g, offset, axis1, axis2, x_shape, x_dtype: along_diagonal(
        np.expand_dims(g, -1), offset, axis1, axis2, x_shape, x_dtype
    ),
)
takes_out("a offset axis1 axis2 dtype out", np.trace)


@batching(np.diagonal, np.trace)
def batched_diagonal(call: BatchedCall) -> Any:
    """Of two axes that are one further back."""
    ndim = call.ndim("x")
    return call.run(axis1=shifted(call["axis1"], ndim), axis2=shifted(call["axis2"], ndim))


# Repeating and padding.

op(
    np.repeat, "x, repeats, axis=None", linear, memory=NEW,
    types=lambda repeats: BY_VALUE if isinstance(repeats, np.ndarray) else RUN,
)  # fmt: skip
rule(
    np.repeat,
    x=lambda g, repeats, axis, x_shape, x_dtype: gather_repeats(g, repeats, axis, x_shape, x_dtype),
)


@batching(np.repeat)
def batched_repeat(call: BatchedCall) -> Any:
    """Along an axis that is one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    if call["axis"] is None or not call.ndim("x"):
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


def gather_repeats(g: Any, repeats: Any, axis: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of what `np.repeat` repeated: summed over the repeats."""
    if axis is None:
        return np.reshape(gather_repeats(g, repeats, 0, (_size(x_shape),), x_dtype), x_shape)
    if not isinstance(repeats, (int, np.integer)):
        return sum_repeats(g, repeats, axis, x_shape, x_dtype)
    k = axis % len(x_shape)
    return np.sum(np.reshape(g, (*x_shape[: k + 1], repeats, *x_shape[k + 1 :])), axis=k + 1)


@primitive("g, repeats, axis, shape, dtype", Kind.linear)
def sum_repeats(g: Any, repeats: Any, axis: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape to which each element's repeats along `axis` are added."""
    out = np.zeros(shape, dtype)
    np.add.at(np.moveaxis(out, axis, 0), np.repeat(np.arange(shape[axis]), repeats), np.moveaxis(g, axis, 0))
    return out


rule(sum_repeats, g=lambda g, repeats, axis: np.repeat(g, repeats, axis))

op(np.tile, "x, reps", linear, memory=NEW)
rule(np.tile, x=lambda g, reps, x_shape: untile(g, reps if np.ndim(reps) else (reps,), x_shape))


@batching(np.tile)
def batched_tile(call: BatchedCall) -> Any:
    """Repeats of the axes behind the batch axis."""
    if not call.only("x"):
        return NotImplemented
    reps = tuple(call["reps"]) if np.ndim(call["reps"]) else (call["reps"],)
    ndim = max(len(reps), call.ndim("x"))
    return call.run(x=lifted(call["x"], ndim), reps=(1,) * (ndim + 1 - len(reps)) + reps)


def untile(g: Any, reps: Any, x_shape: Any) -> Any:
    """The cotangent of a tile: summed over its copies."""
    ndim = max(len(reps), len(x_shape))
    counts = (1,) * (ndim - len(reps)) + tuple(reps)
    sizes = (1,) * (ndim - len(x_shape)) + tuple(x_shape)
    found = np.reshape(g, [n for pair in zip(counts, sizes, strict=True) for n in pair])
    return np.reshape(np.sum(found, axis=tuple(range(0, 2 * ndim, 2))), x_shape)


_WORDS = "constant_values=0, end_values=0, stat_length=None, reflect_type='even'"
op(np.pad, f"x, pad_width, mode='constant', {_WORDS}", linear, memory=NEW)
rule(
    np.pad,
    x=lambda g, pad_width, mode, x_shape, x_dtype: unpad(g, pad_width, mode, x_shape, x_dtype),
    constant_values=lambda g, constant_values, pad_width, mode, x_shape, x_dtype: np.reshape(
        np.sum(g) - np.sum(unpad(g, pad_width, mode, x_shape, x_dtype)), np.shape(constant_values)
    ),
)


@batching(np.pad)
def batched_pad(call: BatchedCall) -> Any:
    """Nothing is added along the batch axis."""
    words = ("constant_values", "end_values", "stat_length")
    if not call.only("x") or callable(call["mode"]) or any(np.ndim(call[w]) for w in words):
        return NotImplemented
    return call.run(pad_width=[(0, 0), *widths(call["pad_width"], call.ndim("x"))])


_STATISTICS: dict[Any, Any] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
_WORDS_OF: dict[Any, str] = {
    "constant": "constant_values", "linear_ramp": "end_values", **dict.fromkeys(_STATISTICS, "stat_length")
}  # fmt: skip


@forms(np.pad)
def pad_by_sides(x: Any, pad_width: Any, mode: Any = "constant", **words: Any) -> Any:
    """Where the pad is computed, or another one on each side: joined before and behind, one axis after the other as in NumPy."""
    odd = mode in ("reflect", "symmetric") and words.get("reflect_type") == "odd"
    word = "reflect_type" if odd else "" if callable(mode) else _WORDS_OF.get(mode, "")
    value = words.get(word, 0 if mode == "linear_ramp" else None)
    if not word or words.keys() - {word} or (mode == "constant" and np.size(listed(value)) == 1) or not np.size(x):
        return NotImplemented
    sides = [(None, None)] * np.ndim(x) if odd or value is None else _pairs(listed(value), np.ndim(x))
    for axis, (pair, values) in enumerate(zip(widths(pad_width, np.ndim(x)), sides, strict=True)):
        if not any(pair):
            continue
        if odd:
            x = _reflected(x, pair, axis, mode == "symmetric")
        elif mode == "constant":
            x = _filled(_filled(x, (pair[0], 0), axis, values[0]), (0, pair[1]), axis, values[1])
        else:
            x = _with_sides(x, pair, axis, mode, values)
    return x


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """What `np.pad` puts before and behind each axis, of one number, of one pair, or of a row for each axis."""
    if np.size(value) < 3 and np.shape(value) != (2, 1):
        value = np.reshape(value, -1)
        return [(value[0], value[-1])] * ndim
    rows = np.broadcast_to(value, (ndim, 2))
    return list(rows if is_traced(value) else rows.tolist())


def _filled(x: Any, side: tuple[int, int], axis: int, number: Any) -> Any:
    """Pad one side of an axis with a number, beside which the array may be a plain one."""
    if not any(side):
        return x
    if not is_traced(number):
        return np.pad(x, around(side, axis, np.ndim(x)), constant_values=number)
    shape = [sum(side) if k == axis else n for k, n in enumerate(np.shape(x))]
    found = np.broadcast_to(number.astype(x.dtype), shape)
    return np.concatenate([found, x] if side[0] else [x, found], axis=axis)


def _with_sides(x: Any, pair: tuple[int, int], axis: int, mode: str, values: tuple[Any, Any]) -> Any:
    """Join what a mode computes before and behind one axis."""
    length, sides = np.shape(x)[axis], []
    for behind, (width, value) in enumerate(zip(pair, values, strict=True)):
        if mode in _STATISTICS:
            count = length if value is None else min(int(value), length)
            part = x[along(axis, slice(length - count, None) if behind else slice(count))]
            side = _STATISTICS[mode](part, axis=axis, keepdims=True)
            sides.append(np.repeat(side, width, axis=axis))
        else:
            edge = x[along(axis, -1 if behind else 0)]
            ramp = np.linspace(value, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
            sides.append(np.flip(ramp, axis) if behind else ramp)
    return np.concatenate([sides[0], x, sides[1]], axis=axis)


def _reflected(x: Any, pair: tuple[int, int], axis: int, symmetric: bool) -> Any:
    """Reflect an axis about the values at its ends, `2 * end - x`, as often as the pad is long."""
    before, behind = pair
    length = np.shape(x)[axis]
    if length == 1:
        return np.pad(x, around(pair, axis, np.ndim(x)), "edge")
    skip = 0 if symmetric else 1  # whether the end itself is repeated
    while before or behind:
        now = np.shape(x)[axis]
        whole = (now - skip) // (length - skip) * (length - skip)
        left, right = min(whole, before), min(whole, behind)
        start = 2 * x[along(axis, slice(1))] - np.flip(x[along(axis, slice(skip, skip + left))], axis)
        end = 2 * x[along(axis, slice(-1, None))] - np.flip(x[along(axis, slice(now - skip - right, now - skip))], axis)
        x = np.concatenate([start, x, end], axis=axis)
        before, behind = before - left, behind - right
    return x


def widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """`np.pad`'s widths, one (before, after) for each axis."""
    if isinstance(pad_width, dict):
        at = {axis % ndim: w for axis, w in pad_width.items()}
        return [widths(at.get(axis, 0), 1)[0] for axis in range(ndim)]
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * ndim
    if isinstance(pad_width, (tuple, list)):  # whose numbers may be sizes
        rows = [pad_width] if all(isinstance(w, int) for w in pad_width) else pad_width
        if all(isinstance(w, int) for row in rows if isinstance(row, (tuple, list)) for w in row):
            pairs = [(row[0], row[-1]) if isinstance(row, (tuple, list)) else (row, row) for row in rows]
            return pairs * ndim if len(pairs) == 1 else pairs
    return [(int(a), int(b)) for a, b in np.broadcast_to(np.array(pad_width), (ndim, 2))]


def unpad(g: Any, pad_width: Any, mode: Any, x_shape: Any, x_dtype: Any) -> Any:
    """The cotangent of what was padded: cut out, and where the pad repeats elements, added to them."""
    pairs = widths(pad_width, len(x_shape))
    if mode in ("constant", "empty"):
        return g[tuple([slice(a, a + n) for (a, _), n in zip(pairs, x_shape, strict=True)])]
    if mode not in ("edge", "reflect", "symmetric", "wrap"):  # a function: what else there is, `pad_by_sides` joins
        raise NotImplementedError("np.pad with a function for mode= has no gradient rule; join the parts by np.concatenate")
    return fold_pad(g, pad_width if type(pad_width) is int else tuple(pairs), mode, x_shape, x_dtype)


@primitive("g, pad_width, mode, shape, dtype", Kind.linear)
def fold_pad(g: Any, pad_width: Any, mode: Any, shape: Any, dtype: Any) -> Any:
    """Each element with its copies in the pad added to it: what `np.pad` spread, folded back."""
    out = np.zeros(shape, dtype)
    places = np.pad(np.arange(out.size).reshape(shape), pad_width, mode=mode)
    np.add.at(out.reshape(-1), places.reshape(-1), g.reshape(-1))
    return out


rule(fold_pad, g=lambda g, pad_width, mode: np.pad(g, pad_width, mode))


@batching(fold_pad)
def batched_fold(call: BatchedCall) -> Any:
    """Nothing was added along the batch axis."""
    shape = call["shape"]
    if not call.only("g"):
        return NotImplemented
    pairs = ((0, 0), *widths(call["pad_width"], len(shape)))
    return call.run(pad_width=pairs, shape=(call.size, *shape))


@batching(sum_repeats)
def batched_folded(call: BatchedCall) -> Any:
    """Added up along an axis that is one further back."""
    shape = call["shape"]
    if not call.only("g"):
        return NotImplemented
    return call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))


def around(pair: tuple[int, int], axis: int, ndim: int) -> list[tuple[int, int]]:
    """The widths that pad one axis only."""
    return [pair if k == axis else (0, 0) for k in range(ndim)]
