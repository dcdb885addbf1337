"""Bundles: many lists that one loop fills and one loop in reverse walks are one list of tuples.

So are those of a loop in a loop, which is a row: the outer one puts a row on a list where it would put a list for each value.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Type, Value, values_in
from ....runtime.ir.opcodes import SCAN, STACK
from ..passes.scans import Scan
from .blocks import Block, changed
from .program import List, Loop, Program, Push, Statement, writes_of

__all__ = ["bundled"]

MANY = 2  # lists that are better one


def bundled(program: Program) -> Program:
    """Return the program with bundles in place of many lists."""
    return changed(changed(program, _with_rows), _block)


class _Row(NamedTuple):
    """Lists that a loop in a loop fills and one in the reverse of the outer loop walks."""

    filling: Loop  # the inner loop
    walking: Loop
    lists: list[Value]  # of one trip of the outer loop
    outer: list[Value]  # the lists of all these
    params: list[Value]  # what the reverse of the outer loop takes from those


def _with_rows(block: Block) -> list[Statement]:
    """Return the statements of a block with rows in place of lists of lists."""
    body = block.body
    for loop in [s for s in body if isinstance(s, Loop) and not s.reverse]:
        for back in [s for s in body if isinstance(s, Loop) and s.reverse]:
            for row in _rows(block, loop, back):
                body = _in_rows(body, loop, back, row)
                loop, back = _now(body, loop), _now(body, back)
    return body


def _rows(block: Block, loop: Loop, back: Loop) -> list[_Row]:
    """Return the rows of two loops, one of which walks in reverse what the other has filled."""
    given = {s.value: s.target for s in loop.body if isinstance(s, Push) and isinstance(s.value, Value)}
    taken = {stack: item for stack, item in back.items if isinstance(item, Value) and block.uses.get(stack) == 1}
    read = Counter(
        [v for call in Scan(back.call).calls for v in call.reads] + list(values_in(Scan(back.call).body.outputs))
    )
    found = []
    for inner in [s for s in loop.body if isinstance(s, Loop)]:
        made = {v for s in inner.body for v in writes_of(s)}
        pushed = {s.target: s.value for s in inner.body if isinstance(s, Push) and s.value in made}
        for other in [s for s in back.body if isinstance(s, Loop) and s.reverse is not inner.reverse]:
            walked: set[Any] = {stack for stack, _ in other.items if read[stack] == 1}
            lists = [v for v in pushed if v in given and taken.get(given[v]) in walked]
            if len(lists) >= MANY:
                outer = [given[v] for v in lists]
                found.append(_Row(inner, other, lists, outer, [taken[v] for v in outer]))
    return found


def _now(body: list[Statement], loop: Loop) -> Loop:
    """Return a loop as it stands in a block by now."""
    return next(s for s in body if isinstance(s, Loop) and s.call is loop.call)


def _in_rows(body: list[Statement], loop: Loop, back: Loop, row: _Row) -> list[Statement]:
    """Return the statements of a block with one row in place of lists."""
    one, whole, param = (Value(Type(STACK, np.dtype(object), (), ())) for _ in range(3))
    filling, walking = _now(loop.body, row.filling), _now(back.body, row.walking)
    single, all_of = List(one, filling.note, tuple(row.lists)), List(whole, loop.note, tuple(row.outer))
    filled = _filling(filling, [single], dict.fromkeys(row.lists, single))
    inner = [s for s in loop.body if not (isinstance(s, Push) and s.value in row.lists)]
    inner = [filled if s is filling else s for s in _with_list(inner, single)] + [Push(whole, one, loop.note)]
    items = dict(walking.items)
    kept = tuple([(stack, item) for stack, item in walking.items if stack not in row.params])
    walked = dataclasses.replace(walking, items=((param, tuple([items[p] for p in row.params])), *kept))
    outside = tuple([(stack, item) for stack, item in back.items if stack not in row.outer])
    reverse = [walked if s is walking else s for s in back.body]
    made = {
        loop: dataclasses.replace(loop, body=inner),
        back: dataclasses.replace(back, items=((whole, param), *outside), body=reverse),
    }
    return [made.get(s, s) if isinstance(s, Loop) else s for s in _with_list(body, all_of)]


def _with_list(body: list[Statement], made: List) -> list[Statement]:
    """Return the statements with one list in place of those whose items it has."""
    places = [k for k, s in enumerate(body) if isinstance(s, List) and s.target in made.of]
    return [made if k == places[0] else s for k, s in enumerate(body) if k not in places[1:]]


def _block(block: Block) -> list[Statement]:
    """Return the statements of a block with bundles."""
    body = block.body
    bundles: dict[Loop, list[List]] = {}  # by the loop that fills them, one for each that reads them
    for loop in [s for s in body if isinstance(s, Loop) and not s.reverse]:
        parts = _parts(block, loop)
        if parts:
            bundles[loop] = [List(Value(Type(STACK, np.dtype(object), (), ())), loop.note, tuple(ys)) for ys in parts]
    if not bundles:
        return body
    of = {v: made for lists in bundles.values() for made in lists for v in made.of}
    first = {loop: _first_list(body, loop) for loop in bundles}
    result: list[Statement] = []
    for k, statement in enumerate(body):
        for loop in [loop for loop, place in first.items() if place == k]:
            result += bundles[loop]
        if isinstance(statement, List) and statement.target in of:
            continue
        if isinstance(statement, Loop):
            if statement in bundles:
                result.append(_filling(statement, bundles[statement], of))
                continue
            if any(stack in of for stack, _ in statement.items):
                statement = dataclasses.replace(statement, items=_items(statement, of))
        result.append(statement)
    return result


def _parts(block: Block, loop: Loop) -> list[list[Value]]:
    """Return the lists of each bundle that a loop fills: those that are read once, by one loop in reverse."""
    carried = {c.param for c in loop.carries if c.after is not c.param}
    made = {v for s in loop.body for v in writes_of(s)} | carried
    pushed = {s.target: s.value for s in loop.body if isinstance(s, Push)}
    readers: dict[Call, list[Value]] = {}
    for stack in loop.call.outs:
        value = pushed.get(stack)
        if isinstance(value, Value) and value in made and block.uses.get(stack) == 1:
            user = block.users[stack][-1]
            if user.op is SCAN and stack in user.args[2] and user.args[0].reverse:
                readers.setdefault(user, []).append(stack)
    found = []
    for stacks in readers.values():
        if len(stacks) <= MANY:
            # what a trip begins with has a list of its own, so that no variable is to be told from it
            stacks = [stack for stack in stacks if pushed[stack] not in carried]
        if len(stacks) >= MANY:
            found.append(stacks)
    return found


def _first_list(body: list[Statement], loop: Loop) -> int:
    """Return the place of the first list that a loop fills."""
    targets = {s.target for s in loop.body if isinstance(s, Push)}
    return next(k for k, s in enumerate(body) if isinstance(s, List) and s.target in targets)


def _filling(loop: Loop, bundles: list[List], of: dict[Value, List]) -> Loop:
    """Return a loop that puts a tuple on each bundle at the end of a trip."""
    values = {s.target: s.value for s in loop.body if isinstance(s, Push)}
    body = [s for s in loop.body if not (isinstance(s, Push) and s.target in of)]
    body += [Push(bundle.target, tuple(values[v] for v in bundle.of), loop.note) for bundle in bundles]
    return dataclasses.replace(loop, body=body, items=_items(loop, of))


def _items(loop: Loop, of: dict[Value, List]) -> tuple[tuple[Value, Any], ...]:
    """Return what a trip takes from lists: of a bundle a tuple, with None for what it does not read; bundles first."""
    names = dict(loop.items)
    bundles = dict.fromkeys(of[stack] for stack in names if stack in of)
    taken = [(bundle.target, tuple(names.get(v) for v in bundle.of)) for bundle in bundles]
    return (*taken, *[(stack, item) for stack, item in loop.items if stack not in of])
