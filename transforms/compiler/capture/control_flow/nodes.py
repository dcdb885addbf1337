"""Nodes of loops and branches: their VJPs are loops in reverse and branches, over values that the bodies remember."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.known_ops import ADD
from .....runtime.ir.opcodes import COND, ITEMS, PARTS, ROWS, SCAN, STACK, Branch, Loop
from .....runtime.ops import Plan
from .....tracer.core.graph import Node, Pick, meta_of, next_sequence
from .....tracer.core.tensor_base import Operand, wrap
from .....tracer.core.thread_state import LOCAL
from ...frontend.attempts import LoopRejected
from .examples import copied, covered, hidden_by, joined, over, whole
from .forward import branch_forward, loop_forward
from .partial import Ends, Partial, Presence
from .residuals import keep, recall
from .reverse import (
    active_values,
    differentiable,
    needed_calls,
    outside_of,
    refuse_draws_by,
    tensor_for,
    transposed,
    zeros_for,
)
from .stacks import META, stacked
from .starts import (
    apart,
    as_kind,
    begun_anew,
    called,
    differs,
    empty_sum,
    in_columns,
    is_spread,
    laid_out,
    of_numpy,
    owned,
    zeros,
)  # fmt: skip
from .state import plain_sample

__all__ = ["RegionNode", "attach"]


def attach(regions: Any, call: Call, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Put a node behind the results of a loop or a branch, where gradients are recorded."""
    inputs = list(map(whole, inputs))
    edges = [getattr(x, "_node", None) for x in inputs]
    lists = {k: regions.items_of[x._ir] for k, x in enumerate(inputs) if getattr(x, "_ir", None) in regions.items_of}
    leaves = [leaf._node for items in lists.values() for leaf in items]
    if not LOCAL.grad or all(edge is None for edge in (*edges, *leaves)):
        return
    parts = call.args[1:4] if call.op is SCAN else (call.args[2],) if call.op is COND else ()
    refuse_draws_by(call, [v for v, edge in zip(itertools.chain(*parts), edges, strict=False) if edge is not None])
    node = RegionNode(regions, call, inputs, edges, lists, results)
    for k, (result, out) in enumerate(zip(results, call.outs, strict=True)):
        if differentiable(out):
            result._node = Pick(node, k) if node.plural else node
            result._node.ir = ((out,), call.site)


