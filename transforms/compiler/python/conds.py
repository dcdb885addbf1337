"""Names and lines of branches: their results are under one name in both arms, or it is `a if test else b`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import COND
from ..schedule.program import Assign, Branch, If
from .entries import Block, Entries, entries_of
from .layout import WIDTH
from .lines import IfLines, Lines
from .printer import to_source
from .region import assign_results, set_targets, walk_within
from .stacks import note_lengths
from .variables import about, alike, assign, mentions, name_of, name_tree
from .widths import width

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["write_cond"]


def write_cond(walk: Walk, chosen: If) -> If:
    """Write a branch down; return it as it is written."""
    call = chosen.call
    branch, pred, ins = call.args
    test = walk.tree(pred)
    wanted = [k for k, out in enumerate(call.outs) if out in walk.facts.uses]
    targets: dict[int, str] = {}
    for k in wanted:
        targets[k] = _target(walk, chosen, k, list(targets.values()))
    arms: list[Branch] = []
    closing: list[Lines] = []
    lengths = []
    for graph, its in zip(branch, (chosen.then, chosen.orelse), strict=True):
        given = dict(zip(graph.inputs, ins, strict=True))
        names = {v: walk.naming.wishes.get(x) for v, x in given.items() if isinstance(x, Value)}
        arm = walk_within(walk, its.body, graph, names)
        arm.trees = {v: walk.tree(x) for v, x in given.items()}
        arm.lists.lengths = {v: walk.lists.lengths[x] for v, x in given.items() if x in walk.lists.lengths}
        arm.region.outer = {name for tree in arm.trees.values() for name in mentions(tree)}
        results = [(graph.outputs[k], name) for k, name in targets.items() if not _is_left_out(walk, call, graph, k)]
        set_targets(arm, results)
        arm.write(its.body)
        assign_results(arm, results, about(call))
        closing.append(arm.take())
        arms.append(its._replace(body=arm.nesting.close(arm.trees, arm.nested)))
        lengths.append(arm.lists.lengths)
    for k, name in targets.items():
        walk.trees[call.outs[k]] = name_tree(name)
        walk.naming.called[call.outs[k]] = name
    note_lengths(walk, call, lengths)
    then, orelse = [[*entries_of(arm.body), *lines] for arm, lines in zip(arms, closing, strict=True)]
    whole = _choice(walk, call, test, then, orelse) if "nesting" in walk.steps else None
    asked = walk.order is not None and walk.order.has_effect(walk, pred)
    written = None if whole is None else ((whole, call),)
    negated = not then and bool(orelse)
    joined = _is_one_branch(orelse if negated else then) and (negated or not orelse)
    lines = IfLines(walk.take(), test, (closing[0], closing[1]), written, asked, negated, joined)
    return dataclasses.replace(chosen, then=arms[0], orelse=arms[1], expression=whole is not None, lines=lines)


def _target(walk: Walk, chosen: If, k: int, taken: list[str]) -> str:
    """The variable that a result becomes in both arms: one that an arm has it in already, if nobody reads that again."""
    call = chosen.call
    out = call.outs[k]
    wish = walk.naming.wishes.get(out)
    for name in walk.region.slots.get(out, ()):
        if name not in taken and walk.free(name, call):
            return name
    for given in _givens(chosen, k):
        held = name_of(walk.trees[given]) if isinstance(given, Value) else None
        if held is None or wish is None or not alike(held, wish) or held in {*taken, *walk.region.outer}:
            continue
        if walk.free(held, call):
            return held
    return walk.fresh(out)


def _givens(chosen: If, k: int) -> list[Any]:
    """What the branch was given of which an arm makes its k-th result as it is, or by writing into its memory."""
    branch, _, ins = chosen.call.args
    found = []
    for graph, arm in zip(branch, (chosen.then, chosen.orelse), strict=True):
        v = graph.outputs[k]
        for statement in reversed(arm.body):
            if isinstance(statement, Assign) and v in statement.call.outs and statement.is_over():
                (v,) = statement.slots[0].of
            elif isinstance(statement, If) and v in statement.call.outs:
                v = next(iter(_givens(statement, statement.call.outs.index(v))), v)
        if isinstance(v, Value) and v in graph.inputs:
            found.append(ins[graph.inputs.index(v)])
    return found


def _is_left_out(walk: Walk, call: Call, graph: Graph, k: int) -> bool:
    """Whether a result is nothing in this arm, and read only in such arms of other branches as this one is not followed by."""
    out = call.outs[k]
    if graph.outputs[k] is not None or out in walk.facts.outputs:
        return False
    arm = list(call.args[0]).index(graph)
    for user in walk.facts.users.get(out, []):
        if user.op is not COND or user.args[1] is not call.args[1]:
            return False
        other = user.args[0][arm]
        for v, given in zip(other.inputs, user.args[2], strict=True):
            if given is out and (v in other.outputs or any(v in inner.reads for inner in other.calls)):
                return False
    return True


def _is_one_branch(entries: Entries) -> bool:
    """Whether the lines of an arm are one branch, which has one arm."""
    line = entries[0][0] if len(entries) == 1 else None
    return isinstance(line, Block) and isinstance(line.node, gast.If) and not line.orelse


def _choice(walk: Walk, call: Call, test: Any, then: Entries, orelse: Entries) -> Any:
    """`c = b if test else 100 * b`, where both arms are one expression each, and there is room."""
    if len(then) != 1 or len(orelse) != 1:
        return None
    (one, first), (other, second) = then[0], orelse[0]
    if (
        not isinstance(one, gast.Assign)
        or not isinstance(other, gast.Assign)
        or (first.quiet or second.quiet) > call.quiet
    ):
        return None
    name = name_of(one.targets[0])
    if name is None or name != name_of(other.targets[0]):
        return None
    if isinstance(one.value, gast.IfExp) or isinstance(other.value, gast.IfExp):
        return None
    has_effect = walk.order is not None and walk.order.has_effect(walk, call.args[1])
    if to_source(one.value) == to_source(other.value) and not has_effect:
        return assign(name, one.value)
    value = gast.IfExp(test=test, body=one.value, orelse=other.value)
    room = walk.indent + 4 * call.quiet + len(f"{name} = ") + width(value)
    return assign(name, value) if room <= WIDTH else None
