"""Loops and branches of generated text as statements with statements in them, and assignments that happen at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import gast

from ....runtime.ir.graph import Call
from .inlining import name_tree

__all__ = [
    "Block", "Entries", "Fork", "Pairs", "TileLoop", "about", "alike", "assign", "each_statement", "mentions", "moves",
    "name_of", "plain",
]  # fmt: skip

Entries = list[tuple[Any, Call]]
Pairs = list[tuple[str, Any]]  # variables, and expressions that become their values

_KEY = "gradscribe_mentions"
_NUMBER = re.compile(r"_\d+$")


class Block(NamedTuple):
    """A `while`, `for` or `if`, the statements under it, and those under its `else`."""

    node: Any
    body: Entries
    orelse: Entries


class Fork(NamedTuple):
    """An `if`, the statements under it, and the return that ends them; what follows belongs to the other paths."""

    node: Any
    entries: Entries
    result: Any


class TileLoop(NamedTuple):
    """A loop over tiles: the arrays made before it, the `for`, whose body is `tile = ...` so far, and what follows that."""

    before: list[Any]
    node: Any
    tile: str  # the name of the slice
    entries: Entries
    mixed: bool  # forward and backward calls


def each_statement(entries: Iterable[tuple[Any, Call]]) -> Iterator[tuple[Any, Call]]:
    """The statements of a function, those of loops and branches among them."""
    for statement, call in entries:
        if isinstance(statement, TileLoop):
            yield from ((made, call) for made in (*statement.before, *statement.node.body[:1]))
            yield from each_statement(statement.entries)
        elif isinstance(statement, Fork):
            yield statement.node, call
            yield from each_statement(statement.entries)
        elif isinstance(statement, Block):
            yield statement.node, call
            yield from each_statement((*statement.body, *statement.orelse))
        else:
            yield statement, call


def assign(name: str, value: Any) -> Any:
    """`name = value`."""
    return gast.Assign(targets=[name_tree(name, store=True)], value=value, type_comment=None)


def about(call: Call) -> Call:
    """What a statement belongs to that stands beside `call`, and bears no line of the user's."""
    return Call(call.op, (), (), None, call.backward, call.quiet)


def name_of(tree: Any) -> str | None:
    """The variable that an expression is; None where it is more."""
    return str(tree.id) if isinstance(tree, gast.Name) else None


def alike(name: str, wish: str | None) -> bool:
    """Whether a variable has the name that is wished for: `b_2` is called `b`, too."""
    return wish is None or plain(name) == plain(wish)


def plain(name: str) -> str:
    """A name without the number that tells it from others."""
    return _NUMBER.sub("", name)


def mentions(tree: Any) -> frozenset[str]:
    """The variables that an expression reads."""
    found = tree.__dict__.get(_KEY)
    if found is None:
        found = tree.__dict__[_KEY] = frozenset(node.id for node in gast.walk(tree) if isinstance(node, gast.Name))
    return frozenset(found)


def moves(pairs: Iterable[tuple[str, Any]]) -> list[Any]:
    """Statements that assign all pairs as if at once: in an order in which none is changed that another still reads.

    What goes round in a circle is one statement, `a, b = b, a + b`.
    """
    rest = [(name, tree) for name, tree in pairs if name_of(tree) != name]
    made: list[Any] = []
    while rest:
        group = min((_before(pair, rest) for pair in rest), key=len)
        if len(group) == 1:
            made.append(assign(*group[0]))
        else:
            left, right = zip(*group, strict=True)
            targets = gast.Tuple(elts=[name_tree(name, store=True) for name in left], ctx=gast.Store())
            value = gast.Tuple(elts=list(right), ctx=gast.Load())
            made.append(gast.Assign(targets=[targets], value=value, type_comment=None))
        rest = [pair for pair in rest if pair not in group]
    return made


def _before(pair: tuple[str, Any], pairs: Pairs) -> Pairs:
    """A pair, those that read its variable, those that read theirs, and so on: none of them may come after it."""
    found = [pair]
    for name, _ in found:
        found += [other for other in pairs if other not in found and name in mentions(other[1])]
    return [other for other in pairs if other in found]
