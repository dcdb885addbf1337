"""Stores in print: `x[...] = new`, or `x += y`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value
from ..schedule.stores import STORE
from .inlining import name_tree
from .signs import with_sign

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["write_store"]

_IN_PLACE = (gast.Add, gast.Sub, gast.Mult, gast.Div)


def write_store(emitter: Emitter, call: Call) -> None:
    """`x[...] = new`; `x += y` where that is the only write and the sum was made for it."""
    x, index, value = call.args
    target, new = emitter.trees[x], emitter.stored(value)
    if index is ... and isinstance(value, Value) and new is target:
        return  # it was written where it is made
    if index is ... and value in emitter.folded and _adds_in_place(emitter, x, value, target, new):
        made = gast.AugAssign(target=name_tree(target.id, store=True), op=new.op, value=new.right)
        emitter.add(with_sign(made) if x.type.dtype.kind == "f" else made, call)
        return
    place = gast.Subscript(value=target, slice=emitter.index(index), ctx=gast.Store())
    emitter.add(gast.Assign(targets=[place], value=new, type_comment=None), call)


def _adds_in_place(emitter: Emitter, x: Value, value: Value, target: Any, new: Any) -> bool:
    """Whether `x = x + y` may be `x += y`: with the same bits, and nothing left undone where it raises."""
    alone = sum(call.op is STORE for call in emitter.facts.graph.calls) == 1
    if not (alone and isinstance(target, gast.Name) and isinstance(new, gast.BinOp) and isinstance(new.op, _IN_PLACE)):
        return False
    left = isinstance(new.left, gast.Name) and new.left.id == target.id
    return left and value.type[:3] == x.type[:3] and x.type.dtype.kind in "fiu"
