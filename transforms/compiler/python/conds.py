"""Names and lines of branches: their results are under one name in both arms, or it is `a if test else b`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import COND
from ..schedule.program import Branch, If
from .blocks import Entries, about, alike, assign, mentions, name_of
from .definition import entries_of
from .inlining import name_tree
from .layout import WIDTH
from .lines import IfLines, Lines
from .printer import to_source
from .region import finish, inner, into
from .stacks import note_lengths
from .widths import width

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["write_cond"]


def write_cond(emitter: Emitter, chosen: If) -> If:
    """Write a branch down; return it as it is written."""
    call = chosen.call
    branch, pred, ins = call.args
    test = emitter.tree(pred)
    wanted = [k for k, out in enumerate(call.outs) if out in emitter.facts.uses]
    targets: dict[int, str] = {}
    for k in wanted:
        targets[k] = _target(emitter, call, k, list(targets.values()))
    arms: list[Branch] = []
    closing: list[Lines] = []
    lengths = []
    for graph, its in zip(branch, (chosen.then, chosen.orelse), strict=True):
        given = dict(zip(graph.inputs, ins, strict=True))
        names = {v: emitter.naming.wishes.get(x) for v, x in given.items() if isinstance(x, Value)}
        arm = inner(emitter, its.body, graph, names)
        arm.trees = {v: emitter.tree(x) for v, x in given.items()}
        arm.lists.lengths = {v: emitter.lists.lengths[x] for v, x in given.items() if x in emitter.lists.lengths}
        arm.region.foreign = {name for tree in arm.trees.values() for name in mentions(tree)}
        results = [(graph.outputs[k], name) for k, name in targets.items() if not _is_left_out(emitter, call, graph, k)]
        into(arm, results)
        arm.write(its.body)
        finish(arm, results, about(call))
        closing.append(arm.take())
        arms.append(its._replace(body=arm.nesting.close(arm.trees, arm.folded)))
        lengths.append(arm.lists.lengths)
    for k, name in targets.items():
        emitter.trees[call.outs[k]] = name_tree(name)
        emitter.naming.called[call.outs[k]] = name
    note_lengths(emitter, call, lengths)
    then, orelse = [[*entries_of(arm.body), *lines] for arm, lines in zip(arms, closing, strict=True)]
    whole = _choice(emitter, call, test, then, orelse) if "nesting" in emitter.steps else None
    asked = emitter.order is not None and emitter.order.has_effect(emitter, pred)
    lines = IfLines(emitter.take(), test, (closing[0], closing[1]), whole, asked)
    expression = whole is not None
    return dataclasses.replace(chosen, then=arms[0], orelse=arms[1], expression=expression, lines=lines)


def _target(emitter: Emitter, call: Call, k: int, taken: list[str]) -> str:
    """The variable that a result becomes in both arms: one that an arm has it in already, if nobody reads that again."""
    branch, _, ins = call.args
    out = call.outs[k]
    wish = emitter.naming.wishes.get(out)
    for name in emitter.region.slots.get(out, ()):
        if name not in taken and emitter.free(name, call):
            return name
    for graph in branch:
        v = graph.outputs[k]
        if isinstance(v, Value) and v in graph.inputs:
            given = ins[graph.inputs.index(v)]
            held = name_of(emitter.trees[given]) if isinstance(given, Value) else None
            if held is None or wish is None or not alike(held, wish) or held in {*taken, *emitter.region.foreign}:
                continue
            if emitter.free(held, call):
                return held
    return emitter.fresh(out)


def _is_left_out(emitter: Emitter, call: Call, graph: Graph, k: int) -> bool:
    """Whether a result is nothing in this arm, and read only in such arms of other branches as this one is not followed by."""
    out = call.outs[k]
    if graph.outputs[k] is not None or out in emitter.facts.outputs:
        return False
    arm = list(call.args[0]).index(graph)
    for user in emitter.facts.users.get(out, []):
        if user.op is not COND or user.args[1] is not call.args[1]:
            return False
        other = user.args[0][arm]
        for v, given in zip(other.inputs, user.args[2], strict=True):
            if given is out and (v in other.outputs or any(v in inner.reads for inner in other.calls)):
                return False
    return True


def _choice(emitter: Emitter, call: Call, test: Any, then: Entries, orelse: Entries) -> Any:
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
    has_effect = emitter.order is not None and emitter.order.has_effect(emitter, call.args[1])
    if to_source(one.value) == to_source(other.value) and not has_effect:
        return assign(name, one.value)
    value = gast.IfExp(test=test, body=one.value, orelse=other.value)
    room = emitter.indent + 4 * call.quiet + len(f"{name} = ") + width(value)
    return assign(name, value) if room <= WIDTH else None
