"""Lowering: a graph with its schedule becomes a Program, then frees are put in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values, values_in
from ....runtime.ir.opcodes import COND, SCAN, is_region
from ....runtime.rules.control import GUARD
from ..analysis.memory import makes_new_memory, shares_with
from ..frontend.user_names import name_values
from ..passes.dead_code import dead_code
from ..passes.scans import Scan
from .buffers import is_consumed, is_own, own_carry
from .program import (
    Assign,
    Branch,
    Carry,
    Effect,
    Free,
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
    Tiled,
    Unpack,
    blocks_of,
    each_statement,
    reads_of,
    writes_of,
)
from .schedule import Schedule
from .signature import Signature
from .stores import STORE, section_of, with_stores
from .tiles import Tiles
from .verify import verified

__all__ = ["STEPS", "program_of"]


def program_of(
    graph: Graph, signature: Signature, name: str, seen: Callable[[str, Program], object] | None = None
) -> Program:
    """Return the Program that computes a graph; each step is verified, and `seen` is told the Program after each."""
    program = Program(name, (), [], {})
    for step in STEPS:
        program = verified(step(program, graph, signature), step.__name__)
        if seen is not None:
            seen(step.__name__, program)
    return program


def lowered(program: Program, graph: Graph, signature: Signature) -> Program:
    """Lower the graph: its calls in the order of the schedule, each into a slot."""
    graph = dead_code(graph) if any(map(is_region, graph.calls)) else graph
    graph = with_stores(graph, signature, {})
    body: list[Statement] = []
    trees = [*zip(signature.arguments_named, signature.trees, strict=True)]
    extras = graph.inputs[len(graph.inputs) - len(signature.extras) :]
    trees += zip(signature.extras, extras, strict=True)
    body += [Unpack(tree, parameter, Note()) for parameter, tree in trees]
    lowering = _Lowering(Schedule(graph, {}), {}, names := name_values(graph, {}))
    body += lowering.statements()
    body.append(Return(signature.result_tree, lowering.now(tuple(graph.outputs)), Note()))
    return Program(program.name, tuple(signature.parameters), body, names)


def freed(program: Program, graph: Graph, signature: Signature) -> Program:
    """Free each array behind the last statement that reads it."""
    return program._replace(body=_freed(program.body))


STEPS = (lowered, freed)


class _Lowering:
    """The statements of one graph, or of a region; `known` stands in the place of its values, `names` learns theirs."""

    def __init__(self, schedule: Schedule, known: Mapping[Value, Any], names: dict[Value, str]) -> None:
        self.schedule = schedule
        self.known = dict(known)
        self.names = names

    def inner(
        self, graph: Graph, known: Mapping[Value, Any], steady: bool = True, own: Collection[Value] = ()
    ) -> _Lowering:
        """Return the lowering of a region."""
        given = {v: self.names[x] for v, x in known.items() if isinstance(x, Value) and x in self.names}
        self.names.update(name_values(graph, {**self.names, **given}))
        return _Lowering(Schedule(graph, {}, steady and self.schedule.steady, own), known, self.names)

    def now(self, x: Any) -> Any:
        """Return an argument as it is named by now."""
        return map_values(x, lambda v: self.known.get(v, v))

    def statements(self) -> list[Statement]:
        """Lower all calls."""
        made: list[Statement] = []
        for call in self.schedule.graph.calls:
            tiles = self.schedule.tiles.get(call)
            if tiles is None:
                made += self.call(call)
            elif call is tiles.calls[0]:
                made.append(self.tiled(tiles))
        return made

    def call(self, call: Call) -> list[Statement]:
        """Lower one call."""
        note = _note(call)
        if call.op is SCAN:
            return self.loop(call, note)
        if call.op is COND:
            return [self.choice(call, note)]
        if call.op is STORE:
            base, index, value = self.now(call.args)
            return [Store(base, index, value, note)]
        if call.op is GUARD:
            value, how, expected = self.now(call.args)
            return [Guard(value, how, expected, call.outs[0], note)]
        now = call.with_args(self.now(call.args))
        if call.op.effect:
            return [Effect(now, note)]
        return [Assign(tuple(self.slot(v, call) for v in call.outs), now, note)]

    def slot(self, v: Value, call: Call) -> Slot:
        """Return where a result of a call goes."""
        over = self.schedule.over.get(call)
        first = call.args[0] if call.args else None
        if over is None and call.op.consuming is not None and isinstance(first, Value):
            over = first if is_consumed(self.schedule, first, self.schedule.is_last, call) else None
        if over is not None:
            return Slot(v, "over", (self.now(over),))
        if makes_new_memory(call):
            return Slot(v)
        return Slot(v, "view", tuple(values_in(self.now(tuple(shares_with(call))))))

    def tiled(self, tiles: Tiles) -> Statement:
        """Lower calls that run tile by tile."""
        body: list[Statement] = []
        for call in tiles.calls:
            now = call.with_args(self.now(call.args))
            body.append(Assign(tuple(Slot(v) for v in call.outs), now, _note(call)))
        note = Note(
            "backward" if all(c.backward for c in tiles.calls) else "forward", all(c.quiet for c in tiles.calls)
        )
        sliced = tuple(values_in(self.now(tuple(tiles.sliced))))
        return Tiled(sliced[0], tiles.step, sliced, tuple(tiles.whole), body, note)

    def loop(self, call: Call, note: Note) -> list[Statement]:
        """Lower a loop."""
        scan = Scan(call)
        steady, own = own_carry(self.schedule, call, self.schedule.is_last)
        outside: dict[Value, Any] = {}
        for item in scan.inv:
            outside |= {v: self.now(item.given) for v in (item.param, item.asked) if v is not None}
        for c in scan.carry:
            if c.after is c.param:  # the same in each trip
                outside |= {v: self.now(c.start) for v in (c.param, c.asked) if v is not None}
                self.known[c.out] = self.now(c.start)
            elif c.asked is not None:
                outside[c.asked] = c.param
        carried = [c for c in scan.carry if c.after is not c.param]
        body = self.inner(scan.body, outside, steady, own)
        statements = body.statements()
        stacks = [y for y in scan.ys if y.out in self.schedule.uses]
        statements += [Push(y.out, body.now(y.value), note) for y in stacks]
        test = None
        if scan.test is not None:
            asked = self.inner(scan.test, outside)
            test = Branch(asked.statements(), asked.now(tuple(scan.test.outputs)))
        made: list[Statement] = [List(y.out, note) for y in stacks]
        made.append(
            Loop(
                self.now(scan.n), test, scan.place, tuple((self.now(x.given), x.param) for x in scan.xs), scan.loop.reverse,
                tuple(Carry(self.now(c.start), c.param, body.now(c.after), c.out) for c in carried), statements,
                scan.trips, note,
            )
        )  # fmt: skip
        if scan.loop.reverse:
            made += [Reverse(y.out, note) for y in stacks]
        return made

    def choice(self, call: Call, note: Note) -> Statement:
        """Lower a branch."""
        branch, test, ins = call.args
        arms = []
        for graph in branch:
            own = {v for v, x in zip(graph.inputs, ins, strict=True) if self.is_own(x, call)}
            arm = self.inner(graph, dict(zip(graph.inputs, self.now(ins), strict=True)), own=own)
            arms.append(Branch(arm.statements(), arm.now(tuple(graph.outputs))))
        then, orelse = arms
        return If(self.now(test), then, orelse, call.outs, note)

    def is_own(self, x: Any, call: Call) -> bool:
        return is_own(self.schedule, x, self.schedule.is_last, call)


def _note(call: Call) -> Note:
    return Note(section_of(call), call.quiet, call.site)


def _freed(body: list[Statement]) -> list[Statement]:
    """Return statements with frees behind them."""
    held = {v for statement in body if not isinstance(statement, Unpack) for v in writes_of(statement)}
    assigned = [s for s in each_statement(body) if isinstance(s, Assign)]
    held -= {v for s in assigned for slot in s.slots if slot.memory == "over" for v in slot.of}  # their memory lives on
    reads = list(map(_all_reads, body))
    last = {v: k for k, values in enumerate(reads) for v in values}
    made: list[Statement] = []
    for k, statement in enumerate(body):
        made.append(statement)
        if isinstance(statement, Return):
            continue
        dead = [v for v in dict.fromkeys([*reads[k], *writes_of(statement)]) if last.get(v, k) <= k]
        dead = [v for v in dead if v in held and v.type.kind == "array"]
        if dead:
            made.append(Free(tuple(dead), statement.note))
    return made


def _all_reads(statement: Statement) -> list[Value]:
    """Return what a statement reads, with all that the statements in it do."""
    found = reads_of(statement)
    if isinstance(statement, Loop):
        results = statement.test.results if statement.test is not None else ()
        found += values_in((tuple(c.after for c in statement.carries), results))
    if isinstance(statement, If):
        found += values_in((statement.then.results, statement.orelse.results))
    for block in blocks_of(statement):
        for inner in block:
            found += _all_reads(inner)
    return found
