"""The outside of a generated function: its parameters, the trees they are taken from, and the tree that it returns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Signature", "built", "children", "dataclasses_in", "parameter_names", "printable"]


def parameter_names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each argument of a call, positional ones first."""
    names: list[str] = []
    vector = getattr(function, "vector_names", ()) if args else ()
    if vector:  # gs.hvp's stands behind the others, of which some may be left out
        names = parameter_names(function.function, args[:-1], kwargs)
        names.insert(len(args) - 1, next(v for v in vector if v not in names))
        return names
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for k in range(len(args)):
        plain = k < len(parameters) and parameters[k].kind in (
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        )  # fmt: skip
        name = parameters[k].name if plain else f"arg{k}"
        names.append(name if name not in kwargs and name not in names else f"arg{k}")
    return names + list(kwargs)


class Signature:
    """Parameters in the user's order, arrays from outside as keywords; arguments and results may be trees."""

    def __init__(
        self, parameters: list[str], positional: int, trees: list[Any], extras: list[str], result: Any
    ) -> None:
        self.arguments_named = parameters
        self.positional = positional
        self.trees = trees  # for each argument: a tree whose leaves are Values, or static values
        self.extras = extras  # names of the arrays that come from outside
        self.result_tree = result  # a tree whose leaves are positions in the outputs of the graph
        self.stores: tuple[str, ...] = ()  # the user's words for where the last result is stored, a tuple of values
        self.writes: list[Any] = []  # the inputs that the last outputs of the graph are written into

    @property
    def parameters(self) -> list[str]:
        """Every parameter."""
        return self.arguments_named + self.extras


def children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The (key, subtree) pairs of a container, with `.name` keys for dataclasses; None for a leaf."""
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(("." + f.name), getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


def dataclasses_in(value: Any) -> set[type]:
    """The classes of the dataclasses and named tuples in an argument."""
    parts = children(value)
    if parts is None:
        return set()
    own = {type(value)} if dataclasses.is_dataclass(value) or hasattr(value, "_fields") else set()
    return own.union(*[dataclasses_in(v) for _, v in parts])


def printable(tree: Any) -> bool:
    """Whether a result tree can be written as a literal: dicts with plain keys, lists and tuples."""
    if type(tree) is dict:
        return all(isinstance(k, (str, int, float, bool)) and printable(v) for k, v in tree.items())
    if type(tree) in (list, tuple):
        return all(printable(v) for v in tree)
    return isinstance(tree, (int, np.integer))


def built(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a tree of dicts, lists and tuples with `leaf` of each of its leaves."""
    if isinstance(tree, dict):
        return {key: built(part, leaf) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(built(part, leaf) for part in tree)
    return leaf(tree)
