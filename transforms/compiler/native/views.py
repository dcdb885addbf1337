"""Calls that need more than an expression for each element: sizes, views, creation, writes at an index, reductions, products."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.known_ops import (
    BROADCAST_TO,
    COPY,
    EXPAND_DIMS,
    GETITEM,
    MATMUL,
    MEAN,
    SQUEEZE,
    SUM,
    SWAPAXES,
    TRANSPOSE,
)
from ....runtime.ir.opcodes import ITEMS, LISTED, ROWS
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.control import COUNT, SHAPE, SIZE
from ....runtime.rules.elementwise import astype
from ....runtime.rules.indexing import add_place, index_add, index_set, place
from .arrays import gathered, layouts
from .forms import known_ops
from .linalg import asked, copied_out, systems
from .stacks import items, listed, stacked
from .values import CTYPES, Arr, CValue, Num, Tup, UnmodelledError, cast, contiguous, product, suffix

__all__ = ["Place", "handlers", "in_place", "native_ops"]

INLINE = 1 << 11  # multiplications of a matrix product up to which C is quicker than BLAS
INLINE_VECTOR = 1 << 14  # and of a product with a vector
_INT = np.dtype(np.int64)


class Place(Protocol):
    """What the handlers ask of the block in which a call stands; `emit.Block` has it."""

    emitter: Any
    env: dict[Value, CValue]
    groups: list[Any]
    over: bool  # whether the call writes over its first argument
    level: dict[Value, int]
    dim_level: dict[str, int]
    held: dict[Value, str]

    def read(self, x: Any) -> CValue: ...
    def levels(self, *xs: Any) -> int: ...
    def at(self, level: int) -> list[str]: ...
    def group(self, *lines: str) -> int: ...
    def root(self, dim: str) -> str: ...
    def roots(self, dims: tuple[str, ...]) -> tuple[str, ...]: ...
    def unified(self, a: str, b: str) -> str: ...
    def new_dim(self, name: str, level: int) -> str: ...
    def number(self, out: Value, text: str, level: int, comment: str = "", name: str | None = None) -> None: ...
    def mapped(
        self, call: Call, text: str, pairs: list[tuple[Any, np.dtype[Any]]], dtype: np.dtype[Any],
        dims: tuple[str, ...] | None = None, level: int = 0,
    ) -> None: ...  # fmt: skip
    def fold(self, call: Call, x: Any, how: str, axes: tuple[int, ...], keep: bool) -> None: ...
    def copied(self, to: Arr, x: CValue, how: str) -> list[str]: ...
    def new_list(self, target: Value) -> None: ...
    def room(self, out: Value, dims: tuple[str, ...]) -> str: ...
    def comment(self, call: Call) -> str: ...


def bound(call: Call) -> dict[str, Any]:
    """The arguments of a call by the names of the op's parameters."""
    return {p.name: x for p, x in zip(call.op.params, call.args, strict=False)}


def array(block: Place, x: Any, needed: bool = True) -> Arr:
    """An array of the kernel's that a call reads; UnmodelledError where it is none."""
    found = block.env.get(x) if isinstance(x, Value) else None
    if not isinstance(found, Arr):
        raise UnmodelledError
    return block.read(x) if needed else found  # type: ignore[return-value]


def whole(block: Place, x: Any) -> str:
    """An int as a C expression."""
    if isinstance(x, Value):
        found = block.env[x]
        if isinstance(found, Num) and found.dtype.kind == "i":
            return found.c
    elif isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return f"{int(x)}"
    raise UnmodelledError


def plain_int(x: Any) -> int:
    """An int that is known."""
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return int(x)
    raise UnmodelledError


def view(
    block: Place, call: Call, p: str, dims: list[str], strides: list[str], level: int, dense: bool = False
) -> None:
    """The result of a call that lies in the memory of another."""
    out = call.outs[0]
    if len(dims) != len(out.type.shape) or not dims:
        raise UnmodelledError
    source = block.env[call.args[0]] if isinstance(call.args[0], Value) else None
    dtype = source.dtype if isinstance(source, (Arr, Num)) else out.type.dtype
    if dtype != out.type.dtype:
        raise UnmodelledError
    name = block.emitter.name(out)
    block.at(level).append(f"{CTYPES[dtype.name]} *const {name} = ({CTYPES[dtype.name]} *){p};{block.comment(call)}")
    block.env[out] = Arr(name, tuple(dims), tuple(strides), dtype, "", dense)
    block.level[out] = level


