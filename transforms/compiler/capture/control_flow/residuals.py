"""Residuals of a region: values of the forward run that its reverse needs, recomputed where cheap, else one more result."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.opcodes import AND, NOT, OR, is_region, stack_value
from .....runtime.registry import ops_of
from .....runtime.rules.control import SIZES

__all__ = ["Recalled", "recall"]

_CHEAP = ops_of(
    operator.getitem, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.reshape, np.broadcast_to,
    np.real, np.imag,
) | {*SIZES, AND, OR, NOT}  # fmt: skip


class Recalled:
    """The sources of the values that a reverse reads: calls that are made again, inputs of the region, results that it keeps."""

    def __init__(self, calls: list[Call], read: list[Value], kept: list[Value], around: list[Value]) -> None:
        self.calls = calls  # made again
        self.read = read  # inputs of the region
        self.kept = kept  # values inside, or inputs that change from trip to trip
        self.around = around  # values from around it, whose sizes it asks for


def recall(
    graph: Graph, needed: Iterable[Value], given: Iterable[Value], invariant: Iterable[Value], once: set[Value]
) -> Recalled:
    """Settle each of `needed`; `given` are the inputs that the reverse has at no cost, `invariant` those that never change.

    `once` are values that are not to be computed again, so that their own cotangents add up in eager's order.
    """
    maker = {out: call for call in graph.calls for out in call.outs}
    free, fixed = set(given), set(invariant)
    known = {*graph.inputs, *maker}
    for call in graph.calls:
        if is_region(call) or call.op.effect or call.op.may_raise or not once.isdisjoint(call.outs):
            continue
        if all(v in fixed for v in call.reads):
            fixed.update(call.outs)
            free.update(call.outs)
        elif (call.op.base in _CHEAP or all(out.type.kind == "python" for out in call.outs)) and all(
            v in free for v in call.reads
        ):
            free.update(call.outs)
    again: set[Call] = set()
    read: dict[Value, None] = {}
    kept: dict[Value, None] = {}
    around: dict[Value, None] = {}
    waiting = list(needed)[::-1]
    while waiting:
        v = waiting.pop()
        if v not in known:
            around[v] = None
        elif v not in free:
            kept[v] = None
        elif v not in maker:
            read[v] = None
        elif maker[v] not in again:
            again.add(maker[v])
            waiting += reversed(maker[v].reads)
    calls = [Call(call.op, call.args, call.outs, call.site, True, True) for call in graph.calls if call in again]
    return Recalled(calls, list(read), list(kept), list(around))


def keep(regions: Any, node: Any, graph: Graph, others: Sequence[Graph], v: Value, carries: int | None) -> int:
    """Return the place of the result of a node's call that gives `v`, a value inside: one more where none does yet.

    `carries` is the count of a loop's; None of a branch, whose other arms (`others`) give nothing there.
    """
    call = node.call
    first = 0 if carries is None else carries
    for k in range(first, len(graph.outputs)):
        if graph.outputs[k] is v:
            return k
    graph.outputs.append(v)
    for other in others:
        other.outputs.append(None)
    sample = regions.samples[v]
    out = Value(v.type, v.name) if carries is None else stack_value(v)
    if carries is None:
        out.element = v.element
    out.sites = v.sites
    at = len(graph.outputs) - 1
    call.outs = (*call.outs[:at], out, *call.outs[at:])
    regions.grown(call, out, sample if carries is None else [sample])
    node.follow()
    return at
