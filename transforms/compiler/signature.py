"""The outside of a generated function: its parameters, the trees they are taken from, and the tree it returns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from ...runtime.ir import Value
from .literals import constant_tree

__all__ = ["Signature", "parameter_names"]


def parameter_names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each argument of a call, positional ones first."""
    names: list[str] = []
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

    @property
    def parameters(self) -> list[str]:
        """Every parameter."""
        return self.arguments_named + self.extras

    def arguments(self) -> Any:
        """The parameter list as gast has it."""

        def parameter(name: str) -> Any:
            return gast.Name(id=name, ctx=gast.Param(), annotation=None, type_comment=None)

        positional = [parameter(n) for n in self.arguments_named[: self.positional]]
        keyword = [parameter(n) for n in (*self.arguments_named[self.positional :], *self.extras)]
        return gast.arguments(
            args=positional, posonlyargs=[], vararg=None, kwonlyargs=keyword, kw_defaults=[None] * len(keyword),
            kwarg=None, defaults=[],
        )  # fmt: skip

    def unpacking(
        self, names: Any, trees: dict[Value, Any], inputs: list[Value], wishes: dict[Value, str]
    ) -> list[Any]:
        """Statements that take the leaves out of arguments that are trees; `trees` learns how to write each input."""
        statements: list[Any] = []
        for parameter, tree in zip(self.arguments_named, self.trees, strict=True):
            if isinstance(tree, Value):
                trees[tree] = _name(parameter)
                wishes[tree] = parameter
                continue
            for value, access in _leaves(tree, _name(parameter)):
                wish = _wish(access, parameter)
                name = names.new(wish)
                wishes[value] = name
                trees[value] = _name(name)
                target = gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
                statements.append(gast.Assign(targets=[target], value=access, type_comment=None))
        for value, name in zip(inputs[len(inputs) - len(self.extras) :], self.extras, strict=True):
            trees[value] = _name(name)
            wishes[value] = name
        return statements

    def result(self, write: Callable[[Any], Any], outputs: list[Any]) -> Any:
        """The returned expression."""
        return _build(self.result_tree, lambda k: write(outputs[k]))


def _name(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def _wish(access: Any, parameter: str) -> str:
    """`w` for `p["w"]` and `p.w`, `p_1_0` for `p[1][0]`, `w_0` for `p["w"][0]`."""
    numbers: list[str] = []
    while not isinstance(access, gast.Name):
        key = access.attr if isinstance(access, gast.Attribute) else getattr(access.slice, "value", None)
        if isinstance(key, str) and key.isidentifier():
            return "_".join([key, *numbers])
        numbers.insert(0, str(key) if isinstance(key, int) else "part")
        access = access.value
    return "_".join([parameter, *numbers])


def children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The (key, subtree) pairs of a container, with `.name` keys for dataclasses; None for a leaf."""
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(("." + f.name), getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


def _leaves(tree: Any, access: Any) -> list[tuple[Value, Any]]:
    found = children(tree)
    if found is None:
        return [(tree, access)] if isinstance(tree, Value) else []
    out: list[tuple[Value, Any]] = []
    for key, sub in found:
        if isinstance(key, str) and key.startswith(".") and dataclasses.is_dataclass(tree):
            step: Any = gast.Attribute(value=access, attr=key[1:], ctx=gast.Load())
        else:
            step = gast.Subscript(value=access, slice=constant_tree(key), ctx=gast.Load())
        out.extend(_leaves(sub, step))
    return out


def printable(tree: Any) -> bool:
    """Whether a result tree can be written as a literal: dicts with plain keys, lists and tuples."""
    if type(tree) is dict:
        return all(isinstance(k, (str, int, float, bool)) and printable(v) for k, v in tree.items())
    if type(tree) in (list, tuple):
        return all(printable(v) for v in tree)
    return isinstance(tree, (int, np.integer))


def _build(tree: Any, leaf: Callable[[int], Any]) -> Any:
    if type(tree) is dict:
        return gast.Dict(keys=[constant_tree(k) for k in tree], values=[_build(v, leaf) for v in tree.values()])
    if type(tree) is list:
        return gast.List(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    if type(tree) is tuple:
        return gast.Tuple(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    return leaf(tree)
