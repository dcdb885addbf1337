"""Branches of the reverse that decide by one value, and may stand next to each other, as one branch."""

from __future__ import annotations

from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.ir.opcodes import COND, NOT, Branch, is_effect
from ....runtime.rules.control import GUARD

__all__ = ["joining"]


def joining(graph: Graph) -> Graph:
    """The graph in which a branch takes those in that follow it, or that it may follow."""
    calls: list[Call] = []
    for call in graph.calls:
        at = _partner(calls, call) if _may_move(call) else None
        made = None if at is None else _joined(calls[at], call)
        if at is None or made is None:
            calls.append(call)
            continue
        between = calls[at + 1 :]
        outs = {out for one in between for out in one.outs}
        if outs.isdisjoint(call.reads):
            calls[at] = made
        else:
            calls[at:] = [*between, made]
    return graph if len(calls) == len(graph.calls) else Graph(graph.inputs, calls, graph.outputs)


def _may_move(call: Call) -> bool:
    if call.op is not COND or not call.backward or is_effect(call):
        return False
    return all(isinstance(given, Value) for given in call.args[2])


def _partner(calls: list[Call], call: Call) -> int | None:
    """The place of the last branch that `call` can join, be it there or here."""
    made: set[Value] = set()  # by what stands between
    read: set[Value] = set()
    for at in range(len(calls) - 1, -1, -1):
        other = calls[at]
        if other.op is GUARD or is_effect(other):
            return None
        alike = _may_move(other) and other.args[1] is call.args[1] and other.quiet == call.quiet
        if alike and (made.isdisjoint(call.reads) or read.isdisjoint(other.outs)):
            return at
        made.update(other.outs)
        read.update(other.reads)
    return None


def _joined(first: Call, second: Call) -> Call | None:
    """One branch that does what two did, one after the other; None where the second reads what the first does not give."""
    ins: dict[Any, Value] = dict(zip(first.args[2], first.args[0].then.inputs, strict=True))
    params = list(second.args[0].then.inputs)
    known = set(ins.values())
    for given, param in zip(second.args[2], params, strict=True):
        if given not in ins and given not in first.outs:
            fresh = param if param not in known else Value(param.type, param.name)
            ins[given] = fresh
            known.add(fresh)
    arms = []
    for one, two in zip(first.args[0], second.args[0], strict=True):
        before = {param: ins[given] for given, param in zip(first.args[2], one.inputs, strict=True)}
        calls = _renamed(one.calls, before, set(known)) or []
        outputs = [_put(v, before) for v in one.outputs]
        given_by = dict(zip(first.outs, outputs, strict=True))
        now = {p: given_by[g] if g in given_by else ins[g] for g, p in zip(second.args[2], two.inputs, strict=True)}
        if any(isinstance(v, Value) and v.type != p.type for p, v in now.items()):
            return None  # such as other strides, which what reads it may have, too
        more = _renamed(two.calls, now, known | {out for c in calls for out in c.outs})
        if more is None:
            return None
        outputs += [_put(v, now) for v in two.outputs]
        arms.append(Graph(list(ins.values()), [*calls, *more], outputs))
    args = (Branch(*arms), first.args[1], tuple(ins))
    return Call(COND, args, (*first.outs, *second.outs), first.site, first.backward, first.quiet)


def _put(tree: Any, now: dict[Value, Any]) -> Any:
    """An argument with what stands for its values."""
    return map_values(tree, lambda v: now.get(v, v))


def _renamed(calls: list[Call], now: dict[Value, Any], taken: set[Value]) -> list[Call] | None:
    """Calls that read what `now` says, and make no value that is known already; `now` learns of those.

    A branch by a truth that is known is what it does. None where a call would read nothing.
    """
    made: list[Call] = []
    for call in calls:
        args = tuple([_put(a, now) for a in call.args])
        if call.op is NOT and type(args[0]) is bool:
            now[call.outs[0]] = not args[0]
            continue
        if call.op is COND and type(args[1]) is bool:
            arm = args[0].then if args[1] else args[0].orelse
            inner = dict(zip(arm.inputs, args[2], strict=True))
            more = _renamed(arm.calls, inner, taken)
            if more is None:
                return None
            made += more
            now |= {out: _put(v, inner) for out, v in zip(call.outs, arm.outputs, strict=True)}
            continue
        if any(now.get(v, v) is None for v in call.reads):
            return None
        outs = []
        for out in call.outs:
            now.pop(out, None)
            if out in taken:
                now[out] = _twin(out)
            outs.append(now.get(out, out))
        made.append(Call(call.op, args, tuple(outs), call.site, call.backward, call.quiet))
        taken.update(outs)
    return made


def _twin(v: Value) -> Value:
    """Another value of the same type and notes."""
    made = Value(v.type, v.name)
    made.element, made.cotangent_of, made.over, made.sites = v.element, v.cotangent_of, v.over, v.sites
    return made
