"""Residuals of loops: a value is not stacked for the reverse where the reverse can have it in another way.

An invariant is given to both loops; what the loop has computed alike, and stacks, is taken from there; the place of a trip,
views, rows `x[t]`, signs, and a sum or product of what the reverse has anyway are computed again; of what only the shape is
asked another value of that shape will do, and else the shape is stacked; and where a carried value is wanted before and after a
trip, one is stacked and the other carried backwards. The bits stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, map_values, values_in
from ....runtime.ir.known_ops import ADD, MULTIPLY, NEGATIVE, SUBTRACT
from ....runtime.ir.opcodes import COND, SCAN, is_effect, is_region, regions_of, stack_value
from ....runtime.ops import Op
from ....runtime.registry import ops_of
from ....runtime.rules.control import GUARD, SIZES
from ..analysis.memory import is_view, makes_new_memory
from .rewrite import is_elementwise, key_of, seen_from_outside
from .scans import Carry, Item, Scan, Stacked, like

__all__ = ["residuals"]

_NOT = object()
_LIKE = ops_of(np.zeros_like, np.ones_like, np.full_like, np.empty_like)
MOST = 3  # calls in place of one stack


def residuals(graph: Graph) -> Graph:
    """The graph whose loops stack only what the loops that walk their stacks cannot have otherwise."""
    scans = _scans(graph.calls)
    _relieve(scans, scans, None, _read(graph.calls) | set(values_in(graph.outputs)))
    return Graph(graph.inputs, _made(graph.calls, scans), graph.outputs)


Scans = dict[Call, Scan]


def _scans(calls: list[Call]) -> Scans:
    return {call: Scan(call) for call in calls if call.op is SCAN}


def _made(calls: list[Call], scans: Scans) -> list[Call]:
    return [scans[call].made() if call in scans else call for call in calls]


def _relieve(forward: Scans, reverse: Scans, around: _Pair | None, kept: set[Value]) -> None:
    """Relieve the loops of `reverse` that walk stacks of loops of `forward`; `around` are the loops that these stand in."""
    for call, walking in reverse.items():
        if call.args[2]:
            for known, scan in forward.items():
                pair = _Pair(scan, walking, around, kept)
                pair.others = [other for other in reverse.values() if other is not walking]
                if known is not call and any(_is(pair.outer(y.out), x.given) for y in scan.ys for x in walking.xs):
                    pair.relieve()


def _is(v: Any, w: Any) -> bool:
    return v is w and isinstance(v, Value)


def _read(calls: list[Call]) -> set[Value]:
    """Return the values that calls read other than as the stack that a loop walks."""
    found: set[Value] = set()
    for call in calls:
        found.update(values_in(tuple([a for k, a in enumerate(call.args) if call.op is not SCAN or k != 2])))
    return found


class _Pair:
    """A loop and one that walks its stacks, in two such loops (`around`) or in none."""

    def __init__(self, forward: Scan, reverse: Scan, around: _Pair | None, kept: set[Value]) -> None:
        self.forward, self.reverse, self.around = forward, reverse, around
        self.kept = kept  # the stacks that others read, too
        self.maker = {v: call for call in forward.calls for v in call.outs}
        self.known: dict[Value, Any] = {forward.place: reverse.place}
        self.first: list[Call] = []  # what the reverse computes again
        self.shown = seen_from_outside(reverse.body)  # what may be seen as memory, which stays the same memory
        self.others: list[Scan] = []  # which may walk the same stacks
        self.stacked: dict[Value, list[Stacked]] = {}  # the stacks of the one loop, by the value that they hold
        for y in forward.ys:
            if isinstance(y.value, Value):
                self.stacked.setdefault(y.value, []).append(y)

    def outer(self, v: Value) -> Any:
        """Return what a value beside the one loop is called beside the other."""
        return v if self.around is None else self.around.there(v)

    def beside(self, stack: Value) -> Value:
        """The same, of a new stack of the one loop."""
        return stack if self.around is None else self.around.stacks(stack)

    def walking(self, y: Stacked) -> list[Item]:
        """Return the items of the reverse loop that are those of a stack."""
        out = self.outer(y.out)
        return [x for x in self.reverse.xs if x.given is out] if isinstance(out, Value) else []

    def relieve(self) -> None:
        """Let the reverse loop do without the stacks that it can do without."""
        self.take()
        places = {v: k for k, v in enumerate(self.maker)}
        whole = [_read_whole(self.reverse.calls, like) for like in (frozenset[Op](), _LIKE)]
        for y in sorted(self.forward.ys, key=lambda y: places.get(y.value, -1)):
            for item in [] if y.out in self.kept else self.walking(y):
                measured, formed = [
                    item.param not in read and _is_measured(self.reverse.body, item.param, like)
                    for read, like in zip(whole, (frozenset[Op](), _LIKE), strict=True)
                ]
                found = self.alike(y.value, item, not measured) if formed and self.may_drop(item) else _NOT
                if found is _NOT and measured and self.stacks_sizes(y.value, item):
                    continue
                if found is _NOT and self.may_drop(item):
                    found = self.there(y.value, but=item)
                found = self.backwards(y.value) if found is _NOT else found
                if found is not _NOT:
                    self.reverse.xs.remove(item)
                    self.reverse.replace({item.param: found})
        self.later()
        kept = _read(self.forward.calls) | set(values_in([c.after for c in self.forward.carry]))
        forward, reverse = _scans(self.forward.calls), _scans(self.reverse.calls)
        _relieve(forward, reverse, self, kept)
        self.forward.calls = _made(self.forward.calls, forward)
        self.reverse.calls = [*self.first, *_made(self.reverse.calls, reverse)]

    def later(self) -> None:
        """Stack what a trip makes, and not what it begins with, where of that nothing is asked but its shape.

        The reverse had what a trip makes as a value carried backwards.
        """
        if self.around is not None or not self.goes_back():
            return
        elsewhere = {x.given for scan in self.others for x in scan.xs}
        for y in self.forward.ys:
            c = next((c for c in self.forward.carry if c.param is y.value and isinstance(c.after, Value)), None)
            items = self.walking(y)
            if c is None or y.out in self.kept | elsewhere or len(items) != 1 or c.param.type != c.after.type:
                continue
            (item,) = items
            back = [r for r in self.reverse.carry if r.after is item.param]
            rest = [v for v in values_in([r.after for r in self.reverse.carry if r not in back]) if v is item.param]
            fits = len(back) == 1 and _is(back[0].start, c.out) and back[0].out not in self.kept and not rest
            walked = item.param in values_in([x.value for x in self.reverse.ys])
            reading = [call for call in (*self.first, *self.reverse.calls) if item.param in call.reads]
            if fits and not walked and all(call.op in SIZES for call in reading):
                self.stacked[y.value].remove(y)
                y.value = c.after
                self.stacked.setdefault(c.after, []).append(y)
                self.reverse.carry.remove(back[0])
                self.reverse.replace({back[0].param: item.param})

    def take(self) -> None:
        """Let the reverse take from stacks what it would compute as the loop has done."""
        forward, reverse = self.forward, self.reverse
        made = {(call.op, *map(key_of, call.args)): call.outs[0] for call in forward.calls if _is_plain(call)}
        held = {out: y.value for y in forward.ys if isinstance(out := self.outer(y.out), Value)}
        there = {x.param: held[x.given] for x in reverse.xs if isinstance(x.given, Value) and x.given in held}
        stacked = set(there.values())
        there |= {
            x.param: item.param for x in reverse.inv for item in forward.inv if _is(self.outer(item.given), x.given)
        }
        found: dict[Value, Any] = {}
        for call in reverse.calls:
            if not _is_plain(call) or call.outs[0] in self.shown or not all(v in there for v in call.reads):
                continue
            v = made.get((call.op, *[key_of(map_values(a, there.__getitem__)) for a in call.args]))
            if v is not None and v in stacked and v.type == call.outs[0].type:
                there[call.outs[0]] = v
                found[call.outs[0]] = self.find(v, {}, None)
        if found:
            reverse.calls = [call for call in reverse.calls if call.outs[0] not in found]
            reverse.replace(found)

    def may_drop(self, item: Item) -> bool:
        """Whether the reverse loop knows how often it runs without a stack."""
        if self.reverse.n is None and self.reverse.test is None and self.reverse.xs == [item]:
            trips = self.outer(self.forward.trips)
            self.reverse.n = None if trips is _NOT else trips
            return trips is not _NOT
        return True

    def there(self, v: Any, but: Item | None = None) -> Any:
        """Return the value of the other body that equals `v`, found without the stack `but`; _NOT where there is none."""
        again: dict[Value, Call] = {}
        found = self.find(v, again, but)
        if found is not _NOT:
            self.first += again.values()
            self.known |= {w: call.outs[0] for w, call in again.items()}
        return found

    def find(self, v: Any, again: dict[Value, Call], but: Item | None) -> Any:
        """The same, with what has to be computed again put into `again`."""
        if not isinstance(v, Value) or v in self.known:
            return self.known.get(v, v)
        if v in again:
            return again[v].outs[0]
        for y in self.stacked.get(v, ()):
            for item in self.walking(y):
                if item is not but:
                    return item.param
        for item in self.forward.inv:
            if item.param is v:
                given = self.outer(item.given)
                return self.reverse.reads(given, v) if isinstance(given, Value) else given
        call = self.maker.get(v)
        if call is None or not _is_cheap(call) or (but is not None and but.param in self.shown and not is_view(call)):
            return _NOT
        found = {w: self.find(w, again, but) for w in call.reads}
        if call.op in SIZES and any(w is _NOT for w in found.values()):
            found = {w: self.shaped(w) for w in found}
        arrays = [known for known in again.values() if _is_sum(known) and known.outs[0].type.kind != "python"]
        if len(again) == MOST or (arrays and _is_sum(call)) or any(w is _NOT for w in found.values()):
            return _NOT
        args = tuple([map_values(a, found.__getitem__) for a in call.args])
        made = again[v] = Call(call.op, args, (like(v),), call.site, self.reverse.call.backward, True)
        return made.outs[0]

    def goes_back(self) -> bool:
        """Whether the reverse makes the trips of the loop, the last one first."""
        forward, reverse = self.forward, self.reverse
        counts = [self.outer(forward.trips), *[self.outer(forward.n)] * (forward.test is None)]
        if forward.loop.reverse == reverse.loop.reverse or reverse.test is not None:
            return False
        return reverse.n is None or any(key_of(reverse.n) == key_of(n) for n in counts)

    def backwards(self, v: Value) -> Any:
        """A value carried backwards: what a trip makes is what the next one begins with, which is stacked."""
        forward, reverse = self.forward, self.reverse
        if not self.goes_back():
            return _NOT
        for c in [c for c in forward.carry if c.after is v and c.param is not v]:
            start, before = self.outer(c.out), self.find(c.param, {}, None)
            if start is not _NOT and before is not _NOT:
                param = self.known[v] = like(v)
                reverse.carry.append(Carry(start, param, before, like(c.out), None))
                return param
        return _NOT

    def alike(self, v: Value, item: Item, strided: bool) -> Any:
        """Return a value of the same shape that the reverse has, where the shape is all that is asked, or the strides too."""
        form = v.type if strided else v.type[:3]
        while True:
            again: dict[Value, Call] = {}
            found = self.find(v, again, item)
            carried = [c for c in self.forward.carry if v is c.param or v is c.after]
            ends = [self.outer(c.out) for c in carried if not strided or _type_of(c.start) == form]
            if (found is _NOT or again) and ends and ends[0] is not _NOT:
                found, again = self.reverse.reads(ends[0]), {}
            if isinstance(found, Value) and not again and found.type[: len(form)] == form:
                return found
            call = self.maker.get(v)
            same = [w for w in call.reads if w.type.shape == form[2]] if call and is_elementwise(call) else []
            if not same:
                break
            v = same[0]
        return _NOT

    def shaped(self, v: Value) -> Any:
        """Return what has the shape of a value that is carried: what the loop leaves; _NOT where it is not carried."""
        ends = [self.outer(c.out) for c in self.forward.carry if v is c.param or v is c.after]
        same = [end for end in ends if isinstance(end, Value) and end.type[:3] == v.type[:3]]
        return self.reverse.reads(same[0]) if same else _NOT

    def stacks_sizes(self, v: Value, item: Item) -> bool:
        """Let a trip leave the sizes that the reverse asks for, in place of the array; whether it can."""
        asking = [call for call in self.reverse.calls if item.param in call.reads]
        if any(call.op not in SIZES for call in asking):  # it is given on, to a region
            return False
        known: dict[Any, Value] = {}
        for call in asking:
            key = (call.op, *call.args[1:])
            if key not in known:
                known[key] = self.stacked_size(call, v)
        self.reverse.calls = [call for call in self.reverse.calls if call not in asking]
        self.reverse.replace({call.outs[0]: known[(call.op, *call.args[1:])] for call in asking})
        self.reverse.xs.remove(item)
        return True

    def stacked_size(self, asking: Call, v: Value) -> Value:
        """Return what the reverse reads of a new stack: a size of a value of the forward body."""
        out = like(asking.outs[0])
        maker = self.maker.get(v)
        site, quiet = (asking.site, asking.quiet) if maker is None else (maker.site, maker.quiet)
        made = Call(asking.op, (v, *asking.args[1:]), (out,), site, self.forward.call.backward, quiet)
        at = 0 if maker is None else self.forward.calls.index(maker) + 1
        self.forward.calls = [*self.forward.calls[:at], made, *self.forward.calls[at:]]
        self.maker[out] = made
        return self.stacks(out)

    def stacks(self, v: Value) -> Value:
        """Let the forward stack one more value: what the reverse reads of it."""
        out = stack_value(v)
        self.forward.ys.append(Stacked(v, out))
        self.stacked.setdefault(v, []).append(self.forward.ys[-1])
        self.reverse.xs.append(Item(self.beside(out), like(v)))
        return self.reverse.xs[-1].param


def _is_plain(call: Call) -> bool:
    """Whether a call computes one array or number anew, and does nothing else."""
    return (
        not is_region(call)
        and not is_effect(call)
        and call.op is not GUARD
        and makes_new_memory(call)
        and len(call.outs) == 1
    )


def _type_of(x: Any) -> Type | None:
    return x.type if isinstance(x, Value) else None


def _read_whole(calls: list[Call], like: frozenset[Op]) -> set[Value]:
    """Return the values that calls which hold no graph read for more than their shapes, as `_is_measured` has it."""
    found: set[Value] = set()
    for call in calls:
        if not is_region(call) and call.op not in SIZES:
            found.update(values_in(call.args[1:]) if call.op.base in like else call.reads)
    return found


def _is_measured(graph: Graph, v: Value, like: frozenset[Op] = frozenset()) -> bool:
    """Whether an array is read for its shape alone, in regions, too; by ops of `like` also for its strides and dtype."""
    if v.type.kind != "array" or v in set(values_in(graph.outputs)):
        return False
    for call in [call for call in graph.calls if v in call.reads]:
        if not is_region(call):
            if call.op not in SIZES and not (call.op.base in like and v not in values_in(call.args[1:])):
                return False
            continue
        given_on = call.args[2] if call.op is COND else call.args[3]
        if v in set(values_in(call.args[1])):
            return False
        for region in regions_of(call):
            own = region.inputs[len(region.inputs) - len(given_on) :]
            if not all(_is_measured(region, p, like) for p, given in zip(own, given_on, strict=True) if given is v):
                return False
    return True


def _is_cheap(call: Call) -> bool:
    """Whether a call makes a view, a size, a sum, a product or a sign, and so does not raise where it has not before."""
    counted = call.op in SIZES and call.outs[0].type.kind == "python"
    return is_view(call) or counted or _is_sum(call) or call.op.base is NEGATIVE


def _is_sum(call: Call) -> bool:
    """Whether a call adds, subtracts or multiplies, element by element."""
    return call.op.base in (ADD, SUBTRACT, MULTIPLY)