class RegionNode(Node):
    """One loop or branch in the graph."""

    def __init__(
        self, regions: Any, call: Call, inputs: Sequence[Any], edges: list[Any], lists: dict[int, list[Any]],
        results: Sequence[Any],
    ) -> None:  # fmt: skip
        self.op = call.op
        self.regions = regions
        self.call = call
        self.inputs = tuple(inputs)
        self.lists = lists  # the items of those of the user's that it walks
        ends: list[tuple[Any, Any]] = []  # what has a cotangent: an input, or an item of a list, and its edge
        for k, edge in enumerate(edges):
            items: list[tuple[Any, Any]] = [((k, j), leaf._node) for j, leaf in enumerate(lists.get(k, ()))]
            ends += [(place, end) for place, end in (items or [(k, edge)]) if end is not None]
        self.places = [place for place, _ in ends]
        self.slots = tuple(dict.fromkeys(place if type(place) is int else place[0] for place in self.places))
        self.edges = tuple([end for _, end in ends])
        metas = tuple([_meta(out, r._value) for out, r in zip(call.outs, results, strict=True)])
        several = call.op in (SCAN, COND, PARTS)
        self.plural = len(results) if several else 0
        self.meta = metas if several else metas[0]
        self.seq = next_sequence()
        self.extra = None
        self.ir = (call.outs[:1], call.site)

    def name(self) -> str:
        """`ScanBackward0` or `CondBackward0`."""
        return f"{self.op.title}Backward0"

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """The plan by which the engine runs it."""
        args = self.call.args
        first = len(args[1]) + len(args[2]) if self.op is SCAN else 0 if self.op is COND else len(self.inputs)
        # running sums, of what is read in every trip or in both arms; of what is read twice, neither
        pairs = zip(self.places, self.edges, strict=True)
        takes = tuple([(type(k) is tuple or k >= first) and self.edges.count(e) == 1 for k, e in pairs])
        return Plan(
            tuple([(k, -1) for k in range(len(self.places))]), (), tuple, self._backward, takes, any(takes), False
        )

    @property
    def saved(self) -> Any:
        """Return nothing that is saved for the engine: the bodies remember what they need."""
        return ()

    @saved.setter
    def saved(self, value: Any) -> None:
        pass

    def arguments(self) -> list[tuple[int, int]]:
        """The slots of all inputs."""
        return [(k, -1) for k in range(max(len(self.inputs), len(self.places)))]

    def _backward(self, g: Any, saved: Any, sums: Any) -> tuple[Any, ...]:
        if g is None or (self.plural and all(t is None for t in g)):
            return tuple(sums or [None] * len(self.places))
        if self.op is ROWS:
            return (self.regions.items(g, self.call.args[1]),)
        if self.op is ITEMS:
            return (self.regions.rows(g, self.inputs[0]._value.shape[0]),)
        if self.op is PARTS:
            return (self.regions.listed([self.filled(t, k) for k, t in enumerate(g)]),)
        given = list(g) + [None] * (len(self.call.outs) - len(g))
        totals = dict(zip(self.places, sums or [None] * len(self.places), strict=True))
        found = (_loop_backward if self.op is SCAN else _branch_backward)(self, given, totals)
        return tuple([found.get(place) for place in self.places])

    def push(self, tangents: Sequence[Any], create_graph: bool) -> Any:
        """Return the tangents of its results from those of its inputs, by edge."""
        moving = {k: t for k, t in zip(self.places, tangents, strict=True) if t is not None}
        if self.op is ROWS:
            axis = self.call.args[1]
            return self.regions.rows(moving[0], self.meta[0][axis], axis)
        if self.op is ITEMS:
            return self.regions.items(moving[0])
        if self.op is PARTS:
            return self.regions.parts(moving[0], len(self.call.outs))
        for k, leaves in self.lists.items():
            given = [moving.pop((k, j), None) for j in range(len(leaves))]
            if any(t is not None for t in given):
                pairs = zip(given, leaves, strict=True)
                moving[k] = self.regions.listed([zeros(plain_sample(x), x) if t is None else t for t, x in pairs])
        found = (loop_forward if self.op is SCAN else branch_forward)(self, moving)
        return [found.get(k) for k in range(len(self.call.outs))]

    def input(self, k: int) -> Any:
        """An input as a Tensor, in the graph where derivatives of this are recorded in turn."""
        x = self.inputs[k]
        if not isinstance(x, Operand):
            return x
        made = copied(x)
        if not LOCAL.grad:
            made._node = None
        return made

    def out(self, k: int) -> Any:
        """A result as a Tensor, likewise."""
        out = self.call.outs[k]
        value = self.regions.samples[out]
        node = Pick(self, k) if LOCAL.grad and differentiable(out) else None
        if node is not None:
            node.ir = ((out,), self.call.site)
        if out.type.kind == STACK:
            return stacked(value[0], out, node)
        made = wrap(value, node)
        made._ir = out
        return made

    def filled(self, g: Any, k: int) -> Any:
        """The cotangent of a result, zeros where there is none."""
        return zeros(self.regions.samples[self.call.outs[k]], self.out(k)) if g is None else g

    def follow(self) -> None:
        """Know all results that the call has by now."""
        samples = self.regions.samples
        self.meta = tuple([_meta(out, samples[out]) for out in self.call.outs])
        self.plural = len(self.call.outs)


def _meta(out: Value, value: Any) -> Any:
    return META if out.type.kind == STACK else meta_of(value)


