"""Batching of ops that move, join and cut arrays: the same op, one axis further back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .batching import Call, batching, lifted, shifted
from .rules.shaping import columns, deep, line, rolled, rows, view_as_complex, view_as_real
from .rules.support import place_diagonal, place_main_diagonal

__all__: list[str] = []


# Views ----------------------------------------------------------------------------------------------


@batching(np.transpose)
def transpose(call: Call) -> Any:
    """The batch axis stays in front."""
    ndim, axes = call.ndim("x"), call["axes"]
    order = range(ndim - 1, -1, -1) if axes is None else [a % ndim if -ndim <= a < ndim else a for a in axes]
    return NotImplemented if len(order) != ndim else call.run(axes=(0, *[int(a) + 1 for a in order]))


@batching(np.swapaxes)
def swapaxes(call: Call) -> Any:
    """Both axes one further back."""
    ndim = call.ndim("x")
    return call.run(axis1=shifted(call["axis1"], ndim), axis2=shifted(call["axis2"], ndim))


@batching(np.matrix_transpose, np.linalg.matrix_transpose, np.linalg.diagonal, np.linalg.trace)
def last_two(call: Call) -> Any:
    """The last two axes are what they were."""
    return call.run() if call.ndim("x") >= 2 else NotImplemented


@batching(view_as_real, view_as_complex)
def parts(call: Call) -> Any:
    """The axis of the two parts is the last one."""
    return call.run()


@batching(np.moveaxis)
def moveaxis(call: Call) -> Any:
    """From and to, one further back."""
    ndim = call.ndim("x")
    return call.run(source=shifted(call["source"], ndim), destination=shifted(call["destination"], ndim))


@batching(np.rollaxis)
def rollaxis(call: Call) -> Any:
    """The permutation that it is."""
    order = rolled(call.ndim("x"), call["axis"], call["start"])
    return np.transpose(call["x"], (0, *[a + 1 for a in order]))


@batching(np.reshape)
def reshape(call: Call) -> Any:
    """The new shape behind the batch axis."""
    shape = call["shape"]
    return reshaped(call, tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), call["order"])


@batching(np.ravel)
def ravel(call: Call) -> Any:
    """One axis behind the batch axis."""
    return reshaped(call, (-1,), call["order"])


def reshaped(call: Call, shape: tuple[Any, ...], order: str) -> Any:
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


@batching(np.expand_dims)
def expand_dims(call: Call) -> Any:
    """New axes behind the batch axis."""
    axis = call["axis"]
    new = len(axis) if isinstance(axis, (tuple, list)) else 1
    return call.run(axis=shifted(axis, call.ndim("x") + new))


@batching(np.squeeze)
def squeeze(call: Call) -> Any:
    """Axes of length one, but never the batch axis."""
    if call["axis"] is None:
        return call.run(axis=tuple([k for k, n in enumerate(np.shape(call["x"])) if k and n == 1]))
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.atleast_1d)
def atleast_1d(call: Call) -> Any:
    """Axes behind the batch axis."""
    return lifted(call["x"], 1)


@batching(np.atleast_2d)
def atleast_2d(call: Call) -> Any:
    """Axes behind the batch axis."""
    return lifted(call["x"], 2)


@batching(np.atleast_3d)
def atleast_3d(call: Call) -> Any:
    """Axes behind the batch axis; a matrix gets its third behind its own two."""
    x = call["x"]
    return np.expand_dims(lifted(x, 2), -1) if call.ndim("x") < 3 else x


@batching(np.broadcast_to)
def broadcast_to(call: Call) -> Any:
    """The new shape behind the batch axis."""
    shape = call["shape"] if isinstance(call["shape"], (tuple, list)) else (call["shape"],)
    if len(shape) < call.ndim("x"):
        return NotImplemented
    return call.run(x=lifted(call["x"], len(shape)), shape=(call.size, *shape))


@batching(np.broadcast_arrays)
def broadcast_arrays(call: Call) -> Any:
    """Each to the shape that all have together."""
    flags = call.mapped[0]
    shapes = [np.shape(x)[1:] if m else np.shape(x) for x, m in zip(call["xs"], flags, strict=True)]
    shape = np.broadcast_shapes(*shapes)
    return [
        call.apply(np.broadcast_to, lifted(x, len(shape)) if m else x, (call.size, *shape))
        for x, m in zip(call["xs"], flags, strict=True)
    ]


@batching(np.flip)
def flip(call: Call) -> Any:
    """Along axes that are one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.ndim("x") else call["x"]


@batching(np.fliplr)
def fliplr(call: Call) -> Any:
    """The second axis of each."""
    return np.flip(call["x"], 2) if call.ndim("x") >= 2 else NotImplemented


@batching(np.flipud)
def flipud(call: Call) -> Any:
    """The first axis of each."""
    return np.flip(call["x"], 1) if call.ndim("x") else NotImplemented


@batching(np.rot90)
def rot90(call: Call) -> Any:
    """In the plane of axes that are one further back."""
    return call.run(axes=shifted(tuple(call["axes"]), call.ndim("x"))) if call.ndim("x") >= 2 else NotImplemented


