"""Exact identities: rewrites that change no bit, no dtype and no memory that the caller sees.

`x * 1` and `x / 1` keep every real float (also -0.0, infinities and NaN; a complex infinity they do not);
`x - 0.0` and `x - 0` keep them, too;
`x + 0` is left alone, since it loses -0.0, but for sizes, and for sums of squares and the like, which are never negative.
A transpose of a transpose, a flip of a flip, or an axis put where
one was dropped is the array. A sum over every axis needs no `axis`, and one whose axes are dropped keeps none. An operand
needs no axes in front, which broadcasting adds. A copy of one number that was spread is `np.full`.
`np.where(np.False_ & condition, a, b)` is `b`, where that has the dtype and shape of the result.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.infer import fits, infer
from ....runtime.ir.known_ops import (
    ADD,
    BROADCAST_TO,
    COPY,
    DIVIDE,
    EXPAND_DIMS,
    GETITEM,
    MEAN,
    MULTIPLY,
    NEGATIVE,
    SQUEEZE,
    SUBTRACT,
    SUM,
    TRANSPOSE,
    WHERE,
)
from ....runtime.registry import ops_of, require
from ....runtime.rules.elementwise import astype
from .rewrite import adds_axes, is_elementwise, is_number, result, rewrite, seen_from_outside

__all__ = ["identities"]

_AND, _ASTYPE, _FLIP = require(np.bitwise_and), require(astype), require(np.flip)
_POWER, _POSITIVE = require(operator.pow).base, ops_of(np.square, np.absolute, np.exp)
_KEEPS_SIGNS = ops_of(np.sum, np.mean, np.sqrt)


def identities(graph: Graph) -> Graph:
    """The graph without multiplications and divisions by one, and without conversions to what a value already is."""
    outside = seen_from_outside(graph)
    given_back = set(values_in(graph.outputs))
    turned: dict[Value, Value] = {}  # what np.transpose gave -> of what
    never: set[Value] = set()  # conditions that no element meets
    spread: dict[Value, Call] = {}  # what np.broadcast_to gave -> that call
    maker = {v: call for call in graph.calls for v in call.outs}
    uses = Counter([v for call in graph.calls for v in call.reads] + list(values_in(graph.outputs)))

    def step(call: Call) -> Any:
        out = call.outs[0]
        maker.update(dict.fromkeys(call.outs, call))  # as it is by now: of arguments that stand for others
        if call.op.base in (ADD, SUBTRACT) and out.type.kind == "python" and out.type.dtype.kind == "i":
            together = _one_sum(call, maker, uses)
            if together is not None:
                return together
        if call.backward and call.op.base is GETITEM and type(call.args[1]) is int:
            return _item_of_item(call, maker)
        if call.backward and call.op.base is GETITEM and (part := _of_every_axis(call)) is not None:
            return part
        if call.backward and call.op.base in (SUM, MEAN):
            return _over_all(call)
        if call.op.base is SQUEEZE:
            return _not_kept(call, maker, uses)
        if call.op.base is COPY and call.args[0] in spread:
            return _filled(call, spread[call.args[0]])
        if call.op.base is BROADCAST_TO:
            spread[out] = call
        bare = _without_axes(call, maker) if is_elementwise(call) else None
        if bare is not None:
            call = bare
        if bare is not None:
            return [bare]
        if adds_axes(call) and out not in given_back and (of := _undropped(call, maker)) is not None:
            return ("is", (of,))
        if call.op.base is _FLIP and out not in given_back and (of := _unflipped(call, maker)) is not None:
            return ("is", (of,))
        if call.op.base is TRANSPOSE and call.args[1] is None and isinstance(call.args[0], Value):
            if call.args[0] in turned and turned[call.args[0]].type == out.type and out not in given_back:
                return ("is", (turned[call.args[0]],))
            turned[out] = call.args[0]
        if out in outside:  # the caller gets memory of its own
            same = _same_as(call) if call.op.base in (MULTIPLY, DIVIDE) else None
            if same is not None and same.type == out.type and is_number(same):
                return ("is", (same,))
            made = maker.get(same) if same is not None and same.type == out.type and uses[same] == 1 else None
            if same is None or made is None or not is_elementwise(made) or made.quiet != call.quiet or same in outside:
                return None
            outside.add(same)  # which is as new as what it stands for
            return ("is", (same,))
        if call.op.base is _AND and out.type.dtype == bool and any(x is np.False_ for x in call.args[:2]):
            never.add(out)
        if call.op.base is WHERE and isinstance(call.args[0], Value) and call.args[0] in never:
            same = call.args[2] if isinstance(call.args[2], Value) else None
        else:
            same = _same_as(call) or _beside_nothing(call, maker)
        if same is None or same.type != out.type:
            return None
        return ("is", (same,))

    return rewrite(graph, step)


def _one_sum(call: Call, maker: dict[Value, Call], uses: Counter[Value]) -> list[Call] | None:
    """An int with ints added or subtracted twice, which are one: `n - 1` for `1 + (n - 2)`, which nobody else reads."""
    first = _shifted(call)
    made = maker.get(first[0]) if first is not None and uses[first[0]] == 1 else None
    second = None if made is None or made.op.base not in (ADD, SUBTRACT) else _shifted(made)
    if first is None or second is None or first[0].name is not None or second[0].type != call.outs[0].type:
        return None  # what has a name, as the number of a range has, keeps it
    n, by = second[0], first[1] + second[1]
    op = require(operator.sub if by < 0 else operator.add)
    return [Call(op, op.bind(n, abs(by)), call.outs, call.site, call.backward, call.quiet)]


def _unflipped(call: Call, maker: dict[Value, Call]) -> Value | None:
    """The array that two flips along the same axes give back."""
    before = maker.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if before is None or before.op.base is not _FLIP or before.args[1] != call.args[1]:
        return None
    of = before.args[0]
    return of if isinstance(of, Value) and of.type == call.outs[0].type else None


def _of_every_axis(call: Call) -> list[Call] | None:
    """`x[1:]` for `x[..., 1:]` of a vector."""
    x, index = call.args
    if type(index) is not tuple or len(index) != 2 or index[0] is not ... or type(index[1]) is not slice:
        return None
    if not isinstance(x, Value):
        return None
    return [call.with_args((x, index[1]))] if x.type.kind == "array" and len(x.type.shape) == 1 else None


def _undropped(call: Call, maker: dict[Value, Call]) -> Value | None:
    """The array whose axes of length 1 were dropped, and are put there again."""
    before = maker.get(call.args[0]) if isinstance(call.args[0], Value) else None
    of = before.args[0] if before is not None and before.op.base is SQUEEZE else None
    return of if isinstance(of, Value) and of.type == call.outs[0].type else None


def _item_of_item(call: Call, maker: dict[Value, Call]) -> list[Call] | None:
    """`x[1, 0]` for `x[1][0]`."""
    made = maker.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if made is None or made.op.base is not GETITEM or type(made.args[1]) is not int:
        return None
    x = made.args[0]
    if not isinstance(x, Value) or x.type.kind != "array" or made.outs[0].type.kind != "array":
        return None
    return [Call(call.op, (x, (made.args[1], call.args[1])), call.outs, call.site, call.backward, call.quiet)]


def _shifted(call: Call) -> tuple[Value, int] | None:
    """The value to which a call adds an int, and that."""
    x, y = call.args[:2]
    if call.op.base is ADD and isinstance(y, Value):
        x, y = y, x
    if not isinstance(x, Value) or type(y) is not int:
        return None
    return x, y if call.op.base is ADD else -y


def _without_axes(call: Call, maker: dict[Value, Call]) -> Call | None:
    """A call by element without the axes of length 1 in front of an operand, which broadcasting adds by itself."""
    ndim, out = len(call.outs[0].type.shape), call.outs[0].type
    args = list(call.args)
    full = [isinstance(a, Value) and a.type.kind == "array" and len(a.type.shape) == ndim for a in args]
    for k, a in enumerate(args):
        made = maker.get(a) if isinstance(a, Value) else None
        if made is None or made.op.base is not EXPAND_DIMS or not any(full[:k] + full[k + 1 :]):
            continue
        x, axis = made.args
        axes = _axes(axis, ndim)
        if axes != set(range(len(axes or ()))) or not isinstance(x, Value) or x.type.kind != "array":
            continue
        args[k], full[k] = x, False
    if all(map(operator.is_, args, call.args)):
        return None
    bare = call.with_args(tuple(args))
    inferred = infer(bare.op, bare.args)
    return bare if inferred is not None and fits(out, inferred[0]) else None


def _filled(call: Call, spread: Call) -> list[Call] | None:
    """A copy of one number, spread: `np.full`."""
    (number, shape), out = spread.args[:2], call.outs[0]
    dtype = number.type.dtype if isinstance(number, Value) else np.result_type(number)
    plain = np.empty(out.type.shape, out.type.dtype).strides == out.type.strides
    if not plain or dtype != out.type.dtype or (isinstance(number, Value) and number.type.kind != "scalar"):
        return None
    if call.args[1:] != call.op.bind(call.args[0])[1:]:
        return None
    out.cotangent_of = out.cotangent_of or spread.outs[0].cotangent_of
    full, number = require(np.full), float(number) if isinstance(number, np.float64) else number
    return [Call(full, full.bind(shape, number), call.outs, call.site, call.backward, call.quiet)]


def _not_kept(call: Call, maker: dict[Value, Call], uses: Counter[Value]) -> list[Call] | None:
    """A sum, or one with another sign, whose axes of length 1 are dropped: it does not keep them."""
    chain: list[Call] = []  # signs, the last one first
    v = call.args[0]
    while isinstance(v, Value) and uses[v] == 1 and v in maker and maker[v].op.base is NEGATIVE:
        chain.append(maker[v])
        v = maker[v].args[0]
    made = maker.get(v) if isinstance(v, Value) and uses[v] == 1 else None
    if made is None or made.op.base is not SUM or not isinstance(made.args[0], Value):
        return None
    params = [p.name for p in made.op.params]
    axis, keepdims = params.index("axis"), params.index("keepdims")
    ndim = len(made.args[0].type.shape)
    dropped, summed = _axes(call.args[1], ndim), _axes(made.args[axis], ndim)
    if made.args[keepdims] is not True or dropped is None or dropped != summed:
        return None
    calls = [
        made.with_args((*made.args[:keepdims], made.op.params[keepdims].default, *made.args[keepdims + 1 :])),
        *chain[::-1],
    ]
    found: list[Call] = []
    for k, step in enumerate(calls):
        args = step.args if not found else (found[-1].outs[0], *step.args[1:])
        last = k == len(calls) - 1
        outs = call.outs if last else (result(step.op, args),)
        if last and result(step.op, args, call.outs[0].type).type != call.outs[0].type:
            return None
        found.append(Call(step.op, args, outs, step.site, step.backward, step.quiet))
    return found


def _axes(axis: Any, ndim: int) -> set[int] | None:
    """The axes that an argument names, counted from the front."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return {a % ndim for a in axes} if ndim and all(type(a) is int for a in axes) else None


