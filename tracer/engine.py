"""The backward engine: cotangents in reverse creation order, without recursion."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..runtime.errors import AutogradError
from ..runtime.ops import Plan
from .graph import NUMBER, AccumulateGrad, Node, Pick
from .modes import LOCAL, grad_mode
from .operand import Operand, alias, wrap
from .site import blame
from .versions import COUNTERS, bump, check

__all__ = ["run_backward"]

float64 = np.float64


def fit(g: Any, meta: tuple[tuple[int, ...], Any]) -> Any:
    """A cotangent in the shape and dtype of what it belongs to: summed over broadcast axes, cast, the real part taken."""
    shape, dtype = meta
    if hasattr(g, "dtype") and g.shape == shape and g.dtype == dtype:
        return g
    if np.shape(g) != shape:
        extra = np.ndim(g) - len(shape)
        if extra > 0:
            g = np.sum(g, axis=0 if extra == 1 else tuple(range(extra)))
        stretched = tuple([k for k, n in enumerate(shape) if n == 1 and np.shape(g)[k] != 1])
        if stretched:
            g = np.sum(g, axis=stretched if len(stretched) > 1 else stretched[0], keepdims=True)
        if np.shape(g) != shape:
            g = np.broadcast_to(g, shape)
    if not hasattr(g, "dtype"):  # a Python number: -1j * np.float64(2) is one
        g = np.asarray(g)[()]
    found = g.dtype
    if found != dtype:
        if found.kind == "c" and dtype.kind != "c":
            g = np.real(g)
            found = g.dtype
        if found != dtype:
            g = g.astype(dtype)
    return g


def _rebuilt(node: Node) -> tuple[Any, ...]:
    """What a node saved, as Tensors that hang in the graph where they stood."""
    edges = dict(zip(node.plan.slots, node.edges, strict=True))
    made: list[Any] = []
    for spec, entry in zip(node.plan.saved, node.saved, strict=True):
        if spec.what == "out":
            if node.op.n_out == 1:
                entry = _hang(entry, node)
            else:
                entry = tuple([_hang(e, Pick(node, j, e)) for j, e in enumerate(entry)])
        elif spec.what == "value":
            param = node.op.params[spec.param]
            if param.sequence or param.variadic:
                entry = tuple([_hang(e, edges.get((spec.param, i))) for i, e in enumerate(entry)])
            else:
                entry = _hang(entry, edges.get((spec.param, -1)))
        made.append(entry)
    return tuple(made)


def _hang(entry: Any, edge: Any) -> Any:
    if isinstance(entry, Operand):
        made = alias(entry)
        made._node = edge if LOCAL.grad else None
        return made
    if edge is None or not LOCAL.grad:
        return entry
    return wrap(entry, edge)


def _needed(roots: list[Any], wanted: dict[Any, Any]) -> set[Any]:
    """The nodes on a path from a root to something wanted."""
    order: list[Any] = []
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        if type(node) is Pick:
            stack.append(node.parent)
        elif type(node) is not AccumulateGrad:
            stack.extend(node.edges)
    needed = set(wanted)
    order.sort(key=_sequence)
    for node in order:  # what a node depends on was created before it
        if type(node) is Pick:
            if node.parent in needed:
                needed.add(node)
        elif type(node) is not AccumulateGrad and any(e in needed for e in node.edges):
            needed.add(node)
    return needed


def _sequence(node: Any) -> int:
    return node.seq  # type: ignore[no-any-return]


def run_backward(
    roots: list[tuple[Any, Any]], wanted: dict[Any, Any] | None, *, retain_graph: bool, create_graph: bool
) -> dict[Any, Any]:
    """Send the cotangents of `roots` (node, cotangent) backward; give those of the nodes in `wanted`.

    With `wanted=None` the leaves' gradients accumulate instead. Cotangents here are those of the plain transpose.
    """
    recorder = LOCAL.recorder
    with np.errstate(all="ignore"), grad_mode(create_graph):
        if recorder is None:
            return _run(roots, wanted, retain_graph, create_graph)
        before = recorder.backward_begins()
        try:
            return _run(roots, wanted, retain_graph, True)
        finally:
            recorder.backward_ends(before)


def _run(
    roots: list[tuple[Any, Any]], wanted: dict[Any, Any] | None, retain_graph: bool, tensors: bool
) -> dict[Any, Any]:
    needed = None if wanted is None else _needed([node for node, _ in roots], wanted)
    results: dict[Any, Any] = {}
    totals: dict[Any, Any] = {}
    owned: set[Any] = set()  # nodes whose running sum is a buffer of ours, so that adding in place is allowed
    heap: list[tuple[int, Any]] = []
    recorder: Any = LOCAL.recorder
    for node, g in roots:
        if node in totals:
            totals[node] = totals[node] + g
        else:
            totals[node] = g
            heappush(heap, (-node.seq, node))
    following: Any = None  # a node that waits beside the heap, which a chain then never touches
    while heap or following is not None:
        if following is None or (heap and -heap[0][0] > following.seq):
            if following is not None:
                heappush(heap, (-following.seq, following))
            node = heappop(heap)[1]
        else:
            node = following
        following = None
        g = totals.pop(node)
        if recorder is not None:
            recorder.backward(node, g)
        if node.extra is not None:
            g = _hooks(node, g)
        if wanted is not None and node in wanted:
            results[node] = g
        kind = type(node)
        if kind is Pick or kind is AccumulateGrad:
            if kind is Pick:
                parent = node.parent
                if needed is not None and parent not in needed:
                    continue
                if parent not in totals:
                    totals[parent] = [None] * parent.plural
                    heappush(heap, (-parent.seq, parent))
                earlier = totals[parent][node.index]
                totals[parent][node.index] = g if earlier is None else earlier + g
            elif wanted is None:
                _accumulate(node, g)
            continue
        if needed is not None and node not in needed:
            continue
        saved = node.saved
        if saved is None:
            raise blame(
                AutogradError(
                    f"Trying to backward through the graph a second time: what {node.name()} saved has been freed. "
                    "Specify retain_graph=True when calling backward the first time."
                )
            )
        if COUNTERS:
            check(node)
        plan = node.plan
        if tensors:
            saved = _rebuilt(node)
        edges = node.edges
        if plan.any_sum:
            sums = _sums(plan, edges, totals, owned)
            grads = plan.backward(tuple(g) if type(g) is list else g, saved, sums)
            grads = _taken_over(plan, edges, grads, totals, owned, heap, needed)
        else:
            grads = plan.backward(tuple(g) if type(g) is list else g, saved, None)
        if not retain_graph and plan.frees:
            node.saved = None
        for edge, gx in zip(edges, grads):  # noqa: B905  # strict= costs a tenth of a 0-d op
            if gx is None or (needed is not None and edge not in needed):
                continue
            if type(gx) is not float64 or edge.meta is not NUMBER:
                gx = fit(gx, edge.meta)
            total = totals.get(edge)
            if total is None:
                totals[edge] = gx
                if following is None:
                    following = edge
                else:
                    heappush(heap, (-edge.seq, edge))
            elif edge in owned and type(gx) is np.ndarray and gx.strides == total.strides:  # else + picks the order
                totals[edge] += gx
            else:
                total = totals[edge] = total + gx
                if type(total) is np.ndarray:
                    owned.add(edge)
    return results


def _sums(plan: Plan, edges: tuple[Any, ...], totals: dict[Any, Any], owned: set[Any]) -> list[Any]:
    """The running sums that formulas take over: buffers of ours, which they may write into."""
    sums: list[Any] = []
    for takes, edge in zip(plan.takes_sum, edges, strict=True):
        total = totals.get(edge) if takes else None
        if total is not None and edge not in owned and type(total) is np.ndarray:
            total = np.array(total)
        sums.append(total)
    return sums


def _taken_over(
    plan: Plan, edges: tuple[Any, ...], grads: tuple[Any, ...], totals: dict[Any, Any], owned: set[Any],
    heap: list[tuple[int, Any]], needed: set[Any] | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Store the new sums of formulas that took theirs over; what is left to add of the others."""
    left = list(grads)
    for j, (takes, edge) in enumerate(zip(plan.takes_sum, edges, strict=True)):
        if takes and left[j] is not None and (needed is None or edge in needed):
            if edge not in totals:
                heappush(heap, (-edge.seq, edge))
            totals[edge] = fit(left[j], edge.meta)
            owned.add(edge)
            left[j] = None
    return tuple(left)


