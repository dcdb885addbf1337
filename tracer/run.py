"""One run of backward: which nodes it comes to, and which of them run."""

from __future__ import annotations

from typing import Any

from .graph import AccumulateGrad, Pick

__all__ = ["Run", "needed_of", "reached_from", "sequence"]


class Run:
    """One run of backward: what is recomputed for it goes with it."""

    __slots__ = ("__weakref__", "_known", "roots", "running", "wanted")

    def __init__(self, roots: list[Any], wanted: dict[Any, Any] | None) -> None:
        self.roots = roots
        self.wanted = wanted
        self.running: set[Any] | None = None  # the nodes that run; None: all
        self._known: dict[Any, None] | None = None

    @property
    def reached(self) -> dict[Any, None]:
        """The nodes behind the roots."""
        if self._known is None:
            self._known = reached_from(self.roots)
        return self._known

    def calls_hooks_of(self, edge: Any) -> bool:
        """Whether this run comes to the hooks of the tensor behind an edge."""
        node = edge.parent if type(edge) is Pick else edge
        if self.running is None or self.wanted is None:
            return node in self.reached
        return (node in self.running and node in self.reached) or (edge in self.wanted and edge in self.reached)


def reached_from(roots: list[Any]) -> dict[Any, None]:
    """The nodes that a run from `roots` could come to."""
    seen: dict[Any, None] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen[node] = None
        if type(node) is Pick:
            stack.append(node.parent)
        elif type(node) is not AccumulateGrad:
            stack.extend(node.edges)
    return seen


def needed_of(reached: dict[Any, None], wanted: dict[Any, Any], accumulate: bool) -> tuple[set[Any], set[Any]]:
    """The nodes on a path to something wanted, and those of them that run: not what is only to be known.

    Leaves run, and add their gradients up, with `accumulate`, or where `wanted` says True.
    """
    needed, running = set(wanted), {node for node, adds in wanted.items() if accumulate or adds is True}
    for node in sorted(reached, key=sequence):  # what a node depends on was created before it
        if type(node) is AccumulateGrad:
            continue
        if (node.parent in running) if type(node) is Pick else any(e in needed for e in node.edges):
            needed.add(node)
            running.add(node)
    return needed, running


def sequence(node: Any) -> int:
    """When a node was made, as a number that grows."""
    return node.seq  # type: ignore[no-any-return]
