"""The backward engine: cotangents in reverse creation order, without recursion."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

from ...runtime.arrays import ARRIVALS, computing_with, library_of_arrays
from ...runtime.errors import AutogradError
from ...runtime.ops import Plan
from ...runtime.placement import explained_backward
from ...runtime.rules.support import Factored
from ...unpatched import np
from .cotangents import UNDEFINED, fit, outward
from .factors import held_factor
from .graph import NUMBER, AccumulateGrad, Extra, Node, Pick, needed_of, reached_before, reached_from
from .node_hooks import accumulate_at, after, before, plural_of, tensor_hooks
from .outside_arrays import MEMORIES
from .plain_run import added, buffer, collect, run_plain, take_over
from .saved import unpacked
from .site import blame
from .tensor_base import Operand, alias, wrap
from .thread_state import LOCAL, on_new_stack, refresh, restore, switch
from .versions import COUNTERS, check

__all__ = ["apply_node", "freed", "rebuilt", "run_backward"]

float64, ndarray = np.float64, np.ndarray
_SEQ = attrgetter("seq")
THREAD_DEPTH = (
    30  # runs of backward inside each other that one thread's stack takes (PyTorch: 60); then another goes on
)
DEEPEST = 5_000  # runs inside each other, after which an error says that they have no end
PLAIN = Extra()  # of a node that has nothing of its own, where one of the modes looks at every node


class Run:
    """One run of backward, which knows what it comes to; what is recomputed for it goes with it."""

    __slots__ = ("__weakref__", "_known", "nested", "roots", "running", "wanted")

    def __init__(
        self, roots: list[Any], wanted: dict[Any, Any] | None, nested: int = 0, reached: dict[Any, None] | None = None
    ) -> None:
        self.nested = nested  # in how many other runs it is
        self.roots = roots
        self.wanted = wanted
        self.running: set[Any] | None = None  # the nodes that run; None: all
        self._known = reached

    @property
    def reached(self) -> dict[Any, None]:
        """The nodes behind the roots."""
        if self._known is None:
            self._known = reached_from(self.roots)
        return self._known

    def ends_at_wanted(self) -> bool:
        """Whether all paths of this run end at what is wanted; it then knows of no node behind that."""
        assert self.wanted is not None
        found = reached_before(self.roots, self.wanted, self._known)
        if found is not None:
            self._known = found
        return found is not None

    def calls_hooks_of(self, edge: Any) -> bool:
        """Whether this run comes to the hooks of the tensor behind an edge."""
        node = edge.parent if type(edge) is Pick else edge
        if self.running is None or self.wanted is None:
            return node in self.reached
        return (node in self.running and node in self.reached) or (edge in self.wanted and edge in self.reached)


def placed(roots: list[tuple[Any, Any]]) -> Any:
    """Let rules make their arrays where the cotangents are."""
    values = [g._value if isinstance(g, Operand) else g for _, g in roots]
    place = computing_with(library_of_arrays(values))
    place.__enter__()
    return place


def told_of_device(error: Exception) -> Exception:
    """Return an error of a rule that CuPy refused something of, with the name of the op: the last node that a run came to."""
    tb, node = error.__traceback__, None
    while tb is not None:
        if tb.tb_frame.f_code in _RUNS:
            node = tb.tb_frame.f_locals.get("node", node)
        tb = tb.tb_next
    return error if type(node) is not Node else explained_backward(node.op, error)


def rebuilt(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the saved values of a node as Tensors, which hang in the graph where they stood."""
    edges = dict(zip(node.plan.slots, node.edges, strict=True))
    made: list[Any] = []
    for spec, entry in zip(node.plan.saved, saved, strict=True):
        if spec.what == "out":
            if node.op.n_out == 1:
                entry = _hang(entry, node)
            else:
                entry = tuple([_hang(e, Pick(node, j)) for j, e in enumerate(entry)])
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