def _hooks(node: Any, g: Any) -> Any:
    """Run the hooks of the tensor that `node` made, in order of registration, and keep its gradient if it retains it."""
    extra = node.extra
    if LOCAL.recorder is not None and extra.hooks:
        LOCAL.recorder.fail("a hook runs in its backward")
    for hook in list(extra.hooks.values()):
        found = hook(_outward(g) if isinstance(g, Operand) else wrap(_outward(g)))
        if found is not None:
            g = _outward(
                found if isinstance(g, Operand) else found._value if isinstance(found, Operand) else np.asarray(found)
            )
    if extra.retain is not None:
        tensor = extra.retain()
        if tensor is not None:
            add_to(tensor, _outward(g))
    return g


def _outward(g: Any) -> Any:
    """A cotangent as users see it (PyTorch's convention), or back: rules are the transpose without a conjugate."""
    return np.conj(g) if g.dtype.kind == "c" else g


def add_to(holder: Any, g: Any) -> None:
    """Add a user-side gradient to `holder.grad` (a leaf's node, or a tensor that retains its gradient)."""
    new = g if isinstance(g, Operand) else wrap(g)
    old = holder.grad
    if old is None:
        if type(new._value) is not np.ndarray:
            new._value = np.asarray(new._value)
        elif new._node is None and (not new._value.flags.owndata or not new._value.flags.writeable):
            new._value = np.array(new._value)
        elif new._node is None:
            new._value = new._value.copy()
        holder.grad = new
    elif new._node is None and old._node is None and not LOCAL.grad:
        old._value += new._value
        bump(old._value, "backward()")
    else:
        holder.grad = old + new


def _accumulate(leaf: AccumulateGrad, g: Any) -> None:
    add_to(leaf, _outward(g))