def _loop_backward(node: RegionNode, g: list[Any], sums: dict[Any, Any]) -> dict[Any, Any]:
    """The cotangents of a loop's inputs: those of the carries are carried backward, of invariants summed, of lists listed."""
    regions, call = node.regions, node.call
    loop, carry, xs, inv, _ = call.args
    body: Graph = loop.body
    nc, nx = len(carry), len(xs)
    flat = range(nc + nx + len(inv))
    active = _active(body, nc, node.slots)
    carried = [k for k in range(nc) if k in active and g[k] is not None]
    lists = [k for k in node.slots if nc <= k < nc + nx]
    summed = [k for k in node.slots if k >= nc + nx]
    ys = {k: g[k] for k in range(nc, len(call.outs) - 1) if g[k] is not None}
    inputs = [regions.samples[body.inputs[0]], *[regions.sample_in(node, body, k) for k in flat]]
    begun = _begun_lists(node, lists, sums)
    samples: dict[int, Any] = {k: g[k]._value for k in carried} | {k: of_numpy(inputs[1 + k]) for k in summed}
    hides: dict[int, Any] = {k: hidden_by(g[k]) for k in carried} | dict.fromkeys(summed, ())
    if summed and loop.test is None and regions.capture.numbers.has_int(call.args[4]):
        regions.runs(regions.tensor_of(call.args[4]))  # in eager mode nothing has a cotangent of no trip
    laid: dict[int, Any] = {}  # sums that start in columns as what is added to them does, and how they lay before
    for _ in range(8):
        with regions.frame() as frame:
            params = {k: regions.cotangent(samples[k], body.inputs[1 + k], frame, hides[k]) for k in hides}
            items = {
                k: regions.cotangent(t._value[0], call.outs[k].element, frame, hidden_by(t)) for k, t in ys.items()
            }
            totals = {k: regions.cotangent(t._value[0], body.inputs[1 + k], frame) for k, t in begun.items()}
            found = transposed(
                regions, body, inputs, {1 + k for k in active}, {k: params[k] for k in carried} | items,
                {1 + k: t for k, t in ({k: params[k] for k in summed} | totals).items()},
            )  # fmt: skip
            listed = [k for k in lists if 1 + k in found]
            results = {k: regions.filled(found.get(1 + k)) for k in (*carried, *summed, *listed)}
            results = {k: zeros_for(body.inputs[1 + k], inputs[1 + k]) if t is None else t for k, t in results.items()}
            wider = {k: joined(hides[k], hidden_by(results[k])) for k in hides}
            results |= {k: over(results[k], levels) for k, levels in wider.items()}
        values = {k: plain_sample(t) for k, t in results.items()}
        more = [k for k in active if k < nc and k not in carried and 1 + k in found]
        other = [k for k in hides if differs(values[k], samples[k]) or wider[k] != hides[k]]
        other += [k for k in hides if k not in other and is_spread(samples[k]) and not is_spread(values[k])]
        relaid = {k: laid[k] for k in laid if in_columns(samples[k]) and not in_columns(values[k])}
        for k in summed:
            starts_here = k not in laid and sums[k] is None and not hides[k] and not in_columns(samples[k])
            if starts_here and in_columns(regions.samples.get(_first_added(frame.calls, params[k]._ir))):
                laid[k], relaid[k] = samples[k], np.array(samples[k], order="F")
        if not more and not other and not relaid:
            break
        samples |= relaid
        carried = sorted([*carried, *more])
        samples |= {k: found[1 + k]._value for k in more} | {
            k: begun_anew(values[k], hides[k], wider[k]) for k in other if k not in relaid
        }
        hides = {k: hidden_by(found[1 + k]) if k in more else wider[k] for k in (*carried, *summed)}
    else:
        raise LoopRejected("its reverse takes another type with each trip", call.site)
    untouched = [k for k in summed if getattr(results[k], "_ir", None) is params[k]._ir]
    summed = [k for k in summed if k not in untouched]
    outs = [regions.capture.operand(results[k]) for k in (*carried, *summed, *listed)]
    calls = needed_calls(frame.calls, outs)
    own = [params[k]._ir for k in (*carried, *summed)]
    own_items = [t._ir for t in (*items.values(), *totals.values())]
    elements, invariant = body.inputs[1 + nc : 1 + nc + nx], body.inputs[1 + nc + nx :]
    needed = outside_of(calls, outs, [*own, *own_items])
    once = active_values(body, [body.inputs[1 + k] for k in active]) if LOCAL.grad else set()
    saved = recall(body, needed, [body.inputs[0], *elements, *invariant], invariant, once)
    if LOCAL.grad or _adds_in_another_order(node, body, nc, ys):
        regions.reordered = True
    regions.unsigned = regions.unsigned or any(g[k] is None for k in carried if hides[k])
    back = _carried_back(body, nc, saved.kept)
    for k in back:
        saved.kept.remove(body.outputs[k])
        if body.inputs[1 + k] not in saved.kept:
            saved.kept.append(body.inputs[1 + k])
    rows = [v for v in saved.read if v in elements]
    fixed = [v for v in saved.read if v in invariant]
    kept = [node.out(keep(regions, node, body, (), v, nc)) for v in saved.kept]
    starts: list[Any] = []
    for k in carried:
        start = None if g[k] is None else over(g[k], hides[k])
        if start is None:
            start = called(zeros(samples[k], node.out(k), hides[k]), body.inputs[1 + k])
        start = laid_out(start, samples[k], frame.calls, node.out(k))
        if k in node.slots:
            start = owned(start, starts, node, k, outs[len(starts)], calls)
        starts.append(as_kind(start, samples[k]))
    for k in summed:
        total = sums[k]
        if total is not None and hidden_by(total) != hides[k]:
            total = np.copy(over(total, hides[k]), order="C")
        if total is None:
            adds = _adds_at(calls, params[k]._ir)
            total = called(empty_sum(samples[k], node.input(k), adds, hides[k]), body.inputs[1 + k])
        starts.append(as_kind(owned(total, starts, node, k, outs[len(starts)], calls), samples[k]))
    n = len(starts)
    after = [body.outputs[k] for k in back]
    outs[n:n] = [body.inputs[1 + k] for k in back]
    starts += [node.out(k) for k in back]
    given = [body.inputs[0], *own, *after, *own_items, *rows, *saved.kept, *fixed, *saved.around]
    reverse = Loop(Graph(given, [*saved.calls, *calls], outs), None, not loop.reverse)
    made = regions.scan(
        reverse, starts, [*ys.values(), *begun.values(), *[node.input(nc + elements.index(v)) for v in rows], *kept],
        [*[node.input(nc + nx + invariant.index(v)) for v in fixed], *map(regions.around, saved.around)],
        regions.trips_of(node),
        [*[values[k] for k in (*carried, *summed)], *[regions.samples[body.inputs[1 + k]] for k in back]],
        [*[None] * n, *[v.name for v in after]], [values[k] for k in listed],
    )  # fmt: skip
    del made[n : len(starts)]
    places = (*carried, *summed, *listed)
    given_back: dict[Any, Any] = {k: covered(t, hidden_by(results[k])) for k, t in zip(places, made, strict=False)}
    for k in node.lists:
        stack, count = given_back.pop(k, None), len(node.lists[k])
        parts = [sums.get((k, j)) for j in range(count)] if stack is None else regions.parts(stack, count)
        given_back |= {(k, j): part for j, part in enumerate(parts)}
    return given_back | {k: sums[k] for k in untouched}