# --- sizes -----------------------------------------------------------------------------------------------------------


def shape(block: Place, call: Call) -> None:
    found = block.env.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if not isinstance(found, (Arr, Num)):
        raise UnmodelledError
    dims = block.roots(found.dims) if isinstance(found, Arr) else ()
    block.env[call.outs[0]] = Tup(tuple(Num(d, _INT, "python") for d in dims))
    block.level[call.outs[0]] = max((block.dim_level.get(d, 0) for d in dims), default=0)


def size(block: Place, call: Call) -> None:
    found, axis = array(block, call.args[0], False), plain_int(call.args[1])
    dim = block.root(found.dims[axis])
    block.env[call.outs[0]] = Num(dim, _INT, "python")
    block.level[call.outs[0]] = block.dim_level.get(dim, 0)


def count(block: Place, call: Call) -> None:
    dims = block.roots(array(block, call.args[0], False).dims)
    level = max((block.dim_level.get(d, 0) for d in dims), default=0)
    block.number(call.outs[0], product(dims), level)


# --- views -----------------------------------------------------------------------------------------------------------


def indexed(block: Place, a: Arr, index: Any, level: int, shape: tuple[int, ...]) -> tuple[str, list[str], list[str]]:
    """The pointer, lengths and strides of `a[index]`, for a basic index; `shape` is that of the capture."""
    parts = list(index) if type(index) is tuple else [index]
    if any(isinstance(p, (bool, np.bool_, list, np.ndarray)) for p in parts):
        raise UnmodelledError
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if sum(p is Ellipsis for p in parts) > 1 or used > len(a.dims):
        raise UnmodelledError
    if Ellipsis in [p for p in parts if not isinstance(p, Value)]:
        at = next(k for k, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(a.dims) - used)
    else:
        parts += [slice(None)] * (len(a.dims) - used)
    e, lines = block.emitter, block.at(level)
    p, dims, strides, k = a.p, [], [], 0
    made: list[str] = []
    for part in parts:
        if part is None:
            dims.append("1")
            strides.append("0")
            continue
        d, s = block.root(a.dims[k]), a.strides[k]
        k += 1
        if isinstance(part, slice):
            if part.start is None and part.stop is None and part.step is None:
                dims.append(d)
                strides.append(s)
                continue
            step = 1 if part.step is None else plain_int(part.step)
            if step == 0 or len(dims) >= len(shape):
                raise UnmodelledError
            first, length = e.name("first"), e.name("length")
            ends = [("0", "0") if end is None else ("1", whole(block, end)) for end in (part.start, part.stop)]
            asked = ", ".join(["(int64_t)" + d, *ends[0], *ends[1], str(step), f"&{first}", f"&{length}"])
            made += [f"int64_t {first}, {length};", f"cut({asked});"]
            p += f" + {first} * ({s})"
            if shape[len(dims)] == 1:
                made.append(f"if ({length} != 1) goto punt;")
                dims.append("1")
            else:
                dims.append(block.new_dim(length, level))
            strides.append(s if step == 1 else f"({step} * ({s}))")
        else:
            text = whole(block, part)
            if isinstance(part, Value):
                at_ = e.name("place")
                made.append(f"const int64_t {at_} = {text} < 0 ? {text} + {d} : {text};")
                made.append(f"if ({at_} < 0 || {at_} >= {d}) goto punt;")
            else:
                at_ = text if int(text) >= 0 else f"({d} - {-int(text)})"
                made.append(f"if ({at_} < 0 || {at_} >= {d}) goto punt;")
            p += f" + {at_} * ({s})"
    lines += made
    return p, dims, strides


