"""Bundles in print: lists of tuples, which one loop fills and one loop in reverse walks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Value
from ....runtime.ir.opcodes import SCAN
from ..passes.scans import Item
from ..schedule.program import List, Loop, Push, straight
from .blocks import alike, plain
from .inlining import name_tree

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["Bundle", "bundles_of", "named_item", "unpacked"]

Bundle = tuple[str, list[Value]]  # a variable, and the stacks whose items stand in its tuples


def bundles_of(emitter: Emitter, loop: Loop) -> list[tuple[str, Push]]:
    """The bundles that a loop fills; `emitter` knows afterwards which stacks are in them."""
    lists = {s.target: s.of for s in straight(emitter.facts.body) if isinstance(s, List)}
    found = []
    for push in loop.body:
        if isinstance(push, Push) and lists[push.target]:
            name = emitter.naming.names.new("saved")
            found.append((name, push))
            stacks = list(lists[push.target])
            emitter.lists.bundled |= dict.fromkeys(stacks, (name, stacks))
            emitter.trees |= {v: name_tree(name) for v in stacks}
    return found


def named_item(emitter: Emitter, body: Emitter, x: Item) -> str:
    """The variable of an item of a list: what it was called where it was put there, if nothing else is called so."""
    name = body.naming.wishes.get(x.param)
    maker = emitter.facts.maker.get(x.given)
    filled = maker.args[0].body if maker is not None and maker.op is SCAN else None
    value = filled.outputs[maker.outs.index(x.given)] if filled is not None and maker is not None else None
    before = emitter.naming.called.get(value)
    if before is not None and alike(before, name):
        name = before if body.naming.names.is_free(before) else plain(before)
    if name is not None and body.region.spare(name, x.param):
        pass  # its value is dead by then
    elif name is not None and filled is not None and value in filled.inputs and not body.naming.names.is_free(name):
        name = f"{plain(name)}_before"  # what was carried when a trip began
    if name is None or not body.region.spare(name, x.param):
        name = body.naming.names.new(name or body.naming.stem)
    body.trees[x.param] = name_tree(name)
    body.naming.called[x.param] = name
    return name


def unpacked(emitter: Emitter, body: Emitter, name: str, xs: list[Item]) -> Any:
    """The variables of what stands in a tuple of a bundle, as a target; `body` knows the names afterwards."""
    params = {x.given: x.param for x in xs}
    (stacks,) = {
        id(found): found for given, found in emitter.lists.bundled.items() if given in params and found[0] == name
    }.values()
    targets = [named_item(emitter, body, Item(v, params[v])) if v in params else "_" for v in stacks[1]]
    return gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())
