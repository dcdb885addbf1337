"""Calls that lay numbers out anew: joins, diagonals, triangles, rolls, rows by number; each writes its whole result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import AND, NOT, OR
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.indexing import index_add_at, scatter, scatter_rows
from ....runtime.rules.support import place_main_diagonal
from .lock import worked
from .values import CTYPES, Arr, CValue, Num, UnmodelledError, cast, contiguous, product

if TYPE_CHECKING:
    from .views import Place

__all__ = ["gathered", "layouts"]


def bound(call: Call) -> dict[str, Any]:
    """The arguments of a call by the names of the op's parameters."""
    return {p.name: x for p, x in zip(call.op.params, call.args, strict=False)}


def array(block: Place, x: Any, rank: int | None = None) -> Arr:
    """An array of the kernel's that a call reads."""
    if not isinstance(x, Value) or not isinstance(block.env.get(x), Arr):
        raise UnmodelledError
    found = block.read(x)
    assert isinstance(found, Arr)
    if rank is not None and len(found.dims) != rank:
        raise UnmodelledError
    return found._replace(dims=block.roots(found.dims))


def number(x: Any) -> int:
    """An int that is known."""
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return int(x)
    raise UnmodelledError


def whole(block: Place, x: Any) -> str:
    """An int as a C expression."""
    if isinstance(x, Value):
        found = block.env.get(x)
        if isinstance(found, Num) and found.dtype.kind == "i":
            return found.c
        raise UnmodelledError
    return str(number(x))


def laid(
    block: Place, call: Call, dims: Sequence[str], fill: Callable[[Arr], list[str]], before: Sequence[str] = (),
    zero: bool = False,
) -> None:  # fmt: skip
    """A new array: `before` says its lengths, `fill` gives the lines that write it."""
    out, e = call.outs[0], block.emitter
    if len(dims) != len(out.type.shape) or out.type.dtype.name not in CTYPES:
        raise UnmodelledError
    t, name = CTYPES[out.type.dtype.name], e.name(out)
    known: list[str] = []
    lines = list(before)
    for d, n in zip(dims, out.type.shape, strict=True):
        if n == 1 and d != "1":
            lines.append(f"if ({d} != 1) goto punt;")
        known.append("1" if n == 1 else d)
    target = Arr(name, tuple(known), contiguous(tuple(known)), out.type.dtype, "", True)
    body = fill(target)
    room = block.room(out, target.dims)
    lines += [f"{t} *const {name} = {room};", f"if (!{name}) goto punt;"]
    if zero:
        lines.append(f"memset({name}, 0, sizeof({t}) * ({product(target.dims)}));")
    if e.alone is None:
        lines += worked(target.dims)
    g = block.group(*lines, "{" + block.comment(call), *[f"    {line}" for line in body], "}")
    for d in known:
        if not d.isdigit():
            block.dim_level.setdefault(d, g + 1)
    block.env[out] = target._replace(obj=block.held.get(out, ""), made=out in block.held)
    block.level[out] = g + 1


def part(a: Arr, axis: int, at: str, length: str | None) -> Arr:
    """Some places of an axis, from one on; without a length one place, and no axis."""
    strides, dims = list(a.strides), list(a.dims)
    p = f"({a.p} + ({at}) * ({strides[axis]}))"
    if length is None:
        del strides[axis], dims[axis]
    else:
        dims[axis] = length
    return a._replace(p=p, dims=tuple(dims), strides=tuple(strides), dense=False, obj="")


def operands(block: Place, xs: Any) -> list[CValue]:
    """The arrays and numbers of a list."""
    if type(xs) not in (tuple, list) or not xs:
        raise UnmodelledError
    found: list[CValue] = []
    for x in xs:
        if isinstance(x, Value):
            if not isinstance(block.env.get(x), (Arr, Num)):
                raise UnmodelledError
            found.append(block.read(x))
        elif isinstance(x, (int, float, np.generic)) and not isinstance(x, bool):
            found.append(block.read(x))
        else:
            raise UnmodelledError
    if not all(isinstance(x, (Arr, Num)) for x in found):
        raise UnmodelledError
    return [x._replace(dims=block.roots(x.dims)) if isinstance(x, Arr) else x for x in found]