def getitem(block: Place, call: Call) -> None:
    x, index = call.args[:2]
    found = block.env.get(x) if isinstance(x, Value) else None
    out = call.outs[0]
    if isinstance(found, Tup):
        item = found.items[plain_int(index)]
        if not isinstance(item, Num):
            raise UnmodelledError
        block.env[out] = item
        block.level[out] = block.levels(x)
        return
    if any(isinstance(block.env.get(v), Arr) for v in values_in(index)):
        gathered(block, call)
        return
    a = array(block, x)
    level = block.levels(x, index)
    p, dims, strides = indexed(block, a, index, level, out.type.shape)
    if out.type.kind == "scalar":
        block.number(out, f"*({p})", level, block.comment(call))
    elif not dims:
        raise UnmodelledError
    else:
        view(block, call, f"({p})", dims, strides, level)


def permuted(block: Place, call: Call, axes: list[int]) -> None:
    a = array(block, call.args[0])
    dims = block.roots(a.dims)
    view(block, call, a.p, [dims[k] for k in axes], [a.strides[k] for k in axes], block.levels(call.args[0]))


def transpose(block: Place, call: Call) -> None:
    a, axes = array(block, call.args[0], False), bound(call).get("axes")
    rank = len(a.dims)
    permuted(block, call, [plain_int(k) % rank for k in axes] if axes is not None else list(range(rank))[::-1])


def swapaxes(block: Place, call: Call) -> None:
    rank = len(array(block, call.args[0], False).dims)
    axes = list(range(rank))
    j, k = (plain_int(x) % rank for x in call.args[1:3])
    axes[j], axes[k] = axes[k], axes[j]
    permuted(block, call, axes)


def expand_dims(block: Place, call: Call) -> None:
    x, axis = call.args[:2]
    axes = axis if type(axis) is tuple else (axis,)
    a = array(block, x)
    rank = len(a.dims) + len(axes)
    new = {plain_int(k) % rank for k in axes}
    rest = iter(zip(block.roots(a.dims), a.strides, strict=True))
    pairs = [("1", "0") if k in new else next(rest) for k in range(rank)]
    view(block, call, a.p, [d for d, _ in pairs], [s for _, s in pairs], block.levels(x), a.dense)


def squeeze(block: Place, call: Call) -> None:
    x, axis = call.args[0], bound(call).get("axis")
    a = array(block, x)
    dims, rank = block.roots(a.dims), len(a.dims)
    axes = axis if type(axis) is tuple else (axis,)
    gone = {k for k, d in enumerate(dims) if d == "1"} if axis is None else {plain_int(k) % rank for k in axes}
    if any(dims[k] != "1" for k in gone) or len(gone) == rank:
        raise UnmodelledError
    left = [k for k in range(rank) if k not in gone]
    view(block, call, a.p, [dims[k] for k in left], [a.strides[k] for k in left], block.levels(x), a.dense)


def lengths(block: Place, shape: Any) -> tuple[list[str], int]:
    """The lengths that an argument says, and from where on they are known."""
    if isinstance(shape, Value):
        found = block.env[shape]
        items = found.items if isinstance(found, Tup) else (found,)
        level = block.levels(shape)
    else:
        items = tuple(block.read(x) for x in (shape if type(shape) in (tuple, list) else (shape,)))
        level = block.levels(*(shape if type(shape) in (tuple, list) else (shape,)))
    if not all(isinstance(item, Num) and item.dtype.kind == "i" for item in items):
        raise UnmodelledError
    return [block.root(item.c) for item in items], level


def named(block: Place, dims: list[str], level: int, shape: tuple[int, ...]) -> list[str]:
    """Lengths that are 1 where the capture had 1, and known by names elsewhere."""
    if len(dims) != len(shape):
        raise UnmodelledError
    made = []
    for d, n in zip(dims, shape, strict=True):
        if d.startswith("("):
            raise UnmodelledError
        if n == 1 and d != "1":
            block.at(level).append(f"if ({d} != 1) goto punt;")
        elif not d.isdigit():
            block.dim_level.setdefault(d, level)
            block.at(level).append(f"if ({d} < 0) goto punt;") if d not in block.dim_level else None
        made.append("1" if n == 1 else d)
    return made


