"""autograd.misc.flatten: a tree of numbers as one vector, and back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....transforms import trees
from ....transforms.user_code.scope import as_it_runs

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """`(vector, unflatten)`: the numbers of a tree (dicts by the order of their keys) in one vector, and the way back.

    >>> from gradscribe.compat.autograd.misc import flatten
    >>> vector, unflatten = flatten({"b": [2.0, 3.0], "a": 1.0})
    >>> vector, unflatten(vector * 10)["b"]
    (array([1., 2., 3.]), [array(20.), array(30.)])
    """
    leaves, structure = trees.flatten(value)
    shapes = [tuple(np.shape(leaf)) for leaf in leaves]
    cuts = np.cumsum([0, *[int(np.prod(shape)) for shape in shapes]]).tolist()
    vector = np.concatenate([np.reshape(leaf, (-1,)) for leaf in leaves]) if leaves else np.zeros(0)

    def unflatten(vector: Any) -> Any:
        pieces = [np.reshape(vector[a:b], s) for a, b, s in zip(cuts, cuts[1:], shapes, strict=False)]
        return trees.unflatten(structure, pieces)

    return vector, unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """`func` from vector to vector: `(flat function, unflatten, flat example)`."""
    vector, unflatten = flatten(example)

    @functools.wraps(func)
    def flat(x: Any, *args: Any) -> Any:
        return flatten(as_it_runs(func)(unflatten(x), *args))[0]

    return flat, unflatten, vector
