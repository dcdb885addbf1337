"""Backward in the plain case, where nobody looks on and no node has hooks: each plan gets straight Python, compiled when met."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...runtime.arrays import is_plain_array, own_memory
from ...runtime.ops import Plan
from ...runtime.rules.support import Factored
from ...unpatched import np
from .cotangents import UNDEFINED, fit
from .factors import held_factor
from .graph import NUMBER, AccumulateGrad, Node, Pick
from .node_hooks import accumulate_at
from .outside_arrays import MEMORIES
from .versions import COUNTERS, check

__all__ = ["added", "buffer", "collect", "run_plain", "take_over"]

float64, ndarray = np.float64, np.ndarray
_UNROLLED = 4  # slots of a plan, up to which its edges are written out


def run_plain(
    order: Iterable[Any], totals: dict[Any, Any], owned: set[Any], results: dict[Any, Any], wanted: dict[Any, Any] | None,
    retain_graph: bool, rebuilt: Callable[[Any, Any], Any] | None,
) -> None:  # fmt: skip
    """Run nodes in `order`, the last made first, until one is met that is not plain: its cotangent stays in `totals`.

    `totals` are the cotangents by node, `owned` the nodes whose sum is a buffer of the run's. Those of the `wanted` nodes, at
    which the run ends, go into `results`; where none are wanted the leaves add theirs up. With `rebuilt`, which makes them of
    what is saved, all are Tensors.
    """
    undefined, take, stops = UNDEFINED, totals.pop, wanted or ()
    for node in order:
        g = take(node, None)
        if g is None:
            continue
        kind = type(node)
        if node in stops:
            if node.extra is not None:
                totals[node] = g
                return
            results[node] = g
        elif kind is Node:
            saved, plan = node.saved, node.plan
            if node.extra is not None or saved is None or g is undefined:
                totals[node] = g
                return
            if COUNTERS or MEMORIES:
                check(node)
                renewed = node.saved  # of a Tensor that was given other data, that
                saved = saved if renewed is None else renewed  # None: another thread has freed it meanwhile
            if rebuilt is not None:
                saved = rebuilt(node, saved)
            if plan.scales and (held := held_factor(node, g, saved, totals, wanted)) is not None:
                _send(node.edges[0], held, totals, owned)
            else:
                step = plan.step or _first_step(plan)
                step(node, g if type(g) is not list else tuple(g), saved, totals, owned)
            if plan.frees and not retain_graph:
                node.saved = None
        elif kind is AccumulateGrad and node.extra is None:
            accumulate_at(node, None, g, rebuilt is not None)
        elif kind is Pick and node.extra is None:
            collect(node, g, totals, None)
        else:
            totals[node] = g
            return


def collect(pick: Pick, g: Any, totals: dict[Any, Any], recorder: Any) -> bool:
    """Put the cotangent of one of several results where its node will find it; return whether that is the first to come."""
    parent = pick.parent
    first = parent not in totals
    if first:
        totals[parent] = UNDEFINED
    if g is not UNDEFINED:
        if totals[parent] is UNDEFINED:
            totals[parent] = [None] * parent.plural
        earlier = totals[parent][pick.index]
        summed = recorder is not None and earlier is not None
        totals[parent][pick.index] = (
            recorder.added(pick, earlier, g) if summed else g if earlier is None else earlier + g
        )
    return first


def added(edge: Any, total: Any, g: Any, owned: set[Any]) -> Any:
    """Return the sum of the cotangents that came before and one more, in place where it is a buffer of the run's."""
    if edge in owned and type(g) is ndarray and g.strides == total.strides:  # else + picks the order
        total += g
        return total
    total = total + g
    if type(total) is ndarray:  # of CuPy's none is added to in place
        owned.add(edge)
    return total


