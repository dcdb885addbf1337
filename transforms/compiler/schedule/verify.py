"""The verifier of Programs; it looks after each step of the schedule."""

from __future__ import annotations

from collections.abc import Iterable

from ....runtime.errors import VerifyError
from ....runtime.ir.graph import Value, values_in
from ....runtime.rules.control import SIZES
from .program import (
    Assign,
    Branch,
    Effect,
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
    problem = _Check().function(program)
    if problem is not None:
        raise VerifyError(f"the program after `{after}` is not well formed: {problem}")
    return program


class _Check:
    """One walk through a program: what is spent, which values are lists, and whether anything was done that can be seen."""

    def __init__(self) -> None:
        self.spent: set[Value] = set()  # written over: there, and no longer what they were
        self.lists: set[Value] = set()
        self.done = False  # a store or an effect has happened

    def function(self, program: Program) -> str | None:
        if not program.body or not isinstance(program.body[-1], Return):
            return "it does not end with a return"
        return self.block(program.body, set(), set())

    def block(self, body: Iterable[Statement], there: set[Value], fixed: set[Value]) -> str | None:
        """Return what is wrong in a block. `there` learns what is named in it; nothing `fixed` may be written over or freed."""
        for statement in body:
            problem = self.reads(statement, there) or self.statement(statement, there, fixed)
            if problem is not None:
                return problem
            twice = [v for v in writes_of(statement) if v in there]
            if twice:
                return f"{type(statement).__name__} names {twice[0]!r}, which is there already"
            there.update(writes_of(statement))
        return None

    def reads(self, statement: Statement, there: set[Value]) -> str | None:
        for v in reads_of(statement):
            if v not in there:
                return f"{type(statement).__name__} reads {v!r}, which is not there"
            if v in self.spent and not _needs_no_numbers(statement, v):
                return f"{type(statement).__name__} reads {v!r}, which was written over"
        return None

    def given(self, values: Iterable[Value], there: set[Value]) -> str | None:
        """Return what is wrong with the values that a block is there for."""
        for v in values:
            if v not in there or v in self.spent:
                return f"{v!r} is given, and is not there any more"
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
                return self.block(body, inside, set(there)) or self.given(whole, inside)
            case If():
                return self.choice(statement, fixed)
        return None

    def choice(self, branch: If, fixed: set[Value]) -> str | None:
        """Return what is wrong with a branch; what one arm spends, the other may still read."""
        before, after = set(self.spent), set(self.spent)
        for arm in (branch.then, branch.orelse):
            self.spent = set(before)
            kept = {v for x, v in arm.given if isinstance(x, Value) and x in fixed}
            problem = self.arm(arm, kept)
            if problem is None and len(arm.results) != len(branch.outs):
                problem = f"a branch gives {len(arm.results)} values for {len(branch.outs)}"
            if problem is not None:
                return problem
            after |= self.spent | {x for x, v in arm.given if v in self.spent and isinstance(x, Value)}
        self.spent = after
        return None

    def arm(self, arm: Branch, fixed: set[Value]) -> str | None:
        inside = {v for _, v in arm.given}
        return self.block(arm.body, inside, fixed) or self.given(values_in(arm.results), inside)

    def loop(self, loop: Loop, there: set[Value]) -> str | None:
        """Return what is wrong with a loop; a start whose trips write over what they carry is spent behind it."""
        params = {c.param for c in loop.carries}
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
        problem = self.block(loop.body, inside, fixed)
        problem = problem or self.given([v for c in loop.carries for v in values_in(c.after)], inside)
        self.spent |= {c.start for c in loop.carries if c.param in self.spent and isinstance(c.start, Value)}
        return problem


def _needs_no_numbers(statement: Statement, v: Value) -> bool:
    """Whether a statement reads the shape of an array alone, or stores in it, so that it may have been written over."""
    if isinstance(statement, Store):
        return v is statement.base
    return isinstance(statement, Assign) and statement.call.op in SIZES
