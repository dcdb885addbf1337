"""Deletes, the last step: which of the arrays that nobody reads again are worth a `del`, to lower the peak of memory."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping

import gast

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.opcodes import is_region
from ..analysis.memory import makes_new_memory, shares_with
from ..passes.scans import Scan
from ..schedule.program import (
    Assign,
    Effect,
    Fork,
    Free,
    Guard,
    If,
    Loop,
    Program,
    Return,
    Statement,
    Store,
    Tiled,
    Unpack,
    calls_of,
    straight,
    writes_of,
)
from .entries import Entries, TileLoop, entries_of, with_lines
from .layout import WIDTH
from .lines import Lines

__all__ = ["deletes", "placed"]

WORTH = 1 << 18  # bytes that the peak must come down by
PART = 64  # what is smaller than this part of the peak is not worth a word


def deletes(program: Program) -> Program:
    """Return the program that frees, before each statement that would raise the peak of its memory, the arrays that are dead.

    The peak is that of the program if each array went at its last use; so what is dead may stay for as long as it is below.
    """
    every = list(straight(program.body))
    if not any(isinstance(s, Free) for s in every):
        return program
    made = sum(_nbytes(v) for s in every if not isinstance(s, Unpack) for v in writes_of(s))
    body = _deleted(program, every, program.body, {}) if made >= WORTH else _without_frees(program.body)
    return program._replace(body=body)


def _deleted(
    program: Program, every: list[Statement], level: list[Statement], holder: dict[str, Value]
) -> list[Statement]:
    """Return the statements of a function or of a path in which alone what is worth it is freed; `holder` has the variables."""
    memory = _Memory(program, every, every[: every.index(level[-1]) + 1])
    level = [s for s in level if not isinstance(s, Free)]
    uses = list(map(memory.uses, level))
    last = {name: k for k, names in enumerate(uses) for name in names}
    last |= dict.fromkeys(memory.staying, len(level))
    made: list[list[str]] = []
    seen: set[str] = set()
    for names, statement in zip(uses, level, strict=True):
        if isinstance(statement, Fork):  # what a path makes goes with it
            made.append([])
            continue
        made.append([name for name in names if name in memory.roots and name not in seen])
        seen.update(names)
    best = _peak(memory, made, last)
    worth = memory.bytes([name for names in made for name in names]) >= best + WORTH
    made = [[name for name in names if memory.bytes([name]) * PART > best] for names in made]
    best = _peak(memory, made, last)
    held: list[str] = []
    found: list[Statement] = []
    for k, (new, statement) in enumerate(zip(made, level, strict=True)):
        dead = [name for name in held if last[name] < k]
        if memory.bytes(held + new) > best and memory.bytes(held) > memory.bytes([n for n in held if n not in dead]):
            found += [Free(tuple([holder[name] for name in dead]), statement.note)] * worth
            held = [name for name in held if name not in dead]
        held += new
        inner = [v for s in statement.body for v in writes_of(s)] if isinstance(statement, Tiled) else []
        holder |= {program.variables[v]: v for v in (*inner, *writes_of(statement)) if v in program.variables}
        if isinstance(statement, Fork):
            statement = dataclasses.replace(statement, body=_deleted(program, every, statement.body, dict(holder)))
        found.append(statement)
    return found


def _without_frees(body: list[Statement]) -> list[Statement]:
    """Return the statements of a function or of a path in which nothing is freed."""
    return [
        dataclasses.replace(s, body=_without_frees(s.body)) if isinstance(s, Fork) else s
        for s in body
        if not isinstance(s, Free)
    ]


def _peak(memory: _Memory, made: list[list[str]], last: dict[str, int]) -> int:
    """The most that is alive at once if each variable goes at its last use."""
    going: dict[int, list[str]] = {}  # by their last use
    holders: dict[Value, int] = {}  # how many variables keep each array
    best = total = 0
    for k, new in enumerate(made):
        for name in going.pop(k - 1, ()):
            for v in memory.roots.get(name, ()):
                holders[v] -= 1
                total -= _nbytes(v) if not holders[v] else 0
        for name in new:
            going.setdefault(last[name], []).append(name)
            for v in memory.roots.get(name, ()):
                total += _nbytes(v) if not holders.get(v) else 0
                holders[v] = holders.get(v, 0) + 1
        best = max(best, total)
    return best


class _Memory:
    """The memory that the variables of a program hold behind some of its statements."""

    def __init__(self, program: Program, every: list[Statement], before: list[Statement]) -> None:
        self.variables: Mapping[Value, str] = program.variables
        self.maker = {v: call for call in calls_of(program.body) for v in call.outs}
        of: dict[Value, frozenset[Value]] = {}  # the values whose memory a value may lie in
        for statement in _alone(before):
            for call, v in [(made, v) for made in calls_of([statement]) for v in made.outs]:
                same = _same_memory(statement, v)
                if same is not None:
                    of[v] = of.get(same, frozenset())
                elif is_region(call):
                    held = frozenset([v]) if v.type.kind == "array" else frozenset[Value]()
                    of[v] = held.union(*[of.get(r, ()) for r in call.reads])
                elif makes_new_memory(call):
                    of[v] = frozenset([v]) if v.type.kind == "array" else frozenset()
                else:
                    of[v] = frozenset().union(*[of.get(r, ()) for r in shares_with(call)])
        gone = {v for s in every if isinstance(s, Free) for v in s.values}
        gone |= {s.slots[0].of[0] for s in every if isinstance(s, Assign) and s.is_over()}
        taken: dict[str, Value] = {}
        for s in every:
            for v in writes_of(s):
                name = self.variables.get(v)
                if name is not None and not isinstance(s, Unpack):
                    gone |= {taken[name]} if name in taken else set()
                    taken[name] = v
        living = {v for s in every for v in writes_of(s) if v.type.kind == "array"} - gone
        chosen = {v for s in every if isinstance(s, If) for v in s.outs}  # which not all arms bind
        self.roots: dict[str, set[Value]] = {}
        self.staying: set[str] = set()  # the variables that hold what is not freed, or nothing on some ways
        for v, values in of.items():
            name = self.variables.get(v)
            if name is not None and values:
                self.roots.setdefault(name, set()).update(values)
                self.staying |= {name} if v in living or v in chosen else set()

    def bytes(self, names: list[str]) -> int:
        """Return the bytes that these variables keep alive."""
        return sum(map(_nbytes, set().union(*[self.roots.get(name, ()) for name in names])))

    def uses(self, statement: Statement) -> dict[str, None]:
        """The variables that a statement reads or makes, those of the calls that are nested in it among them."""
        found: dict[str, None] = {}

        def read(v: Value) -> None:
            name = self.variables.get(v)
            if name is not None:
                found[name] = None
            elif v in self.maker:
                for inner in self.maker[v].reads:
                    read(inner)

        for v in values_in(statement.outputs) if isinstance(statement, Return) else ():
            read(v)
        for call in _calls_alone(statement):
            for v in (*call.reads, *call.outs):
                read(v)
        return found


def _nbytes(v: Value) -> int:
    return math.prod(v.type.shape) * int(v.type.dtype.itemsize) if v.type.kind == "array" else 0


def _alone(body: Iterable[Statement]) -> Iterator[Statement]:
    """Statements without those of paths, and those in loops over tiles one by one."""
    for statement in body:
        if isinstance(statement, Tiled):
            yield from statement.body
        elif not isinstance(statement, Fork):
            yield statement


def _same_memory(statement: Statement, v: Value) -> Value | None:
    """The value whose memory a result is: one that it is written over, or that a loop does not change."""
    if isinstance(statement, Assign) and statement.is_over():
        return statement.slots[0].of[0]
    if isinstance(statement, Loop):
        unchanged = [c.start for c in Scan(statement.call).carry if c.out is v and c.after is c.param]
        return unchanged[0] if unchanged and isinstance(unchanged[0], Value) else None
    return None


def placed(program: Program) -> Program:
    """Return the program whose `Free`s bear their `del`s, each right before the next statement in print that calls something."""
    return program._replace(body=_placed(program.body, program.variables))


def _placed(body: list[Statement], variables: Mapping[Value, str]) -> list[Statement]:
    """Return the statements of a function or of a path with one Free for each `del`."""
    if not any(isinstance(s, (Free, Fork)) for s in body):
        return body
    made: list[Statement] = []
    dead: list[Free] = []
    last: Call | None = None  # which the line before belongs to
    for statement in body:
        if isinstance(statement, Free):
            values = tuple([v for v in statement.values if v in variables])
            dead += [dataclasses.replace(statement, values=values)] * bool(values)
            continue
        if isinstance(statement, Fork):
            statement = dataclasses.replace(statement, body=_placed(statement.body, variables))
        written = entries_of([statement])
        place = _place_of_call(statement, written) if dead else None
        if place is not None:
            values = tuple([v for free in dead for v in free.values])
            beside = written[place - 1][1] if place else last
            call = written[place][1] if place < len(written) else beside
            assert call is not None
            lines = _lines([variables[v] for v in values], call, beside)
            made.append(Free(values, dead[0].note, lines=lines if not place else ()))
            statement = with_lines(statement, place, lines) if place else statement
            dead = []
        last = written[-1][1] if written else last
        made.append(statement)
    return made


def _place_of_call(statement: Statement, written: Entries) -> int | None:
    """The place among the lines of a statement of that of its call, or of the return; None where none belongs to a call."""
    if isinstance(statement, Return):
        return len(statement.lines.before)
    calls = _calls_alone(statement)
    for k, (line, call) in enumerate(written) if calls else ():
        if any(c in calls for _, c in line.entries) if isinstance(line, TileLoop) else call is calls[0]:
            return k
    return None


def _lines(names: list[str], call: Call, before: Call | None) -> Lines:
    """`del a, b`, in as many lines as it takes, on the line of the statement before it where that stands in the same block."""
    beside = call if before is None or (before.quiet, before.backward) != (call.quiet, call.backward) else before
    owner = Call(call.op, (), (), beside.site, call.backward, call.quiet)
    lines = [
        [gast.Name(id=name.strip(","), ctx=gast.Del(), annotation=None, type_comment=None) for name in line.split()]
        for line in textwrap.wrap(", ".join(names), WIDTH - len("        del "))
    ]
    return tuple([(gast.Delete(targets=line), owner) for line in lines])


def _calls_alone(statement: Statement) -> list[Call]:
    """Return the calls of a statement that are not nested in another."""
    if isinstance(statement, (Assign, Effect)):
        return [] if statement.nested else [statement.call]
    if isinstance(statement, (Tiled, Fork)):
        first = [statement.call] if isinstance(statement, Fork) else []
        return [*first, *[call for inner in statement.body for call in _calls_alone(inner)]]
    return [statement.call] if isinstance(statement, (Guard, Store, Loop, If)) else []
