"""Signs in print: `a + -b * c` is `a - b * c`, and two that cancel are not written.

A sign is never rounded: `(-a) * b`, `(-a) / b` and `-(a * b)` are the same float, and `a + (-b)` is `a - b`. So are
they not for integers without a sign, nor for sums and matrix products, where zeros that cancel lose theirs: those are
left as they are.
"""

from __future__ import annotations

from typing import Any

import gast

__all__ = ["SIGNED", "negated", "with_sign"]

_KEY = "gradscribe_real"


def _marked(tree: Any) -> Any:
    """`tree`, known to be a negation, product or quotient of real floats."""
    tree.__dict__[_KEY] = True
    return tree


def _without_minus(tree: Any) -> Any | None:
    """The expression whose negation `tree` is, if a sign can be taken from it."""
    if isinstance(tree, gast.UnaryOp) and isinstance(tree.op, gast.USub):
        return tree.operand if _KEY in tree.__dict__ or isinstance(tree.operand, gast.Constant) else None
    if not isinstance(tree, gast.BinOp) or _KEY not in tree.__dict__:
        return None
    left = _without_minus(tree.left)
    if left is not None:
        return _marked(gast.BinOp(left=left, op=tree.op, right=tree.right))
    right = _without_minus(tree.right)
    return None if right is None else _marked(gast.BinOp(left=tree.left, op=tree.op, right=right))


def _added(left: Any, right: Any) -> Any:
    minus = _without_minus(right)
    if minus is not None:
        return gast.BinOp(left=left, op=gast.Sub(), right=minus)
    minus = _without_minus(left)
    if minus is not None and not _is_led_by_literal(left):
        return gast.BinOp(left=right, op=gast.Sub(), right=minus)
    return gast.BinOp(left=left, op=gast.Add(), right=right)


def _is_led_by_literal(tree: Any) -> bool:
    """Whether an expression begins with a number, such as -0.5, and its sign reads well where it stands."""
    while isinstance(tree, gast.BinOp):
        tree = tree.left
    return isinstance(tree, gast.UnaryOp) and isinstance(tree.operand, gast.Constant)


def _subtracted(left: Any, right: Any) -> Any:
    minus = _without_minus(right)
    if minus is not None:
        return gast.BinOp(left=left, op=gast.Add(), right=minus)
    return gast.BinOp(left=left, op=gast.Sub(), right=right)


def negated(tree: Any) -> Any:
    """`-tree`."""
    plain = _without_minus(tree)
    if plain is None:
        plain = _led_by_minus(tree)
    return _marked(gast.UnaryOp(op=gast.USub(), operand=tree)) if plain is None else plain


def _led_by_minus(tree: Any) -> Any | None:
    """`-2 * x` for `2 * x`."""
    if not isinstance(tree, gast.BinOp) or _KEY not in tree.__dict__:
        return None
    if isinstance(tree.left, gast.Constant):
        left: Any = gast.UnaryOp(op=gast.USub(), operand=tree.left)
    else:
        left = _led_by_minus(tree.left)
    return None if left is None else _marked(gast.BinOp(left=left, op=tree.op, right=tree.right))


def _multiplied(left: Any, right: Any, op: type = gast.Mult) -> Any:
    a, b = _without_minus(left), _without_minus(right)
    if a is None or b is None:
        return _marked(gast.BinOp(left=left, op=op(), right=right))
    return _marked(gast.BinOp(left=a, op=op(), right=b))


def _divided(left: Any, right: Any) -> Any:
    return _multiplied(left, right, gast.Div)


def with_sign(statement: Any) -> Any:
    """`x[i] -= y` for `x[i] += -y`."""
    if isinstance(statement, gast.AugAssign) and isinstance(statement.op, gast.Add):
        plain = _without_minus(statement.value)
        if plain is not None:
            return gast.AugAssign(target=statement.target, op=gast.Sub(), value=plain)
    return statement


SIGNED = {"+": _added, "-": _subtracted, "*": _multiplied, "/": _divided}  # how they are written of real floats
