"""Branches of the reverse that decide by one value, and may stand next to each other, as one branch."""

from __future__ import annotations

from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.ir.opcodes import COND, NOT, Branch, is_effect
from ....runtime.rules.control import GUARD

__all__ = ["joining"]


def joining(graph: Graph) -> Graph:
    """The graph in which a branch takes those in that follow it, or that it may follow."""
    calls: list[Call | _Joint] = []
    deciding: set[Any] = set()  # what the branches so far decide by
    for call in graph.calls:
        if not _may_move(call):
            calls.append(call)
            continue
        at = _partner(calls, call) if call.args[1] in deciding else None
        deciding.add(call.args[1])
        first = None if at is None else calls[at]
        made = _Joint(first) if isinstance(first, Call) else first
        if at is None or made is None or not made.takes(call):
            calls.append(call)
            continue
        between = calls[at + 1 :]
        outs = {out for one in between for out in one.outs}
        if outs.isdisjoint(call.reads):
            calls[at] = made
        else:
            calls[at:] = [*between, made]
    if len(calls) == len(graph.calls):
        return graph
    return Graph(graph.inputs, [c if isinstance(c, Call) else c.call() for c in calls], graph.outputs)


def _may_move(call: Call | _Joint) -> bool:
    if isinstance(call, _Joint):
        return True
    if call.op is not COND or not call.backward or is_effect(call):
        return False
    return all(isinstance(given, Value) for given in call.args[2])


def _partner(calls: list[Call | _Joint], call: Call) -> int | None:
    """The place of the last branch that `call` can join, be it there or here."""
    made: set[Value] = set()  # by what stands between
    read: set[Value] = set()
    for at in range(len(calls) - 1, -1, -1):
        other = calls[at]
        if isinstance(other, Call) and (other.op is GUARD or is_effect(other)):
            return None
        decides = other.first if isinstance(other, _Joint) else other
        alike = _may_move(other) and decides.args[1] is call.args[1] and decides.quiet == call.quiet
        if alike and (made.isdisjoint(call.reads) or read.isdisjoint(other.outs)):
            return at
        made.update(other.outs)
        read.update(other.reads)
    return None


class _Joint:
    """A branch that takes others in, one after the other: a call once no more come, since each call made anew is long."""

    def __init__(self, first: Call) -> None:
        branch: Branch = first.args[0]
        self.first = first
        self.outs: list[Value] = list(first.outs)
        self.ins: dict[Any, Value] = dict(zip(first.args[2], branch.then.inputs, strict=True))
        self.arms: list[list[Call]] = []
        self.given: list[dict[Value, Any]] = []  # what each arm gives for the results of the branch
        self.taken: list[set[Value]] = []  # the values that each arm knows
        for arm in branch:
            before = {param: self.ins[given] for given, param in zip(first.args[2], arm.inputs, strict=True)}
            taken = set(self.ins.values())
            self.arms.append(_renamed(arm.calls, before, taken, set()) or [])
            self.given.append(dict(zip(first.outs, [_put(v, before) for v in arm.outputs], strict=True)))
            self.taken.append(taken | {out for call in self.arms[-1] for out in call.outs})

    @property
    def reads(self) -> tuple[Value, ...]:
        """The values that the branch reads."""
        return (self.first.args[1], *self.ins)

    def takes(self, second: Call) -> bool:
        """Take in a branch that stands behind; return whether: not where it reads what this one does not give."""
        branch: Branch = second.args[0]
        fresh: dict[Any, Value] = {}
        for given, param in zip(second.args[2], branch.then.inputs, strict=True):
            if given not in self.ins and given not in fresh and given not in self.given[0]:
                known = any(param in taken for taken in self.taken) or param in fresh.values()
                fresh[given] = Value(param.type, param.name) if known else param
        found = []
        for two, results, taken in zip(branch, self.given, self.taken, strict=True):
            now = {
                p: results[g] if g in results else self.ins[g] if g in self.ins else fresh[g]
                for g, p in zip(second.args[2], two.inputs, strict=True)
            }
            if any(isinstance(v, Value) and v.type != p.type for p, v in now.items()):
                return False  # such as other strides, which what reads it may have, too
            added = set(fresh.values())
            more = _renamed(two.calls, now, taken, added)
            if more is None:
                return False
            found.append((more, added, [_put(v, now) for v in two.outputs]))
        self.ins |= fresh
        self.outs += second.outs
        for k, (more, added, outputs) in enumerate(found):
            self.arms[k] += more
            self.taken[k] |= added
            self.given[k].update(zip(second.outs, outputs, strict=True))
        return True

    def call(self) -> Call:
        """The branch as one call."""
        inputs = list(self.ins.values())
        arms = [
            Graph(inputs, calls, [results[out] for out in self.outs])
            for calls, results in zip(self.arms, self.given, strict=True)
        ]
        first = self.first
        args = (Branch(*arms), first.args[1], tuple(self.ins))
        return Call(COND, args, tuple(self.outs), first.site, first.backward, first.quiet)


def _put(tree: Any, now: dict[Value, Any]) -> Any:
    """An argument with what stands for its values."""
    return map_values(tree, lambda v: now.get(v, v))


def _renamed(calls: list[Call], now: dict[Value, Any], taken: set[Value], added: set[Value]) -> list[Call] | None:
    """Calls that read what `now` says, and make no value that is `taken` or `added` already; `now` and `added` learn of those.

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
            more = _renamed(arm.calls, inner, taken, added)
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
            if out in taken or out in added:
                now[out] = _twin(out)
            outs.append(now.get(out, out))
        made.append(Call(call.op, args, tuple(outs), call.site, call.backward, call.quiet))
        added.update(outs)
    return made


def _twin(v: Value) -> Value:
    """Another value of the same type and notes."""
    made = Value(v.type, v.name)
    made.element, made.cotangent_of, made.over, made.sites = v.element, v.cotangent_of, v.over, v.sites
    return made