def _over_all(call: Call) -> list[Call] | None:
    """A reduction over every axis, without naming them."""
    params = [p.name for p in call.op.params]
    k, (x, axis) = params.index("axis"), (call.args[0], call.args[params.index("axis")])
    if call.args[params.index("keepdims")] is True or not isinstance(x, Value) or x.type.kind != "array":
        return None
    axes = (axis,) if type(axis) is int else axis
    n = len(x.type.shape)
    if not isinstance(axes, tuple) or {a % n for a in axes if type(a) is int and n} != set(range(n)):
        return None
    return [call.with_args((*call.args[:k], None, *call.args[k + 1 :]))]


def _same_as(call: Call) -> Value | None:
    """The argument that a call returns unchanged."""
    op, args = call.op.base, call.args
    if op in (MULTIPLY, DIVIDE, SUBTRACT) and call.outs[0].type.dtype.kind == "c":
        return None
    if op is ADD and call.outs[0].type.kind == "python" and call.outs[0].type.dtype.kind == "i":
        x, y = args[:2]
        return x if _is_nought(y) and isinstance(x, Value) else y if _is_nought(x) and isinstance(y, Value) else None
    if op is MULTIPLY:
        x, y = args[:2]
        if _is_one(y) and isinstance(x, Value):
            return x
        if _is_one(x) and isinstance(y, Value):
            return y
    elif (
        (
            op is SUBTRACT
            and type(args[1]) in (int, float)
            and str(args[1]) in ("0", "0.0")
            and isinstance(args[0], Value)
        )
        or (op is DIVIDE and _is_one(args[1]) and isinstance(args[0], Value))
        or (op is BROADCAST_TO and isinstance(args[0], Value) and args[0].type.shape == call.outs[0].type.shape)
        or (op is _ASTYPE and isinstance(args[0], Value) and args[0].type.dtype == call.outs[0].type.dtype)
    ):
        return args[0]
    return None


