"""One run of backward: which nodes it comes to, and which of them run."""

from __future__ import annotations

from typing import Any

from ...runtime.errors import GradientLossError
from ..modes.thread_state import LOCAL, Era
from .graph import AccumulateGrad, Pick
from .site import blame

__all__ = ["Run", "is_older", "needed_of", "reached_from", "sequence"]


class Run:
    """One run of backward: what is recomputed for it goes with it."""

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

    def calls_hooks_of(self, edge: Any) -> bool:
        """Whether this run comes to the hooks of the tensor behind an edge."""
        node = edge.parent if type(edge) is Pick else edge
        if self.running is None or self.wanted is None:
            return node in self.reached
        return (node in self.running and node in self.reached) or (edge in self.wanted and edge in self.reached)


def reached_from(roots: list[Any], outside: list[Any] | None = None) -> dict[Any, None]:
    """The nodes that a run from `roots` could come to; to `outside` are added the leaves that no transform made."""
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
        elif outside is not None and not node.inner:
            outside.append(node)
    return seen


def is_older(node: Any, before: int) -> bool:
    """Whether a graph reaches back to what was made before: derivatives within the function have nodes of their own."""
    return any((n.parent if type(n) is Pick else n).seq < before for n in reached_from([node]))


def needed_of(reached: dict[Any, None], wanted: dict[Any, Any], accumulate: bool) -> tuple[set[Any], set[Any]]:
    """The nodes on a path to something wanted, and those of them that run: not what is only to be known.

    Leaves run, and add their gradients up, with `accumulate`, or where `wanted` says True.
    """
    needed, running = set(wanted), {node for node, adds in wanted.items() if accumulate or adds is True}
    for node in sorted(reached, key=sequence):  # what a node depends on was created before it
        if type(node) is AccumulateGrad:
            if (
                LOCAL.depth
                and type(node.inner) is Era
                and node.inner.over
                and not node.inner.held
                and node not in needed
            ):
                _refuse_ended(reached, node, wanted)
            continue
        if (node.parent in running) if type(node) is Pick else any(e in needed for e in node.edges):
            needed.add(node)
            running.add(node)
    return needed, running


def _refuse_ended(reached: dict[Any, None], leaf: Any, wanted: dict[Any, Any]) -> None:
    """Raise where a run comes to a leaf of a transform that is over, of which something kept a value: a cache, say."""
    leaves = [node for node in reached if type(node) is AccumulateGrad]
    if any(node.inner is False for node in leaves) or any(getattr(w, "inner", None) is leaf.inner for w in wanted):
        return  # of a graph that the user holds
    raise blame(
        GradientLossError(
            "a value that an earlier call computed was met again, and whether it depends on what is differentiated now "
            "cannot be known: a library kept it, in a cache perhaps. Let the library keep plain numbers (x.detach(), or "
            "gs.stop_gradient(x), of what it is given), or leave the cache out."
        )
    )


def sequence(node: Any) -> int:
    """When a node was made, as a number that grows."""
    return node.seq  # type: ignore[no-any-return]