def _begun_lists(node: RegionNode, lists: Sequence[int], sums: dict[Any, Any]) -> dict[int, Any]:
    """The cotangents that items of the user's lists have already, as lists, to which the reverse of the loop adds."""
    made: dict[int, Any] = {}
    for k in lists:
        leaves = node.lists.get(k, [])
        given = [sums.get((k, j)) for j in range(len(leaves))]
        if any(t is not None for t in given):
            if any(hidden_by(t) for t in given if t is not None):
                raise LoopRejected("has items whose cotangents are of several examples", node.call.site)
            starts = [
                empty_sum(plain_sample(x), x, False) if t is None else t for t, x in zip(given, leaves, strict=True)
            ]
            made[k] = node.regions.listed(starts)
    return made


def _adds_in_another_order(node: RegionNode, body: Graph, nc: int, ys: Collection[int]) -> bool:
    """Whether sums of more than two parts are not added up as eager does, trip by trip: the last digits may differ.

    So it may be where a trip reads a carry more than once: if that starts as a value whose cotangent is wanted, to which all
    of the first trip's is added at once, and if it stands in a list that the loop fills. And so it is where a carry
    starts as what every trip reads, too, and in derivatives of derivatives.
    """
    edges = dict(zip(node.places, node.edges, strict=True))
    starts = {id(edge) for k, edge in edges.items() if k < nc}
    rest = {id(edge) for k, edge in edges.items() if k >= nc}
    reads = [v for call in body.calls for v in call.reads]
    listed = [body.outputs.index(body.outputs[k]) for k in ys]
    often = [k for k in range(nc) if reads.count(body.inputs[1 + k]) > 1]
    return not starts.isdisjoint(rest) or any(k in edges or k in listed for k in often)


