"""The verifier of Programs, which checks one after each step of the schedule and of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ....runtime.errors import VerifyError
from ....runtime.ir.graph import Value, values_in
from ....runtime.rules.control import SIZES
from .program import (
    Assign,
    Branch,
    Effect,
    Fork,
    Free,
    Guard,
    If,
    List,
    Loop,
    Program,
    Push,
    Return,
    Reverse,
    Statement,
    Store,
    Tiled,
    reads_of,
    writes_of,
)

__all__ = ["verified"]


def verified(program: Program, after: str) -> Program:
    """Return the program; raise VerifyError, which names the step it came from, unless it is well formed."""
    problem = _Check(program.variables).function(program)
    if problem is not None:
        raise VerifyError(f"the program after `{after}` is not well formed: {problem}")
    return program


class _Check:
    """One walk through a program: what is spent, which values are lists, and whether anything was done that can be seen.

    Where a target has put values into variables: which value each holds. What a block is given has the variable that it has
    outside, and is the same value.
    """

    def __init__(self, variables: Mapping[Value, str]) -> None:
        self.variables = variables
        self.holder: dict[str, Value] = {}
        self.same: dict[Value, Value] = {}  # what it is outside, or before a loop that does not change it
        self.nested: dict[Value, Assign | Effect] = {}
        self.over: dict[Value, Value] = {}  # what a value was written over, in the same memory
        self.spent: set[Value] = set()  # written over: there, and no longer what they were
        self.lists: set[Value] = set()
        self.done = False  # a store or an effect has happened

    def function(self, program: Program) -> str | None:
        return self.path(program.body, set())

    def path(self, body: list[Statement], there: set[Value]) -> str | None:
        """Return what is wrong in statements that end the function."""
        if not body or not isinstance(body[-1], Return):
            return "it does not end with a return"
        return self.block(body, there, set())

    def block(self, body: Iterable[Statement], there: set[Value], fixed: set[Value]) -> str | None:
        """Return what is wrong in a block. `there` learns what is named in it; nothing `fixed` may be written over or freed."""
        at_once: list[Value] | None = None  # the results of an Assign, and of those that stand beside it
        for statement in body:
            problem = self.reads(statement, there) or self.statement(statement, there, fixed)
            problem = problem or (self.joint(statement, at_once) if getattr(statement, "beside", False) else None)
            if problem is not None:
                return problem
            written = writes_of(statement)
            if not there.isdisjoint(written):
                twice = next(v for v in written if v in there)
                return f"{type(statement).__name__} names {twice!r}, which is there already"
            there.update(written)
            if isinstance(statement, (Assign, Effect)) and statement.nested:  # in no variable of its own
                for v in written:
                    self.nested[v] = statement
            else:
                self.hold(written)
                before = at_once if isinstance(statement, Assign) and statement.beside and at_once is not None else []
                at_once = [*before, *written] if isinstance(statement, Assign) else None
        return None

    def joint(self, statement: Statement, at_once: list[Value] | None) -> str | None:
        """Return what is wrong with a statement that is one with those before it, which give `at_once`."""
        if at_once is None:
            return "an Assign stands beside another, and none comes before it"
        reads = list(reads_of(statement))
        for v in reads:
            if v in at_once:
                return f"{v!r} is read in the statement that gives it"
            reads += reads_of(self.nested[v]) if v in self.nested else ()
        return None

    def reads(self, statement: Statement, there: set[Value]) -> str | None:
        """Return what is wrong with what a statement reads, and with what is read by the calls that are nested in it."""
        for v in reads_of(statement):
            if v not in there:
                return f"{type(statement).__name__} reads {v!r}, which is not there"
            if v in self.spent and not _needs_no_numbers(statement, v):
                return f"{type(statement).__name__} reads {v!r}, which was written over"
            if v in self.nested:
                problem = self.reads(self.nested[v], there)
            elif v in self.variables and self.holder.get(self.variables[v]) is not self.origin(v):
                problem = self.lost([v], _needs_no_numbers(statement, v))
            else:
                continue
            if problem is not None:
                return problem
        return None

    def origin(self, v: Value) -> Value:
        """What a value is in the block that made it."""
        return self.same.get(v, v)

    def hold(self, values: Iterable[Value]) -> None:
        """The variables of these hold them from here on."""
        for v in values:
            name = self.variables.get(v)
            if name is not None:
                self.holder[name] = self.origin(v)

    def alike(self, pairs: Iterable[tuple[Any, Value]]) -> None:
        """What a block is given is the same value where it has the same variable."""
        for x, v in pairs:
            if v in self.variables and isinstance(x, Value) and self.variables.get(x) == self.variables[v]:
                self.same[v] = self.origin(x)

    def lost(self, values: Iterable[Value], anyhow: bool = False) -> str | None:
        """Return which of these another value has taken the variable of; `anyhow` it may be what was written over it."""
        for v in values:
            name = self.variables.get(v)
            if name is None:
                continue
            held = self.holder.get(name)
            while anyhow and held in self.over and held is not self.origin(v):
                held = self.over[held]
            if held is not self.origin(v):
                return f"{v!r} is read, and its variable `{name}` holds {held!r}"
        return None

    def given(self, values: Iterable[Value], there: set[Value]) -> str | None:
        """Return what is wrong with the values that a block is there for."""
        for v in values:
            if v not in there or v in self.spent:
                return f"{v!r} is given, and is not there any more"
            problem = self.reads(self.nested[v], there) if v in self.nested else self.lost([v])
            if problem is not None:
                return problem
        return None

    def statement(self, statement: Statement, there: set[Value], fixed: set[Value]) -> str | None:
        match statement:
            case Assign(slots=slots):
                for slot in slots:
                    if slot.memory == "over":
                        (over,) = slot.of
                        if over in fixed:
                            return f"{over!r} is written over in a loop, and is read in each trip"
                        if over.type.dtype != slot.value.type.dtype or over.type.shape != slot.value.type.shape:
                            return f"{slot.value!r} is written over {over!r}, of another type"
                        self.spent.add(over)
                        self.over[slot.value] = self.origin(over)
            case Free(values=values):
                for v in values:
                    if v not in there or v in fixed:
                        return f"{v!r} is freed, and is not there, or is read in another trip"
                    there.discard(v)
            case List(target=target):
                self.lists.add(target)
            case Push(target=target) | Reverse(target=target) if target not in self.lists:
                return f"{target!r} is no list"
            case Guard() if self.done:
                return "a guard stands behind a store or an effect, which would happen twice where it fails"
            case Store() | Effect():
                self.done = True
            case Loop():
                return self.loop(statement, there)
            case Tiled(body=body, whole=whole):
                inside = set(there)
                problem = self.block(body, inside, set(there)) or self.given(whole, inside)
                there |= {
                    v for s in body for v in writes_of(s) if v in self.variables and v not in whole
                }  # of the last tile
                return problem
            case If():
                return self.choice(statement, fixed)
            case Fork(body=body):
                before, done, holder, nested = set(self.spent), self.done, dict(self.holder), dict(self.nested)
                problem = self.path(body, set(there))
                self.spent, self.done, self.holder, self.nested = before, done, holder, nested
                return problem
        return None

    def choice(self, branch: If, fixed: set[Value]) -> str | None:
        """Return what is wrong with a branch; what one arm spends, the other may still read."""
        if branch.expression and any(_stands_alone(arm) > 1 for arm in (branch.then, branch.orelse)):
            return "a branch is one expression, and an arm of it has several statements"
        before, after = set(self.spent), set(self.spent)
        holder, held = self.holder, list[dict[str, Value]]()
        for arm in (branch.then, branch.orelse):
            self.spent, self.holder = set(before), dict(holder)
            kept = {v for x, v in arm.given if isinstance(x, Value) and x in fixed}
            problem = self.arm(arm, kept)
            if problem is None and len(arm.results) != len(branch.outs):
                problem = f"a branch gives {len(arm.results)} values for {len(branch.outs)}"
            if problem is not None:
                return problem
            held.append(self.holder)
            after |= self.spent | {x for x, v in arm.given if v in self.spent and isinstance(x, Value)}
        self.spent = after
        self.holder = {name: v for name, v in held[0].items() if held[1].get(name) is v}
        return None

    def arm(self, arm: Branch, fixed: set[Value]) -> str | None:
        same, nested = dict(self.same), self.nested
        self.alike(arm.given)
        self.nested = {}
        inside = {v for _, v in arm.given}
        problem = self.block(arm.body, inside, fixed) or self.given(values_in(arm.results), inside)
        self.same, self.nested = same, nested
        return problem

    def loop(self, loop: Loop, there: set[Value]) -> str | None:
        """Return what is wrong with a loop; a start whose trips write over what they carry is spent behind it."""
        params = {c.param for c in loop.carries}
        same, nested = dict(self.same), self.nested
        self.nested = {}
        unchanged = [c for c in loop.carries if c.after is c.param]
        self.alike([*loop.given, *[(c.start, c.param) for c in unchanged]])
        first = {stack: item for stack, item in loop.items if isinstance(item, Value)}
        self.alike([(first[stack], item) for stack, item in loop.items if first.get(stack, item) is not item])
        self.hold(params)
        if loop.test is not None:
            unknown = [x for x, _ in loop.test.given if isinstance(x, Value) and x not in there | params]
            if unknown:
                return f"a test is given {unknown[0]!r}, which is not there"
            problem = self.arm(loop.test, {v for _, v in loop.test.given})
            if problem is not None:
                return problem
        elif loop.trips is None and not loop.items:
            return "nothing says how often a loop runs"
        fixed = {v for _, v in loop.given}
        lists = {s.target for s in loop.body if isinstance(s, Push)} & there
        inside = {*params, *fixed, *lists, loop.place, *values_in([item for _, item in loop.items])}
        self.hold([*values_in([item for _, item in loop.items]), loop.place])
        problem = self.block(loop.body, inside, fixed)
        problem = problem or self.given([v for c in loop.carries for v in values_in(c.after)], inside)
        problem = problem or self.lost(fixed)  # in the next trip
        self.same, self.nested = same, nested
        self.alike([(c.start, c.out) for c in unchanged])
        self.spent |= {c.start for c in loop.carries if c.param in self.spent and isinstance(c.start, Value)}
        return problem


def _stands_alone(arm: Branch) -> int:
    """How many statements of an arm are not nested in others."""
    return sum(not getattr(s, "nested", False) for s in arm.body)


def _needs_no_numbers(statement: Statement, v: Value) -> bool:
    """Whether a statement reads the shape of an array alone, or stores in it, so that it may have been written over."""
    if isinstance(statement, Store):
        return v is statement.base
    return isinstance(statement, Assign) and statement.call.op in SIZES
