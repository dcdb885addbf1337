"""Constant factors in backward: the square of `0.5 * x**2` gets 0.5 and the cotangent apart, since it multiplies by 2."""

from __future__ import annotations

from typing import Any

from ...runtime.rules.support import Factored
from .graph import Node

__all__ = ["held_factor"]

_NUMBERS = (int, float)


def held_factor(node: Any, g: Any, saved: tuple[Any, ...], totals: dict[Any, Any], wanted: Any) -> Factored | None:
    """The cotangent under `c * x`, not multiplied yet; None where what comes next has no use for the factor."""
    edge, c = node.edges[0], saved[0]
    if type(getattr(c, "_value", c)) not in _NUMBERS or not _takes(edge, g, totals, wanted):
        return None
    return Factored(c, g)


def _takes(edge: Any, g: Any, totals: dict[Any, Any], wanted: Any) -> bool:
    """Whether a node that is yet without a cotangent multiplies it by a constant first, or hands it on to such a one."""
    if type(edge) is not Node or edge.extra is not None or edge in totals or (wanted is not None and edge in wanted):
        return False
    saved, plan = edge.saved, edge.plan
    if saved is None or not hasattr(g, "dtype") or edge.shape != g.shape or edge.dtype != g.dtype:
        return False
    if plan.exponent < 0:
        return bool(plan.exponent == -1)
    y = saved[plan.exponent]
    return type(y) in _NUMBERS and y == 2
