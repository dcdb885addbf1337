"""Loops and branches in forward mode: their tangents go through a loop, or a branch, of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....runtime.arrays import is_plain_array
from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.opcodes import Branch, Loop
from .....tracer.core.thread_state import LOCAL
from ...frontend.attempts import LoopRejected
from .examples import covered, hidden_by, joined, over
from .residuals import keep, recall
from .reverse import active_values, differentiable, moved, needed_calls, outside_of, zeros_for
from .starts import Either, as_kind, begun_anew, differs, of_numpy, zeros
from .state import plain_sample

__all__ = ["branch_forward", "loop_forward"]


def loop_forward(node: Any, tangents: dict[int, Any]) -> dict[int, Any]:
    """The tangents of a loop's results, by position, from those of its inputs: those of the carries are carried along."""
    regions, call = node.regions, node.call
    loop, carry, xs, inv, _ = call.args
    body: Graph = loop.body
    nc, nx = len(carry), len(xs)
    inputs = [regions.samples[body.inputs[0]], *[regions.sample_in(node, body, k) for k in range(nc + nx + len(inv))]]
    carried = sorted(k for k in tangents if k < nc)
    items = sorted(k for k in tangents if nc <= k < nc + nx)
    fixed = sorted(k for k in tangents if k >= nc + nx)
    samples = {k: t._value[0] if k in items else t._value for k, t in tangents.items()}
    hides = {k: hidden_by(t) for k, t in tangents.items()}
    for _ in range(8):
        with regions.frame() as frame:
            params = {k: regions.cotangent(samples[k], body.inputs[1 + k], frame, hides[k]) for k in samples}
            found = moved(regions, body, inputs, {1 + k: t for k, t in params.items()})
            after = {
                k: found[k] if k in found else zeros_for(body.inputs[1 + k], of_numpy(inputs[1 + k])) for k in carried
            }
            wider = {k: joined(hides[k], hidden_by(after[k])) for k in carried}
            after = {k: over(t, wider[k]) for k, t in after.items()}
        more = [k for k in found if k < nc and k not in carried and differentiable(body.inputs[1 + k])]
        other = [k for k in carried if differs(plain_sample(after[k]), samples[k]) or wider[k] != hides[k]]
        if not more and not other:
            break
        carried = sorted([*carried, *more])
        samples |= {k: plain_sample(found[k]) for k in more}
        samples |= {k: begun_anew(plain_sample(after[k]), hides[k], wider[k]) for k in other}
        hides |= {k: hidden_by(found[k]) if k in more else wider[k] for k in carried}
    else:
        raise LoopRejected("its tangents take another type with each trip", call.site)
    regions.unsigned = regions.unsigned or any(k not in tangents for k in carried)
    listed = sorted(k for k in found if k >= nc)
    outs = [regions.capture.operand(t) for t in (*after.values(), *[found[k] for k in listed])]
    calls = needed_calls(frame.calls, outs)
    own, own_items, own_fixed = ([params[k]._ir for k in group] for group in (carried, items, fixed))
    elements, invariant = body.inputs[1 + nc : 1 + nc + nx], body.inputs[1 + nc + nx :]
    once = active_values(body, [body.inputs[1 + k] for k in tangents]) if LOCAL.grad else set()
    needed = outside_of(calls, outs, [*own, *own_items, *own_fixed])
    saved = recall(body, needed, [body.inputs[0], *elements, *invariant], invariant, once)
    # what is wanted before and after a trip is in one list: before it, it is carried
    before = [k for k in range(nc) if body.inputs[1 + k] in saved.kept and body.outputs[k] in saved.kept]
    before = [k for k in before if body.outputs[k] not in body.inputs and body.outputs.index(body.outputs[k]) == k]
    for k in before:
        saved.kept.remove(body.inputs[1 + k])
    rows = [v for v in saved.read if v in elements]
    shared = [v for v in saved.read if v in invariant]
    kept = [node.out(keep(regions, node, body, (), v, nc)) for v in saved.kept]
    starts = []
    for k in carried:
        start = over(_of_its_own(tangents[k], call, regions), hides[k]) if k in tangents else None
        if start is None:
            start = zeros(samples[k], node.input(k), hides[k])
        starts.append(as_kind(start, samples[k]))
    outs[len(carried) : len(carried)] = [body.outputs[k] for k in before]
    earlier = [body.inputs[1 + k] for k in before]
    given = [body.inputs[0], *own, *earlier, *own_items, *rows, *saved.kept, *own_fixed, *shared, *saved.around]
    made = regions.scan(
        Loop(Graph(given, [*saved.calls, *calls], outs), None, loop.reverse),
        [*starts, *[node.input(k) for k in before]],
        [*[tangents[k] for k in items], *[node.input(nc + elements.index(v)) for v in rows], *kept],
        [
            *[tangents[k] for k in fixed], *[node.input(nc + nx + invariant.index(v)) for v in shared],
            *map(regions.around, saved.around),
        ],
        regions.trips_of(node),
        [*[plain_sample(after[k]) for k in carried], *[regions.samples[v] for v in earlier]],
        [*[None] * len(carried), *[v.name for v in earlier]], [plain_sample(found[k]) for k in listed],
    )  # fmt: skip
    del made[len(carried) : len(carried) + len(before)]
    hides |= {k: hidden_by(found[k]) for k in listed}
    return {k: covered(t, hides[k]) for k, t in zip((*carried, *listed), made, strict=False)}


