"""Paths of one function as a tree: what they share stands there once, up to the guard in which they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.rules.control import GUARD
from ..analysis.effects import stays
from ..passes.rewrite import key_of
from .program import Fork, Guard, Note, Program, Return, Statement

__all__ = ["OutcomeNode", "forked", "is_guard", "merged"]


class OutcomeNode:
    """Calls one after the other, and then the end of a path, or arms: a guard each, and what follows where it holds."""

    def __init__(self, calls: list[Call], outcome: int | None, outputs: list[Any]) -> None:
        self.calls = calls
        self.outcome = outcome  # of which path this is the end; None where there are arms
        self.outputs = outputs
        self.arms: list[tuple[Call, OutcomeNode]] = []

    def nodes(self) -> Iterator[OutcomeNode]:
        """This node and all below, as they follow each other in the text."""
        yield self
        for _, node in self.arms:
            yield from node.nodes()

    def paths(self) -> list[int]:
        """The paths that end here or below, as they follow each other in the text."""
        return [node.outcome for node in self.nodes() if node.outcome is not None]

    def straight(self, inputs: list[Value], before: Sequence[Call] = ()) -> Iterator[Graph]:
        """The graph of each path by itself, in the order of `paths`."""
        calls = [*before, *self.calls]
        if self.outcome is not None:
            yield Graph(inputs, calls, self.outputs)
        for guard, node in self.arms:
            yield from node.straight(inputs, [*calls, guard])

    def whole(self, inputs: list[Value]) -> Graph:
        """All calls in the order of the text: each arm begins with its guard, and ends the function."""
        calls: list[Call] = []
        outputs: list[Any] = []

        def add(node: OutcomeNode) -> None:
            calls.extend(node.calls)
            outputs.extend(node.outputs)
            for guard, below in node.arms:
                calls.append(guard)
                add(below)

        add(self)
        return Graph(inputs, calls, outputs)

    def is_choice(self) -> bool:
        """Whether the arms are a condition and its negation, so that no call is of a path that is not known."""
        return len(self.arms) == 2 and self.arms[0][0].args[1] == "bool"

    def share(self) -> None:
        """What both arms of a choice compute, whatever comes, is computed before it, as the user's code has it."""
        for _, node in self.arms:
            node.share()
        if not self.is_choice():
            return
        one, other = (node for _, node in self.arms)
        calls = {_key(call, call.args): call for call in one.head()}
        now: dict[Value, Value] = {}
        shared: dict[Call, Call] = {}
        for call in other.head():
            args = tuple([map_values(a, lambda v: now.get(v, v)) for a in call.args])
            twin = calls.get(_key(call, args))
            if twin is not None and not call.backward and not stays(call):
                shared[call] = twin
                now.update(zip(call.outs, twin.outs, strict=True))
        first = set(shared.values())
        self.calls += [call for call in one.calls if call in first]
        one.calls = [call for call in one.calls if call not in first]
        other.calls = [call for call in other.calls if call not in shared]
        for node in other.nodes() if now else ():
            node.put_in_place(now)

    def head(self) -> list[Call]:
        """The calls before the first guard."""
        return self.calls[: _next_guard(self.calls, 0)]

    def put_in_place(self, now: dict[Value, Value]) -> None:
        """Read other values in place of those that are no more."""

        def value(v: Value) -> Value:
            for held in (v, v.cotangent_of):  # the latter stands for another in the second order
                if held is not None and held.cotangent_of in now:
                    held.cotangent_of = now[held.cotangent_of]
            return now.get(v, v)

        def moved(call: Call) -> Call:
            for v in call.outs:
                value(v)
            return call.with_args(tuple([map_values(a, value) for a in call.args]))

        self.calls = [moved(call) for call in self.calls]
        self.arms = [(moved(guard), node) for guard, node in self.arms]
        self.outputs = [map_values(v, value) for v in self.outputs]

    def put_in_order(self) -> None:
        """The arm with the most paths comes last, since it is not indented; a condition comes before its negation."""
        for _, node in self.arms:
            node.put_in_order()
        self.arms.sort(key=lambda arm: (len(arm[1].paths()), arm[0].args[2] is not True, _sortable(arm[0].args[2])))


def forked(program: Program, root: OutcomeNode, results: Sequence[Any]) -> Program:
    """Return the program of `root.whole` with a Fork for each path but the last; `results` are the result trees of the paths.

    So what a step decided for all calls in that order holds, as if each path ran on into the next: a name is unique along
    every path, and no array is written over that a later path still reads.
    """
    heads = {guard.outs[0] for node in root.nodes() for guard, _ in node.arms}
    parts: dict[Value | None, list[Statement]] = {None: []}  # by the guard before them
    guards: dict[Value, Guard] = {}
    below: Value | None = None
    for statement in program.body[:-1]:
        if isinstance(statement, Guard) and statement.out in heads:
            below = statement.out
            guards[below], parts[below] = statement, []
        else:
            parts[below].append(statement)

    def path(node: OutcomeNode, below: Value | None) -> list[Statement]:
        made = list(parts[below])
        if node.outcome is not None:
            return [*made, Return(results[node.outcome], tuple(node.outputs), Note())]
        (*others, (last, rest)) = node.arms
        other = last if node.is_choice() else None
        for guard, under in others:
            g = guards[guard.outs[0]]
            made.append(Fork(g.value, g.how, g.expected, path(under, g.out), g.call, other, g.note))
        return [*made, *([] if other is not None else [guards[last.outs[0]]]), *path(rest, last.outs[0])]

    return program._replace(body=path(root, None))


