"""Optimisations, one a file, each Graph -> Graph; the verifier runs between all of them."""

from __future__ import annotations

from ....runtime.ir import Graph
from ..verify import verify

__all__ = ["optimise"]


def optimise(graph: Graph) -> Graph:
    """All passes in order."""
    verify(graph, "capture")
    for run in PASSES:
        graph = run(graph)
        verify(graph, run.__module__.rpartition(".")[2])
    return graph


from .cse import common_subexpressions  # noqa: E402
from .dead_code import dead_code  # noqa: E402
from .folding import fold_constants  # noqa: E402
from .identities import identities  # noqa: E402
from .scaling import scaling  # noqa: E402
from .shapes import shapes  # noqa: E402
from .spreading import spreading  # noqa: E402

PASSES = (
    dead_code, shapes, common_subexpressions, spreading, fold_constants, identities, dead_code, scaling, common_subexpressions,
    dead_code,
)  # fmt: skip
