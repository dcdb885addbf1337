"""Loops and branches of generated text as statements with statements in them, and assignments that are one statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import gast

from ....runtime.ir.graph import Call
from ..frontend.user_names import line_text
from .inlining import name_tree
from .layout import WIDTH
from .widths import MENTIONS, is_sum_of_names, width

__all__ = [
    "Block", "Entries", "Fork", "Pairs", "TileLoop", "about", "alike", "assign", "each_statement", "every_tree", "is_start",
    "mentions",
    "moves", "name_of", "parts_of", "plain", "together",
]  # fmt: skip

Entries = list[tuple[Any, Call]]
Pairs = list[tuple[str, Any]]  # variables, and expressions that become their values

_NUMBER = re.compile(r"_\d+$")
_BACK = 6  # statements that another may come before
_ALIKE = 32  # columns of a value that shares a statement with others of its form
_NAMED = (gast.Attribute, gast.Name, gast.Subscript)
_STARTS = frozenset(["eye", "float32", "float64", "full_like", "ones", "ones_like", "zeros", "zeros_like"])


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


def every_tree(entries: Entries) -> list[Any]:
    """The statements of a function, those of loops and branches among them, and what it returns on its way."""
    forks = [s for s, _ in entries if isinstance(s, Fork)]
    made = [statement for statement, _ in each_statement(entries)]
    while forks:
        made += [fork.result for fork in forks]
        forks = [s for fork in forks for s, _ in fork.entries if isinstance(s, Fork)]
    return made


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
    found = tree.__dict__.get(MENTIONS)
    if found is None:
        found = tree.__dict__[MENTIONS] = frozenset(node.id for node in gast.walk(tree) if isinstance(node, gast.Name))
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


def together(entries: Entries, indent: int, results: Collection[str] = ()) -> Entries:
    """The statements, in loops and branches too, those that can be one assignment as one, where it fits on a line.

    `results` are the variables that the function returns.
    """
    made: Entries = []
    for statement, call in entries:
        if isinstance(statement, Block):
            inner = indent + 4 + 4 * (call.quiet and indent == 4)
            statement = statement._replace(
                body=together(statement.body, inner), orelse=together(statement.orelse, inner)
            )
        elif isinstance(statement, Fork):
            statement = statement._replace(entries=together(statement.entries, indent + 4))
        for k in _before_which(made, (statement, call)):
            joined = _joined(made[k], (statement, call), indent, results)
            if joined is not None:
                made[k] = joined
                break
        else:
            made.append((statement, call))
    return made


def _before_which(made: Entries, entry: tuple[Any, Call]) -> Iterator[int]:
    """The places of statements that another could be one with: the last, and those of its line that it may come before."""
    statement, call = entry
    reads = frozenset[str]().union(*[mentions(value) for _, value in _pairs(statement)])
    for k in range(len(made) - 1, max(len(made) - 1 - _BACK, -1), -1):
        yield k
        between, other = made[k]
        pairs = _pairs(between)
        if not pairs or call.site is None or _place(call) != _place(other) or other.quiet != call.quiet:
            return
        if any(c.op.may_raise or c.op.effect for c in (call, other)) or not reads.isdisjoint(name for name, _ in pairs):
            return
        if any(isinstance(node, gast.keyword) and node.arg == "out" for _, value in pairs for node in gast.walk(value)):
            return


def _joined(
    before: tuple[Any, Call], entry: tuple[Any, Call], indent: int, results: Collection[str]
) -> tuple[Any, Call] | None:
    """Two assignments as one; None where that is not one that a person would write."""
    (first, call), (second, other) = before, entry
    if call.backward != other.backward or call.quiet != other.quiet:
        return None
    left, right = _pairs(first), _pairs(second)
    if not left or not right:
        return None
    names = {name for name, _ in left}
    if any(name in names or not names.isdisjoint(mentions(value)) for name, value in right):
        return None
    pairs = [*left, *right]
    alike = len({_kind(value) for _, value in pairs}) == 1 and _kind(pairs[0][1]) is not None
    if not alike and not (_place(call) == _place(other) and _belongs(pairs, call, results)):
        return None
    targets = gast.Tuple(elts=[_stored(name) for name, _ in pairs], ctx=gast.Store())
    value = gast.Tuple(elts=[value for _, value in pairs], ctx=gast.Load())
    if indent + 4 * (call.quiet and indent == 4) + width(targets) + len(" = ") + width(value) - 4 > WIDTH:
        return None
    owner = call if _place(call) == _place(other) else about(call)
    made = gast.Assign(targets=[targets], value=value, type_comment=None)
    made.parts = (*parts_of(first), *parts_of(second))
    return made, owner


def parts_of(statement: Any) -> tuple[Any, ...]:
    """The assignments that a statement was made of, or it alone."""
    return tuple(getattr(statement, "parts", (statement,)))


def _pairs(statement: Any) -> list[tuple[str, Any]]:
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


def is_start(value: Any) -> bool:
    """Whether a value is what a sum starts from: zeros, a number, or a variable as it is."""
    return _kind(value) == "start"


def _kind(value: Any) -> str | None:
    """What a short value is: what a loop starts from, or an item of something; None for what is computed."""
    if isinstance(value, gast.List):
        return None if value.elts else "start"
    if isinstance(value, gast.Call) and isinstance(value.func, gast.Attribute):
        called = value.func.value
        return "start" if name_of(called) == "np" and value.func.attr in _STARTS else None
    if isinstance(value, (gast.Constant, gast.Name)):
        return "start"
    if isinstance(value, gast.Subscript) and isinstance(value.value, gast.Name):
        return "item" if isinstance(value.slice, (gast.Constant, gast.Name)) else None
    return None


def _belongs(pairs: list[tuple[str, Any]], call: Call, results: Collection[str]) -> bool:
    """Whether assignments of one line of the user's are one: the user's, results, or short ones of the same form."""
    if all(name in results for name, _ in pairs) or _is_users(pairs, call):
        return True
    forms = {_form(value) if width(value) <= _ALIKE else None for _, value in pairs}
    return len(forms) == 1 and None not in forms


def _form(value: Any) -> str | None:
    """What a short computation is but for the names in it, and the functions of NumPy's; None for anything else."""
    if isinstance(value, gast.BinOp):
        parts, form = [value.left, value.right], type(value.op).__name__
    elif isinstance(value, gast.UnaryOp):
        parts, form = [value.operand], type(value.op).__name__
    elif isinstance(value, gast.Call) and name_of(getattr(value.func, "value", None)) == "np" and not value.keywords:
        parts, form = value.args, "np"
    else:
        return None
    forms = [_word(part) or _form(part) for part in parts]
    return None if None in forms else f"{form}{forms}"


def _word(part: Any) -> str | None:
    """The kind of an operand: a number, a variable or a part of one, or one such more or less than another."""
    if isinstance(part, gast.Constant):
        return "number"
    return "name" if isinstance(part, _NAMED) or is_sum_of_names(part) else None


def _is_users(pairs: list[tuple[str, Any]], call: Call) -> bool:
    """Whether the user has assigned all these variables in one statement, or those whose cotangents lead to them."""
    if call.site is None:
        return False
    try:
        body = ast.parse(line_text(call.site)).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or not isinstance(body[0].value, ast.Tuple):
        return False
    (target, *others) = body[0].targets
    if others or not isinstance(target, ast.Tuple):
        return False
    names = {t.id for t in target.elts if isinstance(t, ast.Name)}
    if call.backward:
        return all(name.startswith("d_") for name, _ in pairs)
    return all(plain(name) in names for name, _ in pairs)


def _place(call: Call) -> Any:
    return None if call.site is None else (call.site.code.co_filename, call.site.line)


def _stored(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
