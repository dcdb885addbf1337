"""Loops over a range of the user's in print: `for t in range(2, n)`, where a trip computes `t` from its place alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gast
import numpy as np

from ....runtime.ir.graph import Call, Type, Value, values_in
from ....runtime.ir.known_ops import ADD, MULTIPLY, SUBTRACT
from ....runtime.ops import Op
from ....runtime.registry import require
from ..passes.scans import Scan
from .literals import constant_tree

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["Range", "bounds", "range_of"]

_FLOOR_DIVIDE = require(np.floor_divide)


class Range(NamedTuple):
    """The items of a range: the calls that compute one from the place of a trip, the last of which gives it."""

    calls: list[Call]
    start: Any
    step: int

    @property
    def item(self) -> Value:
        """The item of a trip."""
        return self.calls[-1].outs[0]


def range_of(scan: Scan) -> Range | None:
    """Return the range that a loop walks; None where a trip needs its place, or where it walks no range of the user's."""
    place = scan.place
    if place.name is None or scan.test is not None or scan.n is None or place in values_in(scan.body.outputs):
        return None
    item, start, step = place, 0, 1
    calls: list[Call] = []
    scaled = _reader(scan, item, MULTIPLY)
    if scaled is not None:
        factor = _other(scaled, item)
        if type(factor) is not int or not factor:
            return None
        step, item = factor, scaled.outs[0]
        calls.append(scaled)
    shifted = _reader(scan, item, ADD)
    if shifted is not None:
        start = _other(shifted, item)
        fixed = {p.param for p in scan.inv} | {c.param for c in scan.carry if c.after is c.param}
        if not (type(start) is int or start in fixed):
            return None
        calls.append(shifted)
    return Range(calls, start, step) if calls else None


def bounds(walk: Walk, scan: Scan, walked: Range, start: Any) -> list[Any] | None:
    """Return the arguments of `range`, where the number of trips follows from a stop; `start` is what it is outside."""
    n, step = scan.n, walked.step
    if isinstance(n, Value):
        stop: Any = n
        if step != 1:
            stop = _taken(walk, stop, _FLOOR_DIVIDE, step)
        if isinstance(start, Value):
            if step != 1:
                stop = _taken(walk, stop, ADD, step - 1 if step > 0 else step + 1)
            stop, beside = _taken(walk, stop, SUBTRACT, start), 0
        else:
            stop, beside = _parted(walk, stop)
            beside += start - (step - 1 if step > 0 else step + 1)
        if stop is None or (isinstance(stop, Value) and stop not in walk.trees):
            return None
        end = walk.tree(stop)
        if beside:
            sign = gast.Add() if beside > 0 else gast.Sub()
            end = gast.BinOp(left=end, op=sign, right=constant_tree(abs(beside)))
    elif isinstance(start, Value):
        return None
    else:
        end = walk.tree(start + step * n)
    return [walk.tree(start), end, *([constant_tree(step)] if step != 1 else [])]


def _reader(scan: Scan, v: Value, op: Op) -> Call | None:
    """The one call that reads a value, if it is of this op and gives an int."""
    users = [call for call in scan.calls if v in call.reads]
    if len(users) != 1 or users[0].op.base is not op or users[0].reads.count(v) != 1:
        return None
    return users[0] if _is_int(users[0].outs[0].type) and v not in values_in(scan.body.outputs) else None


def _is_int(type: Type) -> bool:
    return type.kind == "python" and type.dtype.kind == "i"


def _other(call: Call, v: Value) -> Any:
    """The other one of two arguments."""
    return call.args[1] if call.args[0] is v else call.args[0]


def _parted(walk: Walk, n: Any) -> tuple[Any, int]:
    """Return a number as a value that is written already and what is added to it."""
    maker = walk.facts.maker.get(n) if isinstance(n, Value) else None
    if maker is None or maker.op.base not in (ADD, SUBTRACT) or type(maker.args[1]) is not int:
        return n, 0
    found, beside = _parted(walk, maker.args[0])
    if isinstance(found, Value) and found not in walk.trees:
        return n, 0
    return found, beside + (maker.args[1] if maker.op.base is ADD else -maker.args[1])


def _taken(walk: Walk, n: Any, op: Op, second: Any) -> Any:
    """Return the number that this second argument was subtracted from, added to or divides; None where it was not."""
    if n is None or (op in (ADD, SUBTRACT) and type(second) is int and second == 0):
        return n
    maker = walk.facts.maker.get(n) if isinstance(n, Value) else None
    if maker is None or maker.op.base is not op:
        return None
    found = maker.args[1]
    same = found is second if isinstance(second, Value) else type(found) is int and found == second
    return maker.args[0] if same else None