def _carried_back(body: Graph, nc: int, kept: Sequence[Value]) -> list[int]:
    """The carries that are remembered as they are before a trip, and carried backward for what they are after it.

    That is half of what remembering both takes; and the cotangents of what is remembered, in derivatives of this, add up in
    eager's order.
    """
    return [
        k
        for k in range(nc)
        if body.outputs[k] in kept
        and body.outputs[k] not in body.inputs
        and body.outputs.index(body.outputs[k]) == k
        and (LOCAL.grad or body.inputs[1 + k] in kept)
    ]


def _active(body: Graph, nc: int, slots: Sequence[int]) -> set[int]:
    """The inputs whose cotangents are wanted, and the carries that come to depend on them."""
    active = {k for k in slots if differentiable(body.inputs[1 + k])}
    while True:
        values = active_values(body, [body.inputs[1 + k] for k in active])
        more = {k for k in range(nc) if body.outputs[k] in values and differentiable(body.inputs[1 + k])} - active
        if not more:
            return active
        active |= more


def _first_added(calls: Sequence[Call], total: Value) -> Value | None:
    """What a sum grows by first in a trip, where it is added to as a whole."""
    for call in calls:
        if call.op.base is ADD and total in call.args:
            x, y = call.args[:2]
            other = y if x is total else x
            return other if isinstance(other, Value) else None
    return None


def _adds_at(calls: Sequence[Call], total: Value) -> bool:
    """Whether a sum grows by adding at places alone."""
    return set(_added(calls, total)) == {True}


def _added(calls: Sequence[Call], total: Value) -> Iterator[bool]:
    """Of each way in which a sum is read: whether it is added to at a place."""
    for call in calls:
        if call.op in (SCAN, COND):
            held = call.args[1] if call.op is SCAN else call.args[2]
            graphs = (call.args[0].body,) if call.op is SCAN else call.args[0]
            for graph in graphs:
                params = graph.inputs[1:] if call.op is SCAN else graph.inputs
                for v, param in zip(held, params, strict=False):
                    if v is total:
                        yield from _added(graph.calls, param)
            if sum(v is total for v in call.reads) > sum(v is total for v in held):
                yield False
        elif total in call.reads:
            yield call.op.name.startswith("index_add")


