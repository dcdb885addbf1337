"""Reads of shapes, from an argument or a named value in place of a temporary, as a person would write them.

A value of which nobody asks more than its shape is not computed for that: `(h @ w).shape` is `(h.shape[0], w.shape[1])`.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import GETITEM, MATMUL, MULTIPLY, TRANSPOSE, ZEROS
from ....runtime.ir.opcodes import COND, SCAN, is_effect
from ....runtime.ops import Kind
from ....runtime.registry import require
from ....runtime.rules.control import COUNT, SHAPE, SIZE, SIZES, count_of, size_of
from ..analysis.lengths import SAME_SHAPE
from ..frontend.user_names import name_values
from .rewrite import is_elementwise, result, rewrite

__all__ = ["shapes"]

_RESHAPE = require(np.reshape)


def shapes(graph: Graph) -> Graph:
    """`t.shape`, where `t` is elementwise of `x`, becomes `x.shape`; the product of all sizes becomes `x.size`."""
    sizes: dict[Value, tuple[Value, frozenset[int]]] = {}  # a product of sizes -> of which value, which axes

    if not any(call.op in SIZES for call in graph.calls):
        return graph
    maker = {out: call for call in graph.calls if call.op is COND for out in call.outs}
    asked = {v for call in graph.calls if call.op not in SIZES for v in call.reads} | set(values_in(graph.outputs))
    named = set(name_values(graph, dict.fromkeys(graph.inputs, "")))
    uses = Counter([v for call in graph.calls for v in call.reads] + list(values_in(graph.outputs)))
    reshaped = {call.args[0] for call in graph.calls if call.op.base is _RESHAPE and uses[call.args[0]] == 2} - named
    starts = _starts(graph)
    needed = _needed(graph)
    given_back = set(values_in(graph.outputs))

    def root(v: Value) -> Value:
        best = v = starts.get(v, v)
        call = maker.get(v)
        while (
            call is not None
            and (call.op is not COND or v not in needed)
            and (like := _like(call, v) or _filled(call, maker))
        ):
            v = like[0]
            call = maker.get(v)
            if v in named or best not in named:
                best = v
        return best

    def step(call: Call) -> Any:
        for out in call.outs:
            maker[out] = call
        out = call.outs[0]
        if call.op in SIZES and isinstance(call.args[0], Value):
            v = root(call.args[0])
            if (length := _known(call, maker.get(v))) is not None:
                return "is", (length,)
            turned = (
                call.op is SHAPE and call.backward and v in reshaped
            )  # of `(x @ w).reshape(n, 2, k)` nobody asks more
            if (v not in asked or turned) and call.op is not COUNT:
                axes = [_axis(v, k, maker) for k in ([call.args[1]] if call.op is SIZE else range(len(v.type.shape)))]
                whole = axes[0][0] if axes else v
                if axes == [(whole, k) for k in range(len(whole.type.shape))]:
                    v = whole
                elif axes and all(x is not v and (x in named or v not in asked) for x, _ in axes):
                    return _sizes(call, axes)
            if out in given_back and v not in graph.inputs and (length := _sliced(call, v, maker)) is not None:
                return length
            if call.op is SIZE:
                sizes[out] = (v, frozenset([int(call.args[1])]))
                if len(v.type.shape) == 1:
                    return [_count(call, v)]
            return [call.with_args((v, *call.args[1:]))]
        if call.op.base is MULTIPLY and all(isinstance(a, Value) and a in sizes for a in call.args):
            (v, left), (w, right) = sizes[call.args[0]], sizes[call.args[1]]
            if v is w and not left & right:
                sizes[out] = (v, left | right)
                if len(left | right) == len(v.type.shape):
                    return [_count(call, v)]
        return None

    return rewrite(graph, step)


def _known(call: Call, maker: Call | None) -> int | None:
    """Return the length that a derivative asks of zeros whose shape is written in numbers: that of `np.zeros(1)` is 1."""
    if maker is None or maker.op.base is not ZEROS or not call.backward or call.op is SHAPE:
        return None
    shape = maker.args[0] if type(maker.args[0]) is tuple else (maker.args[0],)
    if not all(type(n) is int for n in shape):
        return None
    return math.prod(shape) if call.op is COUNT else shape[call.args[1]]


def _needed(graph: Graph) -> set[Value]:
    """Return the values that are computed for more than their shapes."""
    found = set(values_in(graph.outputs))
    for call in reversed(graph.calls):
        if call.op not in SIZES and (is_effect(call) or not found.isdisjoint(call.outs)):
            found.update(call.reads)
    return found


def _maps_elements(call: Call) -> bool:
    """Whether each element of the one result follows from the elements at its place."""
    return is_elementwise(call) or (call.op.kind is Kind.elementwise and call.op.n_out == 1)


def _like(call: Call, out: Value) -> list[Value]:
    """Return the arguments of a call that surely have the shape of a result: it is elementwise, or a branch whose arms are."""
    if _maps_elements(call):
        return [a for a in call.reads if a.type.kind == "array" and a.type.shape == out.type.shape]
    if call.op.base is GETITEM:
        index = call.args[1] if type(call.args[1]) is tuple else (call.args[1],)
        gathers = len(index) == len(call.args[0].type.shape) and all(map(_is_index, index))
        return [a for a in index[::-1] if a.type.shape == out.type.shape] if gathers else []  # the columns first
    if call.op is not COND or out.type.kind != "array":
        return []
    branch, _, ins = call.args
    k = call.outs.index(out)
    places = _inputs_like(branch.then, branch.then.outputs[k]) & _inputs_like(branch.orelse, branch.orelse.outputs[k])
    return [ins[j] for j in sorted(places) if isinstance(ins[j], Value)]


def _is_index(a: Any) -> bool:
    """Whether a part of an index is an array of places."""
    return isinstance(a, Value) and a.type.kind == "array" and a.type.dtype.kind in "iu"


def _filled(call: Call, maker: dict[Value, Call]) -> list[Value]:
    """Return the array whose shape zeros were given."""
    shape = call.args[0] if call.op.base is ZEROS else None
    made = maker.get(shape) if isinstance(shape, Value) else None
    return [made.args[0]] if made is not None and made.op is SHAPE and isinstance(made.args[0], Value) else []


def _inputs_like(arm: Graph, end: Any) -> set[int]:
    """Return the places of an arm's inputs that surely have the shape of an output."""
    maker = {out: call for call in arm.calls for out in call.outs}
    seen: set[Value] = set()
    left = [end] if isinstance(end, Value) else []
    while left:
        v = left.pop()
        if v not in seen:
            seen.add(v)
            left += _like(maker[v], v) if v in maker else []
    return {k for k, v in enumerate(arm.inputs) if v in seen}