def broadcast_to(block: Place, call: Call) -> None:
    x, out = call.args[0], call.outs[0]
    found = block.read(x)
    dims, level = lengths(block, call.args[1])
    level = max(level, block.levels(x))
    dims = named(block, dims, level, out.type.shape)
    if isinstance(found, Num) and found.dtype == out.type.dtype and dims:
        own = block.emitter.name(out)
        block.at(level).append(f"{CTYPES[found.dtype.name]} {own}[1] = {{{found.c}}};{block.comment(call)}")
        block.env[out] = Arr(own, tuple(dims), ("0",) * len(dims), found.dtype)
        block.level[out] = level
        return
    a = array(block, x)
    have, extra = block.roots(a.dims), len(dims) - len(a.dims)
    if extra < 0:
        raise UnmodelledError
    strides = ["0"] * extra
    for k, (d, s) in enumerate(zip(have, a.strides, strict=True), extra):
        if d == "1" and dims[k] != "1":
            strides.append("0")
            continue
        if d != dims[k]:
            block.at(level).append(f"if ({d} != {dims[k]}) goto punt;")
        strides.append(s)
    view(block, call, a.p, dims, strides, level)


def reshape(block: Place, call: Call) -> None:
    """Of an array in C order, which is tested; others go to NumPy."""
    x, out, named_args = call.args[0], call.outs[0], bound(call)
    if named_args.get("order", "C") != "C" or named_args.get("copy") is not None:
        raise UnmodelledError
    a = array(block, x)
    asked, level = lengths(block, named_args["shape"])
    level = max(level, block.levels(x))
    have, e = block.roots(a.dims), block.emitter
    made: list[str] = []
    if "(-1)" in asked or "-1" in asked:
        at_ = asked.index("(-1)" if "(-1)" in asked else "-1")
        rest, total = product(tuple(d for k, d in enumerate(asked) if k != at_)), product(have)
        own = e.name("length")
        made.append(f"if (({rest}) <= 0 || ({total}) % ({rest})) goto punt;")
        made.append(f"const int64_t {own} = ({total}) / ({rest});")
        asked[at_] = block.new_dim(own, level)
    else:
        made.append(f"if (({product(tuple(asked))}) != ({product(have)})) goto punt;")
    if not a.dense:
        for d, s, expect in zip(have, a.strides, contiguous(have), strict=True):
            if d != "1":
                made.append(f"if ({d} > 1 && {s} != {expect}) goto punt;")
    block.at(level).extend(made)
    dims = named(block, asked, level, out.type.shape)
    view(block, call, a.p, dims, list(contiguous(tuple(dims))), level, True)


# --- creation, casts, writes -----------------------------------------------------------------------------------------


def full(block: Place, call: Call) -> None:
    args, out = bound(call), call.outs[0]
    dims, level = lengths(block, args["shape"])
    dims = named(block, dims, level, out.type.shape)
    fill = args["fill_value"] if "fill_value" in args else _FILLS[call.op.base]
    block.mapped(call, "{0}", [(fill, out.type.dtype)], out.type.dtype, tuple(dims), level)


def like(block: Place, call: Call) -> None:
    args, out = bound(call), call.outs[0]
    if args.get("shape") is not None:
        raise UnmodelledError
    found = block.env.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if not isinstance(found, Arr) or len(found.dims) != len(out.type.shape):
        raise UnmodelledError
    dims = block.roots(found.dims)
    level = max((block.dim_level.get(d, 0) for d in dims), default=0)
    fill = args["fill_value"] if "fill_value" in args else _FILLS[call.op.base]
    block.mapped(call, "{0}", [(fill, out.type.dtype)], out.type.dtype, dims, level)


def casted(block: Place, call: Call) -> None:
    x, out = call.args[0], call.outs[0]
    if not isinstance(x, Value) or not isinstance(block.env.get(x), (Arr, Num)):
        raise UnmodelledError
    block.mapped(call, "{0}", [(x, out.type.dtype)], out.type.dtype)


