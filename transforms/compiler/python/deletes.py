"""Releases of memory: a few `del` of large arrays, where they lower the peak of the memory that a text takes."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import COND, is_region
from ..analysis.memory import makes_new_memory, shares_with
from ..schedule.program import Assign, Free, writes_of
from .blocks import Fork, each_statement
from .layout import WIDTH

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["released"]

WORTH = 1 << 18  # bytes that the peak must come down by
PART = 64  # what is smaller than this part of the peak is not worth a word

Entries = list[tuple[Any, Call]]


def released(emitter: Emitter) -> Entries:
    """The statements that `emitter` has written, with a `del` of dead arrays before each that would raise the peak.

    What dies, the Program says. The peak is that of the text if each array went at its last use; so what is dead may stay for
    as long as it is below.
    """
    entries = emitter.statements
    if sum(_nbytes(v) for v in emitter.facts.maker) < WORTH:
        return entries
    memory = _Memory(emitter)
    uses = [_variables(emitter, memory, entry) for entry in entries]
    last = {name: k for k, names in enumerate(uses) for name in names}
    last |= dict.fromkeys(memory.staying, len(entries))
    made: list[list[str]] = []
    seen: set[str] = set()
    for names, (statement, _) in zip(uses, entries, strict=True):
        if isinstance(statement, Fork):  # what an arm makes goes with it
            made.append([])
            continue
        made.append([name for name in names if name in memory.roots and name not in seen])
        seen.update(names)
    best = _peak(memory, made, last)
    if memory.bytes([name for names in made for name in names]) < best + WORTH:
        return entries
    made = [[name for name in names if memory.bytes([name]) * PART > best] for names in made]
    best = _peak(memory, made, last)
    held: list[str] = []
    found: Entries = []
    for k, (new, entry) in enumerate(zip(made, entries, strict=True)):
        dead = [name for name in held if last[name] < k]
        if memory.bytes(held + new) > best and memory.bytes(held) > memory.bytes([n for n in held if n not in dead]):
            found += _deleted(dead, entry[1], found[-1][1] if found else None)
            held = [name for name in held if name not in dead]
        held += new
        found.append(entry)
    return found


def _peak(memory: _Memory, made: list[list[str]], last: dict[str, int]) -> int:
    """The most that is alive at once if each variable goes at its last use."""
    best, alive = 0, list[str]()
    for k, new in enumerate(made):
        alive = [name for name in alive if last[name] >= k] + new
        best = max(best, memory.bytes(alive))
    return best


class _Memory:
    """Which memory the variables of a text hold."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.of: dict[Value, frozenset[Value]] = {}  # the values whose memory a value may lie in
        for call in emitter.graph.calls:
            for v in call.outs:
                tree = emitter.trees.get(v)
                same = [r for r in call.reads if tree is not None and emitter.trees.get(r) is tree]  # written in place
                if call in emitter.over:
                    self.of[v] = self.of.get(emitter.over[call], frozenset())
                elif same:
                    self.of[v] = self.of.get(same[0], frozenset())
                elif is_region(call):
                    held = frozenset([v]) if v.type.kind == "array" else frozenset[Value]()
                    self.of[v] = held.union(*[self.of.get(r, ()) for r in call.reads])
                elif makes_new_memory(call):
                    self.of[v] = frozenset([v]) if v.type.kind == "array" else frozenset()
                else:
                    self.of[v] = frozenset().union(*[self.of.get(r, ()) for r in shares_with(call)])
        body = emitter.program.body
        gone = {v for s in body if isinstance(s, Free) for v in s.values}
        gone |= {s.slots[0].of[0] for s in body if isinstance(s, Assign) and s.is_over()}
        living = {v for s in body for v in writes_of(s) if v.type.kind == "array"} - gone
        self.roots: dict[str, set[Value]] = {}
        self.staying: set[str] = (
            set()
        )  # the variables that hold what the Program does not free, or nothing on some ways
        chosen = {v for call in emitter.graph.calls if call.op is COND for v in call.outs}  # which not all arms bind
        for v, values in self.of.items():
            name = self.called(v)
            if name is not None and values:
                self.roots.setdefault(name, set()).update(values)
                self.staying |= {name} if v in living or v in chosen else set()

    def called(self, v: Value) -> str | None:
        """The variable that holds a value."""
        tree = self.emitter.trees.get(v)
        return tree.id if isinstance(tree, gast.Name) else None

    def bytes(self, names: list[str]) -> int:
        """What these variables keep alive."""
        return sum(map(_nbytes, set().union(*[self.roots.get(name, ()) for name in names])))


def _nbytes(v: Value) -> int:
    return math.prod(v.type.shape) * int(v.type.dtype.itemsize) if v.type.kind == "array" else 0


def _variables(emitter: Emitter, memory: _Memory, entry: tuple[Any, Call]) -> dict[str, None]:
    """The variables of the values that a statement reads or makes; what has none is written of those that its call reads."""
    found: dict[str, None] = {}

    def read(v: Value) -> None:
        name = memory.called(v)
        if name is not None:
            found[name] = None
        elif v in emitter.facts.maker:
            for inner in emitter.facts.maker[v].reads:
                read(inner)

    for _, call in each_statement([entry]):
        for v in (*call.reads, *call.outs):
            read(v)
    return found


def _deleted(names: list[str], call: Call, before: Call | None) -> Entries:
    """`del a, b`, in as many lines as it takes, on the line of the statement before it where that stands in the same block."""
    beside = call if before is None or (before.quiet, before.backward) != (call.quiet, call.backward) else before
    about = Call(call.op, (), (), beside.site, call.backward, call.quiet)
    lines = [
        [gast.Name(id=name.strip(","), ctx=gast.Del(), annotation=None, type_comment=None) for name in line.split()]
        for line in textwrap.wrap(", ".join(names), WIDTH - len("        del "))
    ]
    return [(gast.Delete(targets=line), about) for line in lines]