def _of_its_own(tangent: Any, call: Call, regions: Any) -> Any:
    """A tangent that a loop carries, in memory of its own where it may come out as it went in."""
    runs = call.args[0].test is None and isinstance(call.args[4], int)
    if runs or not is_plain_array(tangent._value) or tangent._ir not in regions.capture.findings.graph.inputs:
        return tangent
    return np.copy(tangent)


def branch_forward(node: Any, tangents: dict[int, Any]) -> dict[int, Any]:
    """The tangents of a branch's results, by position, from those of its inputs: of the arm that the forward run chose."""
    regions, call = node.regions, node.call
    branch: Branch = call.args[0]
    graphs = (branch.then, branch.orelse)
    ins = branch.then.inputs
    inputs = [regions.sample_in(node, branch.then, k, first=0) for k in range(len(ins))]
    with regions.frame() as frame:
        params = {k: regions.cotangent(t._value, ins[k], frame, hidden_by(t)) for k, t in tangents.items()}
    arms: list[tuple[list[Call], dict[int, Any]]] = []
    for graph in graphs:
        with regions.frame() as frame:
            frame.made.update([t._ir for t in params.values()])
            arms.append((frame.calls, moved(regions, graph, inputs, dict(params))))
    moving = dict.fromkeys(j for _, found in arms for j in found)
    if any(j not in found for _, found in arms for j in moving) or any(map(hidden_by, tangents.values())):
        regions.stays_apart("has a tangent in one of its arms alone")
    parts = [call for made, _ in arms for call in made]
    both = {
        j: Either([found.get(j) for _, found in arms], of_numpy(regions.samples[call.outs[j]]), parts) for j in moving
    }
    bodies: list[tuple[list[Call], list[Any], Any]] = []
    for at, (graph, (made, _)) in enumerate(zip(graphs, arms, strict=True)):
        with regions.frame() as extra:
            outs = [regions.capture.operand(one.of(at)) for one in both.values()]
        calls = needed_calls([*made, *extra.calls], outs)
        once = active_values(graph, [ins[k] for k in tangents]) if LOCAL.grad else set()
        needed = outside_of(calls, outs, [t._ir for t in params.values()])
        bodies.append((calls, outs, recall(graph, needed, ins, (), once)))
    read: dict[Value, Any] = {}
    for graph, other, (_, _, saved) in zip(graphs, graphs[::-1], bodies, strict=True):
        read |= {v: regions.around(v) for v in saved.around} | {v: node.input(ins.index(v)) for v in saved.read}
        read |= {v: node.out(keep(regions, node, graph, (other,), v, None)) for v in saved.kept}
    own = [t._ir for t in params.values()]
    moving_arms = [Graph([*own, *read], [*saved.calls, *calls], outs) for calls, outs, saved in bodies]
    results = regions.cond(
        Branch(*moving_arms), regions.tensor_of(call.args[1]), [*tangents.values(), *read.values()],
        [one.sample for one in both.values()], [None] * len(both),
    )  # fmt: skip
    return {j: covered(t, one.hides) for (j, one), t in zip(both.items(), results, strict=True)}
