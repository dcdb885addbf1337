"""Optimisations, one a file, each Graph -> Graph; the verifier runs between all of them."""

from __future__ import annotations

from ....runtime.ir import Graph
from ..verify import verify
from .cse import common_subexpressions
from .dead_code import dead_code
from .folding import fold_constants
from .identities import identities
from .scaling import scaling
from .shapes import shapes
from .spreading import spreading

__all__ = ["PASSES", "optimise"]

PASSES = (
    dead_code, shapes, common_subexpressions, spreading, fold_constants, identities, dead_code, scaling,
    common_subexpressions, dead_code,
)  # fmt: skip


def optimise(graph: Graph) -> Graph:
    """All passes in order."""
    verify(graph, "capture")
    for run in PASSES:
        graph = run(graph)
        verify(graph, run.__module__.rpartition(".")[2])
    return graph
