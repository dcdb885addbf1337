"""Optimisations, one a file, each Graph -> Graph; the verifier runs between all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ....runtime.ir import Graph
from ..verify import verify
from .cse import common_subexpressions
from .dead_code import dead_code
from .folding import fold_constants
from .identities import identities
from .scaling import scaling
from .shapes import shapes
from .spreading import spreading

__all__ = ["NAMES", "PASSES", "optimise"]

PASSES = (
    dead_code, shapes, common_subexpressions, spreading, fold_constants, identities, dead_code, scaling,
    common_subexpressions, dead_code,
)  # fmt: skip

Pass = Callable[[Graph], Graph]


def _name(run: Pass) -> str:
    return run.__module__.rpartition(".")[2]


NAMES = tuple(dict.fromkeys(map(_name, PASSES)))


def optimise(
    graph: Graph, only: Collection[str] | None = None, seen: Callable[[str, Graph], object] | None = None
) -> Graph:
    """The passes that `only` names, all by default, in the order of PASSES; `seen` is told the graph after each."""
    verify(graph, "capture")
    if seen is not None:
        seen("capture", graph)
    for run in PASSES:
        if only is None or _name(run) in only:
            graph = run(graph)
            verify(graph, _name(run))
            if seen is not None:
                seen(_name(run), graph)
    return graph