def _axis(v: Value, k: int, maker: dict[Value, Call]) -> tuple[Value, int]:
    """The value furthest back, and its axis, that has the length of an axis of `v`."""
    while (call := maker.get(v)) is not None:
        before = _axis_before(call, k)
        if before is None:
            break
        v, k = before
    return v, k


def _axis_before(call: Call, k: int) -> tuple[Value, int] | None:
    """The argument of a call, and its axis, whose length an axis of the result has, where that follows from the op."""
    out, x = call.outs[0].type, call.args[0] if call.args else None
    if call.op.base is MATMUL:
        x, y = call.args[:2]
        if not isinstance(x, Value) or not isinstance(y, Value) or len(x.type.shape) < 2 or len(y.type.shape) != 2:
            return None
        return (x, k) if k < len(x.type.shape) - 1 else (y, 1)
    if _maps_elements(call):
        same = _like(call, call.outs[0])
        return (same[0], k) if same else None
    if not isinstance(x, Value) or x.type.kind != "array":
        return None
    if call.op.base is TRANSPOSE:
        axes = range(len(out.shape))[::-1] if call.args[1] is None else call.args[1]
        return x, axes[k] % len(out.shape)
    if call.op.base in SAME_SHAPE and x.type.shape == out.shape and len(out.shape) == 1:
        return x, k
    return None


def _sliced(call: Call, v: Value, maker: dict[Value, Call]) -> Any:
    """The length of a slice, as that of the array less what is left out; None where it does not follow.

    A trip of a loop remembers it, where it is not written as what its reverse knows, too. Lengths of one are the same in
    all that a text serves, and what is longer is not empty.
    """
    if call.op is not COUNT and call.op is not SIZE:
        return None
    axis = call.args[1] if call.op is SIZE else 0
    if call.op is COUNT and len(v.type.shape) != 1:
        return None
    if v.type.shape[axis] == 1:
        return ("is", (1,))
    made = maker.get(v)
    if made is None or made.op.base is not GETITEM or not isinstance(made.args[0], Value):
        return None
    x, index = made.args
    parts = index if type(index) is tuple else (index,)
    if axis >= len(parts) or not all(isinstance(part, slice) for part in parts) or not v.type.shape[axis]:
        return None
    start, stop, step = parts[axis].start or 0, parts[axis].stop or 0, parts[axis].step
    if not (type(start) is type(stop) is int and start >= 0 >= stop and step in (None, 1)):
        return None
    whole, args = (count_of, (x,)) if len(x.type.shape) == 1 else (size_of, (x, axis))
    out = result(require(whole), args)
    length = Call(require(whole), args, (out,), call.site, call.backward, call.quiet)
    less = require(operator.sub)
    return [length, Call(less, less.bind(out, start - stop), call.outs, call.site, call.backward, call.quiet)]


def _sizes(call: Call, axes: list[tuple[Value, int]]) -> Any:
    """Lengths read from these axes, in place of a shape or of one length."""
    size = require(size_of)
    if call.op is SIZE:
        return [Call(size, axes[0], call.outs, call.site, call.backward, call.quiet)]
    made = [Call(size, axis, (result(size, axis),), call.site, call.backward, call.quiet) for axis in axes]
    return ("is", (tuple([c.outs[0] for c in made]),), made)


def _starts(graph: Graph) -> dict[Value, Value]:
    """Of loops of which nobody asks more than shapes: for what they leave, what it starts from, which has the same."""
    asked = {v for call in graph.calls if call.op not in SIZES for v in call.reads} | set(values_in(graph.outputs))
    found: dict[Value, Value] = {}
    for call in graph.calls:
        if call.op is SCAN and asked.isdisjoint(call.outs):
            for start, out in zip(call.args[1], call.outs, strict=False):
                if isinstance(start, Value) and start.type.shape == out.type.shape:
                    found[out] = start
    return found


def _count(call: Call, v: Value) -> Call:
    return Call(require(count_of), (v,), call.outs, call.site, call.backward, call.quiet)
