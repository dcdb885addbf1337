"""Bundles in print: lists of tuples, which one loop fills and one loop in reverse walks; of a loop in a loop each is a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import SCAN
from ..passes.scans import Item
from ..schedule.program import List, Loop, Push, straight
from .variables import alike, name_tree, plain

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["Bundle", "bundles_of", "named_item", "unpacked"]

ROW, ROWS, SAVED = "row", "rows", "saved"
Bundle = tuple[str, list[Value]]  # a variable, and the stacks whose items stand in its tuples


def bundles_of(walk: Walk, loop: Loop) -> list[tuple[str, Push]]:
    """The bundles that a loop fills; `walk` knows afterwards which stacks are in them."""
    lists = {s.target: s.of for s in straight(walk.facts.body) if isinstance(s, List)}
    rows = {s.value for s in straight(walk.facts.body) if isinstance(s, Push) and isinstance(s.value, Value)}
    found = []
    for push in loop.body:
        if isinstance(push, Push) and lists[push.target]:
            of_rows = not isinstance(push.value, tuple)
            word = ROWS if of_rows else ROW if push.target in rows else SAVED
            name = walk.naming.names.new(_of_ours(loop.call, word))
            found.append((name, push))
            stacks = list(lists[push.target])
            walk.lists.bundled |= dict.fromkeys(stacks, (name, stacks))
            walk.lists.rows |= dict.fromkeys(stacks, name) if of_rows else {}
            walk.naming.called |= dict.fromkeys(stacks, name)
            walk.trees |= {v: name_tree(name) for v in (*stacks, push.target)}
    return found


def named_item(walk: Walk, body: Walk, x: Item) -> str:
    """The variable of an item of a list: what it was called where it was put there, if nothing else is called so."""
    name = body.naming.wishes.get(x.param)
    maker = walk.facts.maker.get(x.given)
    filled = maker.args[0].body if maker is not None and maker.op is SCAN else None
    value = _put_on(walk, x.given)
    before = walk.naming.called.get(value)
    if before is not None and alike(before, name):
        name = before if body.naming.names.is_free(before) else plain(before)
    if name is not None and body.region.reusable(name, x.param):
        pass  # its value is dead by then
    elif name is not None and filled is not None and value in filled.inputs and not body.naming.names.is_free(name):
        name = f"{plain(name)}_before"  # what was carried when a trip began
    if name is None or not body.region.reusable(name, x.param):
        name = body.naming.names.new(name or body.naming.stem)
    body.trees[x.param] = name_tree(name)
    body.naming.called[x.param] = name
    return name


def _of_ours(call: Call, word: str) -> str:
    """Return a word for a list that a loop fills; another one where the user has it for something in that function."""
    taken = call.site is not None and word in call.site.code.co_varnames
    return f"{SAVED}_{word}" if taken and word != SAVED else word


def _put_on(walk: Walk, stack: Value) -> Any:
    """The value of a trip that a loop puts on a list; None where that is not known."""
    if stack in walk.lists.origins:
        return walk.lists.origins[stack]
    maker = walk.facts.maker.get(stack)
    return maker.args[0].body.outputs[maker.outs.index(stack)] if maker is not None and maker.op is SCAN else None


def unpacked(walk: Walk, body: Walk, name: str, xs: list[Item]) -> Any:
    """The variables of what stands in a tuple of a bundle, or that of a row, as a target; `body` knows the names afterwards."""
    params = {x.given: x.param for x in xs}
    (stacks,) = {
        id(found): found for given, found in walk.lists.bundled.items() if given in params and found[0] == name
    }.values()
    if name in walk.lists.rows.values():
        return name_tree(_row(walk, body, stacks[1], params), store=True)
    targets = [named_item(walk, body, Item(v, params[v])) if v in params else "_" for v in stacks[1]]
    return gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())


def _row(walk: Walk, body: Walk, stacks: list[Value], params: dict[Value, Value]) -> str:
    """The variable of a row; `body` knows afterwards the lists that are one in it."""
    name = body.naming.names.new(walk.naming.called.get(_put_on(walk, stacks[0]), ROW))
    parts = [params.get(v, v) for v in stacks]
    body.lists.bundled |= dict.fromkeys(parts, (name, parts))
    body.trees |= {v: name_tree(name) for v in parts}
    for v, part in zip(stacks, parts, strict=True):
        inner = _put_on(walk, v)  # the list of one trip
        filled = walk.facts.maker[v].args[0].body
        maker = next((call for call in filled.calls if inner in call.outs), None)
        if maker is not None and maker.op is SCAN:
            body.lists.origins[part] = maker.args[0].body.outputs[maker.outs.index(inner)]
    return name
