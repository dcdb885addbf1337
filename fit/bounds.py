"""Bounds of parameters: SciPy's forms, or a tree like the parameters with a pair (lower, upper) for each leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.errors import ShapeError
from ..transforms.trees import LEAF
from .layout import Layout, Leaf, keys_in_words

__all__ = ["bounds_of"]


def bounds_of(given: Any, layout: Layout, optimize: Any, pairs: bool) -> Any:
    """Return SciPy's Bounds of the vector; None for None.

    `pairs`: of one array of n numbers, n pairs are bounds of each, as `minimize` has it; else (lower, upper), as `curve_fit`.
    """
    if given is None:
        return None
    if isinstance(given, optimize.Bounds):
        _check_length(given, layout)
        return given
    lower = np.full(layout.size, -np.inf, layout.dtype)
    upper = np.full(layout.size, np.inf, layout.dtype)
    if layout.structure is LEAF:
        (leaf,) = layout.leaves
        if pairs and _is_list_of_pairs(given, layout.size):
            low, high = zip(*given, strict=True)
            lower[:], upper[:] = _numbers(low, -np.inf), _numbers(high, np.inf)
        else:
            lower[:], upper[:] = _pair(given, leaf, layout.who)
    elif _is_pair(given) and all(np.isscalar(v) or v is None for v in given):
        for leaf in layout.leaves:  # one pair for all
            lower[leaf.place], upper[leaf.place] = _pair(given, leaf, layout.who)
    else:
        known: dict[tuple[Any, ...], set[Any]] = {}
        for leaf in layout.leaves:
            for k, key in enumerate(leaf.keys):
                known.setdefault(leaf.keys[:k], set()).add(key)
        for leaf in layout.leaves:
            found = _at(given, leaf, known, layout.who)
            if found is not None:
                lower[leaf.place], upper[leaf.place] = _pair(found, leaf, layout.who)
    if np.any(lower > upper):
        at = int(np.argmax(lower > upper))
        (leaf,) = [one for one in layout.leaves if one.place.start <= at < one.place.stop]
        raise ValueError(
            f"{layout.who}: the bounds of {keys_in_words(leaf.keys)} are ({lower[at]!s}, {upper[at]!s}): the lower one must not "
            "be above the upper one"
        )
    return optimize.Bounds(lower, upper)


def _check_length(bounds: Any, layout: Layout) -> None:
    """Raise where a Bounds object is of another number of parameters."""
    for side in (bounds.lb, bounds.ub):
        if np.size(side) not in (1, layout.size):
            raise ShapeError(
                f"{layout.who}: bounds are of {np.size(side)} numbers, but x0 has {layout.size}. Of a tree they are in the "
                "order of its leaves (gs.tree.leaves), or give a tree of pairs."
            )


def _is_pair(given: Any) -> bool:
    return isinstance(given, (tuple, list, np.ndarray)) and len(given) == 2


def _is_list_of_pairs(given: Any, size: int) -> bool:
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != size:
        return False
    return all(_is_pair(one) and all(v is None or np.ndim(v) == 0 for v in one) for one in given)


def _numbers(values: Any, absent: float) -> list[Any]:
    return [absent if v is None else v for v in values]


def _pair(given: Any, leaf: Leaf, who: str) -> tuple[Any, Any]:
    """Return the bounds of one leaf, in the order of its part of the vector."""
    if not hasattr(given, "lb") and not _is_pair(given):
        raise ShapeError(
            f"{who}: bounds of {keys_in_words(leaf.keys)} are {given!r}, but expected a pair (lower, upper), with None for none"
        )
    low, high = (given.lb, given.ub) if hasattr(given, "lb") else given
    found = []
    for side, absent in ((low, -np.inf), (high, np.inf)):
        try:
            found.append(np.broadcast_to(absent if side is None else side, leaf.shape).ravel())
        except ValueError:
            raise ShapeError(
                f"{who}: a bound of {keys_in_words(leaf.keys)} has shape {np.shape(side)}, but the parameter has {leaf.shape}"
            ) from None
    return found[0], found[1]


def _at(given: Any, leaf: Leaf, known: dict[tuple[Any, ...], set[Any]], who: str) -> Any:
    """Return what a tree of bounds says about a leaf; None where it leaves it out."""
    found = given
    for k, key in enumerate(leaf.keys):
        if found is None:
            return None
        here = known[leaf.keys[:k]]
        if isinstance(found, dict):
            unknown = set(found) - here
            if unknown:
                raise ValueError(
                    f"{who}: bounds name {sorted(map(str, unknown))}, but {keys_in_words(leaf.keys[:k])} has "
                    f"{sorted(map(str, here))}"
                )
            found = found.get(key)
        elif isinstance(found, (list, tuple)) and isinstance(key, int):
            if len(found) != len(here):
                raise ShapeError(
                    f"{who}: bounds have {len(found)} entries, but {keys_in_words(leaf.keys[:k])} has {len(here)}"
                )
            found = found[key]
        elif isinstance(key, str) and hasattr(found, key):
            found = getattr(found, key)  # a dataclass, or a named tuple
        else:
            raise ShapeError(
                f"{who}: bounds of {keys_in_words(leaf.keys[:k])} are {found!r}, but must be a tree like x0, with a pair (lower, "
                "upper) for each leaf"
            )
    return found