def stack(block: Place, call: Call) -> None:
    xs, axis, dtype = call.args[:3]
    found = operands(block, xs)
    rank = len(call.outs[0].type.shape)
    if dtype is not None:
        raise UnmodelledError
    axis = number(axis) % rank
    if any(rank - 1 != (len(x.dims) if isinstance(x, Arr) else 0) for x in found):
        raise UnmodelledError
    first = found[0]
    dims = list(first.dims) if isinstance(first, Arr) else []
    dims.insert(axis, str(len(found)))

    def fill(target: Arr) -> list[str]:
        return [line for k, x in enumerate(found) for line in block.copied(part(target, axis, str(k), None), x, "=")]

    laid(block, call, dims, fill)


def concatenate(block: Place, call: Call) -> None:
    xs, axis, dtype = call.args[:3]
    if dtype is not None or axis is None or type(xs) not in (tuple, list):
        raise UnmodelledError
    found: list[CValue | list[CValue]] = []
    for x in xs:
        found.append(operands(block, x) if type(x) is list else operands(block, [x])[0])
    rank = len(call.outs[0].type.shape)
    axis = number(axis) % rank
    if any(not isinstance(x, Arr) and (rank != 1 or not isinstance(x, list)) for x in found):
        raise UnmodelledError
    arrays = [x for x in found if isinstance(x, Arr)]
    if not arrays or any(len(x.dims) != rank for x in arrays):
        raise UnmodelledError
    dims, n = list(arrays[0].dims), block.emitter.name("length")
    lengths = [x.dims[axis] if isinstance(x, Arr) else str(len(x)) for x in found if not isinstance(x, Num)]
    dims[axis] = n

    def fill(target: Arr) -> list[str]:
        lines, at = [], "0"
        for x, length in zip(found, lengths, strict=True):
            if isinstance(x, list):
                for k, one in enumerate(x):
                    lines += block.copied(part(target, axis, f"{at} + {k}", None), one, "=")
            else:
                lines += block.copied(part(target, axis, at, length), x, "=")
            at = f"{at} + {length}"
        return lines

    laid(block, call, dims, fill, [f"const int64_t {n} = {' + '.join(lengths)};"])


def diff(block: Place, call: Call) -> None:
    x, times, axis, *ends = call.args
    a = array(block, x)
    axis, rank = number(axis), len(a.dims)
    if number(times) != 1 or any(end is not np._NoValue for end in ends):
        raise UnmodelledError
    if a.dtype.kind == "b" or axis % rank != rank - 1:
        raise UnmodelledError
    n, dims = block.emitter.name("length"), list(a.dims)
    dims[-1] = n

    def fill(target: Arr) -> list[str]:
        target = target._replace(dims=(*target.dims[:-1], n))
        right, left = [part(a, rank - 1, at, n) for at in ("1", "0")]
        return [*block.copied(target, right, "="), *block.copied(target, left, "-=")]

    laid(block, call, dims, fill, [f"const int64_t {n} = {a.dims[-1]} > 0 ? {a.dims[-1]} - 1 : 0;"])


def roll(block: Place, call: Call) -> None:
    x, by, axis = call.args
    a, shift = array(block, x), number(by)
    if axis is None and len(a.dims) != 1:
        raise UnmodelledError
    axis = 0 if axis is None else number(axis) % len(a.dims)
    n = a.dims[axis]

    def fill(target: Arr) -> list[str]:
        s, r = block.emitter.name("shift"), block.emitter.name("rest")
        lines = [f"const int64_t {s} = {n} ? (({shift}) % {n} + {n}) % {n} : 0, {r} = {n} - {s};"]
        lines += block.copied(part(target, axis, s, r), part(a, axis, "0", r), "=")
        return lines + block.copied(part(target, axis, "0", s), part(a, axis, r, s), "=")

    laid(block, call, list(a.dims), fill)