@batching(np.roll)
def roll(call: Call) -> Any:
    """Along axes that are one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    x = call["x"]
    if call["axis"] is None:
        rolled_flat = call.run(x=np.reshape(x, (call.size, -1)), axis=1) if np.ndim(call["shift"]) == 0 else None
        return NotImplemented if rolled_flat is None else np.reshape(rolled_flat, np.shape(x))
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.asarray, np.asanyarray)
def same(call: Call) -> Any:
    """Each example is what it was."""
    return call.run() if call.mapped[0] is True else NotImplemented


@batching(np.ascontiguousarray, np.asfortranarray)
def laid_out(call: Call) -> Any:
    """Each example is what it was; a number becomes a vector."""
    return lifted(call.run(), 1)


# Joining --------------------------------------------------------------------------------------------


def joined(call: Call, axis: int | None, shape: Any = None) -> Any:
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
    words = {n: call[n] for n in ("dtype", "casting") if n in call._places and call[n] not in (None, "same_kind")}
    return call.apply(np.concatenate, parts, axis=1 if axis is None else shifted(axis, ndim), **words)


@batching(np.concatenate)
def concatenate(call: Call) -> Any:
    """Along an axis that is one further back."""
    return NotImplemented if call["axis"] is None and call.mapped[0] is True else joined(call, call["axis"])


@batching(np.append)
def append(call: Call) -> Any:
    """Two arrays joined."""
    x, y, axis = call.spread("x"), call.spread("y"), call["axis"]
    if axis is None:
        return call.run(x=np.reshape(x, (call.size, -1)), y=np.reshape(y, (call.size, -1)), axis=1)
    return call.run(x=x, y=y, axis=shifted(axis, call.ndim("x")))


@batching(np.stack)
def stack(call: Call) -> Any:
    """Along a new axis that is one further back."""
    xs, flags = call["xs"], call.mapped[0]
    if flags is True:
        return call.run(xs=np.moveaxis(xs, 1, 0), axis=shifted(call["axis"], call.ndim("xs")))
    parts = [x if m else call.spread_value(x) for x, m in zip(xs, flags, strict=True)]
    return call.run(xs=parts, axis=shifted(call["axis"], int(np.ndim(parts[0]))))


@batching(np.vstack)
def vstack(call: Call) -> Any:
    """Rows."""
    return joined(call, 0, rows)


@batching(np.hstack)
def hstack(call: Call) -> Any:
    """Along the second axis, of vectors along their only one."""
    if call.mapped[0] is True:
        return NotImplemented
    first = int(np.ndim(call["xs"][0])) - call.mapped[0][0]
    return joined(call, 0 if first <= 1 else 1, line)


@batching(np.dstack)
def dstack(call: Call) -> Any:
    """Along the third axis."""
    return joined(call, 2, deep)


@batching(np.column_stack)
def column_stack(call: Call) -> Any:
    """Vectors as columns."""
    return joined(call, 1, columns)


@batching(np.meshgrid)
def meshgrid(call: Call) -> Any:
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


# Cutting --------------------------------------------------------------------------------------------


@batching(np.split, np.array_split)
def split(call: Call) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") else NotImplemented


@batching(np.vsplit, np.hsplit, np.dsplit)
def split_at(call: Call) -> Any:
    """Along the first, second or third axis."""
    ndim = call.ndim("x")
    axis = {"vsplit": 1, "hsplit": min(2, ndim), "dsplit": 3}[call.op.name]
    if ndim < {"vsplit": 2, "hsplit": 1, "dsplit": 3}[call.op.name]:
        return NotImplemented
    return call.apply(np.split, call["x"], call["indices_or_sections"], axis=axis)


# Diagonals ------------------------------------------------------------------------------------------


@batching(np.tril, np.triu)
def triangle(call: Call) -> Any:
    """Of the last two axes."""
    return call.run() if call.ndim("x") >= 2 else NotImplemented


@batching(np.diag)
def diag(call: Call) -> Any:
    """The diagonal of a matrix, or a matrix of its diagonal."""
    ndim = call.ndim("x")
    if ndim == 2:
        return np.diagonal(call["x"], call["k"], 1, 2)
    return on_diagonal(call, call["x"]) if ndim == 1 else NotImplemented


@batching(np.diagflat)
def diagflat(call: Call) -> Any:
    """A matrix of its diagonal."""
    return on_diagonal(call, np.reshape(call["x"], (call.size, -1)))


def on_diagonal(call: Call, v: Any) -> Any:
    """Matrices with the rows of `v` on a diagonal."""
    n = np.shape(v)[1] + abs(call["k"])
    return place_diagonal(v, call["k"], 1, 2, (call.size, n, n), v.dtype)


@batching(np.diagonal, np.trace)
def diagonal(call: Call) -> Any:
    """Of two axes that are one further back."""
    ndim = call.ndim("x")
    return call.run(axis1=shifted(call["axis1"], ndim), axis2=shifted(call["axis2"], ndim))


@batching(place_diagonal)
def placed_diagonal(call: Call) -> Any:
    """On the diagonals of matrices behind the batch axis."""
    shape = call["shape"]
    axes = {name: shifted(call[name], len(shape)) for name in ("axis1", "axis2")}
    return call.run(shape=(call.size, *shape), **axes)


@batching(place_main_diagonal)
def placed_main_diagonal(call: Call) -> Any:
    """On the diagonals of matrices behind the batch axis."""
    v = np.broadcast_to(call["v"], (call.size, min(call["shape"]))) if call.ndim("v") == 0 else call["v"]
    return place_diagonal(v, 0, 1, 2, (call.size, *call["shape"]), call["dtype"])
