"""Tangents of elementwise operations on large arrays: in blocks, and over memory that nothing reads any more.

Memory that is new costs more than the arithmetic that fills it. What a formula computes on the way is as large as a
block, and so stays in the cache; an element gets the bits that it gets in the whole array.
"""

from __future__ import annotations

import math
from typing import Any

from ...unpatched import np
from .graph import Node

__all__ = ["in_blocks", "is_large", "note_owner"]

BLOCK = 1 << 15  # numbers, as in the tiles of compiled source


def is_large(node: Any) -> bool:
    """Whether a result has so many numbers that blocks gain something."""
    return bool(math.prod(node.shape) >= 2 * BLOCK)


def in_blocks(node: Any, tangents: list[Any], values: dict[str, Any], spare: list[Any]) -> Any:
    """The tangent of a real elementwise operation, written over one in `spare` where there is one.

    None where something is broadcast or does not lie in C order: the result would lie otherwise.
    """
    terms: list[tuple[Any, list[Any], list[bool]]] = []  # formulas, what they read, and what of that goes in blocks
    for (k, _), t in zip(node.plan.slots, tangents, strict=True):
        if t is None:
            continue
        vjp = node.op.vjps[node.op.params[k].name]
        given: list[Any] = [t if name == "g" else values.get(name) for name in vjp.names]
        whole = [_is_whole(a, node) for a in given]
        if not all(
            w or isinstance(a, (int, float, np.generic, np.dtype, type(None)))
            for a, w in zip(given, whole, strict=True)
        ):
            return None
        terms.append((vjp, [np.reshape(a, -1) if w else a for a, w in zip(given, whole, strict=True)], whole))
    made = next((t for t in spare if t.dtype == node.dtype and _is_whole(t, node)), None)
    for start in range(0, math.prod(node.shape), BLOCK):
        block = slice(start, start + BLOCK)
        total: Any = None
        for vjp, given, whole in terms:
            parts = [a[block] if w else a for a, w in zip(given, whole, strict=True)]
            term = np.asarray(vjp.fn(*parts))
            if term.dtype != node.dtype:
                term = term.astype(node.dtype)
            elif len(terms) == 1 and any(term is p for p, name in zip(parts, vjp.names, strict=True) if name == "g"):
                return next(t for t in tangents if t is not None)  # the operation passes it on
            total = term if total is None else total + term
        if made is None:
            made = np.empty(node.shape, node.dtype)
        made.reshape(-1)[block] = total
    return made


def _is_whole(a: Any, node: Any) -> bool:
    """Whether an array has an element for each of the result's, in the same order in memory."""
    return type(a) is np.ndarray and a.shape == node.shape and a.flags.c_contiguous


def note_owner(own: set[Any], node: Any, tangent: Any, tangents: list[Any], last: dict[Any, Any]) -> None:
    """Keep `own`: the nodes of which nothing else shows the memory of the tangent, so that its last reader may have it."""
    if type(node) is not Node or type(tangent) is not np.ndarray or not node.op.path.startswith("np."):
        own.difference_update(node.edges)  # whoever gave it may keep what it was given
        return
    passed_on = [edge for edge, t in zip(node.edges, tangents, strict=True) if t is tangent]
    if not tangent.flags.owndata:
        own.difference_update(node.edges)  # a view, perhaps
    elif all(edge in own and last.get(edge) is node for edge in passed_on):
        own.add(node)
    else:
        own.difference_update(passed_on)
