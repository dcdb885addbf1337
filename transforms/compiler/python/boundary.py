"""The signature of a generated function as gast has it: parameters, statements that take trees apart, the returned expression."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import gast

from ....runtime.ir.graph import Value
from ..schedule.signature import Signature, children
from .literals import constant_tree

__all__ = ["arguments_of", "result_of", "unpacking_of"]


def arguments_of(signature: Signature) -> Any:
    """The parameter list as gast has it."""

    def parameter(name: str) -> Any:
        return gast.Name(id=name, ctx=gast.Param(), annotation=None, type_comment=None)

    positional = [parameter(n) for n in signature.arguments_named[: signature.positional]]
    keyword = [parameter(n) for n in (*signature.arguments_named[signature.positional :], *signature.extras)]
    return gast.arguments(
        args=positional, posonlyargs=[], vararg=None, kwonlyargs=keyword, kw_defaults=[None] * len(keyword),
        kwarg=None, defaults=[],
    )  # fmt: skip


def unpacking_of(
    signature: Signature, names: Any, trees: dict[Value, Any], inputs: list[Value], wishes: dict[Value, str]
) -> list[Any]:
    """Statements that take the leaves out of arguments that are trees; `trees` learns how to write each input."""
    statements: list[Any] = []
    for parameter, tree in zip(signature.arguments_named, signature.trees, strict=True):
        if isinstance(tree, Value):
            trees[tree] = _name(parameter)
            wishes[tree] = parameter
            continue
        found = _leaves(tree, _name(parameter))
        if type(tree) in (list, tuple) and len(tree) > 1 and all(isinstance(v, Value) for v in tree):
            targets = []
            for value, access in found:
                name = wishes[value] = names.new(_wish(access, parameter))
                trees[value] = _name(name)
                targets.append(gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None))
            left = gast.Tuple(elts=targets, ctx=gast.Store())
            statements.append(gast.Assign(targets=[left], value=_name(parameter), type_comment=None))
            continue
        for value, access in found:
            wish = _wish(access, parameter)
            name = names.new(wish)
            wishes[value] = name
            trees[value] = _name(name)
            target = gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
            statements.append(gast.Assign(targets=[target], value=access, type_comment=None))
    for value, name in zip(inputs[len(inputs) - len(signature.extras) :], signature.extras, strict=True):
        trees[value] = _name(name)
        wishes[value] = name
    return statements


def result_of(tree: Any, write: Callable[[Any], Any], outputs: list[Any]) -> Any:
    """The returned expression: a tree of positions in the outputs."""
    return _build(tree, lambda k: write(outputs[k]))


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


def _build(tree: Any, leaf: Callable[[int], Any]) -> Any:
    if type(tree) is dict:
        return gast.Dict(keys=[constant_tree(k) for k in tree], values=[_build(v, leaf) for v in tree.values()])
    if type(tree) is list:
        return gast.List(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    if type(tree) is tuple:
        return gast.Tuple(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    return leaf(tree)