def eye(block: Place, call: Call) -> None:
    size, width, by, _, order = call.args
    if order != "C":
        raise UnmodelledError
    n, k = whole(block, size), number(by)
    m = n if width is None else whole(block, width)
    dims, before = [], []
    for text in (n, m) if m != n else (n,):
        own = block.emitter.name("length")
        before.append(f"const int64_t {own} = {text};")
        before.append(f"if ({own} < 0) goto punt;")
        dims.append(own)
    rows, columns = dims[0], dims[-1]

    def fill(target: Arr) -> list[str]:
        test = f"i + ({k}) >= 0 && i + ({k}) < {columns}"
        return [f"for (int64_t i = 0; i < {rows}; i++) if ({test}) {target.p}[i * {columns} + i + ({k})] = 1;"]

    laid(block, call, [rows, columns], fill, before, zero=True)


def arange(block: Place, call: Call) -> None:
    start, stop, step, dtype = call.args
    step = number(step)
    if call.outs[0].type.dtype != np.int64 or dtype is not None or step == 0:
        raise UnmodelledError
    low, high = ("0", whole(block, start)) if stop is None else (whole(block, start), whole(block, stop))
    n, e = block.emitter.name("length"), block.emitter
    first, far = e.name("first"), e.name("distance")
    before = [f"const int64_t {first} = {low}, {far} = {high} - {first};"]
    if step > 0:
        before.append(f"const int64_t {n} = {far} > 0 ? ({far} - 1) / {step} + 1 : 0;")
    else:
        before.append(f"const int64_t {n} = {far} < 0 ? (-{far} - 1) / {-step} + 1 : 0;")

    def fill(target: Arr) -> list[str]:
        return [f"for (int64_t i = 0; i < {n}; i++) {target.p}[i] = {first} + i * ({step});"]

    laid(block, call, [n], fill, before)


def diagonal(block: Place, call: Call, view: Callable[..., None]) -> None:
    """A view of the main diagonal of a matrix."""
    a = array(block, call.args[0], 2)
    level = block.levels(call.args[0])
    n, e = a.dims[0], block.emitter
    if a.dims[0] != a.dims[1]:
        level = max(level, *[block.dim_level.get(d, 0) for d in a.dims])
        n = block.new_dim(e.name("length"), level)
        block.at(level).append(f"const int64_t {n} = {a.dims[0]} < {a.dims[1]} ? {a.dims[0]} : {a.dims[1]};")
        if call.outs[0].type.shape[0] == 1:
            block.at(level).append(f"if ({n} != 1) goto punt;")
            n = "1"
    view(block, call, a.p, [n], [f"({a.strides[0]} + {a.strides[1]})"], level)


def diag(block: Place, call: Call) -> None:
    """The matrix of a diagonal."""
    args = bound(call)
    k = number(args.get("k", 0))
    a = array(block, call.args[0], 1)
    n = block.emitter.name("length")

    def fill(target: Arr) -> list[str]:
        at = f"(i + {max(-k, 0)}) * {n} + i + {max(k, 0)}"
        return [f"for (int64_t i = 0; i < {a.dims[0]}; i++) {target.p}[{at}] = {a.p}[i * ({a.strides[0]})];"]

    laid(block, call, [n, n], fill, [f"const int64_t {n} = {a.dims[0]} + {abs(k)};"], zero=True)


def place_diagonal(block: Place, call: Call, lengths: Callable[..., Any]) -> None:
    """Zeros with an array on the diagonal."""
    args = bound(call)
    a = array(block, args["v"], 1)
    dims, _ = lengths(block, args["shape"])
    if len(dims) != 2 or a.dtype != call.outs[0].type.dtype:
        raise UnmodelledError

    def fill(target: Arr) -> list[str]:
        n = block.emitter.name("length")
        least = dims[0] if dims[0] == dims[1] else f"{dims[0]} < {dims[1]} ? {dims[0]} : {dims[1]}"
        m = a.dims[0]  # of fewer numbers NumPy takes the first ones again
        place = "0" if m == "1" else f"(i < {m} ? i : i % {m}) * ({a.strides[0]})"
        return [
            f"const int64_t {n} = {least};", *([] if m == "1" else [f"if ({m} == 0 && {n} > 0) goto punt;"]),
            f"for (int64_t i = 0; i < {n}; i++) {target.p}[i * ({dims[1]} + 1)] = {a.p}[{place}];",
        ]  # fmt: skip

    laid(block, call, dims, fill, zero=True)