def run_backward(
    roots: list[tuple[Any, Any]], wanted: dict[Any, Any] | None, *, retain_graph: bool, create_graph: bool,
    accumulate: bool = False, reached: dict[Any, None] | None = None,
) -> dict[Any, Any]:  # fmt: skip
    """Send the cotangents of `roots` (node, cotangent) backward; give those of the nodes in `wanted`.

    With `wanted=None` the leaves' gradients accumulate instead, and with `accumulate` those of the leaves in `wanted`.
    Cotangents here are those of the plain transpose. `reached` are the nodes behind the roots, where the caller knows them, or
    a part of them, which alone is to run.
    """
    here = LOCAL.__dict__
    recorder, outer = here["recorder"], here["run"]
    nested = 0 if outer is None else outer.nested + 1
    if nested > DEEPEST:
        raise blame(
            RecursionError(
                f"backward runs inside backward, {DEEPEST:,} levels deep: what user code in backward (a Function, a hook) calls "
                "seems to have no end"
            )
        )
    if nested and nested % THREAD_DEPTH == 0 and recorder is None and not LOCAL.on_new_stack:
        options: dict[str, Any] = {"retain_graph": retain_graph, "create_graph": create_graph, "accumulate": accumulate}
        return on_new_stack(lambda: run_backward(roots, wanted, **options))  # type: ignore[no-any-return]
    if nested:
        LOCAL.on_new_stack = False
    packing = here["packing"], here["packing_refused"]
    here["run"] = Run([node for node, _ in roots], wanted, nested, reached)
    anomaly = watch = profiler = None
    if here["watched"]:
        anomaly, watch, profiler = here["anomaly"], here["watch"], here["profiler"]
    if anomaly is not None:
        outer_node, anomaly.node = anomaly.node, None
    profiled = None if profiler is None else profiler.run_begins()
    if watch is not None:
        outer_watched, watch.node = watch.node, None
    before = switch(create_graph, here["inference"])
    place = placed(roots) if ARRIVALS.any else None
    try:
        if recorder is None:
            tensors = create_graph or (bool(here["levels"]) and any(isinstance(g, Operand) for _, g in roots))
            return _run(roots, wanted, retain_graph, tensors, accumulate, None, anomaly, watch, profiler)
        began = recorder.backward_begins()
        try:
            return _run(roots, wanted, retain_graph, True, accumulate, recorder, anomaly, watch, profiler)
        finally:
            recorder.backward_ends(began)
    except Exception as error:
        if anomaly is not None:
            anomaly.explain()
        if place is not None and place.module is not None and (told := told_of_device(error)) is not error:
            raise blame(told) from None
        raise
    finally:
        if place is not None:
            place.__exit__()
        restore(before)
        here["run"] = outer
        if (here["packing"], here["packing_refused"]) != packing:  # user code in backward set them, and left them so
            here["packing"], here["packing_refused"] = packing
            refresh()
        if profiler is not None:
            profiler.end(profiled)
        if anomaly is not None:
            anomaly.node = outer_node
        if watch is not None:
            watch.node = outer_watched


