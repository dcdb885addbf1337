"""Rewriting: the one walk of passes that replace values, which hands each call on with its arguments already replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, map_values, values_in
from ....runtime.ir.infer import Inferred, fits, infer
from ....runtime.ir.known_ops import EXPAND_DIMS, GETITEM, MATMUL
from ....runtime.ir.opcodes import SCAN, Branch, Loop, is_region
from ....runtime.ops import Op
from ..analysis.memory import shares_with

__all__ = [
    "Region", "adds_axes", "is_elementwise", "is_number", "key_of", "result", "retyped", "rewrite", "seen_from_outside",
]  # fmt: skip


class Region(Graph):
    """A graph that is handed to a pass as part of another, and the outputs whose memory is seen outside of both."""

    __slots__ = ("shown",)
    shown: list[Value]


def rewrite(graph: Graph, step: Callable[[Call], Any], regions: bool = False) -> Graph:
    """Apply `step` to each call: it gives None (keep), a list of calls in its place, or `("is", what its results are)`.

    A third part of the latter are calls to put in its place.

    Loops and branches are kept as they are, unless `regions` says that `step` knows them.
    """
    replaced: dict[Value, Any] = {}

    def now(v: Value) -> Any:
        return replaced.get(v, v)

    calls: list[Call] = []
    forward: set[Value] = set(graph.inputs)
    for call in graph.calls:
        if not call.backward:
            forward.update(call.outs)
        if replaced and any(v in replaced for v in call.reads):
            call = call.with_args(tuple([map_values(a, now) for a in call.args]))
        found = step(call) if regions or not is_region(call) else None
        if found is None:
            calls.append(call)
        elif isinstance(found, list):
            calls.extend(found)
        elif isinstance(found, tuple) and found and found[0] == "is":
            calls.extend(found[2] if len(found) == 3 else ())
            for out, new in zip(call.outs, found[1], strict=True):
                replaced[out] = new
                if isinstance(new, Value) and new.cotangent_of is None and new not in forward:
                    new.cotangent_of = out.cotangent_of
        else:
            raise TypeError(f"a step of a pass gave {found!r}")
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs])


def result(op: Op, args: tuple[Any, ...], like: Type | None = None) -> Value:
    """Return a new value for the one result of a call; `like` has the parts of its type that do not follow from the arguments."""
    inferred = infer(op, args)
    if inferred is None:
        assert like is not None, f"the type of {op.path} does not follow from its arguments"
        return Value(like)
    return Value(_completed(inferred[0], like))


def _completed(inferred: Inferred, like: Type | None) -> Type:
    """An inferred type, with the lengths and strides of another one where it has none."""
    if like is not None and fits(like, inferred):
        return like
    assert inferred.strides is not None, f"the strides of a result are not known: {inferred}"
    return Type(*inferred)  # type: ignore[arg-type]  # lengths are known where strides are


def retyped(graph: Graph, before: Graph) -> Graph:
    """Return the graph with the types that its calls give, where a step has given some an operand of another layout."""
    old = set(map(id, before.calls))
    anew: dict[Value, Value] = {}

    def now(v: Value) -> Value:
        return anew.get(v, v)

    calls: list[Call] = []
    for call in graph.calls:
        if anew and any(v in anew for v in call.reads):
            call = call.with_args(tuple([map_values(a, now) for a in call.args]))
        inferred = None if id(call) in old or is_region(call) else infer(call.op, call.args)
        if inferred is not None and not all(map(fits, [v.type for v in call.outs], inferred)):
            outs = tuple([with_type(v, _completed(t, v.type)) for v, t in zip(call.outs, inferred, strict=True)])
            anew.update(zip(call.outs, outs, strict=True))
            call = Call(call.op, call.args, outs, call.site, call.backward, call.quiet)
        calls.append(call)
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs]) if anew else graph


def with_type(v: Value, type: Type) -> Value:
    """The value as one of another type, with its name and what else is known of it."""
    found = Value(type, v.name)
    found.element, found.cotangent_of, found.over, found.sites = v.element, v.cotangent_of, v.over, v.sites
    return found


def is_elementwise(call: Call) -> bool:
    """Whether a call works element by element, so that its operands broadcast."""
    op = call.op
    if op.kind.value not in ("elementwise", "linear", "bilinear") or op.n_out != 1 or op.base is MATMUL:
        return False
    if isinstance(op.fn, np.ufunc):
        return op.fn.signature is None  # np.matvec and its like have one: they work on whole vectors
    return op.infix is not None


def key_of(x: Any) -> Any:
    """A hashable form of an argument that tells 0.0 from -0.0, 1 from 1.0 and True, and NaNs by their text."""
    if isinstance(x, (Value, _Place)):
        return x
    if type(x) in (tuple, list):
        return (type(x), *[key_of(e) for e in x])
    if isinstance(x, slice):
        return (slice, key_of(x.start), key_of(x.stop), key_of(x.step))
    if isinstance(x, (Loop, Branch)):
        return (type(x), *[_key_of_region(part) if isinstance(part, Graph) else part for part in x])
    return (type(x), repr(x))


def _key_of_region(graph: Graph) -> Any:
    """The same of two closed graphs that do the same: values are told by the place where they are defined."""
    places: dict[Value, int] = {}
    for v in (*graph.inputs, *[v for call in graph.calls for v in call.outs]):
        places[v] = len(places)

    def numbered(tree: Any) -> Any:
        return key_of(map_values(tree, lambda v: _Place((places[v], v.type))))

    calls = [
        (call.op, call.backward, call.quiet, numbered(call.args), *[v.type for v in call.outs]) for call in graph.calls
    ]
    return tuple([v.type for v in graph.inputs]), tuple(calls), numbered(list(graph.outputs))


class _Place(tuple[Any, ...]):
    """The definition of a value of a region, and its type."""


def seen_from_outside(graph: Graph, outputs: Any = None) -> set[Value]:
    """The outputs, and what they may be views of: values whose memory the caller gets to see."""
    found: set[Value] = set(values_in(graph.outputs if outputs is None else outputs))
    for call in reversed(graph.calls):
        passed = [v for v in call.outs if v in found]
        if passed:
            lists = any(v.element is not None for v in passed)
            shared = _shared_by_loop(call, found) if call.op is SCAN else shares_with(call)
            found.update(v for v in shared if not is_number(v) and (lists or not is_number(v.element)))
    return found


def _shared_by_loop(call: Call, found: set[Value]) -> list[Value]:
    """The values in whose memory those results of a loop may lie that are `found`, by what its body does with them."""
    loop, carry, xs, inv, _ = call.args
    k = len(carry)
    stacked = [v for v, out in zip(loop.body.outputs[k:], call.outs[k:-1], strict=True) if out in found]
    carried = any(out in found for out in call.outs[:k])  # of what one is now another may be after the next trip
    params = loop.body.inputs[1:]
    within = seen_from_outside(loop.body, [*loop.body.outputs[: k * carried], *stacked])
    if not carried and not within.isdisjoint(params[:k]):
        carried, within = True, seen_from_outside(loop.body, [*loop.body.outputs[:k], *stacked])
    given = [v for v, param in zip((*carry, *xs, *inv), params, strict=True) if param in within]
    return list(values_in((*given, *carry[: k * carried])))


def adds_axes(call: Call) -> bool:
    """Whether a call gives its argument with more axes of length 1: `np.expand_dims(x, 1)`, `x[:, None]`."""
    if call.op.base is not GETITEM:
        return call.op.base is EXPAND_DIMS
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    return all(part is None or part is ... or (type(part) is slice and part == slice(None)) for part in index)


def is_number(v: Value | None) -> bool:
    """Whether a value is a number, or a shape, which has no memory that another could be a view of."""
    if v is None or v.type.kind not in ("python", "scalar"):
        return False
    return v.type.dtype != object or (v.type.kind == "python" and len(v.type.shape) == 1)  # the type of a tuple of ints
