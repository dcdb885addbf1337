"""Nesting of calls into expressions, as statements of a Program: what is nested stands right before what reads it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import gast

from ....runtime.ir.graph import Value
from ..schedule.program import (
    Assign,
    Effect,
    Fork,
    Free,
    Given,
    If,
    Loop,
    Program,
    Return,
    Statement,
    each_statement,
    named_in,
    reads_of,
    straight,
    writes_of,
)
from .lines import Lines

__all__ = ["Nesting", "named_program"]


class Nesting:
    """The statements of one block in the order in which the text computes them; all blocks share what is `written`."""

    def __init__(self, written: dict[Value, set[str | None]], waiting: dict[Value, Statement]) -> None:
        self.written = written  # how each value is: in which variables, or None where it is an expression
        self.waiting = waiting  # by their results: to be nested in what reads those
        self.made: list[Statement] = []

    def block(self) -> Nesting:
        """Return that of a block within."""
        return Nesting(self.written, {})

    def path(self) -> Nesting:
        """Return that of a path, which reads what waits as well as what follows it does."""
        return Nesting(self.written, dict(self.waiting))

    def wait(self, statement: Statement) -> None:
        """Leave a statement to the first that reads its result."""
        self.waiting |= dict.fromkeys(writes_of(statement), statement)

    def add(self, statement: Statement) -> None:
        """Add a statement, behind what is nested in it."""
        self.nest(reads_of(statement))
        self.made.append(statement)

    def nest(self, values: Iterable[Value]) -> None:
        """Add the statements of values that are read now."""
        for v in values:
            statement = self.waiting.pop(v, None)
            if statement is not None:
                assert isinstance(statement, (Assign, Effect))
                for other in writes_of(statement):
                    self.waiting.pop(other, None)
                self.add(dataclasses.replace(statement, nested=True))

    def unnest(self, v: Value, lines: Lines) -> bool:
        """Add the statement of a value that turned out to need a variable, with these lines; whether it waits no longer."""
        statement = self.waiting.pop(v, None)
        if statement is not None:
            self.add(dataclasses.replace(statement, lines=lines))
        return statement is not None

    def end(self) -> list[Statement]:
        """Return all statements; what still waits where a path has returned is read in other paths alone."""
        if not self.made or not isinstance(self.made[-1], Return):
            self.nest(list(self.waiting))
        return self.made

    def close(self, trees: dict[Value, Any], nested: set[Value]) -> list[Statement]:
        """Return all statements, and learn how the values are written."""
        for v, tree in trees.items():
            named = isinstance(tree, gast.Name) and v not in nested
            self.written.setdefault(v, set()).add(tree.id if named else None)
        return self.end()

    def variables(self) -> dict[Value, str]:
        """Return the variables of the values; one that two blocks write in two ways has none."""
        return {v: name for v, (name, *others) in self.written.items() if name is not None and not others}


def named_program(program: Program, body: list[Statement], variables: dict[Value, str]) -> Program:
    """Return the program with these statements; arrays are freed where nobody reads them any more in that order."""
    known = dict(variables)
    for statement in each_statement(body):
        for x, v in _given(statement):
            if known.get(v) != (known.get(x) if isinstance(x, Value) else None):
                known.pop(v, None)  # it is an expression in each place
    freed = {v for s in straight(program.body) if isinstance(s, Free) for v in s.values}
    nested = {v for s in each_statement(body) if isinstance(s, (Assign, Effect)) and s.nested for v in writes_of(s)}
    return program._replace(body=_freed(body, freed - nested, known) if freed else body, variables=known)


def _given(statement: Statement) -> Given:
    """Return the values that a block knows by names of its own, and does not change, with these; and those behind it."""
    if isinstance(statement, Loop):
        fixed = [(c.start, v) for c in statement.carries if c.after is c.param for v in (c.param, c.out)]
        return (*statement.given, *fixed, *(statement.test.given if statement.test is not None else ()))
    return (*statement.then.given, *statement.orelse.given) if isinstance(statement, If) else ()


def _freed(body: list[Statement], freed: set[Value], variables: dict[Value, str]) -> list[Statement]:
    """Return the statements with a Free of these behind the last that reads each, where its variable holds it still."""
    within: dict[Value, list[Value]] = {}  # what nested values read
    last: dict[Value, Statement] = {}
    for statement in straight(body):
        read = [*reads_of(statement), *writes_of(statement)]
        for v in read:
            read += within.get(v, ())
        last |= dict.fromkeys(read, statement)
        if isinstance(statement, (Assign, Effect)) and statement.nested:
            within |= dict.fromkeys(writes_of(statement), reads_of(statement))
    dead: dict[Statement, list[Value]] = {}
    for v, statement in last.items():
        if v in freed and not isinstance(statement, Return):
            dead.setdefault(statement, []).append(v)
    given = {v for statement in each_statement(body) for _, v in _given(statement)}
    holder: dict[str | None, Value] = {}

    def block(statements: list[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for statement in statements:
            inner = [] if isinstance(statement, Fork) else [v for v in named_in(statement) if v not in given]
            holder.update([(variables.get(v), v) for v in (*inner, *writes_of(statement))])
            values = tuple([v for v in dead.get(statement, ()) if holder.get(variables.get(v)) is v])
            if isinstance(statement, Fork):
                statement = dataclasses.replace(statement, body=block(statement.body))
            made += [statement, *([Free(values, statement.note)] if values else [])]
        return made

    return block(body)