@np.errstate(all="ignore")
def _run(
    roots: list[tuple[Any, Any]], wanted: dict[Any, Any] | None, retain_graph: bool, tensors: bool, accumulate: bool,
    recorder: Any, anomaly: Any, watch: Any, profiler: Any,
) -> dict[Any, Any]:  # fmt: skip
    needed: set[Any] | None = None
    running: set[Any] | None = None
    run = LOCAL.run
    if wanted is not None and (accumulate or not run.ends_at_wanted()):
        needed, running = needed_of(run.reached, wanted, accumulate)
        run.running = running
    results: dict[Any, Any] = {}
    totals: dict[Any, Any] = {}
    owned: set[Any] = set()  # nodes whose running sum is a buffer of ours, so that adding in place is allowed
    watched = not (recorder is anomaly is watch is profiler is None)
    grads: tuple[Any, ...] = ()  # what the last node gave
    undefined = UNDEFINED
    for node, g in roots:
        if node in totals:
            totals[node] = totals[node] + g if recorder is None else recorder.added(node, totals[node], g)
        else:
            totals[node] = g
    if needed is running is None and not watched:
        order = sorted(run.reached, key=_SEQ, reverse=True)
        run_plain(order, totals, owned, results, wanted, retain_graph, rebuilt if tensors else None)
    heap = [(-node.seq, node) for node in totals]
    heapify(heap)
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
        extra = node.extra
        if type(g) is Factored and (extra is not None or not (anomaly is watch is None)):
            g = g.product()
        if watched:
            if recorder is not None and g is not undefined and type(g) is not Factored:
                g = recorder.backward(node, g)
            if anomaly is not None:
                anomaly.node = node
                extra = extra or PLAIN
            if watch is not None:
                watch.arrives(node, g)
                extra = extra or PLAIN
        if wanted is not None:
            if node in wanted if running is None else node not in running:
                if node in wanted:
                    results[node] = g if extra is None else tensor_hooks(extra, g, tensors)
                continue
            if node in wanted:  # known as it came, before hooks: so does PyTorch
                results[node] = g
        if profiler is not None:
            profiler.node(node, g, grads)
            grads = ()
        kind = type(node)
        if kind is Pick or kind is AccumulateGrad:
            if kind is Pick:
                if collect(node, g, totals, recorder):
                    heappush(heap, (-node.parent.seq, node.parent))
            else:
                accumulate_at(node, extra, g, tensors)
            continue
        saved = node.saved
        if saved is None:
            raise blame(freed(node))
        if COUNTERS or MEMORIES:
            check(node)
            renewed = node.saved  # of a Tensor that was given other data, that
            saved = saved if renewed is None else renewed  # None: another thread has freed it meanwhile
        if extra is not None:
            if extra.hooks or extra.retain is not None:
                g = tensor_hooks(extra, g, tensors)
            if extra.prehooks or extra.outputs:
                g = before(node, extra, g, tensors)
            if extra.packed:
                saved = unpacked(node)
        plan = node.plan
        if tensors:
            saved = rebuilt(node, saved)
        edges = node.edges
        part = None
        if recorder is not None and extra is None and g is not undefined:
            part = _in_part(recorder, node, g, saved, totals, owned)
        if part is not None:
            grads = _taken_over(g, plan, edges, part, totals, owned, heap, needed) if plan.any_sum else part
        elif extra is not None or g is undefined:
            grads = _alone(node, g, saved)
            if anomaly is not None:
                anomaly.check(node, grads)
            if extra is not None and extra.posthooks:
                grads = after(node, extra, grads, g, needed, tensors)
            if watch is not None:
                watch.gives(node, g, grads)
        elif plan.scales and (held := held_factor(node, g, saved, totals, wanted)) is not None:
            grads = (held,)
        elif plan.any_sum:
            sums = _sums(plan, edges, totals, owned)
            grads = plan.backward(tuple(g) if type(g) is list else g, saved, sums)
            grads = _taken_over(g, plan, edges, grads, totals, owned, heap, needed)
        else:
            grads = plan.backward(tuple(g) if type(g) is list else g, saved, None)
        if not retain_graph and plan.frees:
            node.saved = None
        for edge, gx in zip(edges, grads):  # noqa: B905  # strict= costs a tenth of a 0-d op
            if gx is None or (needed is not None and edge not in needed):
                if edge not in totals and (needed is None or edge in needed):
                    totals[edge] = undefined
                    heappush(heap, (-edge.seq, edge))
                continue
            meta = edge.meta
            if type(gx) is ndarray:  # as most often, it fits
                if gx.shape != meta[0] or gx.dtype != meta[1]:
                    gx = fit(gx, meta)
            elif type(gx) is not float64 or meta is not NUMBER:
                gx = fit(gx, meta)
            total = totals.get(edge)
            if total is None:
                totals[edge] = gx
                if following is None:
                    following = edge
                else:
                    heappush(heap, (-edge.seq, edge))
            else:
                totals[edge] = added(edge, total, gx, owned) if recorder is None else recorder.added(edge, total, gx)
    if profiler is not None:
        profiler.node_ends(grads)
    return {node: g for node, g in results.items() if g is not UNDEFINED}


