"""Widths of expressions in print, told from their trees: each node is measured once."""

from __future__ import annotations

from typing import Any

import gast

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.known_ops import GETITEM
from .expressions import ATOM, TUPLE, rank_by_name
from .inlining import body_width
from .printer import to_source

__all__ = ["MENTIONS", "SHORT", "forget", "is_sum_of_counts", "width", "width_around"]

_KEY = "gradscribe_width"
MENTIONS = "gradscribe_mentions"  # where the names in a tree are noted down

SHORT = 16  # columns of a sum of lengths that is written wherever it is read


def forget(tree: Any) -> None:
    """Measure an expression anew, of which a name has changed."""
    for key in (_KEY, MENTIONS):
        tree.__dict__.pop(key, None)


def width(tree: Any) -> int:
    """The columns that an expression takes on one line."""
    known = tree.__dict__.get(_KEY)
    if known is None:
        known = tree.__dict__[_KEY] = _measured(tree)
    return int(known)


def width_around(out: Value, user: Call, trees: dict[Value, Any]) -> int:
    """About how wide the call `user` is without its argument `out`, where `trees` says how the others are written."""
    if user.op.inline:
        return body_width(user) + sum(width(trees[v]) for v in user.reads if v is not out and v in trees)

    def argument(x: Any) -> int:
        if isinstance(x, Value):
            return 0 if x is out else 2 + (width(trees[x]) if x in trees else 4)
        if isinstance(x, (tuple, list)):
            return 2 + sum(map(argument, x))
        if isinstance(x, slice):
            return 3 + sum(argument(part) for part in (x.start, x.stop, x.step) if part is not None)
        return 2 + len(x if isinstance(x, str) else repr(x))

    positional, keywords = user.op.call_form(user.args)
    own = 3 if user.op.infix is not None or user.op.base is GETITEM else len(user.op.path) + 2
    return own + sum(map(argument, (*positional, *keywords.items())))


def is_sum_of_counts(tree: Any) -> bool:
    """Whether an expression only adds and subtracts lengths, variables and constants, or divides by such a constant."""
    if isinstance(tree, gast.BinOp):
        if isinstance(tree.op, gast.FloorDiv):
            return isinstance(tree.right, (gast.Constant, gast.UnaryOp)) and is_sum_of_counts(tree.left)
        added = isinstance(tree.op, (gast.Add, gast.Sub))
        return added and is_sum_of_counts(tree.left) and is_sum_of_counts(tree.right)
    if isinstance(tree, gast.Subscript):
        return isinstance(tree.slice, gast.Constant) and is_sum_of_counts(tree.value)
    if isinstance(tree, gast.Attribute):
        return tree.attr in ("shape", "size") and isinstance(tree.value, gast.Name)
    return isinstance(tree, (gast.Name, gast.Constant))


def _measured(tree: Any) -> int:
    if isinstance(tree, gast.Name):
        return len(tree.id)
    if isinstance(tree, gast.Attribute):
        return _operand(tree.value, ATOM) + 1 + len(tree.attr)
    if isinstance(tree, gast.Constant):
        return 3 if tree.value is ... else len(repr(tree.value))
    if isinstance(tree, gast.BinOp):
        own = _rank(tree)
        sign = 2 if isinstance(tree.op, (gast.Pow, gast.FloorDiv)) else 1
        return _operand(tree.left, own) + sign + 2 + _operand(tree.right, own + 1)
    if isinstance(tree, gast.UnaryOp):
        return 1 + 3 * isinstance(tree.op, gast.Not) + _operand(tree.operand, _rank(tree))
    if isinstance(tree, gast.Call):
        parts = [width(a) for a in tree.args] + [len(k.arg or "*") + 1 + width(k.value) for k in tree.keywords]
        return _operand(tree.func, ATOM) + 2 + _listed(parts)
    if isinstance(tree, gast.Subscript):
        inside = [width(e) for e in tree.slice.elts] if isinstance(tree.slice, gast.Tuple) else [width(tree.slice)]
        return _operand(tree.value, ATOM) + 2 + _listed(inside)
    if isinstance(tree, (gast.Tuple, gast.List)):
        return 2 + (len(tree.elts) == 1) + _listed([width(e) for e in tree.elts])
    return len(to_source(tree))


def _listed(parts: list[int]) -> int:
    return sum(parts) + 2 * max(len(parts) - 1, 0)


def _operand(tree: Any, least: int) -> int:
    return width(tree) + 2 * (TUPLE < _rank(tree) < least)


def _rank(tree: Any) -> int:
    return rank_by_name(type(tree.op if isinstance(tree, (gast.BinOp, gast.UnaryOp)) else tree).__name__)
