"""Effects of captured functions, those in loops and branches among them: guards come before the first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.infer import lengths_among, stated
from ....runtime.ir.known_ops import GETITEM, POWER, REPEAT, SIZED_BY_VALUE, WHERE
from ....runtime.ir.opcodes import all_calls, is_effect, is_region, regions_of
from ....runtime.ops import Kind
from ....runtime.registry import ops_of
from ....runtime.result_types import BY_VALUE, KIND, UNKNOWN, How
from ....runtime.rules.control import GUARD
from ....runtime.rules.drawing import DRAW
from ....runtime.rules.messages import PRINTS
from .ranges import Ranges

__all__ = [
    "by_value", "divides_by_a_number", "effect_words", "guards_first", "is_behind_effects", "prints", "stays",
]  # fmt: skip

_LOOK_UPS = ops_of(operator.getitem, np.take, np.take_along_axis)


def prints(graph: Graph) -> bool:
    """Whether anything in a graph prints, which a capture that tried in vain would do twice."""
    return any(call.op in PRINTS for call in all_calls(graph))


def effect_words(graph: Graph) -> tuple[str, ...]:
    """The effects of a graph in order: `normal` of a generator, `np.random.normal`, `print`, each with the user's line."""
    found: list[str] = []
    for call in all_calls(graph):
        if call.op.effect:
            words = f"`{call.op.path}`"
            if call.op is DRAW:
                owner, method = call.args[:2]
                words = f"`{owner}.{method}`" if isinstance(owner, str) else f"`{method}` of a generator"
            found.append(f"{words}  ({call.site})" if call.site else words)
    return tuple(found)


def guards_first(graph: Graph) -> Graph | Call:
    """The graph with the guards that stand behind the first effect before it, or a guard that cannot.

    A guard that failed behind an effect would make it happen twice: in the text, and in the capture that follows. One that
    rests on what an effect gave, or on a call that may raise, has to stay behind it.
    """
    first = _first_effect(graph)
    wanted: set[Value] = set()
    for_guards: list[Call] = []
    rest: list[Call] = []
    guard: Call | None = None
    for call in reversed(graph.calls[first:]):
        is_guard = call.op is GUARD
        guard = call if is_guard else guard
        if not is_guard and wanted.isdisjoint(call.outs):
            rest.append(call)
            continue
        if guard is not None and (_may_raise_itself(call) if is_guard else stays(call)):
            return guard
        wanted.update(call.reads)
        for_guards.append(call)
    if not for_guards:
        return graph
    return Graph(graph.inputs, [*graph.calls[:first], *for_guards[::-1], *rest[::-1]], graph.outputs)


def is_behind_effects(graph: Graph, value: Value) -> bool:
    """Whether a value rests on what has to stay behind the first effect, so that no guard by it could come before that."""
    first = _first_effect(graph)
    wanted = {value}
    for call in reversed(graph.calls[first:]):
        if not wanted.isdisjoint(call.outs):
            if stays(call):
                return True
            wanted.update(call.reads)
    return False


def _first_effect(graph: Graph) -> int:
    """The place of the first effect."""
    return next((k for k, call in enumerate(graph.calls) if is_effect(call)), len(graph.calls))


def _may_raise_itself(guard: Call) -> bool:
    """Whether a guard takes an int of a float, which raises of a NaN."""
    value, how, _ = guard.args
    return how in ("int", "index") and isinstance(value, Value) and value.type.dtype.kind not in "biu"


def stays(call: Call, ranges: Ranges | None = None) -> bool:
    """Whether a call is kept, in its order, though nobody reads it: it may raise by itself, has an effect, or is a guard.

    A loop or a branch is kept for what is in it. One that nobody reads need not come to an end. `ranges` knows of ints
    whether they are in range.
    """
    if is_region(call):
        inner = [(region, ranges and ranges.within(call, region)) for region in regions_of(call)]
        return any(stays(one, known) for region, known in inner for one in region.calls)
    return call.op.may_raise or call.op.effect or _finds_by_value(call, ranges)


def divides_by_a_number(call: Call) -> bool:
    """Whether a call of the user's divides Python's numbers, by one that may be 0 when the source runs."""
    if call.backward or call.op.infix not in ("/", "//", "%") or len(call.args) != 2:
        return False
    x, y = call.args
    alone = type(x) in (bool, int, float) or (isinstance(x, Value) and x.type.kind == "python")
    return alone and isinstance(y, Value) and y.type.kind == "python"


def _finds_by_value(call: Call, ranges: Ranges | None) -> bool:
    """Whether a call looks elements up at traced positions, which can be out of range."""
    if call.op.base not in _LOOK_UPS:
        return False
    where: Any = call.args[1]
    if ranges is not None and call.op.base is GETITEM and ranges.exists(call.args[0], where):
        return False
    parts = where if type(where) is tuple else (where,)  # slices may end anywhere
    return any(v.type.dtype.kind in "iu" for part in parts if not isinstance(part, slice) for v in values_in(part))


def by_value(call: Call) -> How | None:
    """BY_VALUE where lengths of results may follow from values, KIND where these decide between real and complex; else None."""
    op = call.op
    fact = None if op.kind is Kind.elementwise or not call.reads else stated(op, call.args)
    if fact is KIND or _is_power_by_value(call):
        return KIND
    return BY_VALUE if _is_sized_by_value(call, fact) else None


def _is_sized_by_value(call: Call, fact: How | None) -> bool:
    """Whether a mask is the index, an element of an array a length, and the like.

    Of an op of which nothing is stated, each length that is one of an argument is taken to follow from that.
    """
    op, args = call.op, call.args
    if op.base is REPEAT and isinstance(args[1], (int, np.integer)):
        return False
    if op.fn in SIZED_BY_VALUE or fact is BY_VALUE:
        return True
    if fact is UNKNOWN:
        lengths = {n for v in call.reads for n in v.type.shape}
        return not all(n in lengths for v in call.outs for n in v.type.shape)
    if op.base is WHERE:
        return len(args) == 1 or args[1] is None
    return any(lengths_among(op, args))


def _is_power_by_value(call: Call) -> bool:
    """Whether a power of Python's numbers, as `s ** 0.5`, is real or complex as the values are."""
    if call.op.base is not POWER or call.outs[0].type.kind != "python" or any(_kind(x) == "c" for x in call.args):
        return False
    x, y = call.args
    whole = _kind(y) in "bi" or (type(y) is float and y.is_integer())
    return not whole and not (type(x) in (int, float) and x >= 0)


def _kind(x: Any) -> str:
    return x.type.dtype.kind if isinstance(x, Value) else np.result_type(type(x)).kind