def _sortable(expect: Any) -> tuple[float, str]:
    return (expect if isinstance(expect, (int, float)) and expect == expect else 0, repr(expect))


def is_guard(call: Call) -> bool:
    """Whether a call is a guard."""
    return call.op is GUARD


def merged(graphs: Sequence[Graph], inputs: list[Value], places: Sequence[list[int]]) -> OutcomeNode | None:
    """The tree of several graphs, whose inputs stand at `places` among `inputs`; None where two part at no guard."""
    root: OutcomeNode | None = None
    for k, (graph, at) in enumerate(zip(graphs, places, strict=True)):
        path = _Path(k, graph, {v: inputs[place] for v, place in zip(graph.inputs, at, strict=True)})
        if root is None:
            root = path.rest(0)
        elif not path.joins(root):
            return None
    if root is not None:
        root.share()
        root.put_in_order()
    return root


class _Path:
    """A graph on its way into the tree, and which value of the tree each of its own is."""

    def __init__(self, number: int, graph: Graph, known: dict[Value, Value]) -> None:
        self.number = number
        self.graph = graph
        self.known = known

    def joins(self, node: OutcomeNode) -> bool:
        """Add the path to the tree below `node`; False where it parts from the others at no guard."""
        at = k = 0  # the places in the path's calls and in those of the node
        while True:
            end, until = _next_guard(self.graph.calls, at), _next_guard(node.calls, k)
            if end == len(self.graph.calls) or not self.is_same(self.graph.calls[at:end], node.calls[k:until]):
                return False
            own = self.graph.calls[end]
            if until < len(node.calls):
                guard = node.calls[until]
                if not self.is_like(own, guard):
                    return False
                if _expects(own) == _expects(guard):
                    self.known[own.outs[0]] = guard.outs[0]
                    at, k = end + 1, until + 1
                    continue
                below = OutcomeNode(node.calls[until + 1 :], node.outcome, node.outputs)
                below.arms = node.arms
                node.calls, node.outcome, node.outputs, node.arms = node.calls[:until], None, [], [(guard, below)]
            if not node.arms or not self.is_like(own, node.arms[0][0]):
                return False
            for guard, below in node.arms:
                if _expects(own) == _expects(guard):
                    self.known[own.outs[0]] = guard.outs[0]
                    node, at, k = below, end + 1, 0
                    break
            else:
                node.arms.append((self.call(own), self.rest(end + 1)))
                return True

    def is_same(self, own: list[Call], others: list[Call]) -> bool:
        """Whether both lists, between two guards, compute the same; then the values of `others` are known for `own`."""
        if len(own) != len(others):
            return False
        calls = {_key(call, call.args): call for call in others}
        for call in own:
            twin = calls.pop(_key(call, self.args(call)), None)
            if twin is None:
                return False
            self.known.update(zip(call.outs, twin.outs, strict=True))
        return True

    def is_like(self, own: Call, guard: Call) -> bool:
        """Whether two guards look at the same value in the same way."""
        return self.args(own)[:2] == guard.args[:2]

    def rest(self, start: int) -> OutcomeNode:
        """The calls from `start` on as an arm of their own."""
        calls = [self.call(call) for call in self.graph.calls[start:]]
        return OutcomeNode(calls, self.number, [map_values(v, self.value) for v in self.graph.outputs])

    def call(self, call: Call) -> Call:
        args, outs = self.args(call), tuple(map(self.value, call.outs))
        return Call(call.op, args, outs, call.site, call.backward, call.quiet)

    def args(self, call: Call) -> tuple[Any, ...]:
        return tuple([map_values(a, self.value) for a in call.args])

    def value(self, v: Value) -> Value:
        """The value of the tree; one of this path alone is a twin, whose cotangents are those of values of the tree."""
        found = self.known.get(v)
        if found is None:
            found = self.known[v] = Value(v.type, v.name)
            found.sites = v.sites
            found.element = v.element
            found.over = None if v.over is None else self.value(v.over)
            found.cotangent_of = None if v.cotangent_of is None else self.value(v.cotangent_of)
        return found


def _next_guard(calls: list[Call], start: int) -> int:
    return next((k for k in range(start, len(calls)) if is_guard(calls[k])), len(calls))


def _expects(guard: Call) -> tuple[type, str]:
    return type(guard.args[2]), repr(guard.args[2])


def _key(call: Call, args: tuple[Any, ...]) -> Any:
    return (call.op, call.backward, call.quiet, *[v.type for v in call.outs], *[key_of(a) for a in args])