def written_at(block: Place, call: Call) -> None:
    """`place`, `index_add` and `index_set` at a basic index."""
    out, args = call.outs[0], bound(call)
    v, placing = args["v"], "shape" in args
    how = "+=" if call.op.base in (require(index_add).base, require(add_place).base) else "="
    e = block.emitter
    dtype = out.type.dtype
    found = block.read(v)
    if not isinstance(found, (Num, Arr)):
        raise UnmodelledError
    level = len(block.groups)
    lines: list[str] = []
    start: Arr | None = None
    if placing:
        dims, _ = lengths(block, args["shape"])
        dims = named(block, dims, level, out.type.shape)
    else:
        start = array(block, args["acc"] if "acc" in args else args["x"])
        dims = list(block.roots(start.dims))
        if start.dtype != dtype:
            raise UnmodelledError
    if how == "+=" and dtype.kind == "b":
        raise UnmodelledError
    own = start is not None and (start.obj.startswith("f->o") or (not start.obj and out not in e.returned))
    kept = block.over and own
    if kept and start is not None:
        target = start._replace(dims=tuple(dims))
    else:
        target = Arr(e.name(out), tuple(dims), contiguous(tuple(dims)), dtype, "", True)
    name = target.p
    before = block.at(level)
    n = len(before)
    p, at_dims, at_strides = indexed(block, target, args["index"], level, (0,) * len(dims))
    index_lines = before[n:]
    del before[n:]
    where = e.name("at")
    t = CTYPES[dtype.name]
    body = [f"{t} *const {where} = {p};"]
    body += block.copied(Arr(where, tuple(at_dims), tuple(at_strides), dtype), found, how)
    if not kept:
        room = block.room(out, tuple(dims))
        lines += [f"{t} *const {name} = {room};", f"if (!{name}) goto punt;"]
        if start is None:
            lines.append(f"memset({name}, 0, sizeof({t}) * ({product(tuple(dims))}));")
        else:
            lines += block.copied(target, start, "=")
        target = target._replace(obj=block.held.get(out, ""), made=out in block.held)
    block.group(*lines, "{" + block.comment(call), *[f"    {line}" for line in (*index_lines, *body)], "}")
    block.env[out] = target
    block.level[out] = level + 1


# --- reductions and products -----------------------------------------------------------------------------------------


def reduced(block: Place, call: Call) -> None:
    args = bound(call)
    x = call.args[0]
    found = block.env.get(x) if isinstance(x, Value) else None
    plain = (None, np._NoValue, False)
    if any(args.get(name) not in plain for name in ("out", "initial")) or args.get("where") not in (
        None,
        np._NoValue,
        True,
    ):
        raise UnmodelledError
    keep = args.get("keepdims")
    if keep not in (None, np._NoValue, False, True):
        raise UnmodelledError
    how = hows()[call.op.base]
    if isinstance(found, Num) and how != "mean":
        if args.get("axis") not in (None, ()) or call.outs[0].type.shape:
            raise UnmodelledError
        out = call.outs[0]
        text = cast(found.c, found.dtype, out.type.dtype)
        block.number(out, text, block.levels(x), block.comment(call))
        return
    if not isinstance(found, Arr):
        raise UnmodelledError
    rank, axis = len(found.dims), args.get("axis")
    axes = tuple(range(rank)) if axis is None else axis if type(axis) is tuple else (axis,)
    asked = args.get("dtype")
    if asked is not None and np.dtype(asked) != call.outs[0].type.dtype:
        raise UnmodelledError
    block.fold(call, x, how, tuple(sorted(plain_int(k) % rank for k in axes)), keep is True)


