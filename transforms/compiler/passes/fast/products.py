"""Sums of products become matrix products, so that the array of all products is never made.

| written                                    | computed                        | where                                     |
|--------------------------------------------|---------------------------------|-------------------------------------------|
| `np.sum(x * y)`                            | `x @ y`, `np.vdot(x, y)`        | 1-d; two of one shape, both in C order    |
| `np.sum(x[:, :, None] * y[None], axis=1)`  | `x @ y`                         | one axis is summed, each has it, and each |
|                                            |                                 | other axis belongs to one of them         |
| `np.sum(x * y, axis=0)`                    | `np.einsum("ij,ij->j", x, y)`   | each summed axis belongs to both, so that |
|                                            |                                 | no factor can be taken out of the sum     |
| `np.mean(x * y)`                           | the same over `x.size`          | `x` has all the axes                      |

`x * x`, `x ** 2` and `np.square(x)` are products too. Axes of length one that `None`, `np.expand_dims` and
`np.broadcast_to` put in, and transposes, go into the subscripts. The operands are float32 or float64 of one dtype, the
product is read once, and the result is in C order as it was.

The same products are added in another order, so that a NaN or an infinity of an operand, and `0 * inf`, reach the sum as
before. What remains is a sum, of finite numbers, that passes the largest float on its way: whether it does depends on the
order and on fused multiplication, about which NumPy promises nothing, for `np.sum` and `@` neither.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .....runtime.ir.graph import Call, Graph, Type, Value
from .....runtime.ir.known_ops import (
    BROADCAST_TO,
    EXPAND_DIMS,
    GETITEM,
    MEAN,
    MULTIPLY,
    POWER,
    SQUARE,
    SUM,
    SWAPAXES,
    TRANSPOSE,
)
from .....runtime.registry import require
from .....runtime.rules.control import count_of, size_of
from ..rewrite import retyped, seen_from_outside
from .support import Walk, is_real, made

__all__ = ["products"]

_LETTERS = "ijklmnopq"
_PLAIN = frozenset(["dtype", "out", "initial", "where"])  # arguments that a sum has at their defaults


class _Factor(NamedTuple):
    """An array, and the letter of each of its axes."""

    array: Value
    letters: str


def products(graph: Graph) -> Graph:
    """The graph with sums and means of products as dot and matrix products, or einsums."""
    walk, outside = Walk(graph), seen_from_outside(graph)

    def step(call: Call) -> Any:
        if call.op.base not in (SUM, MEAN):
            return None
        given = dict(zip((p.name for p in call.op.params), call.args, strict=True))
        defaults = {p.name: p.default for p in call.op.params}
        if any(given[name] is not defaults[name] for name in _PLAIN & given.keys()):
            return None
        found = _factors(call, walk)
        n = 0 if found is None else len(call.args[0].type.shape)
        if found is None or not 0 < n <= len(_LETTERS) or call.outs[0].type.dtype != found[0].array.type.dtype:
            return None
        axis = range(n) if given["axis"] is None else np.atleast_1d(given["axis"]).tolist()
        summed = {_LETTERS[a % n] for a in axis}
        kept = "".join(c for c in _LETTERS[:n] if c not in summed)
        keeps = given["keepdims"] is True
        if (keeps and call.outs[0] in outside) or not _in_c_order(call.outs[0].type):
            return None
        calls: list[Call] = []
        sizes = dict(zip(_LETTERS, call.args[0].type.shape, strict=False))
        out = _contracted(call, found, kept, tuple(sizes[c] for c in kept), calls)
        if out is None:
            return None
        if call.op.base is MEAN:
            size = _size(call, found, summed, n, calls)
            if size is None:
                return None
            calls.append(made(call, operator.truediv, out, size, type=out.type))
        if keeps:
            calls.append(made(call, np.expand_dims, calls[-1].outs[0], _axes(n, summed)))
        last = calls.pop()
        return [*calls, Call(last.op, last.args, call.outs, call.site, call.backward, call.quiet)]

    return retyped(walk.over(graph, step), graph)


def _axes(n: int, summed: set[str]) -> Any:
    found = tuple(k for k in range(n) if _LETTERS[k] in summed)
    return found[0] if len(found) == 1 else found


def _factors(call: Call, walk: Walk) -> tuple[_Factor, _Factor] | None:
    """Return the factors of the product that a call sums."""
    product = walk.once(call.args[0])
    if product is None or product.quiet != call.quiet or 0 in product.outs[0].type.shape:
        return None
    op, args = product.op.base, product.args
    if op is SQUARE or (op is POWER and type(args[1]) is int and args[1] == 2):
        args = (args[0], args[0])
    elif op is not MULTIPLY:
        return None
    x, y = args[:2]
    shape = product.outs[0].type.shape
    if not all(is_real(a) and a.type.kind == "array" for a in (x, y)) or x.type.dtype != y.type.dtype:
        return None
    a, b = _seen_through(x, shape, walk), _seen_through(y, shape, walk)
    if a is None or b is None or {*a.letters, *b.letters} != set(_LETTERS[: len(shape)]):
        return None
    return a, b


def _seen_through(v: Value, shape: tuple[int, ...], walk: Walk) -> _Factor | None:
    """The array behind views of it, as a factor of a product of that shape; None where an axis has no letter."""
    own = v.type.shape
    names: list[str | None] = list(_LETTERS[len(shape) - len(own) : len(shape)])
    names = [
        c if size == shape[len(shape) - len(own) + k] else None
        for k, (c, size) in enumerate(zip(names, own, strict=True))
    ]
    found: _Factor | None = None
    while True:
        letters = [c for c in names if c is not None]
        if len(letters) == len(names):
            found = _Factor(v, "".join(letters))
        call = walk.maker.get(v)
        inner = None if call is None else _before_view(call, names)
        if call is None or inner is None or not isinstance(call.args[0], Value):
            return found
        v, names = call.args[0], inner


def _before_view(call: Call, names: list[str | None]) -> list[str | None] | None:
    """The letters of the array that a call gives a view of."""
    op, args, n = call.op.base, call.args, len(names)
    if op is TRANSPOSE:
        axes = range(n - 1, -1, -1) if args[1] is None else args[1]
        return [names[k] for k in np.argsort([a % n for a in axes]).tolist()]
    if op is SWAPAXES:
        order = list(names)
        order[args[1]], order[args[2]] = order[args[2]], order[args[1]]
        return order
    if op is EXPAND_DIMS:
        gone = {a % n for a in np.atleast_1d(args[1]).tolist()}
        return [c for k, c in enumerate(names) if k not in gone]
    if op is BROADCAST_TO:
        own = args[0].type.shape if isinstance(args[0], Value) else ()
        late = names[n - len(own) :]
        return [
            c if size == call.outs[0].type.shape[n - len(own) + k] else None
            for k, (c, size) in enumerate(zip(late, own, strict=True))
        ]
    if op is GETITEM:
        parts = list(args[1]) if isinstance(args[1], tuple) else [args[1]]
        if not all(p is None or p is Ellipsis or (isinstance(p, slice) and p == slice(None)) for p in parts):
            return None
        if Ellipsis not in parts:
            parts.append(Ellipsis)
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (n - len(parts) + 1)
        return [c for c, p in zip(names, parts, strict=True) if p is not None]
    return None


def _contracted(
    call: Call, factors: tuple[_Factor, _Factor], kept: str, shape: tuple[int, ...], calls: list[Call]
) -> Value | None:
    """The value of the sum of products, and in `calls` what computes it; None where einsum has another memory order."""
    a, b = factors
    dtype = call.outs[0].type.dtype
    strides = tuple(int(np.prod(shape[k + 1 :], dtype=int)) * dtype.itemsize for k in range(len(shape)))
    type = Type("array", dtype, shape, strides) if shape else Type("scalar", dtype, (), ())

    def add(fn: Any, *args: Any) -> Value:
        calls.append(made(call, fn, *args, type=type))
        return calls[-1].outs[0]

    matrices = _as_matrices(a, b, kept) or _as_matrices(b, a, kept)
    if matrices is not None:
        return add(operator.matmul, *[_turned(call, f, turned, calls) for f, turned in matrices])
    if not kept and a.letters == b.letters and _in_c_order(a.array.type) and _in_c_order(b.array.type):
        return add(np.vdot, a.array, b.array)
    subscripts = f"{a.letters},{b.letters}->{kept}"
    if not all(_has(f, c) for f in factors for c in {*a.letters, *b.letters} - {*kept}):
        return None
    small = [_like(f.array.type) for f in factors]
    if shape and not np.einsum(subscripts, *small).flags.c_contiguous:
        return None
    op = require(np.einsum)
    calls.append(Call(op, op.bind(subscripts, a.array, b.array), (Value(type),), call.site, call.backward, call.quiet))
    return calls[-1].outs[0]


def _has(factor: _Factor, letter: str) -> bool:
    """Whether an operand has numbers of its own along an axis: of one that has not, einsum sums the other one first."""
    k = factor.letters.find(letter)
    return k >= 0 and (factor.array.type.strides[k] != 0 or factor.array.type.shape[k] == 1)


def _as_matrices(a: _Factor, b: _Factor, kept: str) -> list[tuple[_Factor, bool]] | None:
    """Both as operands of `@` in this order, and whether each is turned for it; None where it is no matrix product."""
    common = set(a.letters) & set(b.letters)
    rest = a.letters + b.letters
    if len(common) != 1 or common & set(kept) or max(len(a.letters), len(b.letters)) > 2:
        return None
    c = common.pop()
    if rest.replace(c, "") != kept:
        return None
    return [(a, a.letters[-1] != c), (b, b.letters[0] != c)]


def _turned(call: Call, factor: _Factor, turned: bool, calls: list[Call]) -> Value:
    if not turned:
        return factor.array
    t = factor.array.type
    calls.append(made(call, np.transpose, factor.array, type=Type("array", t.dtype, t.shape[::-1], t.strides[::-1])))
    return calls[-1].outs[0]


def _size(call: Call, factors: tuple[_Factor, _Factor], summed: set[str], n: int, calls: list[Call]) -> Value | None:
    """How many products each sum has."""
    whole = next((f for f in factors if len(f.letters) == n), None)
    if whole is None or len(summed) not in (1, n):
        return None
    type = Type("python", np.dtype(np.int64), (), ())
    if len(summed) == n:
        calls.append(made(call, count_of, whole.array, type=type))
    else:
        calls.append(made(call, size_of, whole.array, whole.letters.index(min(summed)), type=type))
    return calls[-1].outs[0]


def _in_c_order(type: Type) -> bool:
    step = type.dtype.itemsize
    for size, stride in zip(type.shape[::-1], type.strides[::-1], strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _like(type: Type) -> Any:
    """A small array with axes in the same order in memory, and those that are spread spread."""
    order = sorted(range(len(type.shape)), key=lambda k: -abs(type.strides[k]))
    small = np.zeros([2] * len(order), type.dtype).transpose(np.argsort(order))
    small = small[tuple(slice(None, None, -1 if s < 0 else 1) for s in type.strides)]
    return np.broadcast_to(small[tuple(slice(0, 1) if s == 0 else slice(None) for s in type.strides)], small.shape)
