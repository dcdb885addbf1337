"""Variables in expressions of the text: their names, what reads them, and assignments to several as if at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import gast

from ....runtime.ir.graph import Call
from .printer import to_source
from .widths import MENTIONS

__all__ = [
    "Pairs",
    "about",
    "alike",
    "assign",
    "call_tree",
    "each_node",
    "is_no_zero",
    "mentions",
    "moves",
    "name_of",
    "name_tree",
    "pairs_of",
    "plain",
]

Pairs = list[tuple[str, Any]]  # variables, and expressions that become their values

_NUMBER = re.compile(r"_\d+$")


def name_tree(name: str, store: bool = False) -> Any:
    """A name, or a dotted path."""
    head, *rest = name.split(".")
    tree = gast.Name(
        id=head, ctx=gast.Store() if store and not rest else gast.Load(), annotation=None, type_comment=None
    )
    for k, part in enumerate(rest):
        tree = gast.Attribute(value=tree, attr=part, ctx=gast.Store() if store and k == len(rest) - 1 else gast.Load())
    return tree


def call_tree(name: str, *args: Any) -> Any:
    """`name(a, b)`."""
    return gast.Call(func=name_tree(name), args=list(args), keywords=[])


def assign(name: str, value: Any) -> Any:
    """`name = value`."""
    return gast.Assign(targets=[name_tree(name, store=True)], value=value, type_comment=None)


def about(call: Call) -> Call:
    """Return the owner of a statement that stands beside `call`, and bears no line of the user's."""
    return Call(call.op, (), (), None, call.backward, call.quiet)


def name_of(tree: Any) -> str | None:
    """The variable that an expression is; None where it is more."""
    return str(tree.id) if isinstance(tree, gast.Name) else None


def pairs_of(statement: Any) -> Pairs:
    """The variables that a statement assigns, each with its value; none where it does something else."""
    if not isinstance(statement, gast.Assign) or len(statement.targets) != 1:
        return []
    (target,), value = statement.targets, statement.value
    if isinstance(target, gast.Name):
        return [(target.id, value)]
    if not isinstance(target, gast.Tuple) or not isinstance(value, gast.Tuple) or not target.elts:
        return []
    names = [name_of(t) for t in target.elts]
    return [] if None in names else [(str(name), v) for name, v in zip(names, value.elts, strict=True)]


def alike(name: str, wish: str | None) -> bool:
    """Whether a variable has the name that is wished for: `b_2` is called `b`, too."""
    return wish is None or plain(name) == plain(wish)


def plain(name: str) -> str:
    """A name without the number that tells it from others."""
    return _NUMBER.sub("", name)


def each_node(tree: Any) -> list[Any]:
    """Return the nodes of a tree in the order of `ast.walk`, which is slower; not those that hold nothing (`Load`, `Add`)."""
    found = [tree]
    for node in found:  # which grows meanwhile
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                found += [part for part in value if isinstance(part, gast.AST)]
            elif isinstance(value, gast.AST) and value._fields:
                found.append(value)
    return found


def mentions(tree: Any) -> frozenset[str]:
    """The variables that an expression reads."""
    found = tree.__dict__.get(MENTIONS)
    if found is None:
        found = tree.__dict__[MENTIONS] = frozenset(node.id for node in each_node(tree) if isinstance(node, gast.Name))
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


def is_no_zero(test: Any, instead: Any, x: Any) -> bool:
    """Whether `np.where(test, instead, x)` is x with another number in place of zero."""
    return (
        isinstance(test, gast.Compare) and isinstance(test.ops[0], gast.Eq) and to_source(test.left) == to_source(x)
        and isinstance(test.comparators[0], gast.Constant) and test.comparators[0].value == 0
        and isinstance(instead, gast.Constant) and instead.value != 0
    )  # fmt: skip
