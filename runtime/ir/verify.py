"""The verifier of graphs: single assignment, definition before use, arguments that fit their op, types that agree."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..errors import VerifyError
from ..ops import MISSING
from ..rules.control import GUARD
from .graph import Call, Graph, Type, Value, type_of, values_in
from .infer import Inferred, fits, infer, kind_here
from .opcodes import SCAN, STACK, Branch, Loop, all_calls, is_effect, is_region, regions_of

__all__ = ["effects_of", "verify"]

_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


def effects_of(graph: Graph) -> list[Value]:
    """The results of the calls that have effects, in order, in regions, too: what every pass must leave as it is."""
    return [v for call in all_calls(graph) if call.op.effect for v in call.outs]


def verify(graph: Graph, after: str, known: dict[int, Graph | Call] | None = None) -> None:
    """Raise VerifyError, naming the pass that `graph` came from, unless the graph is well formed.

    `known` holds the regions and the calls that were found to be so by themselves, by their ids; it learns of those that
    are. Passes leave most calls as they are: of these, only what stands before them is looked at again.
    """
    known = {} if known is None else known

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
        if not defined.issuperset(call.reads):
            raise bad("a value is used before it is defined", call)
        if not defined.isdisjoint(call.outs):
            raise bad("a value is defined twice", call)
        defined.update(call.outs)
        if id(call) not in known:
            for region in regions_of(call):
                if id(region) not in known:
                    verify(region, after, known)
                    known[id(region)] = region
            problem = _form_problem(call) or (_region_problem(call) if is_region(call) else _type_problem(call))
            if problem is not None:
                raise bad(problem, call)
            known[id(call)] = call
        if effect and call.op is GUARD:
            raise bad("a guard stands behind an effect, which would happen twice where it fails", call)
        effect = effect or is_effect(call)
        quiet_backward = quiet_backward and (call.quiet or not call.backward)
    for v in values_in(graph.outputs):
        if v not in defined:
            raise bad("an output is not defined")
    if not quiet_backward:
        raise bad("a call of a VJP rule would warn")


def _form_problem(call: Call) -> str | None:
    """Return what is wrong with the number of arguments and results of a call, or with what is said of its results."""
    if len(call.args) != len(call.op.params):
        return f"{len(call.args)} arguments for {len(call.op.params)} parameters"
    if any(a is MISSING for a in call.args):
        return "a required argument is missing"
    if call.op.n_out is not None and len(call.outs) != call.op.n_out:
        return f"{len(call.outs)} results where the op has {call.op.n_out}"
    if len({*call.outs}) != len(call.outs):
        return "a value is defined twice"
    for v in call.outs:
        if v.type.kind not in ("array", "scalar", "python", "generator", "stack"):
            return f"a value has no type: {v!r}"
        if v.type.kind == "array" and len(v.type.shape) != len(v.type.strides):
            return f"shape and strides disagree: {v!r}"
    return None


def _type_problem(call: Call) -> str | None:
    """Return the difference between the results of a call and those that its op gives of these arguments."""
    inferred = infer(call.op, call.args)
    if inferred is None:
        return _broadcast_problem(call)
    if len(inferred) != len(call.outs):
        return f"{len(call.outs)} results where it gives {len(inferred)}"
    for v, expected in zip(call.outs, inferred, strict=True):
        if not fits(v.type, expected):
            return f"it gives {expected}, and its result says {Inferred(*v.type)}"
    return None


def _broadcast_problem(call: Call) -> str | None:
    """Whether the operands of a ufunc or an operator, of which nothing is inferred, do not broadcast."""
    fn = call.op.fn
    if getattr(fn, "signature", None) is not None or (call.op.infix is None and not isinstance(fn, np.ufunc)):
        return None
    if call.op.title == "Matmul":
        return None
    shapes = [a.type.shape if isinstance(a, Value) else np.shape(a) for a in call.args[: getattr(fn, "nin", 2)]]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return f"operands of shapes {shapes} do not broadcast"
    return None


def _region_problem(call: Call) -> str | None:
    """Return the problem of a call that holds regions, or None."""
    for region in regions_of(call):
        for inner in region.calls:
            if inner.op is GUARD:
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
        return kind_here(type_of(v))[:3] if isinstance(v, _NUMBERS) else repr(v)
    if v.type.kind == STACK and v.element is not None:
        return STACK, _form(v.element)
    return kind_here(v.type)[:3]


def _shown(v: Any) -> str:
    return str(_type(v)) if v is not None else "nothing"


def _type(v: Any) -> Type | str:
    if not isinstance(v, Value):
        return type_of(v) if isinstance(v, _NUMBERS) else repr(v)
    return v.type if v.element is None else f"a stack of {_type(v.element)}"
