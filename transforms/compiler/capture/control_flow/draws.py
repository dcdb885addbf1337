"""Draws in loops and branches: none may rest on what is differentiated, as in eager mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .....runtime.ir.graph import Call, Graph, Value, values_in
from .....runtime.ir.opcodes import COND, SCAN, is_effect
from .....runtime.rules.drawing import DRAW
from ...frontend.attempts import LoopRejected
from .reverse import differentiable

__all__ = ["refuse_draws_by"]


def refuse_draws_by(call: Call, given: Sequence[Any]) -> None:
    """Raise LoopRejected where a loop or a branch draws by what follows from one of `given`, which is differentiated."""
    found = _drawn([call], set(values_in(list(given)))) if is_effect(call) else None
    if found is not None:
        raise LoopRejected(f"draws with `{found.args[1]}` by a value that is differentiated", found.site)


def _drawn(calls: Iterable[Call], active: set[Value]) -> Call | None:
    """The first draw by one of the values `active`, which learns of those that follow."""
    for call in calls:
        if active.isdisjoint(call.reads):
            continue
        if call.op is DRAW:
            return call
        found = _drawn_in_loop(call, active) if call.op is SCAN else None
        for arm in call.args[0] if call.op is COND else ():
            found = found or _drawn(arm.calls, _inside(arm.inputs, call.args[2], active))
        if found is not None:
            return found
        active.update(out for out in call.outs if differentiable(out))
    return None


def _drawn_in_loop(call: Call, active: set[Value]) -> Call | None:
    loop, carry, xs, inv, _ = call.args
    body: Graph = loop.body
    params, k = body.inputs[1:], len(carry)
    inside = _inside(params, [*carry, *xs, *inv], active)
    while True:
        found = _drawn(body.calls, inside)
        after = {p for p, v in zip(params[:k], body.outputs, strict=False) if v in inside and differentiable(p)}
        if found is not None or after <= inside:
            break
        inside |= after
    if found is None and loop.test is not None:
        both = [*params[:k], *params[k + len(xs) :]]
        found = _drawn(loop.test.calls, _inside(loop.test.inputs, both, inside))
    return found


def _inside(params: Sequence[Value], given: Sequence[Any], active: set[Value]) -> set[Value]:
    return {p for p, v in zip(params, given, strict=True) if isinstance(v, Value) and v in active}
