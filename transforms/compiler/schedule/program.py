"""The Program: a graph as statements, flat, in the order in which they run. Every target starts from it.

Its variables are Values. A statement computes one call, or stores, frees or chooses; a loop and a branch hold statements,
which read what is made there and what the block is `given`, by its own names for that. What a statement computes, `call`
says as the graph has it, for those who name and spell it.
`run_program` (run.py) says what it means, `verified` (verify.py) what is well formed, `shown` (show.py) prints it for reading.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ....runtime.ir.graph import Call, Value, values_in
from .signature import children

__all__ = [
    "Assign", "Branch", "Carry", "Effect", "Fork", "Free", "Given", "Guard", "If", "List", "Loop", "Note", "Printed",
    "Program", "Push", "Return", "Reverse", "Slot", "Statement", "Store", "Tiled", "Unpack", "blocks_of", "calls_of",
    "each_statement", "leaves_of", "named_in", "reads_of", "straight", "writes_of",
]  # fmt: skip


class Note(NamedTuple):
    """What a reader is told of a statement: its section, whether NumPy's warnings are off, and the user's line."""

    section: str = "forward"  # "backward", "tangents", "writes"
    quiet: bool = False
    site: Any = None


class Slot(NamedTuple):
    """Where a result goes: into `fresh` memory, `over` another value, which is gone then, or as a `view` of others."""

    value: Value
    memory: str = "fresh"
    of: tuple[Value, ...] = ()


@dataclasses.dataclass(eq=False, kw_only=True)
class Printed:
    """A statement, and what the steps of a target decide to write for it (python/lines.py)."""

    lines: Any = None


@dataclasses.dataclass(eq=False)
class Assign(Printed):
    """The results of one call; one that is `nested` has no variable, and is written within the next that reads it.

    One that stands `beside` the Assign before it is one statement with it in print, so that neither reads the other's results.
    """

    slots: tuple[Slot, ...]
    call: Call
    note: Note
    nested: bool = False
    beside: bool = False

    def is_over(self) -> bool:
        """Whether the result is written over an argument."""
        return len(self.slots) == 1 and self.slots[0].memory == "over"


@dataclasses.dataclass(eq=False)
class Unpack(Printed):
    """The leaves of a parameter: of a tree that holds Values, and constants that are not looked at."""

    tree: Any
    parameter: str
    note: Note


@dataclasses.dataclass(eq=False)
class Store(Printed):
    """`base[index] = value`, in an array of the caller's."""

    base: Value
    index: Any
    value: Any
    call: Call
    note: Note


@dataclasses.dataclass(eq=False)
class List(Printed):
    """A new list, for one item of each trip of a loop; a bundle holds tuples, with an item of each of several lists."""

    target: Value
    note: Note
    of: tuple[Value, ...] = ()


@dataclasses.dataclass(eq=False)
class Push(Printed):
    """One more item at the end of a list."""

    target: Value
    value: Any
    note: Note


@dataclasses.dataclass(eq=False)
class Reverse(Printed):
    """A list the other way round."""

    target: Value
    note: Note


class Carry(NamedTuple):
    """A value that a loop changes: what it begins with, its name in a trip, what a trip makes of it, its name behind the loop."""

    start: Any
    param: Value
    after: Any
    out: Value


Given = tuple[tuple[Any, Value], ...]  # values, and what a block calls them


class Branch(NamedTuple):
    """Statements, the values that they are there for, and those that they are given."""

    body: list[Statement]
    results: tuple[Any, ...]
    given: Given = ()


@dataclasses.dataclass(eq=False)
class Loop(Printed):
    """Statements that run once a trip: `trips` times, or while the test holds, or both; else once for each item of the lists."""

    trips: Any
    test: Branch | None
    place: Value  # the number of a trip
    items: tuple[tuple[Value, Any], ...]  # lists, and what the item of a trip is called; of a bundle a tuple
    reverse: bool
    carries: tuple[Carry, ...]
    given: Given  # what each trip reads
    body: list[Statement]
    count: Value  # the number of trips, behind the loop
    call: Call
    note: Note


@dataclasses.dataclass(eq=False)
class Tiled(Printed):
    """Elementwise calls that run on one piece of their arrays after the other, `step` rows at a time."""

    step: int
    given: tuple[Value, ...]  # all that they read
    sliced: tuple[Value, ...]  # of that, the arrays that are read in pieces; the rows of the first are counted
    whole: tuple[Value, ...]  # the results that are needed whole
    body: list[Statement]
    note: Note


@dataclasses.dataclass(eq=False)
class If(Printed):
    """One of two branches; `outs` are what they give. One that is an `expression` is written `a if test else b`."""

    test: Any
    then: Branch
    orelse: Branch
    outs: tuple[Value, ...]
    call: Call
    note: Note
    expression: bool = False


@dataclasses.dataclass(eq=False)
class Guard(Printed):
    """A value that has to be what it was in the capture; else another specialisation is wanted."""

    value: Any
    how: str
    expected: Any
    out: Value
    call: Call
    note: Note


