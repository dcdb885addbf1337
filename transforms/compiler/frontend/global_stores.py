"""Stores to globals, rewritten (gast) so that they go straight to the module and every function sees them."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from .hooks import GLOBALS, cached_by_code

__all__ = ["through_module"]


def through_module(function: types.FunctionType) -> types.CodeType | None:
    """The code of `function` with each name that it declares global as `__gradscribe_globals__['name']`.

    None where the source cannot be had.
    """
    return _rewritten(function.__code__)


@cached_by_code(256)
def _rewritten(code: types.CodeType) -> types.CodeType | None:
    import gast  # slow to load, and few functions store globals

    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    text = "".join(lines)
    try:
        if lines[0][:1].isspace():
            tree = gast.parse("if 1:\n" + text)
            start -= 1
        else:
            tree = gast.parse(text)
    except SyntaxError:
        return None
    definition = next((n for n in gast.walk(tree) if isinstance(n, gast.FunctionDef) and n.name == code.co_name), None)
    if definition is None:
        return None
    declared = {name for n in gast.walk(definition) if isinstance(n, gast.Global) for name in n.names}

    class Through(gast.NodeTransformer):
        def visit_Name(self, node: Any) -> Any:
            if node.id not in declared:
                return node
            holder = gast.Name(id=GLOBALS, ctx=gast.Load(), annotation=None, type_comment=None)
            key = gast.Constant(value=node.id, kind=None)
            return gast.copy_location(gast.Subscript(value=holder, slice=key, ctx=node.ctx), node)

        def visit_Global(self, node: Any) -> Any:
            return gast.copy_location(gast.Pass(), node)

    definition.decorator_list = []
    definition.args.defaults = []
    definition.args.kw_defaults = [None] * len(definition.args.kwonlyargs)
    module = gast.Module(body=[_within_closure(gast, Through().visit(definition), code.co_freevars)], type_ignores=[])
    ast_tree = gast.gast_to_ast(gast.fix_missing_locations(module))

    ast.increment_lineno(ast_tree, start - 1)
    compiled = compile(ast_tree, code.co_filename, "exec")
    return _find(compiled, code.co_name, code.co_freevars)


def _within_closure(gast: Any, definition: Any, freevars: tuple[str, ...]) -> Any:
    """The definition inside a function that binds its free variables, so that they compile as such."""
    if not freevars:
        return definition
    arguments = gast.arguments(
        args=[gast.Name(id=n, ctx=gast.Param(), annotation=None, type_comment=None) for n in freevars],
        posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[],
    )  # fmt: skip
    options: dict[str, Any] = {"type_params": []} if "type_params" in gast.FunctionDef._fields else {}
    return gast.FunctionDef(
        name="enclosing",
        args=arguments,
        body=[definition],
        decorator_list=[],
        returns=None,
        type_comment=None,
        **options,
    )


def _find(code: types.CodeType, name: str, freevars: tuple[str, ...]) -> types.CodeType | None:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_name == name and const.co_freevars == freevars:
                return const
            found = _find(const, name, freevars)
            if found is not None:
                return found
    return None
