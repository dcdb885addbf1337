"""The signature of a generated function as gast has it: parameters, statements that take trees apart, the returned expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from ....runtime.ir.graph import Value
from ..frontend.user_names import Names
from ..schedule.program import Program, Unpack
from ..schedule.signature import Instance, Signature, children, has_attributes
from .layout import WIDTH
from .literals import constant_tree
from .widths import width

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


def unpacking_of(program: Program, names: Names, trees: dict[Value, Any]) -> list[Any]:
    """Statements that take the leaves out of arguments that are trees; `trees` learns how to write each input."""
    statements: list[Any] = []
    for statement in program.body:
        if not isinstance(statement, Unpack):
            continue
        tree, parameter = statement.tree, statement.parameter
        if isinstance(tree, Value):
            trees[tree] = _name(parameter)
            continue
        found = _leaves(tree, _name(parameter))
        if type(tree) in (list, tuple) and len(tree) > 1 and all(isinstance(v, Value) for v in tree):
            targets = []
            for value, _ in found:
                name = names.new(program.names[value])
                trees[value] = _name(name)
                targets.append(gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None))
            left = gast.Tuple(elts=targets, ctx=gast.Store())
            statements.append(gast.Assign(targets=[left], value=_name(parameter), type_comment=None))
            continue
        taken = None if _is_flat(tree) else _taken_apart(tree, parameter, names, program)
        if taken is not None:
            statement, given = taken
            statements.append(statement)
            trees.update({value: _name(name) for value, name in given.items()})
            continue
        first = len(statements)
        for value, access in found:
            name = names.new(program.names[value])
            trees[value] = _name(name)
            target = gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
            statements.append(gast.Assign(targets=[target], value=access, type_comment=None))
        statements[first:] = _on_one_line(statements[first:])
    return statements


def _is_flat(tree: Any) -> bool:
    """Whether an argument is no list or tuple of lists or tuples, all of whose leaves are arrays or numbers."""
    if type(tree) not in (list, tuple) or len(tree) < 2:
        return True
    parts = [t for t in tree if type(t) in (list, tuple)]
    return not parts or not all(isinstance(v, Value) for t in tree for v in (t if type(t) in (list, tuple) else [t]))


def _taken_apart(tree: Any, parameter: str, names: Names, program: Program) -> tuple[Any, dict[Value, str]] | None:
    """`(W, b), (W_2, b_2) = layers`, and the names, where that fits on a line; it takes no name where it does not."""
    given: dict[Value, str] = {}
    taken = names.copy()

    def targets(part: Any) -> Any:
        if isinstance(part, Value):
            name = given[part] = taken.new(program.names[part])
            return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
        return gast.Tuple(elts=[targets(p) for p in part], ctx=gast.Store())

    left = targets(tree)
    if len("    ") + width(left) + len(" = ") + len(parameter) > WIDTH:
        return None
    for value in given:
        given[value] = names.new(program.names[value])
    return gast.Assign(targets=[left], value=_name(parameter), type_comment=None), given


def _on_one_line(statements: list[Any]) -> list[Any]:
    """`W, b = params["W"], params["b"]`, as many as fit on a line."""
    lines: list[list[Any]] = []
    for statement in statements:
        both = _together([*lines[-1], statement]) if lines else None
        if both is None or len("    ") + width(both.targets[0]) + len(" = ") + width(both.value) > WIDTH:
            lines.append([])
        lines[-1].append(statement)
    return [line[0] if len(line) == 1 else _together(line) for line in lines]


def _together(statements: list[Any]) -> Any:
    left = gast.Tuple(elts=[statement.targets[0] for statement in statements], ctx=gast.Store())
    right = gast.Tuple(elts=[statement.value for statement in statements], ctx=gast.Load())
    return gast.Assign(targets=[left], value=right, type_comment=None)


def result_of(tree: Any, write: Callable[[Any], Any], outputs: list[Any]) -> Any:
    """The returned expression: a tree of positions in the outputs."""
    return _build(tree, lambda k: write(outputs[k]))


def _name(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def _leaves(tree: Any, access: Any) -> list[tuple[Value, Any]]:
    found = children(tree)
    if found is None:
        return [(tree, access)] if isinstance(tree, Value) else []
    out: list[tuple[Value, Any]] = []
    for key, sub in found:
        out.extend(_leaves(sub, _part(access, f".{key[1:]}" if has_attributes(tree) else (key,))))
    return out


def _part(access: Any, key: Any) -> Any:
    """`p.w` for the key `.w`, `p["w"]` for ("w",)."""
    if isinstance(key, str):
        return gast.Attribute(value=access, attr=key[1:], ctx=gast.Load())
    return gast.Subscript(value=access, slice=constant_tree(key[0]), ctx=gast.Load())


def _build(tree: Any, leaf: Callable[[int], Any]) -> Any:
    if isinstance(tree, Instance):
        place = _name(tree.origin[0])
        for key in tree.origin[1:]:
            place = _part(place, key)
        fields = [gast.keyword(arg=name, value=_build(part, leaf)) for name, part in tree.fields.items()]
        cls = gast.Call(func=_name("type"), args=[place], keywords=[])
        return gast.Call(func=cls, args=[], keywords=fields)
    if type(tree) is dict:
        return gast.Dict(keys=[constant_tree(k) for k in tree], values=[_build(v, leaf) for v in tree.values()])
    if type(tree) is list:
        return gast.List(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    if type(tree) is tuple:
        return gast.Tuple(elts=[_build(v, leaf) for v in tree], ctx=gast.Load())
    return leaf(tree)