def _send(edge: Any, g: Any, totals: dict[Any, Any], owned: set[Any]) -> None:
    """Add a cotangent, or None, to those of its node."""
    total = totals.get(edge)
    if g is None:
        if total is None:
            totals[edge] = UNDEFINED
        return
    meta = edge.meta
    if type(g) is ndarray:  # as most often, it fits
        if g.shape != meta[0] or g.dtype != meta[1]:
            g = fit(g, meta)
    elif type(g) is not float64 or meta is not NUMBER:
        g = fit(g, meta)
    totals[edge] = g if total is None else added(edge, total, g, owned)


def buffer(edge: Any, totals: dict[Any, Any], owned: set[Any]) -> Any:
    """The running sum that a formula takes over: a buffer of the run's, which it may write into; None where there is none."""
    total = totals.get(edge)
    if total is UNDEFINED:
        return None
    if type(total) is Factored:
        total = totals[edge] = total.product()
    if total is not None and edge not in owned and is_plain_array(total):
        total = own_memory(total)
    return total


def take_over(edge: Any, total: Any, g: Any, totals: dict[Any, Any], owned: set[Any]) -> None:
    """Store the sum of a formula that took the last one over; `g` is the cotangent that the formula got."""
    meta = edge.meta
    if type(total) is not ndarray or total.shape != meta[0] or total.dtype != meta[1]:
        total = fit(total, meta)
    totals[edge] = total
    if total is not g and (not is_plain_array(total) or total.base is None):  # not the cotangent, nor a view of it
        owned.add(edge)


def _first_step(plan: Plan) -> Callable[..., None]:
    """Compile the way through a plan, which its nodes take from then on."""
    plan.step = _each_of(plan.backward) if len(plan.slots) > _UNROLLED else _compiled(plan)
    return plan.step


def _each_of(backward: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    """The way through a plan of many edges, none of which takes a sum over."""

    def step(node: Node, g: Any, saved: Any, totals: dict[Any, Any], owned: set[Any]) -> None:
        for edge, gx in zip(node.edges, backward(g, saved, None)):  # noqa: B905  # strict= costs a tenth of a 0-d op
            _send(edge, gx, totals, owned)

    return step


def _compiled(plan: Plan) -> Callable[..., None]:
    """Straight Python: what `_send` does, written out for each edge as far as most cotangents need it."""
    space: dict[str, Any] = {
        "type_": type, "ndarray_": ndarray, "send_": _send, "buffer_": buffer, "take_over_": take_over,
    }  # fmt: skip
    edges = [f"edge{j}_" for j in range(len(plan.slots))]
    lines = [f"{', '.join(edges)}, = node_.edges"]
    if plan.saved:
        lines.insert(0, f"{', '.join([s.name for s in plan.saved])}, = saved_")
    if plan.any_sum:  # of one slot
        lines += [
            "total_ = totals_.get(edge0_)",
            "sums = (total_ if type_(total_) is ndarray_ and edge0_ in owned_ else buffer_(edge0_, totals_, owned_),)",
        ]
    for j, (fn, arguments) in enumerate(plan.formulas):
        space[f"vjp{j}_"] = fn
        lines.append(f"g{j}_ = vjp{j}_({arguments})")
    for j, edge in enumerate(edges):
        if plan.takes_sum[j]:
            lines += [f"if g{j}_ is not None:", f"    take_over_({edge}, g{j}_, g, totals_, owned_)", "else:"]
        else:
            lines += [
                f"shape_, dtype_ = {edge}.meta",
                f"if type_(g{j}_) is ndarray_ and g{j}_.dtype is dtype_ and g{j}_.shape == shape_ and {edge} not in totals_:",
                f"    totals_[{edge}] = g{j}_", "else:",
            ]  # fmt: skip
        lines.append(f"    send_({edge}, g{j}_, totals_, owned_)")
    body = "".join([f"    {line}\n" for line in lines])
    exec(compile(f"def step(node_, g, saved_, totals_, owned_):\n{body}", "<step of a plan>", "exec"), space)
    step: Callable[..., None] = space["step"]
    return step
