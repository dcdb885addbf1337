"""gs.tree: dicts, lists, tuples, named tuples and dataclasses of arrays, by the names of `jax.tree` (optree's functions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from .trees import SPACE, register_dataclasses

__all__ = ["flatten", "leaves", "map", "reduce", "structure", "unflatten"]

_IsLeaf = Callable[[Any], bool] | None


def flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], Any]:
    """The leaves of a tree in order, those of dicts by sorted keys, and its structure. None is a tree without leaves.

    >>> import gradscribe as gs
    >>> leaves, structure = gs.tree.flatten({"b": [2.0, 3.0], "a": 1.0, "c": None})
    >>> leaves, gs.tree.unflatten(structure, [10.0, 20.0, 30.0])
    ([1.0, 2.0, 3.0], {'b': [20.0, 30.0], 'a': 10.0, 'c': None})
    """
    register_dataclasses(tree)
    found, structure = optree.tree_flatten(tree, is_leaf=is_leaf, namespace=SPACE)
    return found, structure


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of a structure with these leaves.

    Raises ValueError where there are too few leaves or too many.

    >>> import gradscribe as gs
    >>> gs.tree.unflatten(gs.tree.structure((0, [0])), [1, 2])
    (1, [2])
    """
    return optree.tree_unflatten(structure, leaves)


def leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree.

    >>> import gradscribe as gs
    >>> gs.tree.leaves({"w": 1.0, "b": (2.0, None)})
    [2.0, 1.0]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """The structure of a tree, which compares equal to those of like trees.

    >>> import gradscribe as gs
    >>> gs.tree.structure([1, 2]) == gs.tree.structure([3, 4])
    True
    """
    return flatten(tree, is_leaf)[1]


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any:
    """The tree of `function(leaf, *others)`, with the leaves of the trees in `rest` at the same places.

    Raises ValueError where a tree in `rest` has another structure.

    >>> import gradscribe as gs
    >>> weights, slopes = {"w": 1.0, "b": 2.0}, {"w": 10.0, "b": 20.0}
    >>> gs.tree.map(lambda p, g: p - 0.1 * g, weights, slopes)
    {'w': 0.0, 'b': 0.0}
    """
    for each in (tree, *rest):
        register_dataclasses(each)
    return optree.tree_map(function, tree, *rest, is_leaf=is_leaf, namespace=SPACE)


def reduce(function: Callable[[Any, Any], Any], tree: Any, *initial: Any, is_leaf: _IsLeaf = None) -> Any:
    """Reduce the leaves to one value, as `functools.reduce` does.

    >>> import gradscribe as gs
    >>> gs.tree.reduce(lambda total, leaf: total + leaf, {"w": 1.0, "b": [2.0, 3.0]}, 0.0)
    6.0
    """
    register_dataclasses(tree)
    return optree.tree_reduce(function, tree, *initial, is_leaf=is_leaf, namespace=SPACE)
