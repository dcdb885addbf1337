"""Many lists that one loop fills and one loop in reverse empties: one list of tuples, of a few values each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import SCAN
from ..passes.scans import Item, Scan, Stacked
from .blocks import assign, plain
from .inlining import name_tree
from .stacks import call_tree

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["Bundle", "bundles_of", "emptied", "named_item", "popped", "unpacked"]

MANY = 4  # lists that are better one
MOST = 6  # values of a tuple, which fit on a line

Bundle = tuple[str, list[Value]]  # a variable, and the stacks whose items stand in its tuples


def bundles_of(emitter: Emitter, scan: Scan) -> list[tuple[str, list[Stacked]]]:
    """The bundles that a loop fills, each with what it is of; `emitter` knows afterwards which stacks are in them."""
    readers: dict[Call, list[Stacked]] = {}
    for y in scan.ys if not scan.loop.reverse else ():
        if emitter.schedule.uses.get(y.out) == 1 and isinstance(y.value, Value) and y.value not in scan.body.inputs:
            user = emitter.schedule.users[y.out][-1]
            if user.op is SCAN and y.out in user.args[2] and user.args[0].reverse:
                readers.setdefault(user, []).append(y)
    found = []
    for ys in readers.values():
        if len(ys) < MANY:
            continue
        size = -(-len(ys) // -(-len(ys) // MOST))
        for part in [ys[k : k + size] for k in range(0, len(ys), size)]:
            name = emitter.names.new("kept")
            found.append((name, part))
            bundle = (name, [y.out for y in part])
            for y in part:
                emitter.bundled[y.out] = bundle
                emitter.trees[y.out] = name_tree(name)
    return found


def emptied(emitter: Emitter, call: Call, xs: list[Item]) -> bool:
    """Whether a loop in reverse may take the items off its lists: they are of this scope, and nobody looks at them again."""
    scan = Scan(call)
    during = {v for v in (*[item.given for item in scan.inv], *[c.start for c in scan.carry]) if isinstance(v, Value)}
    for x in xs:
        maker = emitter.schedule.maker.get(x.given)
        if maker is None or maker.op is not SCAN or emitter.schedule.uses.get(x.given) != 1:
            return False
        if not emitter.free(emitter.trees[x.given].id, call, during):
            return False
    return True


def named_item(emitter: Emitter, body: Emitter, x: Item) -> str:
    """The variable of an item of a list: what it was called where it was put there, if nothing else is called so."""
    name = body.wishes.get(x.param)
    if name is None:
        maker = emitter.schedule.maker.get(x.given)
        value = (
            maker.args[0].body.outputs[maker.outs.index(x.given)] if maker is not None and maker.op is SCAN else None
        )
        before = emitter.called.get(value)
        name = body.stem if before is None else before if body.names.is_free(before) else plain(before)
    name = body.names.new(name)
    body.trees[x.param] = name_tree(name)
    body.called[x.param] = name
    return name


def unpacked(emitter: Emitter, body: Emitter, xs: list[Item], take: Any) -> list[Any]:
    """`a, b = kept.pop()`, or what `take` makes of the name of a list, for each bundle; `body` knows the names afterwards."""
    named = {x.given: x.param for x in xs}
    made = []
    bundles = {emitter.bundled[v][0]: emitter.bundled[v] for v in named if v in emitter.bundled}
    for name, stacks in bundles.values():
        targets = []
        for v in stacks:
            if v not in named:
                targets.append("_")
                continue
            targets.append(named_item(emitter, body, Item(v, named[v])))
        left = gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())
        made.append(gast.Assign(targets=[left], value=take(name), type_comment=None))
    for x in xs:
        if x.given not in emitter.bundled:
            made.append(assign(named_item(emitter, body, x), take(emitter.trees[x.given].id)))
    return made


def popped(name: str) -> Any:
    """`hs.pop()`."""
    return call_tree(f"{name}.pop")
