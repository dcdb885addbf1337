"""Arrivals of partial cotangents, as the engine meets them: at a leaf, at a node, or where more is added."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value, values_in
from .....runtime.ir.opcodes import COND, SCAN, Branch
from .....runtime.ops import Op
from .....tracer.core.cotangents import UNDEFINED
from .....tracer.core.graph import AccumulateGrad
from ...frontend.attempts import LoopRejected
from .calls import Calls
from .partial import Ends, Presence
from .reverse import outside_of, tensor_for

__all__ = ["Arrivals"]

Some = list[Any]  # cotangents, with None for each that there is not


class Arrivals(Calls):
    """The partial cotangents of one capture."""

    def is_read(self, op: Op, args: tuple[Any, ...]) -> None:
        """An op reads values: none of them may be a partial cotangent."""
        if any(v in self.partial for v in values_in(args)):
            raise LoopRejected(
                f"calls {op.path} of a cotangent that only some ways through it have", self.capture.site()
            )

    def arrived(self, node: Any, g: Any) -> Any:
        """The cotangent that arrives at a node: zeros where an argument has none."""
        return g if type(node) is not AccumulateGrad or node in self.transposing else self.filled(g)

    def filled(self, g: Any, added_to: bool = False) -> Any:
        """A cotangent that is zeros where there is none, or -0.0, to which adding changes no bit."""
        part = self.taken(g)
        for gap in () if part is None else part.gaps:
            gap.fill(added_to)
        return g

    def of_its_own(self, g: Any, others: Sequence[Any]) -> Any:
        """A gradient in memory of its own on all ways; `others` are those that were given before it."""
        ir: Any = getattr(g, "_ir", None)
        calls = self.capture.findings.graph.calls
        seen = self.lies_in(calls, ir) if self.origins else set()
        if seen.isdisjoint(self.origins):
            return g
        where = self.lent.get(ir)
        if where is not None:
            truth, lent = where
            with self.frame() as frame:
                copied: Any = np.copy(g)
                given = self.capture.operand(copied)
            arms = [Graph([ir], frame.calls, [given]), Graph([ir], [], [ir])]
            sample = copied._value if bool(truth._value) is lent else g._value
            return self.cond(Branch(*(arms if lent else arms[::-1])), truth, [g], [sample], [None])[0]
        shared = any(not seen.isdisjoint(self.lies_in(calls, getattr(other, "_ir", None))) for other in others)
        return np.copy(g) if shared or not seen.isdisjoint(self.lent) else g

    def added(self, edge: Any, total: Any, g: Any) -> Any:
        """The sum of two cotangents, where there are both; else the one that there is."""

        def run(here: Some) -> Some:
            both = [t for t in here if t is not None]
            return [both[0] + both[1] if len(both) == 2 else both[0] if both else None]

        if total is UNDEFINED:
            return g
        found = self._in_arms([total, g], [edge], run)
        return total + g if found is None else found[0]

    def chosen(self, node: Any, g: Any, sums: Any, run: Callable[[Any, Any], Sequence[Any]]) -> Some | None:
        """Return the cotangents that a node gives for partial ones, or adds to such sums, as a branch; None where there are none.

        The node of a branch knows itself what to do with them; a loop takes zeros, unless it has none at all on some ways.
        """
        several = type(g) is list
        given = list(g) if several else [g]

        def one_way(here: Some) -> Some:
            own, begun = here[: len(given)], None if sums is None else here[len(given) :]
            if all(t is None for t in own):
                return begun or []
            return list(run(own if several else own[0], begun))

        known = [*given, *(sums or ())]
        if node.op is SCAN and not self._are_alike(given):
            for k, t in enumerate(known):
                self.filled(t, added_to=k >= len(given))
        return None if node.op is COND else self._in_arms(known, node.edges, one_way)

    def _are_alike(self, given: Some) -> bool:
        """Whether there are all of some cotangents, or none of them."""
        parts = [self.part_of(t) for t in given if t is not None]
        return all(part is not None and parts[0] is not None and part.is_like(parts[0]) for part in parts)

    def _in_arms(self, known: Some, edges: Sequence[Any], run: Callable[[Some], Some]) -> Some | None:
        """Return the results of `run` on cotangents, in a branch for each truth by which some are partial; else None."""
        parts = {k: part for k, t in enumerate(known) if (part := self.part_of(t)) is not None}
        if not parts:
            return None
        part = next(iter(parts.values()))
        alike = {k: other.expect for k, other in parts.items() if other.truth._ir is part.truth._ir}
        calls: list[list[Call]] = []
        given: list[dict[int, Any]] = []
        presences: list[dict[int, Presence]] = []
        for way in (True, False):
            here = [t if alike.get(k, way) is way else None for k, t in enumerate(known)]
            for k, other in parts.items():
                if k in alike:
                    self.taken(known[k])
                else:
                    self.partial[known[k]._ir] = other
            with self.frame() as frame:
                found = self._in_arms(here, edges, run)
                found = run(here) if found is None else found
            calls.append(frame.calls)
            given.append({k: t for k, t in enumerate(found) if t is not None})
            presences.append(self.presences(given[-1]))
        places = sorted({k for arm in given for k in arm})
        inside = {out for arm in calls for call in arm for out in call.outs}
        ends = Ends(
            self,
            given,
            presences,
            dict.fromkeys(places),
            lambda k: like_of(edges[k]),
            inside,
            list(itertools.chain(*calls)),
        )
        graphs = []
        read: dict[Value, None] = {}
        for at, own in enumerate(calls):
            with self.frame() as frame:
                outs, needed = ends.of(at)
            graphs.append(Graph([], [*own, *frame.calls], outs))
            read |= dict.fromkeys(outside_of(graphs[-1].calls, needed, ()))
        for graph in graphs:
            graph.inputs[:] = read
        for k in parts:
            self.taken(known[k])
        samples = ends.samples[0 if part.truth._value else 1]
        ins = [self.tensor_of(v) for v in read]
        results = self.cond(Branch(*graphs), part.truth, ins, samples, [None] * len(samples))
        made = ends.written(graphs, results, part.truth)
        return [made.get(k) for k in range(max(places, default=-1) + 1)]


def like_of(edge: Any) -> Any:
    """A Tensor for the argument whose gradient arrives at a node; None where that is no argument."""
    known = getattr(edge, "ir", None) if type(edge) is AccumulateGrad else None
    return None if known is None else tensor_for(known[0][0], edge.value)
