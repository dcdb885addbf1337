"""What a well-formed loop or branch is: closed regions whose parameters and results fit the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.ir import Call, Type, Value, type_of
from ...runtime.regions import SCAN, STACK, Branch, Loop, is_region, regions_of

__all__ = ["region_problem"]

_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


def region_problem(call: Call) -> str | None:
    """What is wrong with a call that holds regions; None where all is well, and of other calls."""
    if not is_region(call):
        return None
    for region in regions_of(call):
        for inner in region.calls:
            if inner.op.path == "guard":
                return f"`{inner.op.path}` within a region"
    return _scan_problem(call, *call.args) if call.op is SCAN else _cond_problem(call, *call.args)


def _scan_problem(call: Call, loop: Loop, carry: Any, xs: Any, inv: Any, n: Any) -> str | None:
    body, test, k = loop.body, loop.test, len(carry)
    if len(body.inputs) != 1 + k + len(xs) + len(inv):
        return f"a body of {len(body.inputs)} inputs for 1 place, {k} carried values, {len(xs)} stacks and {len(inv)} invariants"
    if len(body.outputs) < k or len(call.outs) != len(body.outputs) + 1:
        return f"{len(call.outs)} results of a body with {len(body.outputs)} outputs"
    place, params, items = body.inputs[0], body.inputs[1 : 1 + k], body.inputs[1 + k : 1 + k + len(xs)]
    if not _is_int(place) or not _is_int(call.outs[-1]) or not (n is None or _is_int(n)):
        return "a place or a count of trips that is no int of Python"
    if n is None and (loop.reverse or test is None) and not xs:
        return "nothing that says how often it runs"
    if loop.reverse and test is not None:
        return "a loop that runs in reverse, and has a test"
    for before, param, after, out in zip(carry, params, body.outputs, call.outs, strict=False):
        if not _are_like(before, param, after, out):
            ways = f"{_shown(before)} before, {_shown(param)} within, {_shown(after)} after a trip, {_shown(out)} at the end"
            return f"a carried value that is {ways}"
    for what, stacks, each in (("xs", xs, items), ("ys", call.outs[k:-1], body.outputs[k:])):
        for stack, item in zip(stacks, each, strict=True):
            if not isinstance(stack, Value) or stack.type.kind != STACK or stack.element is None:
                return f"one of its {what} is no stack: {_shown(stack)}"
            if item is not None and not _are_like(stack.element, item):
                return f"one of its {what} holds {_shown(stack.element)}, the body has {_shown(item)}"
    for given, param in zip(inv, body.inputs[1 + k + len(xs) :], strict=True):
        if not _are_like(given, param):
            return f"an invariant that is {_shown(given)}, and {_shown(param)} in the body"
    if test is None:
        return None
    if len(test.inputs) != k + len(inv):
        return f"a test of {len(test.inputs)} inputs for {k} carried values and {len(inv)} invariants"
    if not all(map(_are_like, test.inputs, [*carry, *inv])):
        return "a test whose inputs are not those of the body"
    return (
        _truth_problem(test.outputs[0]) if len(test.outputs) == 1 else f"a test that gives {len(test.outputs)} values"
    )


def _cond_problem(call: Call, branch: Branch, pred: Any, ins: Any) -> str | None:
    for region in branch:
        if len(region.inputs) != len(ins) or not all(map(_are_like, region.inputs, ins)):
            return "a branch whose inputs are not those of the call"
        if len(region.outputs) != len(call.outs):
            return f"a branch of {len(region.outputs)} outputs for {len(call.outs)} results"
    for out, *made in zip(call.outs, branch.then.outputs, branch.orelse.outputs, strict=True):
        if not _are_like(out, *[v for v in made if v is not None]):
            return f"a result that is {_shown(out)}, and {' or '.join(map(_shown, made))} in the branches"
    return _truth_problem(pred)


def _truth_problem(v: Any) -> str | None:
    if v is None or type(v) is bool or isinstance(v, np.bool_):
        return None
    shape = v.type.shape if isinstance(v, Value) else np.shape(v)
    if (isinstance(v, Value) and v.type.kind == STACK) or any(length != 1 for length in shape):
        return f"a condition that is no single truth value, but {_shown(v)}"
    return None


def _is_int(v: Any) -> bool:
    return v.type.kind == "python" and v.type.dtype.kind == "i" if isinstance(v, Value) else type(v) is int


def _are_like(first: Any, *others: Any) -> bool:
    """Whether values, and constants, are of one kind, dtype and shape; of stacks, what they hold."""
    return all(_form(v) == _form(first) for v in others)


def _form(v: Any) -> Any:
    if not isinstance(v, Value):
        return type_of(v)[:3] if isinstance(v, _NUMBERS) else repr(v)
    if v.type.kind == STACK and v.element is not None:
        return STACK, _form(v.element)
    return v.type[:3]


def _shown(v: Any) -> str:
    return str(_type(v)) if v is not None else "nothing"


def _type(v: Any) -> Type | str:
    if not isinstance(v, Value):
        return type_of(v) if isinstance(v, _NUMBERS) else repr(v)
    return v.type if v.element is None else f"a stack of {_type(v.element)}"
