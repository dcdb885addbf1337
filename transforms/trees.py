"""Arguments and results that are trees: dicts, lists, tuples, named tuples and dataclasses of arrays (optree)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..tracer.core.tensor_base import Operand
from ..tracer.modes.thread_state import refuse
from .user_code.scope import ABSENT, watched

__all__ = ["flatten", "flatten_row", "in_words", "paths", "unflatten"]

_SPACE = "gradscribe"
_registered: set[type] = set()
_LEAVES = (np.ndarray, float, int, complex, str, bytes, type(None), np.generic)


class _Leaf:
    """The structure of a tree that is one leaf, for which optree need not be loaded."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Leaf)

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "*"


LEAF = _Leaf()


class _Row(int):
    """The structure of a tuple of so many leaves, for which optree need not be loaded either."""

    def __repr__(self) -> str:
        return f"({', '.join('*' * self)})"


def in_words(structure: Any) -> str:
    """Return a structure for an error: one array, or `(*, {'a': *})`, where each `*` is one."""
    found = re.fullmatch(r"PyTreeSpec\((.*?)(, NoneIsLeaf)?(, namespace='\w*')?\)", str(structure))
    return "one array" if structure is LEAF else found[1] if found else str(structure)


def flatten_row(tree: Any) -> tuple[list[Any], Any]:
    """As `flatten`, of what is most often a tuple of plain leaves: its structure is for `unflatten` and equality."""
    if type(tree) is tuple and all(isinstance(leaf, (*_LEAVES, Operand)) for leaf in tree):
        return list(tree), _Row(len(tree))
    return flatten(tree)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure (hashable, with equality)."""
    if not isinstance(tree, (dict, list, tuple)) and not _is_dataclass(tree):
        return [tree], LEAF
    import optree  # slow to load, and most functions take plain arrays

    while True:
        leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=_SPACE)
        new = {type(leaf) for leaf in leaves if _is_dataclass(leaf)} - _registered
        if not new:
            return leaves, structure
        for cls in new:
            _register(cls)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of a structure with other leaves."""
    if structure is LEAF:
        (leaf,) = leaves
        return leaf
    if type(structure) is _Row:
        return tuple(leaves)
    import optree

    return optree.tree_unflatten(structure, leaves)


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """For each leaf the keys that lead to it."""
    if not isinstance(tree, (dict, list, tuple)) and not _is_dataclass(tree):
        return [()]
    import optree

    flatten(tree)
    return list(optree.tree_paths(tree, none_is_leaf=True, namespace=_SPACE))


def _is_dataclass(value: Any) -> bool:
    return hasattr(type(value), "__dataclass_fields__") and not isinstance(value, _LEAVES)


def _register(cls: type) -> None:
    import dataclasses  # slow to load, like optree

    import optree

    names = [f.name for f in dataclasses.fields(cls)]
    plain: Any = cls.__base__ if "__gradscribe_watched__" in vars(cls) else cls

    def take_apart(value: Any) -> tuple[Any, Any, Any]:
        if watched(value) is not ABSENT:
            refuse(f"takes a {cls.__name__} apart, as gs.grad of an instance does")
        return [getattr(value, n) for n in names], cls, names

    def put_together(_: Any, children: Any) -> Any:
        made: Any = object.__new__(plain)  # without __init__, which may check or convert
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    optree.register_pytree_node(cls, take_apart, put_together, namespace=_SPACE)
    _registered.add(cls)
