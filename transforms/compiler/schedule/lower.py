"""Lowering: a graph becomes a Program, call by call, in the order of the graph and with fresh memory for each result."""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.opcodes import COND, SCAN, is_region
from ....runtime.rules.control import GUARD
from ..analysis.memory import makes_new_memory, shares_with
from ..frontend.user_names import name_values
from ..passes.dead_code import dead_code
from ..passes.scans import Scan
from .names import name_regions, named_leaves, origins_of, read_as, stem_of
from .program import (
    Assign,
    Branch,
    Carry,
    Effect,
    Given,
    Guard,
    If,
    List,
    Loop,
    Note,
    Program,
    Push,
    Return,
    Reverse,
    Slot,
    Statement,
    Store,
    Unpack,
)
from .signature import Signature
from .stores import STORE, section_of, with_stores

__all__ = ["assigned", "lowered"]


def lowered(graph: Graph, signature: Signature, name: str) -> Program:
    """Return the Program of a graph, of which nothing is decided yet."""
    graph = dead_code(graph) if any(map(is_region, graph.calls)) else graph
    read = read_as(graph, signature, origins_of(graph))
    names = name_values(graph, named_leaves(signature, graph.inputs, read))
    stem, origins = stem_of(graph, names), origins_of(graph)
    graph = with_stores(graph, signature, names)
    name_regions(graph, names, stem, origins)
    trees = [*zip(signature.arguments_named, signature.trees, strict=True)]
    extras = graph.inputs[len(graph.inputs) - len(signature.extras) :]
    trees += zip(signature.extras, extras, strict=True)
    body: list[Statement] = [Unpack(tree, parameter, Note()) for parameter, tree in trees]
    body += _Lowering(graph, names).statements()
    body.append(Return(signature.result_tree, tuple(graph.outputs), Note()))
    return Program(name, tuple(signature.parameters), body, names)


class _Lowering:
    """The statements of one graph, or of a region; `names` learns what its values are called."""

    def __init__(self, graph: Graph, names: dict[Value, str]) -> None:
        self.graph = graph
        self.names = names
        self.read = {v for call in graph.calls for v in call.reads} | set(values_in(graph.outputs))

    def region(self, graph: Graph, given: Given, pushes: Sequence[Push] = ()) -> Branch:
        """Return the statements of a region, with what it puts on lists behind what makes that."""
        known = {v: self.names[x] for x, v in given if isinstance(x, Value) and x in self.names}
        self.names.update(name_values(graph, {**self.names, **known}))
        made = {v for call in graph.calls for v in call.outs}
        body: list[Statement] = [push for push in pushes if made.isdisjoint(values_in(push.value))]
        body += _Lowering(graph, self.names).statements(pushes)
        return Branch(body, tuple(graph.outputs), given)

    def statements(self, pushes: Sequence[Push] = ()) -> list[Statement]:
        """Lower all calls."""
        made: list[Statement] = []
        pushed: dict[Value, list[Push]] = {}
        for push in pushes:
            if isinstance(push.value, Value):
                pushed.setdefault(push.value, []).append(push)
        for call in self.graph.calls:
            made += self.call(call)
            made += [push for v in call.outs for push in pushed.get(v, ())]
        return made

    def call(self, call: Call) -> list[Statement]:
        """Lower one call."""
        note = _note(call)
        if call.op is SCAN:
            return self.loop(call, note)
        if call.op is COND:
            return [self.choice(call, note)]
        if call.op is STORE:
            base, index, value = call.args
            return [Store(base, index, value, call, note)]
        if call.op is GUARD:
            value, how, expected = call.args
            return [Guard(value, how, expected, call.outs[0], call, note)]
        if call.op.effect:
            return [Effect(call, note)]
        return [assigned(call)]

    def loop(self, call: Call, note: Note) -> list[Statement]:
        """Lower a loop."""
        scan = Scan(call)
        stacks = [y for y in scan.ys if y.out in self.read]
        given = tuple((item.given, item.param) for item in scan.inv)
        body = self.region(scan.body, given, [Push(y.out, y.value, note) for y in stacks])
        test = None
        if scan.test is not None:
            asked = [*[(c.param, c.asked) for c in scan.carry], *[(item.given, item.asked) for item in scan.inv]]
            test = self.region(scan.test, tuple((x, v) for x, v in asked if v is not None))
        carries = tuple(Carry(c.start, c.param, c.after, c.out) for c in scan.carry)
        items = tuple((x.given, x.param) for x in scan.xs)
        loop = Loop(
            scan.n, test, scan.place, items, scan.loop.reverse, carries, given, body.body, scan.trips, call, note
        )
        turned = [Reverse(y.out, note) for y in stacks if scan.loop.reverse]
        return [*[List(y.out, note) for y in stacks], loop, *turned]

    def choice(self, call: Call, note: Note) -> Statement:
        """Lower a branch."""
        branch, test, ins = call.args
        then, orelse = [self.region(graph, tuple(zip(ins, graph.inputs, strict=True))) for graph in branch]
        return If(test, then, orelse, call.outs, call, note)


def assigned(call: Call) -> Assign:
    """Return the statement of a call whose results go into fresh memory, or are views."""
    fresh = makes_new_memory(call)
    shared = () if fresh else tuple(shares_with(call))
    slots = tuple(Slot(v) if fresh else Slot(v, "view", shared) for v in call.outs)
    return Assign(slots, call, _note(call))


def _note(call: Call) -> Note:
    return Note(section_of(call), call.quiet, call.site)