def triangle(block: Place, call: Call, keeps: str) -> None:
    """`np.tril`, `np.triu`: a matrix with zeros on one side of a diagonal."""
    a, k = array(block, call.args[0], 2), number(bound(call).get("k", 0))
    n, m = a.dims

    def fill(target: Arr) -> list[str]:
        source = f"{a.p}[i * ({a.strides[0]}) + j * ({a.strides[1]})]"
        return [
            f"for (int64_t i = 0; i < {n}; i++) for (int64_t j = 0; j < {m}; j++)",
            f"    {target.p}[i * ({target.strides[0]}) + j * ({target.strides[1]})] = j - i {keeps} {k} ? {source} : 0;",
        ]

    laid(block, call, [n, m], fill)


def ravel(block: Place, call: Call, view: Callable[..., None]) -> None:
    """One axis: a view where the array is in C order, or else a copy."""
    a, args = array(block, call.args[0]), bound(call)
    if args.get("order", "C") != "C" or not a.dims:
        raise UnmodelledError
    n, level = block.emitter.name("length"), block.levels(call.args[0])
    text = f"const int64_t {n} = {product(a.dims)};"
    if a.dense and call.outs[0].type.shape != (1,):
        level = max([level, *[block.dim_level.get(d, 0) for d in a.dims]])
        block.at(level).append(text)
        view(block, call, a.p, [block.new_dim(n, level)], ["1"], level, True)
        return

    def fill(target: Arr) -> list[str]:
        return block.copied(target._replace(dims=a.dims, strides=contiguous(a.dims)), a, "=")

    laid(block, call, [n], fill, [text])


# --- rows by number --------------------------------------------------------------------------------------------------


def index_arrays(block: Place, index: Any) -> list[Arr]:
    """The arrays of ints of an index, each with one axis."""
    found = [array(block, x, 1) for x in (index if type(index) is tuple else (index,))]
    if not found or any(x.dtype != np.int64 for x in found) or len({x.dims == ("1",) for x in found}) > 1:
        raise UnmodelledError
    for x in found[1:]:
        block.unified(found[0].dims[0], x.dims[0])
    return [x._replace(dims=block.roots(x.dims)) for x in found]


def places(block: Place, rows: list[Arr], dims: Sequence[str], strides: Sequence[str]) -> tuple[list[str], str]:
    """Lines that find and test the place of the i-th row, and where it begins."""
    lines, parts = [], []
    for k, (x, n) in enumerate(zip(rows, dims, strict=False)):
        own = block.emitter.name(f"j{k}")
        lines.append(f"int64_t {own} = {x.p}[i * ({x.strides[0]})];")
        lines.append(f"if ({own} < 0) {own} += {n};")
        lines.append(f"if ({own} < 0 || {own} >= {n}) goto punt;")
        parts.append(f"{own} * ({strides[k]})")
    return lines, " + ".join(parts)


def gathered(block: Place, call: Call) -> None:
    """`x[i]`, `x[i, j]` for arrays of ints: rows by number."""
    a, rows = array(block, call.args[0]), index_arrays(block, call.args[1])
    if len(rows) > len(a.dims):
        raise UnmodelledError
    rest = len(rows)

    def fill(target: Arr) -> list[str]:
        lines, at = places(block, rows, a.dims, a.strides)
        source = a._replace(p=f"({a.p} + {at})", dims=a.dims[rest:], strides=a.strides[rest:], dense=False, obj="")
        lines += block.copied(part(target, 0, "i", None), source, "=")
        return [f"for (int64_t i = 0; i < {rows[0].dims[0]}; i++) {{", *[f"    {line}" for line in lines], "}"]

    laid(block, call, [rows[0].dims[0], *a.dims[rest:]], fill)


