"""Regions: the body of a loop, a test or an arm has a walk of its own, which shares names with the one around it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import COND, SCAN
from ..frontend.user_names import line_text
from ..passes.scans import Scan
from ..schedule.program import Statement, calls_of
from .layout import WIDTH
from .terms import BINARY
from .variables import about, alike, assign, moves, name_of, name_tree
from .widths import width

if TYPE_CHECKING:
    from .walk import Walk

__all__ = [
    "append",
    "assign_results",
    "changed",
    "is_deferred",
    "is_read_once",
    "set_targets",
    "walk_within",
]

Pairs = list[tuple[Any, str]]  # results, and the variables that they become

SHORT = 40  # columns of an expression that waits for its turn in `a, b = b, a + b`


def walk_within(
    walk: Walk, body: list[Statement], graph: Graph, names: dict[Value, str | None], steady: bool = True
) -> Walk:
    """Return the walk through the statements of a region; `names` are those of its inputs, and of results that get a variable."""
    made = copy.copy(walk)
    made.trees, made.returns = {}, None
    made.nesting = walk.nesting.block()
    made.indent = walk.indent + 4
    calls = calls_of(body)
    made.naming = walk.naming.region(graph, calls, names)
    made.begin(body, Graph(graph.inputs, calls, graph.outputs), steady and walk.facts.steady)
    walk.naming.named.update(made.naming.wishes)
    return made


def set_targets(walk: Walk, results: Pairs) -> None:
    """Have the results of a region put into variables, and what a loop in it makes such a result of, too."""
    for v, name in results:
        if isinstance(v, Value):
            walk.region.slots.setdefault(v, []).append(name)
    walk.region.at_end = set(walk.region.slots)
    for call in reversed(walk.facts.graph.calls):
        for c in Scan(call).carry if call.op is SCAN else ():
            if c.out in walk.region.slots and c.start in walk.facts.maker and walk.facts.uses.get(c.start) == 1:
                walk.region.slots.setdefault(c.start, []).extend(walk.region.slots[c.out])


def assign_results(walk: Walk, results: Pairs, call: Call) -> None:
    """Write down the assignments that a region ends with: its results to the variables that they become."""
    pending = [(name, v) for v, name in results]
    made = moves((name, walk.tree(v)) for name, v in pending)
    nested = [v for _, v in pending if v in walk.nested]
    owner = about(call)
    if nested and made:
        first = walk.facts.maker[nested[0]]
        owner = Call(call.op, (), (), first.site, first.backward, first.quiet)
    for statement in made:
        walk.add(statement, owner)


def changed(name: str, tree: Any, call: Call) -> Any:
    """`name = tree`; of a number `n += 1`, where the user's line says so, or there is none."""
    (out,) = call.outs
    if out.type.kind != "array" and isinstance(tree, gast.BinOp) and name_of(tree.left) == name:
        sign = next(sign for sign, kind in BINARY.items() if kind is type(tree.op))
        if call.site is None or f" {sign}= " in line_text(call.site):
            return gast.AugAssign(target=name_tree(name, store=True), op=tree.op, value=tree.right)
    return assign(name, tree)


def is_read_once(v: Value, user: Call) -> bool:
    """Whether a loop or a branch reads a value only before it begins: as a start, a number of trips, or a condition."""
    if user.op is COND:
        return user.args[1] is v and v not in user.args[2]
    scan = Scan(user)
    return scan.n is v or any(c.start is v and c.after is not c.param for c in scan.carry)


def is_deferred(walk: Walk, call: Call, tree: Any) -> bool:
    """Whether a result of a region, which is read nowhere else, stays an expression until it goes where it goes."""
    (out,) = call.outs
    if call.op.effect or not walk.may_wait(call):
        return False
    if out in walk.region.deferred:
        return True
    named, room = walk.naming.wishes.get(out), width(tree) + walk.margin(call)
    if out in walk.region.stacked:
        needed = named is not None and not (call.backward and named.startswith("d_"))
        return not needed and room + len(".append()") <= WIDTH
    if out not in walk.region.slots or call.op.may_raise or width(tree) > SHORT:
        return False
    (name,) = walk.region.slots[out]
    one_by_one = len({c.quiet for c in walk.facts.graph.calls}) > 1
    return not one_by_one and (named is None or alike(name, named)) and not walk.free(name, call)


def append(walk: Walk, name: str, tree: Any, call: Call) -> None:
    """`hs.append(h)`."""
    method = gast.Attribute(value=name_tree(name), attr="append", ctx=gast.Load())
    walk.add(gast.Expr(value=gast.Call(func=method, args=[tree], keywords=[])), about(call))
