"""The derivatives of a region: its graph replayed on Tensors, and the engine run over what that records, either way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from .....runtime.arrays import is_plain_array
from .....runtime.ir.graph import Call, Graph, Value, map_values, values_in
from .....runtime.ir.opcodes import COND, LISTED, SCAN, STACK, STACK_OPS, is_effect, is_region
from .....runtime.rules.drawing import DRAW
from .....tracer.core import dispatch
from .....tracer.core.engine import run_backward
from .....tracer.core.forward import run_forward
from .....tracer.core.graph import AccumulateGrad
from .....tracer.core.tensor_base import wrap
from .....tracer.core.thread_state import grad_mode
from ...frontend.attempts import LoopRejected
from .stacks import META, stacked
from .starts import zeros

__all__ = [
    "active_values",
    "differentiable",
    "moved",
    "needed_calls",
    "outside_of",
    "refuse_draws_by",
    "transposed",
    "zeros_for",
]


def differentiable(v: Value) -> bool:
    """Whether a value can have a cotangent."""
    if v.type.kind == STACK:
        return v.element is not None and differentiable(v.element)
    return v.type.dtype.kind in "fc"


def active_values(graph: Graph, start: Iterable[Value]) -> set[Value]:
    """The values of a graph that depend, so that a gradient could flow, on some of its inputs."""
    active = set(start)
    for call in graph.calls:
        if not active.isdisjoint(call.reads):
            active.update(out for out in call.outs if differentiable(out))
    return active


def transposed(
    regions: Any, graph: Graph, samples: Sequence[Any], active: set[int], seeds: dict[int, Any], sums: dict[int, Any]
) -> dict[int, Any]:
    """The cotangents of the inputs `active`, by position, from those of the outputs (`seeds`) and sums begun already.

    What is recorded is the reverse alone: the calls of the graph itself get the values that they have.
    """
    space, edges = _replayed(regions, graph, samples, active)
    roots = [(edges[k], total) for k, total in sums.items()]
    for j, seed in seeds.items():
        out = graph.outputs[j]
        node = space[out]._node if isinstance(out, Value) else None
        if node is not None:
            roots.append((node, seed))
    if not roots:
        return {}
    before = regions.transposing
    regions.transposing = before | set(edges.values())
    try:
        found = run_backward(roots, dict.fromkeys(edges.values()), retain_graph=True, create_graph=False)
    finally:
        regions.transposing = before
    return {k: found[edge] for k, edge in edges.items() if edge in found}


def moved(regions: Any, graph: Graph, samples: Sequence[Any], tangents: dict[int, Any]) -> dict[int, Any]:
    """The tangents of the outputs, by position, from those of the inputs; what is recorded is what makes them alone."""
    space, edges = _replayed(regions, graph, samples, tangents)
    nodes = {j: space[out]._node for j, out in enumerate(graph.outputs) if isinstance(out, Value)}
    nodes = {j: node for j, node in nodes.items() if node is not None}
    found = run_forward(list(nodes.values()), {edges[k]: t for k, t in tangents.items()}, create_graph=False)
    return {j: found[node] for j, node in nodes.items() if node in found}


def _replayed(
    regions: Any, graph: Graph, samples: Sequence[Any], active: Collection[int]
) -> tuple[dict[Value, Any], dict[int, Any]]:
    """A graph run again on Tensors, its values as they are known: them, and the nodes of the inputs `active`."""
    frame = regions.frames[-1]
    space: dict[Value, Any] = {}
    edges: dict[int, Any] = {}
    for k, (ir, sample) in enumerate(zip(graph.inputs, samples, strict=True)):
        tensor = tensor_for(ir, sample)
        if k in active:
            edge = _stack_leaf(tensor) if ir.type.kind == STACK else AccumulateGrad(tensor, sample)
            edge.ir = ((ir,), None)
            tensor._node = edges[k] = edge
        space[ir] = tensor
    frame.made.update(graph.inputs, *[call.outs for call in graph.calls])
    with grad_mode(True):
        for call in list(graph.calls):
            _replay(regions, call, space)
    return space, edges


def tensor_for(ir: Value, sample: Any) -> Any:
    """A Tensor that stands for a value of a region."""
    if ir.type.kind == STACK:
        return stacked(sample[0], ir)
    made = wrap(sample)
    made._ir = ir
    return made


def zeros_for(ir: Value, sample: Any) -> Any:
    """A cotangent or a tangent of zeros, of the shape that a value of a region has."""
    return zeros(sample, shape=tensor_for(ir, sample).shape if is_plain_array(sample) else None)


def _stack_leaf(tensor: Any) -> Any:
    leaf = AccumulateGrad(tensor, 0.0)
    leaf.meta = META
    return leaf


def _replay(regions: Any, call: Call, space: dict[Value, Any]) -> None:
    """One call of a region anew, on Tensors in a graph; its results are the values that they were."""
    samples = regions.samples
    if is_region(call) or call.op in STACK_OPS:
        parts = call.args[1:4] if call.op is SCAN else (call.args[2],) if call.op is COND else (call.args,)
        parts = call.args if call.op is LISTED else parts
        inputs = [map_values(v, space.__getitem__) for part in parts for v in part]
        results = [tensor_for(out, samples[out]) for out in call.outs]
        regions.attach(call, inputs, results)
        space.update(zip(call.outs, results, strict=True))
        return
    if call.op.effect or not any(map(differentiable, call.outs)):
        space.update({out: tensor_for(out, samples[out]) for out in call.outs})
        return
    bound = tuple([map_values(a, space.__getitem__) for a in call.args])
    regions.expected = (call.op, call.outs, call.site)
    result = dispatch.run(call.op, bound)
    if regions.expected is not None:
        raise LoopRejected(f"{call.op.path} could not be replayed", call.site)
    outcome = (result,) if call.op.n_out == 1 else result
    space.update(zip(call.outs, outcome, strict=True))


def needed_calls(calls: Sequence[Call], outputs: Iterable[Any]) -> list[Call]:
    """The calls that outputs rest on."""
    live = set(values_in(list(outputs)))
    kept: list[Call] = []
    for call in reversed(calls):
        if not live.isdisjoint(call.outs):
            kept.append(call)
            live.update(call.reads)
    return kept[::-1]


def outside_of(calls: Sequence[Call], outputs: Iterable[Any], params: Iterable[Value]) -> list[Value]:
    """Return the values that calls and outputs read and that neither are among `params` nor made by the calls."""
    known, free = set(params), dict[Value, None]()
    for call in calls:
        free |= dict.fromkeys(v for v in call.reads if v not in known)
        known.update(call.outs)
    free |= dict.fromkeys(v for v in values_in(list(outputs)) if v not in known)
    return list(free)


# Draws in loops and branches: none may rest on what is differentiated, as in eager mode.
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