def scattered(block: Place, call: Call, lengths: Callable[..., Any]) -> None:
    """Values added at rows by number, to zeros or to a copy of an array."""
    args = bound(call)
    rows, out = index_arrays(block, args["index"]), call.outs[0]
    start = array(block, args["acc"]) if "acc" in args else None
    dims = list(start.dims) if start is not None else lengths(block, args["shape"])[0]
    v, rest = operands(block, [args["v"]])[0], len(rows)
    assert isinstance(v, (Arr, Num))
    if out.type.dtype.kind == "b" or len(dims) < rest or v.dtype != out.type.dtype:
        raise UnmodelledError
    if isinstance(v, Arr) and len(v.dims) != 1 + len(dims) - rest:
        raise UnmodelledError
    tests = []
    if isinstance(v, Arr):
        tests = [f"if ({v.dims[0]} != {rows[0].dims[0]}) goto punt;"] if v.dims[0] != rows[0].dims[0] else []
        if v.dims[0] == "1":
            raise UnmodelledError

    def fill(target: Arr) -> list[str]:
        lines, at = places(block, rows, target.dims, target.strides)
        own = target._replace(
            p=f"({target.p} + {at})", dims=target.dims[rest:], strides=target.strides[rest:], dense=False
        )
        source = part(v, 0, "i", None) if isinstance(v, Arr) else v
        lines += block.copied(own, source, "+=")
        before = block.copied(target, start, "=") if start is not None else []
        return [
            *tests, *before, f"for (int64_t i = 0; i < {rows[0].dims[0]}; i++) {{", *[f"    {s}" for s in lines], "}"
        ]  # fmt: skip

    laid(block, call, dims, fill, zero=start is None)


# --- truth -----------------------------------------------------------------------------------------------------------


def truth(block: Place, call: Call, text: str) -> None:
    """`not`, `and` and `or` of truth values."""
    found = [block.env.get(x) if isinstance(x, Value) else None for x in call.args]
    out = call.outs[0]
    if not all(isinstance(x, Num) and x.dtype.kind == "b" for x in found) or out.type.dtype.kind != "b":
        raise UnmodelledError
    texts = [cast(x.c, x.dtype, out.type.dtype) for x in found if isinstance(x, Num)]
    block.number(out, text.format(*texts), block.levels(*call.args), block.comment(call))


@functools.cache
def layouts(view: Callable[..., None], lengths: Callable[..., Any]) -> dict[Op, Callable[[Place, Call], None]]:
    """By op: what writes a call of it."""

    def diagonals(block: Place, call: Call) -> None:
        args = bound(call)
        if len(block.env[call.args[0]].dims if isinstance(block.env.get(call.args[0]), Arr) else ()) == 1:  # type: ignore[union-attr]
            diag(block, call)
        elif number(args.get("k", args.get("offset", 0))) or args.get("axis1", 0) != 0 or args.get("axis2", 1) != 1:
            raise UnmodelledError
        else:
            diagonal(block, call, view)

    def with_lengths(handler: Callable[..., None]) -> Callable[[Place, Call], None]:
        return lambda block, call: handler(block, call, lengths)

    scatters = with_lengths(scattered)
    found: dict[Any, Callable[[Place, Call], None]] = {
        np.stack: stack, np.concatenate: concatenate, np.diff: diff, np.roll: roll, np.eye: eye, np.arange: arange,
        np.diag: diagonals, np.diagonal: diagonals, place_main_diagonal: with_lengths(place_diagonal),
        np.tril: lambda block, call: triangle(block, call, "<="), np.triu: lambda block, call: triangle(block, call, ">="),
        np.ravel: lambda block, call: ravel(block, call, view), scatter: scatters, scatter_rows: scatters,
        index_add_at: scatters,
    }  # fmt: skip
    made = {require(fn).base: handler for fn, handler in found.items()}
    made[NOT.base] = lambda block, call: truth(block, call, "!{0}")
    made[AND.base] = lambda block, call: truth(block, call, "{0} && {1}")
    made[OR.base] = lambda block, call: truth(block, call, "{0} || {1}")
    return made