_RUNS = (_run.__wrapped__.__code__, run_plain.__code__)  # type: ignore[attr-defined]  # whose variable `node` is the node that runs


def _in_part(
    recorder: Any, node: Any, g: Any, saved: Any, totals: dict[Any, Any], owned: set[Any]
) -> tuple[Any, ...] | None:
    """Return the cotangents of a node whose own cotangent only some arms of a branch give; None for other nodes."""
    plan, edges = node.plan, node.edges

    def run(g: Any, sums: Any) -> list[Any]:
        found = plan.backward(tuple(g) if type(g) is list else g, saved, sums)
        return [None if gx is None else fit(gx, edge.meta) for gx, edge in zip(found, edges, strict=True)]

    sums = _sums(plan, edges, totals, owned) if plan.any_sum else None
    found = recorder.chosen(node, g, sums, run)
    return None if found is None else (*found, *[None] * (len(edges) - len(found)))


def apply_node(node: Node, grads: tuple[Any, ...]) -> dict[Any, Any]:
    """The user-side gradients that one node alone makes of those of its results, by slot."""
    if node.saved is None:
        raise blame(freed(node))
    if COUNTERS or MEMORIES:
        check(node)
    plan = node.plan
    given = [None if g is None else outward(g if LOCAL.grad else g._value) for g in grads]
    saved = unpacked(node) if node.extra is not None and node.extra.packed else node.saved
    found: dict[Any, Any] = {}
    with np.errstate(all="ignore"):
        results = _alone(node, given if plural_of(node) else given[0], rebuilt(node, saved) if LOCAL.grad else saved)
        for slot, edge, g in zip(plan.slots, node.edges, results, strict=True):
            if g is not None:
                g = outward(fit(g, edge.meta))
                found[slot] = g if isinstance(g, Operand) else wrap(g)
    return found


def freed(node: Any) -> AutogradError:
    """The error about a node whose saved tensors are gone."""
    return AutogradError(
        "Trying to backward through the graph a second time, or to read saved tensors after they have already been freed: "
        f"what {node.name()} saved is gone. Specify retain_graph=True when calling backward the first time."
    )


def _sums(plan: Plan, edges: tuple[Any, ...], totals: dict[Any, Any], owned: set[Any]) -> list[Any]:
    """The running sums that formulas take over: buffers of ours, which they may write into."""
    pairs = zip(plan.takes_sum, edges, strict=True)
    return [buffer(edge, totals, owned) if takes else None for takes, edge in pairs]


def _taken_over(
    g: Any, plan: Plan, edges: tuple[Any, ...], grads: tuple[Any, ...], totals: dict[Any, Any], owned: set[Any],
    heap: list[tuple[float, Any]], needed: set[Any] | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Store the new sums of formulas that took theirs over; what is left to add of the others."""
    left = list(grads)
    for j, (takes, edge) in enumerate(zip(plan.takes_sum, edges)):  # noqa: B905
        total = left[j]
        if takes and total is not None and (needed is None or edge in needed):
            if edge not in totals:
                heappush(heap, (-edge.seq, edge))
            take_over(edge, total, g, totals, owned)
            left[j] = None
    return tuple(left)


def _alone(node: Any, g: Any, saved: Any) -> tuple[Any, ...]:
    """The cotangents that a node gives for its arguments, added to nothing."""
    plan = node.plan
    several = type(g) is list
    if type(node) is Node and (all(one is None for one in g) if several else g is UNDEFINED or g is None):
        return (None,) * len(node.edges)
    cotangent = tuple(g) if several else g
    if g is UNDEFINED:
        cotangent = (None,) * plural_of(node) or None
    found: tuple[Any, ...] = plan.backward(cotangent, saved, [None] * len(node.edges) if plan.any_sum else None)
    return found
