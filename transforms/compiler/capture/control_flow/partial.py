"""Partial cotangents: those that a value has in some arms of a branch and not in others, as in eager mode.

Where there is none, nothing reads the result of the branch: what is made of a partial cotangent stands in a branch, too. Only
where an argument's gradient is one, or what a loop carries, the arms that give none give zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from .....runtime.arrays import is_array, is_writeable
from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.opcodes import AND, NOT, OR
from .starts import Either, empty_sum, zeros

__all__ = ["Ends", "Partial", "Presence"]


class Gap(NamedTuple):
    """An output of an arm that gives no cotangent, and zeros that it may give instead, of either sign."""

    graph: Graph
    place: int
    zeros: tuple[Any, Any]

    def fill(self, negative: bool) -> None:
        """Give the zeros."""
        self.graph.outputs[self.place] = self.zeros[negative]


class Partial:
    """A partial cotangent: there is one where a traced truth is as expected."""

    def __init__(self, truth: Any, expect: bool, gaps: Sequence[Gap]) -> None:
        self.truth, self.expect = truth, expect
        self.gaps = gaps

    def is_like(self, other: Partial) -> bool:
        """Whether there is one just where there is another."""
        return self.truth._ir is other.truth._ir and self.expect is other.expect

    def told(self, regions: Any) -> Any:
        """A truth of Python's: whether there is one."""
        if self.expect and type(self.truth._value) is bool:
            return self.truth
        negated = regions.calculated(NOT, (self.truth,))
        return regions.calculated(NOT, (negated,)) if self.expect else negated


Presence = bool | Partial  # whether an arm gives a cotangent


class Ends:
    """The cotangents that the arms of a branch give, by the place of the value they belong to, and where they give none."""

    def __init__(
        self, regions: Any, given: Sequence[dict[int, Any]], presences: Sequence[dict[int, Presence]], bases: dict[int, Any],
        likes: Callable[[int], Any], inside: Collection[Value], calls: Sequence[Call],
    ) -> None:  # fmt: skip
        self.regions, self.likes, self.inside = regions, likes, inside
        self.presences = [{k: arm.get(k, False) for k in bases} for arm in presences]
        self.both = {k: Either([found.get(k) for found in given], base, calls) for k, base in bases.items()}
        self.told = [k for k in self.both if self._is_told(*[arm[k] for arm in self.presences])]
        self.samples: list[list[Any]] = []
        self._zeros: list[dict[int, tuple[Any, Any]]] = []  # of either arm, by place

    def _is_told(self, *presences: Presence) -> bool:
        """Whether a result of the branch must say if there is a cotangent: by a truth that is known in an arm alone."""
        parts = [part for part in presences if isinstance(part, Partial)]
        return any(part.truth._ir in self.inside for part in parts) or (
            len(parts) == 2 and not parts[0].is_like(parts[1])
        )

    def of(self, arm: int, apart: Callable[[list[Any]], list[Any]] = list) -> tuple[list[Any], list[Any]]:
        """The outputs of an arm, and what they may come to be: recorded in a region."""
        operand = self.regions.capture.operand
        made = [one.of(arm) for one in self.both.values()]
        gaps: dict[int, tuple[Any, Any]] = {}
        for at, (k, one) in enumerate(self.both.items()):
            if one.given[arm] is None and not one.hides:
                like = self.likes(k)
                made[at] = zeros(one.sample, like)
                gaps[at] = operand(made[at]), operand(empty_sum(one.sample, like, False))
        made = apart(made)
        for k in self.told:
            presence = self.presences[arm][k]
            made.append(presence.told(self.regions) if isinstance(presence, Partial) else presence)
        self._zeros.append(gaps)
        self.samples.append([getattr(t, "_value", t) for t in made])
        outs = list(map(operand, made))
        needed = [*outs, *[v for both in gaps.values() for v in both]]
        return [None if at in gaps else out for at, out in enumerate(outs)], needed

    def written(self, graphs: Sequence[Graph], results: Sequence[Any], truth: Any) -> dict[int, Any]:
        """The cotangents, by place, once the branch by `truth` is written down; from here on it is known which are partial."""
        self._note_memory(graphs, results, truth)
        gaps: list[list[Gap]] = [[] for _ in self.both]
        for graph, own in zip(graphs, self._zeros, strict=True):
            for at, value in own.items():
                gaps[at].append(Gap(graph, at, value))
        told = dict(zip(self.told, results[len(self.both) :], strict=True))
        for k, result, own_gaps, one in zip(self.both, results, gaps, self.both.values(), strict=False):
            then, orelse = (arm[k] for arm in self.presences)
            if (then is True and orelse is True) or one.hides:
                continue
            all_gaps = own_gaps + [gap for part in (then, orelse) if isinstance(part, Partial) for gap in part.gaps]
            if k in told:
                part = Partial(told[k], True, all_gaps)
            else:
                part = Partial(*self._presence(then, orelse, truth), all_gaps)
            self.regions.partial[result._ir] = part
        return dict(zip(self.both, results, strict=False))

    def _presence(self, then: Presence, orelse: Presence, truth: Any) -> tuple[Any, bool]:
        """A truth by which there is a cotangent, and which one, of what is known outside of the arms."""
        if isinstance(then, bool) and isinstance(orelse, bool):
            return truth, then
        if isinstance(then, Partial) and isinstance(orelse, Partial):
            return then.truth, then.expect
        calculated = self.regions.calculated
        part, other = (then, orelse) if isinstance(then, Partial) else (orelse, then)
        assert isinstance(part, Partial)
        if part.truth._ir is truth._ir and (part is then) is part.expect and not other:
            return truth, part.expect
        own = part.truth if part.expect else calculated(NOT, (part.truth,))
        here = truth if (part is then) is not bool(other) else calculated(NOT, (truth,))
        return calculated(OR if other else AND, (here, own)), True

    def _note_memory(self, graphs: Sequence[Graph], results: Sequence[Any], truth: Any) -> None:
        """Note of each result on which ways it may lie in memory that is not its own."""
        regions = self.regions
        ins = regions.capture.findings.graph.calls[-1].args[2]
        for at, result in enumerate(results[: len(self.both)]):
            lent: list[bool] = []
            origins: set[Value] = set()
            for graph, samples in zip(graphs, self.samples, strict=True):
                seen = regions.lies_in(graph.calls, graph.outputs[at])
                origins.update(v for p, v in zip(graph.inputs, ins, strict=True) if p in seen and isinstance(v, Value))
                held = samples[at] if graph.outputs[at] is not None else None
                lent.append(is_array(held) and not is_writeable(held))
                lent[-1] |= any(v in regions.lent for v in seen)
            if any(lent):
                regions.lent[result._ir] = (truth, lent[0]) if lent[0] is not lent[1] else None
            regions.origins[result._ir] = origins
