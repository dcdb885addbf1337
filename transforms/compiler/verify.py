"""What a well-formed Graph is: single assignment, definition before use, arguments that fit their op, types that agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import VerifyError
from ...runtime.ir import Call, Graph, Value, values_in
from ...runtime.ops import MISSING
from ...runtime.regions import all_calls, regions_of
from .effects import is_effect
from .verify_regions import region_problem

__all__ = ["effects_of", "verify"]


def effects_of(graph: Graph) -> list[Value]:
    """The results of the calls that have effects, in order, in regions, too: what every pass must leave as it is."""
    return [v for call in all_calls(graph) if call.op.effect for v in call.outs]


def verify(graph: Graph, after: str, known: dict[int, Graph] | None = None) -> None:
    """Raise VerifyError, naming the pass that `graph` came from, unless the graph is well formed.

    `known` holds the regions that were found to be, by their id, and learns of those that are.
    """

    def bad(what: str, call: Call | None = None) -> VerifyError:
        where = "" if call is None else f" in `{call.op.path}`" + (f" ({call.site})" if call.site else "")
        return VerifyError(f"the graph after `{after}` is not well formed: {what}{where}\n{graph}")

    defined: set[Value] = set()
    for v in graph.inputs:
        if v in defined:
            raise bad("an input stands there twice")
        defined.add(v)
    quiet_backward, effect = True, False
    for call in graph.calls:
        if len(call.args) != len(call.op.params):
            raise bad(f"{len(call.args)} arguments for {len(call.op.params)} parameters", call)
        if any(a is MISSING for a in call.args):
            raise bad("a required argument is missing", call)
        for v in call.reads:
            if v not in defined:
                raise bad("a value is used before it is defined", call)
        if call.op.n_out is not None and len(call.outs) != call.op.n_out:
            raise bad(f"{len(call.outs)} results where the op has {call.op.n_out}", call)
        for v in call.outs:
            if v in defined:
                raise bad("a value is defined twice", call)
            if v.type.kind not in ("array", "scalar", "python", "generator", "stack"):
                raise bad(f"a value has no type: {v!r}", call)
            if v.type.kind == "array" and len(v.type.shape) != len(v.type.strides):
                raise bad(f"shape and strides disagree: {v!r}", call)
            defined.add(v)
        for region in regions_of(call):
            if known is None or id(region) not in known:
                verify(region, after, known)
                if known is not None:
                    known[id(region)] = region
        problem = _shape_problem(call) or region_problem(call)
        if problem is not None:
            raise bad(problem, call)
        if effect and call.op.path == "guard":
            raise bad("a guard stands behind an effect, which would happen twice where it fails", call)
        effect = effect or is_effect(call)
        quiet_backward = quiet_backward and (call.quiet or not call.backward)
    for v in values_in(graph.outputs):
        if v not in defined:
            raise bad("an output is not defined")
    if not quiet_backward:
        raise bad("a call of a VJP rule would warn")


def _shape_problem(call: Call) -> str | None:
    """An elementwise operation has the shape that its operands broadcast to."""
    if not isinstance(call.op.fn, np.ufunc) and call.op.infix is None:
        return None
    if getattr(call.op.fn, "signature", None) is not None:  # np.vecdot and its like work on axes
        return None
    if call.op.kind.value not in ("elementwise", "linear", "bilinear") or call.op.title in ("Matmul", "Mm"):
        return None
    count = getattr(call.op.fn, "nin", 2)
    shapes: list[Any] = [
        a.type.shape if isinstance(a, Value) else np.shape(a) for a in call.args[:count] if a is not None
    ]
    full = {shape for shape in shapes if shape}
    if len(full) <= 1:
        return (
            None
            if call.outs[0].type.shape in full or not full
            else f"an elementwise result of shape {call.outs[0].type.shape}"
        )
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        return f"operands of shapes {shapes} do not broadcast"
    found = call.outs[0].type.shape
    return None if found == expected else f"the result has shape {found}, its operands broadcast to {expected}"
