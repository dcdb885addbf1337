"""Pytrees as arguments and results: dicts, lists, tuples, named tuples and dataclasses of arrays (optree)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..tracer.core.tensor_base import Operand
from ..tracer.core.thread_state import refuse
from ..unpatched import np
from .user_code.scope import ABSENT, watched

__all__ = [
    "SPACE", "flatten", "flatten_present", "flatten_row", "in_words", "paths", "register_dataclasses", "unflatten",
]  # fmt: skip

SPACE = "gradscribe"  # where optree knows the dataclasses
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
        leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=SPACE)
        new = {type(leaf) for leaf in leaves if _is_dataclass(leaf)} - _registered
        if not new:
            return leaves, structure
        for cls in new:
            _register(cls)


class _Present(NamedTuple):
    """The structure of a tree of which None is no leaf."""

    whole: Any
    size: int
    absent: tuple[int, ...]  # where None stands among all leaves

    def __repr__(self) -> str:
        return repr(self.whole)

    def accessors(self) -> list[Any]:
        """For each leaf how it is reached, as optree says it of a structure."""
        return [a for k, a in enumerate(self.whole.accessors()) if k not in self.absent]


def flatten_present(tree: Any) -> tuple[list[Any], Any]:
    """As `flatten`, without the leaves that are None: `unflatten` puts them back."""
    leaves, structure = flatten(tree)
    absent = () if structure is LEAF else tuple([k for k, leaf in enumerate(leaves) if leaf is None])
    if len(absent) in (0, len(leaves)):  # with nothing else in it, it is no tree of numbers
        return leaves, structure
    return [leaf for leaf in leaves if leaf is not None], _Present(structure, len(leaves), absent)


def register_dataclasses(tree: Any) -> None:
    """Make the dataclasses in a tree known to optree; such a tree need not be flattened here for that."""
    flatten(tree)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of a structure with other leaves."""
    if structure is LEAF:
        (leaf,) = leaves
        return leaf
    if type(structure) is _Row:
        return tuple(leaves)
    if type(structure) is _Present:
        present = iter(leaves)
        whole = [None if k in structure.absent else next(present) for k in range(structure.size)]
        return unflatten(structure.whole, whole)
    import optree

    return optree.tree_unflatten(structure, leaves)


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """For each leaf the keys that lead to it."""
    if not isinstance(tree, (dict, list, tuple)) and not _is_dataclass(tree):
        return [()]
    import optree

    flatten(tree)
    return list(optree.tree_paths(tree, none_is_leaf=True, namespace=SPACE))


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

    optree.register_pytree_node(cls, take_apart, put_together, namespace=SPACE)
    _registered.add(cls)
