"""Conditions of guards, as expressions: under which one holds, or fails."""

from __future__ import annotations

from typing import Any

import gast

from ....runtime.ir.graph import Call
from .inlining import name_tree
from .literals import constant_tree

__all__ = ["condition"]


def condition(guard: Call, tree: Any, fails: bool = False) -> Any:
    """`s > 0` or `int(n) == 3` where the value is written `tree`; with `fails` its negation."""
    value, how, expect = guard.args
    if how == "bool":
        return tree if expect is not fails else gast.UnaryOp(op=gast.Not(), operand=tree)
    shown: Any = tree
    if how == "item":
        if value.type.kind != "python":
            shown = gast.Call(func=gast.Attribute(value=tree, attr="item", ctx=gast.Load()), args=[], keywords=[])
    elif how != "index":
        shown = gast.Call(func=name_tree(how), args=[tree], keywords=[])
    if isinstance(expect, (float, complex)) and (expect != expect or 0 in (expect.real, expect.imag)):
        shown, expect = gast.Call(func=name_tree("repr"), args=[shown], keywords=[]), repr(expect)  # -0.0 and nan
    sign = gast.NotEq() if fails else gast.Eq()
    return gast.Compare(left=shown, ops=[sign], comparators=[constant_tree(expect)])