@dataclasses.dataclass(eq=False)
class Fork(Printed):
    """A path of its own: the statements of it end with a return, and what follows is for the calls that do not take it.

    A call takes it whose value is what it was in the captures of that path. `other` is the guard of what follows, where one of
    the two always holds.
    """

    value: Any
    how: str
    expected: Any
    body: list[Statement]
    call: Call
    other: Call | None
    note: Note


@dataclasses.dataclass(eq=False)
class Effect(Printed):
    """A call that can be seen from outside: it draws or prints."""

    call: Call
    note: Note
    nested: bool = False


@dataclasses.dataclass(eq=False)
class Free(Printed):
    """Values that nobody reads again."""

    values: tuple[Value, ...]
    note: Note


@dataclasses.dataclass(eq=False)
class Return(Printed):
    """The result: a tree of places among the outputs. It ends the function, or a path of it."""

    tree: Any
    outputs: tuple[Any, ...]
    note: Note


Statement = (
    Assign | Unpack | Store | List | Push | Reverse | Loop | Tiled | If | Fork | Guard | Effect | Free | Return
)  # fmt: skip


class Program(NamedTuple):
    """One function: its parameters, in order, its statements, of which the last returns, and what readers call its values.

    A target may put values into variables, of which each holds several, one after the other; without them each value has a
    place of its own.
    """

    name: str
    parameters: tuple[str, ...]
    body: list[Statement]
    names: dict[Value, str]
    variables: Mapping[Value, str] = MappingProxyType({})


def blocks_of(statement: Statement) -> list[list[Statement]]:
    """Return the blocks of statements that a statement holds."""
    if isinstance(statement, Loop):
        return [*([statement.test.body] if statement.test is not None else []), statement.body]
    if isinstance(statement, If):
        return [statement.then.body, statement.orelse.body]
    return [statement.body] if isinstance(statement, (Tiled, Fork)) else []


def straight(body: Iterable[Statement]) -> Iterator[Statement]:
    """Go through the statements of a function, those of its paths one after the other."""
    for statement in body:
        yield statement
        if isinstance(statement, Fork):
            yield from straight(statement.body)


def each_statement(body: Iterable[Statement]) -> Iterator[Statement]:
    """Go through all statements, those within loops and branches among them."""
    for statement in body:
        yield statement
        for block in blocks_of(statement):
            yield from each_statement(block)


def calls_of(body: Iterable[Statement]) -> list[Call]:
    """Return the calls of a block in order, those of tiles and of paths among them; a loop or a branch is one."""
    found: list[Call] = []
    for statement in body:
        if isinstance(statement, Tiled):
            found += calls_of(statement.body)
        elif isinstance(statement, Fork):
            found += [statement.call, *calls_of(statement.body), *filter(None, [statement.other])]
        elif isinstance(statement, (Assign, Store, Loop, If, Guard, Effect)):
            found.append(statement.call)
    return found


def named_in(statement: Statement) -> list[Value]:
    """Return the values that are named within a loop or a branch."""
    found: list[Value] = []
    match statement:
        case Loop():
            found += [
                statement.place,
                *[c.param for c in statement.carries],
                *values_in([v for _, v in statement.items]),
            ]
            found += [v for _, v in (*statement.given, *(statement.test.given if statement.test is not None else ()))]
        case If(then=then, orelse=orelse):
            found += [v for _, v in (*then.given, *orelse.given)]
        case _:
            return found
    for block in blocks_of(statement):
        for inner in block:
            found += [*writes_of(inner), *named_in(inner)]
    return found


def reads_of(statement: Statement) -> list[Value]:
    """Return the values that a statement reads; the statements in it read those by other names, or what they make."""
    match statement:
        case Assign(call=call) | Effect(call=call):
            return list(call.reads)
        case Store(base=base, index=index, value=value):
            return [base, *values_in((index, value))]
        case Push(target=target, value=value):
            return [target, *values_in(value)]
        case Reverse(target=target):
            return [target]
        case Loop():
            lists, starts = [given for given, _ in statement.items], [c.start for c in statement.carries]
            return list(values_in([statement.trips, lists, starts, [x for x, _ in statement.given]]))
        case Tiled(given=given):
            return list(given)
        case If(test=test, then=then):
            return list(values_in([test, [x for x, _ in then.given]]))
        case Guard(value=value) | Fork(value=value):
            return list(values_in(value))
        case Return(outputs=outputs):
            return list(values_in(outputs))
    return []


def writes_of(statement: Statement) -> list[Value]:
    """Return the values that a statement names, for what follows it in its block."""
    match statement:
        case Assign(slots=slots):
            return [slot.value for slot in slots]
        case Effect(call=call):
            return list(call.outs)
        case Unpack(tree=tree):
            return leaves_of(tree)
        case List(target=target):
            return [target]
        case Loop():
            return [*[c.out for c in statement.carries], statement.count]
        case Tiled(whole=whole):
            return list(whole)
        case If(outs=outs):
            return list(outs)
        case Guard(out=out):
            return [out]
    return []


def leaves_of(tree: Any) -> list[Value]:
    """Return the Values in the tree of an argument."""
    if isinstance(tree, Value):
        return [tree]
    parts = children(tree)
    return [] if parts is None else [v for _, part in parts for v in leaves_of(part)]
