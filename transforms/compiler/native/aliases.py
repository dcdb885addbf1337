"""Aliases of results: which values may lie in the memory of an argument, or of two results, and so are Python's objects in C."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ....runtime.ir.graph import Value, values_in
from ....runtime.ir.opcodes import PARTS
from ..schedule.program import Assign, If, Loop, Program, Push, Return, Statement, Unpack, each_statement, leaves_of
from .values import RefusedError

__all__ = ["Aliases", "aliases_of"]


class Aliases(NamedTuple):
    """Values whose objects a caller can tell apart: `shared` all of them, `merged` those that a branch or a loop gives."""

    shared: frozenset[Value]
    merged: frozenset[Value]


def aliases_of(program: Program) -> Aliases:
    """Return what results share with arguments and with each other; RefusedError where C cannot follow it."""
    walk = _Walk(program.body)
    roots = {v: walk.roots(v) for v in walk.ends}
    counted = Counter(root for found in roots.values() for root in found)
    hot = {root for root, n in counted.items() if n > 1 or root in walk.arguments}
    hot.update(root for v, found in roots.items() if _has_gaps(v) for root in found)
    shared: set[Value] = set()
    for v in walk.ends:
        walk.reaching(v, hot, shared)
    for v in shared:
        if v.type.kind == "array" and not v.type.shape:
            raise RefusedError("an array of one number and no axis is a result, and is seen elsewhere too")
        if v in walk.refused or any(v in handed and walk.sources.get(v) for handed in walk.handed):
            raise RefusedError("a loop gives a part of an array that is seen elsewhere too")
    return Aliases(frozenset(shared), frozenset(shared & walk.merged))


class _Walk:
    """Where the memory of each array comes from."""

    def __init__(self, body: list[Statement]) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.arguments: set[Value] = set()
        self.merged: set[Value] = set()
        self.refused: set[Value] = set()  # items of lists
        self.handed: list[set[Value]] = []  # what trips hand to the next, other than what they were handed
        self.ends: list[Value] = []
        for s in each_statement(body):
            self.look(s)
        self.ends = [v for v in dict.fromkeys(self.ends) if _has_memory(v)]

    def look(self, s: Statement) -> None:
        match s:
            case Unpack(tree=tree):
                self.arguments.update(filter(_has_memory, leaves_of(tree)))
            case Assign(call=call) if call.op is PARTS:
                pass  # C copies the items that are results
            case Assign(slots=slots):
                for slot in slots:
                    if slot.memory == "view":
                        self.add(slot.value, *slot.of)
            case If(then=then, orelse=orelse, outs=outs):
                for arm in (then, orelse):
                    for x, v in arm.given:
                        self.add(v, *values_in(x))
                    for out, x in zip(outs, arm.results, strict=True):
                        self.add(out, *values_in(x))
                self.merged.update(outs)
            case Loop(given=given, carries=carries, items=items, test=test):
                for x, v in (*given, *(test.given if test is not None else ()), *items):
                    for own in values_in(v):
                        self.add(own, *values_in(x))
                        self.refused.update(values_in(v) if (x, v) in items else ())
                params = {c.param for c in carries}
                for c in carries:
                    self.add(c.out, *values_in(c.start), *values_in(c.after))
                    self.add(c.param, *values_in(c.start), *values_in(c.after))
                    self.handed.append(set(values_in(c.after)) - params)
                    self.merged.update((c.param, c.out))
            case Push(target=target, value=value):
                self.add(target, *values_in(value))
            case Return(outputs=outputs):
                self.ends += values_in(outputs)

    def add(self, v: Value, *sources: Value) -> None:
        known = self.sources.setdefault(v, [])
        known += [
            x for x in sources if x is not v and _has_memory(x)
        ]  # a block may call a value as it is called outside

    def roots(self, v: Value) -> set[Value]:
        """The arrays in whose memory a value may lie."""
        found: set[Value] = set()
        seen: set[Value] = set()
        stack = [v]
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            sources = self.sources.get(v)
            if sources:
                stack += sources
            else:
                found.add(v)
        return found

    def reaching(self, v: Value, hot: set[Value], found: set[Value]) -> None:
        """Add all values on the way from a result to the arrays that are seen elsewhere."""
        stack, seen = [v], set()
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            if self.roots(v) & hot:
                found.add(v)
                stack += self.sources.get(v, [])


def _has_gaps(v: Value) -> bool:
    """Whether an array is a part of another by its strides, which NumPy's result then has, too."""
    if v.type.kind != "array" or 0 in v.type.shape:
        return False
    if 0 in v.type.strides:  # of a new axis, or a repeated one
        return True
    place = v.type.dtype.itemsize
    for stride, n in sorted((s, n) for s, n in zip(v.type.strides, v.type.shape, strict=True) if n > 1):
        if stride != place:
            return True
        place *= n
    return False


def _has_memory(v: Value) -> bool:
    return v.type.kind not in ("python", "scalar") or v.element is not None