def matmul(block: Place, call: Call) -> None:
    """Small products here, others by NumPy's BLAS; where that does not take an operand as it lies, NumPy does."""
    x, y, out = call.args[0], call.args[1], call.outs[0]
    a, b = array(block, x, False), array(block, y, False)
    if a.dtype != b.dtype or a.dtype.kind != "f" or len(a.dims) > 2 or len(b.dims) > 2:
        raise UnmodelledError
    a, b = array(block, x), array(block, y)
    e, t = block.emitter, CTYPES[a.dtype.name]
    if (a.dims[-1] == "1") != (b.dims[0] == "1"):
        raise UnmodelledError
    block.unified(a.dims[-1], b.dims[0])
    m, am = (a.dims[0], a.strides[0]) if len(a.dims) == 2 else ("1", "0")
    n, bn = (b.dims[1], b.strides[1]) if len(b.dims) == 2 else ("1", "0")
    k = block.root(a.dims[-1])
    shape = tuple(block.root(d) for d, full in ((m, len(a.dims) == 2), (n, len(b.dims) == 2)) if full)
    name = e.name(out)
    s = suffix(a.dtype)
    parts = f"{name}_c, {m}, {k}, {n}, {a.p}, {am}, {a.strides[-1]}, {b.p}, {b.strides[0]}, {bn}"
    how = f"product_{s}({parts});"
    room = block.room(out, shape) if shape else f"room(f, {e.slot()}, sizeof({t}))"
    lines: list[str] = []
    text = asked(block, call, lines)
    limit = INLINE if len(shape) == 2 else INLINE_VECTOR
    if e.alone is not None:
        big = [how]
    elif shape:
        big = [*lines, *copied_out(text, Arr(f"{name}_c", shape, contiguous(shape), a.dtype))]
    else:
        big = [*lines, f"*{name}_c = PyFloat_AsDouble({text});"]
        big.append(f"if (*{name}_c == -1 && PyErr_Occurred()) goto fail;")
    test = f"({m}) * ({k}) * ({n}) <= {limit}"
    own = [
        f"{t} *const {name}_c = {room};", f"if (!{name}_c) goto punt;",
        *([] if e.alone is not None else [f"WORK({product((m, k, n))} / 4);"]),
        f"if ({test}) {how}{block.comment(call)}",
        f"else if (!blas_{s}(st, {parts})) {{", *[f"    {line}" for line in big], "}",
    ]  # fmt: skip
    g = block.group(*own)
    if shape:
        block.env[out] = Arr(
            f"{name}_c", shape, contiguous(shape), a.dtype, block.held.get(out, ""), True, out in block.held
        )
    else:
        block.groups[g].lines.append(f"const {t} {name} = *{name}_c;")
        block.env[out] = Num(name, a.dtype, out.type.kind)
    block.level[out] = g + 1


_FILLS: dict[Op, float] = {}


@functools.cache
def hows() -> dict[Op, str]:
    """The reductions that C has."""
    extremes = {require(np.max): "max", require(np.min): "min", require(np.amax): "max", require(np.amin): "min"}
    return {SUM.base: "sum", MEAN.base: "mean"} | {op.base: how for op, how in extremes.items()}


@functools.cache
def handlers() -> dict[Op, Callable[[Place, Call], None]]:
    """By op: what writes a call of it; systems of equations apart."""
    fills: dict[Any, tuple[float, Callable[[Place, Call], None]]] = {
        np.zeros: (0, full), np.ones: (1, full), np.zeros_like: (0, like), np.ones_like: (1, like),
    }  # fmt: skip
    found: dict[Op, Callable[[Place, Call], None]] = {
        SHAPE.base: shape, SIZE.base: size, COUNT.base: count, GETITEM.base: getitem, TRANSPOSE.base: transpose,
        SWAPAXES.base: swapaxes, EXPAND_DIMS.base: expand_dims, SQUEEZE.base: squeeze, BROADCAST_TO.base: broadcast_to,
        COPY.base: casted, MATMUL.base: matmul, ROWS.base: stacked, ITEMS.base: items, LISTED.base: listed,
    }  # fmt: skip
    for fn, (fill, handler) in fills.items():
        _FILLS[require(fn).base] = fill
        found[require(fn).base] = handler
    more: dict[Any, Callable[[Place, Call], None]] = {
        np.reshape: reshape, np.full: full, np.full_like: like, astype: casted, place: written_at,
        index_add: written_at, index_set: written_at, add_place: written_at,
    }  # fmt: skip
    found |= {require(fn).base: handler for fn, handler in more.items()}
    return found | layouts(view, lengths) | dict.fromkeys(hows(), reduced)


@functools.cache
def in_place() -> frozenset[Op]:
    """The ops that write into their first argument where nobody reads it again."""
    return frozenset([require(index_add).base, require(index_set).base])


def native_ops() -> frozenset[Op]:
    """The ops that have a C form, by their base."""
    return frozenset(known_ops()) | frozenset(handlers()) | frozenset(systems())
