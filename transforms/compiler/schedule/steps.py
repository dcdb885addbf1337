"""Steps of the schedule: what decides order, memory and lists, each from a Program to a Program, by name."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection, Iterable

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call, Graph, Value
from .blocks import Block, changed
from .buffers import is_consumed
from .bundles import bundled
from .lower import assigned, lowered
from .program import (
    Assign,
    Free,
    List,
    Loop,
    Note,
    Program,
    Push,
    Return,
    Slot,
    Statement,
    Tiled,
    Unpack,
    calls_of,
    each_statement,
    reads_of,
    writes_of,
)
from .reuse import reads_first, reused
from .signature import Signature
from .stores import written_early
from .tiles import Tiles, tiled
from .verify import verified

__all__ = ["STEPS", "chosen", "program_of"]


def program_of(
    graph: Graph, signature: Signature, name: str, only: Collection[str] | None = None,
    seen: Callable[[str, Program], object] | None = None,
) -> Program:  # fmt: skip
    """Return the Program that computes a graph, after the steps that `only` names, or all, in the order of STEPS.

    What a step changes is verified, and `seen` is told the Program after each.
    """
    program = verified(lowered(graph, signature, name), "lower")
    if seen is not None:
        seen("lower", program)
    wanted = chosen(STEPS, only)
    for step, run in STEPS.items():
        if step in wanted:
            before, program = program, run(program)
            if program is not before:
                verified(program, step)
            if seen is not None:
                seen(step, program)
    return program


def early_reads(program: Program) -> Program:
    """Return the program in which `x[i]` is read before another value is put at that place."""

    def change(block: Block) -> list[Statement]:
        graph = reads_first(block.graph)
        return block.body if graph is block.graph else _in_order(block.body, graph.calls, {})

    return changed(program, change)


def in_tiles(program: Program) -> Program:
    """Return the program in which long chains of elementwise calls on large arrays run piece by piece."""
    names = dict(program.names)  # learns those of what a loop over tiles computes anew

    def change(block: Block) -> list[Statement]:
        if not block.steady or PLACE.module is not None:  # a GPU takes large arrays whole
            return block.body
        graph, found = tiled(block.graph, names)
        return _in_order(block.body, graph.calls, found) if found else block.body

    made = changed(program, change)
    return program if made is program else made._replace(names=names)


def in_place(program: Program) -> Program:
    """Return the program in which results are written over arguments that nobody reads again."""

    def change(block: Block) -> list[Statement]:
        over = reused(block.graph, written_early(block.graph), block.own)

        def slot(statement: Statement) -> Statement:
            if not isinstance(statement, Assign):
                return statement
            call = statement.call
            v = over.get(call)
            v = v if block.steady or v in block.own else None
            first = call.args[0] if call.args else None
            if v is None and call.op.consuming is not None and isinstance(first, Value):
                v = first if is_consumed(block, first, call) else None
            return statement if v is None else dataclasses.replace(statement, slots=(Slot(call.outs[0], "over", (v,)),))

        body = list(map(slot, block.body))
        return body if any(map(operator.is_not, body, block.body)) else block.body

    return changed(program, change)


def bundles(program: Program) -> Program:
    """Return the program in which many lists of a loop are one list of tuples."""
    looped = any(isinstance(s, Loop) for s in each_statement(program.body))
    return bundled(program) if looped else program


def frees(program: Program) -> Program:
    """Return the program with a Free behind the last statement that reads an array, outside of loops and branches."""
    body = program.body
    held = {v for statement in body if not isinstance(statement, Unpack) for v in writes_of(statement)}
    assigned = [s for s in each_statement(body) if isinstance(s, Assign)]
    held -= {v for s in assigned for slot in s.slots if slot.memory == "over" for v in slot.of}  # their memory lives on
    reads = list(map(reads_of, body))
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
    return program._replace(body=made)


STEPS: dict[str, Callable[[Program], Program]] = {
    "early_reads": early_reads, "tiles": in_tiles, "in_place": in_place, "bundles": bundles, "frees": frees,
}  # fmt: skip


def chosen(steps: Iterable[str], names: Collection[str] | None) -> set[str]:
    """Return which of these steps run where somebody chose by names: all where no name is that of one."""
    known = set(steps)
    return known.intersection(names or ()) or known


def _in_order(body: list[Statement], calls: list[Call], tiles: dict[Call, Tiles]) -> list[Statement]:
    """Return the statements of a block in the order of these calls, those of tiles together; lists stay beside their loops."""
    above: list[Statement] = []  # what a function begins with, and what a trip puts on lists first
    below: list[Statement] = [s for s in body if isinstance(s, Return)]
    found: dict[Value, tuple[list[Statement], Statement, list[Statement]]] = {}  # by the first result of a call
    lists: list[Statement] = []
    for statement in body:
        own = calls_of([statement])
        if own:
            found[own[0].outs[0]] = (lists, statement, [])
            maker, lists = own[0].outs[0], []
        elif isinstance(statement, List):
            lists.append(statement)
        elif isinstance(statement, Unpack) or (isinstance(statement, Push) and not found):
            above.append(statement)
        elif not isinstance(statement, Return):  # what puts the results on lists, and what turns those round
            found[maker][2].append(statement)
    made: list[Statement] = []
    for call in calls:
        before, statement, after = found.get(call.outs[0], ([], assigned(call), []))
        loop = tiles.get(call)
        if loop is None:
            if isinstance(statement, Assign) and statement.call is not call:
                statement = assigned(call)
            made += [*before, statement, *after]
        elif call is loop.calls[-1]:
            made.append(_tile_loop(loop))
            made += [s for one in loop.calls for s in found.get(one.outs[0], ([], None, []))[2]]
    return [*above, *made, *below]


def _tile_loop(tiles: Tiles) -> Tiled:
    """Return the statement of calls that run tile by tile."""
    section = "backward" if all(c.backward for c in tiles.calls) else "forward"
    note = Note(section, all(c.quiet for c in tiles.calls))
    return Tiled(
        tiles.step, tuple(tiles.given), tuple(tiles.sliced), tuple(tiles.whole), list(map(assigned, tiles.calls)), note
    )
