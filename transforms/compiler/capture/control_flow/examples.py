"""Values of many examples at once (gs.vmap, gs.jacobian) around a region, which holds the arrays of all of them."""

from __future__ import annotations

from typing import Any

from .....tracer.core.tensor_base import Operand, cover, levels_of, wrap
from .....tracer.tensors.batched import spread
from .stacks import Stack

__all__ = ["copied", "covered", "hidden_by", "joined", "over", "whole"]

Levels = tuple[Any, ...]


def hidden_by(value: Any) -> Levels:
    """The vmaps whose axes a value hides, or each item of a list."""
    return getattr(value, "_levels", ()) if type(value) is Stack else levels_of(value)


def joined(*levels: Levels) -> Levels:
    """All of several, the outermost vmap first."""
    return tuple(sorted(set[Any]().union(*levels), key=lambda level: level.number))


def covered(value: Any, levels: Levels) -> Any:
    """A Tensor of all examples, or a list of them, as one that hides their axes."""
    if levels and type(value) is Stack:
        value._levels = levels
    else:
        cover(value, levels)
    return value


def over(value: Any, levels: Levels) -> Any:
    """A value repeated for the examples of those of these vmaps that it does not know."""
    return value if set(levels) <= set(hidden_by(value)) else spread(value, levels)


def whole(value: Any) -> Any:
    """The Tensor of all examples, with the axes that it hides in front."""
    return copied(value) if isinstance(value, Operand) and hidden_by(value) else value


def copied(tensor: Any) -> Any:
    """A Tensor of the same value, node and place in the graph: of all examples, where it stands for one."""
    made = wrap(tensor._value, tensor._node)
    if not levels_of(tensor):
        made.__class__ = type(tensor)
    if getattr(tensor, "_ir", None) is not None:
        made._ir = tensor._ir
    return made
