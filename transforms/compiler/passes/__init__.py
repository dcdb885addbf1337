"""Optimisations, one a file, each Graph -> Graph; the verifier runs between all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ....runtime.arrays import PLACE
from ....runtime.errors import VerifyError
from ....runtime.ir.graph import Call, Graph
from ....runtime.ir.known_ops import BROADCAST_TO, MEAN
from ....runtime.ir.opcodes import COND, SCAN, all_calls
from ....runtime.ir.verify import effects_of, verify
from ....runtime.ops import Op
from ....runtime.registry import ops_of
from ....runtime.rules.control import GUARD
from ....runtime.rules.indexing import add_place, place, scatter_rows
from ....runtime.rules.linalg import shared_matmul
from .chunks import in_chunks
from .cse import common_subexpressions
from .dead_code import dead_code
from .early_guards import early_guards
from .folding import fold_constants
from .guarded_divisors import guarded_divisors
from .identities import identities
from .invariants import invariants
from .joining import joining
from .means import means
from .placing import placing
from .regions import everywhere
from .residuals import residuals
from .scaling import scaling
from .shapes import shapes
from .sharing import sharing
from .spreading import spreading

__all__ = ["FAST_NAMES", "NAMES", "PASSES", "optimise"]

PASSES = (
    dead_code, joining, invariants, means, shapes, common_subexpressions, sharing, spreading, fold_constants, identities,
    guarded_divisors, dead_code, placing, scaling, residuals, shapes, invariants, residuals, invariants, identities,
    common_subexpressions, dead_code, early_guards,
)  # fmt: skip

Pass = Callable[[Graph], Graph]

# The passes that are about the calls of few ops: they do not run on a graph without any. The others are for all graphs.
ABOUT: dict[Pass, frozenset[Op]] = {
    joining: frozenset([COND]), invariants: frozenset([SCAN, COND]), residuals: frozenset([SCAN]),
    means: frozenset([MEAN]), placing: ops_of(place, add_place, scatter_rows), sharing: ops_of(shared_matmul),
    early_guards: frozenset([GUARD]), guarded_divisors: ops_of(np.linalg.norm, np.linalg.vector_norm),
}  # fmt: skip


def _name(run: Pass) -> str:
    return run.__module__.rpartition(".")[2]


_AFTER = (invariants, common_subexpressions, dead_code, early_guards)  # what the fast passes leave behind
FAST_NAMES = ("logs", "products", "powers", "factors", "scalars")  # of passes/fast, which fastmath=True loads
ROW_PRODUCTS = "row_products"  # the last but one, which stands on SciPy
OUTLINING = "outlining"  # the last of all
NAMES = tuple(dict.fromkeys((*map(_name, PASSES), *FAST_NAMES, ROW_PRODUCTS, OUTLINING)))
_OF_ROWS = ops_of(scatter_rows)


def optimise(
    graph: Graph, only: Collection[str] | None = None, seen: Callable[[str, Graph], object] | None = None,
    fastmath: bool = False, loop_memory: str | None = None,
) -> Graph:  # fmt: skip
    """The passes that `only` names, all by default, in the order of PASSES; `seen` is told the graph after each.

    With `fastmath` those of FAST follow, which change the last digits; with `loop_memory` "sqrt", loops go in chunks.
    """
    known: dict[int, Graph | Call] = {}
    verify(graph, "capture", known)
    if seen is not None:
        seen("capture", graph)
    late: tuple[Pass, ...] = (in_chunks, *_AFTER) * (loop_memory is not None)
    fast: tuple[Pass, ...] = ()
    spared: Callable[[Graph], list[Call]] | None = None  # what a fast pass leaves alone, since a guard depends on it
    if fastmath:
        from .fast import FAST, decided  # seldom used

        fast, spared, late = FAST, decided, (*FAST, *_AFTER, *late)
    ops = {call.op.base for call in all_calls(graph)}
    effects = effects_of(graph)
    for run in (*PASSES, *late):
        if only is None or _name(run) in only or run is in_chunks:
            if run not in ABOUT or not ABOUT[run].isdisjoint(ops):
                within = SCAN in ops or COND in ops
                graph = (everywhere(run, spared if run in fast else None) if within else run)(graph)
                verify(graph, _name(run), known)
                if effects_of(graph) != effects:
                    raise VerifyError(f"the pass `{_name(run)}` dropped or moved effects:\n{graph}")
                ops = {call.op.base for call in all_calls(graph)}
            if seen is not None:
                seen(_name(run), graph)
    if (only is None or ROW_PRODUCTS in only) and PLACE.module is None:  # its products are SciPy's
        graph = _with_products(graph, known)
        if seen is not None:
            seen(ROW_PRODUCTS, graph)
    if PLACE.module is not None:
        graph = _on_device(graph, known)
    return graph if only is not None and OUTLINING not in only else _outlined(graph, known, seen)


def _with_products(graph: Graph, known: dict[int, Graph | Call]) -> Graph:
    """The graph in which large rows are added by a product."""
    ops = {call.op.base for call in all_calls(graph)}
    if _OF_ROWS.isdisjoint(ops):
        return graph
    from .row_products import row_products  # seldom needed

    within = SCAN in ops or COND in ops
    graph = (everywhere(row_products, None) if within else row_products)(graph)
    verify(graph, ROW_PRODUCTS, known)
    return graph


def _on_device(graph: Graph, known: dict[int, Graph | Call]) -> Graph:
    """The graph without what CuPy's functions do not take."""
    ops = {call.op.base for call in all_calls(graph)}
    if BROADCAST_TO not in ops:
        return graph
    from .numbers_on_device import numbers_on_device  # needed where CuPy computes

    within = SCAN in ops or COND in ops
    graph = (everywhere(numbers_on_device, None) if within else numbers_on_device)(graph)
    verify(graph, "numbers_on_device", known)
    return graph


def _outlined(graph: Graph, known: dict[int, Graph | Call], seen: Callable[[str, Graph], object] | None) -> Graph:
    """The graph in which helpers that are called several times are functions; not one whose paths are to be compared."""
    if _has_helpers(graph) and not any(call.op is GUARD for call in graph.calls):
        from .outlining import outlining  # seldom needed

        graph = outlining(graph)
        verify(graph, OUTLINING, known)
    if seen is not None:
        seen(OUTLINING, graph)
    return graph


def _has_helpers(graph: Graph) -> bool:
    """Whether one helper of the user's was called several times, in several places or in a loop that was unrolled."""
    callers: dict[int, set[Any]] = {}
    times: dict[Any, int] = {}
    for call in all_calls(graph):
        sites = call.outs[0].sites if call.outs else ()
        if len(sites) > 1 and not call.backward:
            chain = tuple([(id(site.code), site.offset) for site in sites])  # to hash a code object takes long
            times[chain] = times.get(chain, 0) + 1
            for depth in range(len(chain) - 1):
                callers.setdefault(chain[depth][0], set()).add(chain[depth + 1 :])
    return max(times.values(), default=0) > 2 or any(len(found) > 2 for found in callers.values())
