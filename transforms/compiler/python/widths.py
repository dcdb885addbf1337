"""Widths of expressions in print, told from their trees: each node is measured once."""

from __future__ import annotations

from typing import Any

import gast

from .expressions import ATOM, TUPLE, rank_by_name
from .printer import to_source

__all__ = [
    "MENTIONS",
    "SHORT",
    "breaks_well",
    "forget",
    "is_product_of_counts",
    "is_sum_of_counts",
    "is_sum_of_names",
    "width",
]

_KEY = "gradscribe_width"
MENTIONS = "gradscribe_mentions"  # where the names in a tree are noted down

SHORT = 20  # columns of a sum of lengths that is written wherever it is read


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


def is_sum_of_names(tree: Any) -> bool:
    """Whether an expression adds or subtracts one variable or constant, and another."""
    words = (gast.Name, gast.Constant)
    added = isinstance(tree, gast.BinOp) and isinstance(tree.op, (gast.Add, gast.Sub))
    return added and isinstance(tree.left, words) and isinstance(tree.right, words)


def is_product_of_counts(tree: Any) -> bool:
    """Whether an expression only multiplies and divides lengths and constants."""
    if isinstance(tree, gast.BinOp):
        scaled = isinstance(tree.op, (gast.Mult, gast.Div))
        return scaled and is_product_of_counts(tree.left) and is_product_of_counts(tree.right)
    if isinstance(tree, gast.UnaryOp):
        return isinstance(tree.op, gast.USub) and is_product_of_counts(tree.operand)
    return isinstance(tree, gast.Constant) or (not isinstance(tree, gast.Name) and is_sum_of_counts(tree))


def breaks_well(tree: Any, first: int, room: int) -> bool:
    """Whether an expression that is too long for a row reads well on several.

    It is a sum or product of three or more, each on a row of its own, or a sum of two that neither begins nor ends with
    brackets, or one of two that ends in brackets. `first` is the room in the first row.
    """
    if not isinstance(tree, gast.BinOp):
        return False
    rank, operands, left = _rank(tree), [tree.right], tree.left
    while isinstance(left, gast.BinOp) and _rank(left) == rank:
        operands.append(left.right)
        left = left.left
    if len(operands) > 1 or (isinstance(tree.op, (gast.Add, gast.Sub)) and _is_bare(tree)):
        rows = [_operand(left, rank), *[2 + _operand(operand, rank + 1) for operand in operands]]
        return max(rows) <= room
    last, least = tree.right, rank + 1
    while isinstance(last, gast.BinOp) and _rank(last) >= least:
        last, least = last.right, _rank(last) + 1
    grouped = isinstance(last, (gast.BinOp, gast.UnaryOp)) and TUPLE < _rank(last) < least
    return grouped and width(last) > SHORT and width(tree) - width(last) - 1 <= first and width(last) <= room


def _is_bare(tree: Any) -> bool:
    """Whether an operation neither begins nor ends with a bracket, but for an index at its end."""
    first, last = tree, tree
    while isinstance(first, (gast.BinOp, gast.Attribute, gast.Call, gast.Subscript)):
        inner = (
            first.left if isinstance(first, gast.BinOp) else first.func if isinstance(first, gast.Call) else first.value
        )
        if TUPLE < _rank(inner) < (_rank(first) if isinstance(first, gast.BinOp) else ATOM):
            return False
        first = inner
    while isinstance(last, gast.BinOp):
        if TUPLE < _rank(last.right) < _rank(last) + 1:
            return False
        last = last.right
    empty = isinstance(last, gast.Call) and not (last.args or last.keywords)
    return isinstance(first, (gast.Name, gast.Constant, gast.UnaryOp)) and (
        empty or isinstance(last, (gast.Name, gast.Constant, gast.Attribute, gast.Subscript))
    )


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
