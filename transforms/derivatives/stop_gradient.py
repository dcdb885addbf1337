"""stop_gradient: the value of something, through which no derivative goes."""

from __future__ import annotations

from typing import Any

from ...tracer.core.tensor_base import Operand
from ..trees import flatten, unflatten

__all__ = ["stop_gradient"]


def stop_gradient(tree: Any) -> Any:
    """`tree` (an array, a number, a Tensor, or a tree of them) as a constant: every derivative through it is zero.

    Arrays and numbers are given back as they are, and a Tensor as its `detach()`, on the same memory. It holds for
    gradients of every order, and for forward mode.

    >>> import numpy as np, gradscribe as gs
    >>> gs.grad(lambda x: x * gs.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [leaf.detach() if isinstance(leaf, Operand) else leaf for leaf in leaves])