def _beside_nothing(call: Call, maker: dict[Value, Call]) -> Value | None:
    """The argument to which a call adds zero, if that is never -0.0."""
    if call.op.base is not ADD or call.outs[0].type.dtype.kind != "f":
        return None
    x, y = call.args[:2]
    zero, other = (x, y) if isinstance(y, Value) else (y, x)
    nothing = type(zero) in (int, float) and zero == 0
    return other if nothing and isinstance(other, Value) and _is_no_less_than_zero(other, maker) else None


def _is_no_less_than_zero(v: Any, maker: dict[Value, Call], depth: int = 8) -> bool:
    """Whether a value surely is 0.0, more than that, or NaN: no number below, and not -0.0."""
    if not isinstance(v, Value):
        return type(v) in (int, float) and v > 0
    call = maker.get(v)
    if call is None or not depth or v.type.dtype.kind != "f":
        return False
    op, args = call.op.base, call.args
    if op in _POSITIVE or (op is _POWER and type(args[1]) is int and args[1] % 2 == 0):
        return True
    if op in _KEEPS_SIGNS:
        return _is_no_less_than_zero(args[0], maker, depth - 1)
    if op in (ADD, MULTIPLY):
        square = op is MULTIPLY and args[0] is args[1]
        return square or all(_is_no_less_than_zero(a, maker, depth - 1) for a in args[:2])
    return False


def _is_one(x: Any) -> bool:
    return isinstance(x, (int, float, np.floating, np.integer)) and not isinstance(x, bool) and x == 1


def _is_nought(x: Any) -> bool:
    return type(x) is int and x == 0
