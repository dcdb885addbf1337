"""Blocks of a Program, one after the other: a function, the loops, tests and arms in it, and what a step asks of each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ..passes.scans import Scan
from .buffers import is_own, is_steady, own_carry
from .program import Assign, If, Loop, Program, Return, Statement, Tiled, Unpack, calls_of, leaves_of, straight
from .reuse import last_writers
from .stores import stored_late
from .weak import is_plain_size, weak_numbers

__all__ = ["Block", "changed"]


class Block:
    """The statements of a function or of a region, and the uses of their values: who makes each, and who reads it last.

    `graph` has their calls in order, what the block is given, by its own names, and what it gives. In a region that is not
    `steady` strides change from trip to trip. Each fact is found when it is first asked for.
    """

    def __init__(
        self, body: list[Statement], region: Graph, steady: bool = True, own: Callable[[], Collection[Value]] = tuple
    ) -> None:
        self.body = body
        self.graph = Graph(region.inputs, calls_of(body), region.outputs)
        self.steady = steady
        self._own = own

    @functools.cached_property
    def own(self) -> Collection[Value]:
        """The inputs that may be written over."""
        return self._own()

    @functools.cached_property
    def kept(self) -> set[Value]:
        """The values that others than their readers rely on: what loops over tiles are given, and what is stored late."""
        in_tiles = [v for s in straight(self.body) if isinstance(s, Tiled) for v in s.given]
        return {*in_tiles, *stored_late(self.graph)}

    @functools.cached_property
    def outputs(self) -> set[Value]:
        """What is given back."""
        return set(values_in(self.graph.outputs))

    @functools.cached_property
    def maker(self) -> dict[Value, Call]:
        """The call that makes each value."""
        return {v: call for call in self.graph.calls for v in call.outs}

    @functools.cached_property
    def users(self) -> dict[Value, list[Call]]:
        """The calls that read each value, in order; twice where one reads it twice."""
        found: dict[Value, list[Call]] = {}
        for call in self.graph.calls:
            for v in call.reads:
                found.setdefault(v, []).append(call)
        return found

    @functools.cached_property
    def uses(self) -> dict[Value, int]:
        """How often each value is read; an output counts twice, since it is a name of its own in the return."""
        found = {v: len(users) for v, users in self.users.items()}
        for v in values_in(self.graph.outputs):
            found[v] = found.get(v, 0) + 2
        return found

    @functools.cached_property
    def place(self) -> dict[Call, int]:
        """The place of each call."""
        return {call: k for k, call in enumerate(self.graph.calls)}

    @functools.cached_property
    def last(self) -> dict[Value, int]:
        """The place of the last call that reads each value."""
        return {v: self.place[users[-1]] for v, users in self.users.items()}

    @functools.cached_property
    def written(self) -> dict[Value, Call]:
        """Of arrays that are read several times: the last reader, if it may write over one."""
        return last_writers(self.graph)

    @functools.cached_property
    def in_tiles(self) -> set[Call]:
        """The calls of loops over tiles."""
        return {call for s in straight(self.body) if isinstance(s, Tiled) for call in calls_of(s.body)}

    @functools.cached_property
    def buffers(self) -> dict[Value, Call]:
        """The arguments that results are written over by name, with `out=`, and the calls that do so."""
        over = [s for s in straight(self.body) if isinstance(s, Assign) and s.is_over() and s.call.op.consuming is None]
        return {s.slots[0].of[0]: s.call for s in over}

    @functools.cached_property
    def weak(self) -> set[Value]:
        """The numbers that may be Python's own."""
        return weak_numbers(self.graph)

    @functools.cached_property
    def plain_sizes(self) -> set[Value]:
        """Those of them that are a size as it is."""
        return {v for v in self.weak if is_plain_size(self.maker[v], self.users.get(v, []))}

    def last_user(self, v: Value) -> Call | None:
        """Return the last call that reads a value."""
        users = self.users.get(v)
        return None if users is None else users[-1]

    def is_last(self, v: Value, call: Call) -> bool:
        """Whether a call is the last to read an array, and nothing that stays shares its memory."""
        return v not in self.kept and self.written.get(v) is call


def changed(program: Program, change: Callable[[Block], list[Statement]]) -> Program:
    """Return the program with the statements that `change` makes of each block, the outer ones first."""
    result = program.body[-1]
    assert isinstance(result, Return)
    inputs = [v for s in program.body if isinstance(s, Unpack) for v in leaves_of(s.tree)]
    body = _changed(Block(program.body, Graph(inputs, [], list(result.outputs))), change)
    return program if body is program.body else program._replace(body=body)


def _changed(block: Block, change: Callable[[Block], list[Statement]]) -> list[Statement]:
    """Return what `change` makes of a block, and then of those in it: the very list, where that is nothing new."""
    body = change(block)
    if body is not block.body:
        block = Block(body, block.graph, block.steady, lambda own=block.own: own)  # type: ignore[misc]
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            statement = _loop(block, statement, change)
        elif isinstance(statement, If):
            statement = _choice(block, statement, change)
        made.append(statement)
    return body if all(new is old for new, old in zip(made, body, strict=True)) else made


def _loop(block: Block, loop: Loop, change: Callable[[Block], list[Statement]]) -> Loop:
    scan = Scan(loop.call)
    steady = block.steady and is_steady(scan)
    body = _changed(Block(loop.body, scan.body, steady, lambda: own_carry(block, loop.call)), change)
    test = loop.test
    if test is not None and scan.test is not None:
        test = test._replace(body=_changed(Block(test.body, scan.test, block.steady), change))
    if body is loop.body and (test is loop.test or (test and loop.test and test.body is loop.test.body)):
        return loop
    return dataclasses.replace(loop, body=body, test=test)


def _choice(block: Block, branch: If, change: Callable[[Block], list[Statement]]) -> If:
    regions, _, ins = branch.call.args

    def own(graph: Graph) -> Collection[Value]:
        return {v for v, x in zip(graph.inputs, ins, strict=True) if is_own(block, x, branch.call)}

    arms = []
    for arm, graph in zip((branch.then, branch.orelse), regions, strict=True):
        inner = Block(arm.body, graph, block.steady, functools.partial(own, graph))
        arms.append(arm._replace(body=_changed(inner, change)))
    then, orelse = arms
    if then.body is branch.then.body and orelse.body is branch.orelse.body:
        return branch
    return dataclasses.replace(branch, then=then, orelse=orelse)