def _branch_backward(node: RegionNode, g: list[Any], sums: dict[int, Any]) -> dict[int, Any]:
    """The cotangents of a branch's inputs: of each arm, chosen as the forward run chose."""
    regions, call = node.regions, node.call
    branch: Branch = call.args[0]
    if call.backward:
        regions.stays_apart("is differentiated twice")
    if LOCAL.grad and (call.backward or not regions.joined):
        regions.reordered = True
    if any(map(hidden_by, [t for t in (*g, *sums.values()) if t is not None])):
        regions.stays_apart("has cotangents of several examples")
    graphs = (branch.then, branch.orelse)
    ins = branch.then.inputs
    active = {k for k in node.slots if differentiable(ins[k])}
    begun = [k for k in node.slots if sums[k] is not None]
    seeds = {j: t for j, t in enumerate(g) if t is not None}
    inputs = [regions.sample_in(node, branch.then, k, first=0) for k in range(len(ins))]
    with regions.frame() as frame:
        cotangents = {
            j: regions.cotangent(plain_sample(t), call.outs[j], frame, hidden_by(t)) for j, t in seeds.items()
        }
        totals = {k: regions.cotangent(sums[k]._value, ins[k], frame, hidden_by(sums[k])) for k in begun}
    parts = {k: part for k in begun if (part := regions.taken(sums[k])) is not None}
    sent = {j: part for j, t in seeds.items() if (part := regions.taken(t)) is not None}
    arms: list[tuple[Any, dict[int, Any]]] = []
    presences: list[dict[int, Presence]] = []
    for graph in graphs:
        inside: dict[Value, Partial] = {totals[k]._ir: part for k, part in parts.items()} | {
            cotangents[j]._ir: p for j, p in sent.items()
        }
        regions.partial |= inside
        with regions.frame() as frame:
            frame.made.update([t._ir for t in (*cotangents.values(), *totals.values())])
            arms.append((frame, transposed(regions, graph, inputs, active, dict(cotangents), dict(totals))))
        presences.append(regions.presences(arms[-1][1]))
        for ir in inside:
            regions.partial.pop(ir, None)
    same = [k for k in begun if all(getattr(found[k], "_ir", None) is totals[k]._ir for _, found in arms)]
    used = [k for k in node.slots if k not in same and any(k in found for _, found in arms)]
    params = [t._ir for t in (*cotangents.values(), *totals.values())]
    bodies: list[tuple[list[Call], list[Any], Any]] = []
    made_by_arms = [call for frame, _ in arms for call in frame.calls]
    inside_arms = {out for arm in (*graphs, *[frame for frame, _ in arms]) for c in arm.calls for out in c.outs}
    inside_arms |= {param for param, v in zip(ins, call.args[2], strict=True) if param is not v}
    ends = Ends(
        regions, [found for _, found in arms], presences, {k: of_numpy(inputs[k]) for k in used},
        lambda k: tensor_for(ins[k], inputs[k]), inside_arms, made_by_arms,
    )  # fmt: skip
    for at, (graph, (frame, _)) in enumerate(zip(graphs, arms, strict=True)):
        with regions.frame() as extra:
            inner = len(regions.frames) > 1
            outs, needed = ends.of(at, list if inner else lambda given: apart(given, node, used))
        calls = needed_calls([*frame.calls, *extra.calls], needed)
        once = active_values(graph, [ins[k] for k in active]) if LOCAL.grad else set()
        bodies.append((calls, outs, recall(graph, outside_of(calls, needed, params), ins, (), once)))
    read: dict[Value, Any] = {}
    for graph, other, (_, _, saved) in zip(graphs, graphs[::-1], bodies, strict=True):
        read |= {v: regions.around(v) for v in saved.around} | {v: node.input(ins.index(v)) for v in saved.read}
        read |= {v: node.out(keep(regions, node, graph, (other,), v, None)) for v in saved.kept}
    made = [Graph([*params, *read], [*saved.calls, *calls], outs) for calls, outs, saved in bodies]
    truth = regions.tensor_of(call.args[1])
    samples = ends.samples[0 if truth._value or regions.frames else 1]  # true ones, outside of regions
    results = regions.cond(
        Branch(*made),
        truth,
        [*seeds.values(), *[sums[k] for k in begun], *read.values()],
        samples,
        [None] * len(samples),
    )
    found = {k: covered(t, ends.both[k].hides) for k, t in ends.written(made, results, truth).items()}
    regions.partial |= {sums[k]._ir: part for k, part in parts.items() if k in same}
    return found | {k: sums[k] for k in same}
