"""Paths of a watched run: which value follows from which, and the links along which a gradient can go back."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ...runtime.registry import require
from ...runtime.rules.indexing import index_set
from ...tracer.core.graph import AccumulateGrad, Node, Pick
from ...tracer.core.watching import Event, Input

__all__ = ["ancestors", "carries", "followers", "key_of", "name_of_op", "node_of"]

_SIGNS = {require(operator.getitem): "x[i]", require(index_set): "x[i] = v"}


def carries(event: Event, given: Input) -> bool:
    """Whether a gradient goes back from an event to this argument of it."""
    node = event.node
    if node is None or not given.tracked:
        return False
    if type(node) is Node:
        return given.slot in node.plan.slots
    return type(node) is not AccumulateGrad


def ancestors(events: Iterable[Event]) -> set[Event]:
    """These events and all that their values were computed from."""
    found: set[Event] = set()
    stack = list(events)
    while stack:
        event = stack.pop()
        if event not in found:
            found.add(event)
            stack.extend(given.event for given in event.inputs)
    return found


def followers(events: list[Event], start: Event) -> tuple[set[Event], set[Event]]:
    """The events whose values depend on `start`, and those of them from which a gradient goes back to it."""
    behind, live = {start}, {start}
    for event in events:
        if event is start:
            continue
        if any(given.event in behind for given in event.inputs):
            behind.add(event)
        if any(given.event in live and carries(event, given) for given in event.inputs):
            live.add(event)
    return behind, live


def name_of_op(event: Event) -> str:
    """Return the name of an operation: `np.maximum`, `astype`, the name of a custom Function."""
    if event.op is None:
        return str(event.node.name()) if event.node is not None else event.how
    path = str(event.op.path)
    return _SIGNS.get(event.op.base) or (path.rpartition(".")[2] if path.startswith("gradscribe.") else path)


def key_of(event: Event) -> str:
    """The last part of an operation's name, by which tables have it: "maximum", "getitem"."""
    return "" if event.op is None else str(event.op.path).rpartition(".")[2]


def node_of(edge: Any) -> Any:
    """The node behind an edge."""
    return edge.parent if type(edge) is Pick else edge
