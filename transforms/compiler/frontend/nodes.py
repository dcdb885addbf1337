"""Short ways to write gast nodes, each standing where a node of the user's stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import gast

from .operators import CONTROL

__all__ = [
    "assign",
    "at",
    "blocks_of",
    "children",
    "constant",
    "function",
    "load",
    "operator_call",
    "store",
    "tell_of_caught",
    "thunk",
    "tuple_of",
]


def at(node: Any, place: Any) -> Any:
    """`node` where `place` stands in the source."""
    return gast.copy_location(node, place)


def load(name: str, place: Any) -> Any:
    """The name, read."""
    return at(gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None), place)


def store(name: str, place: Any) -> Any:
    """The name, assigned to."""
    return at(gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None), place)


def constant(value: Any, place: Any) -> Any:
    """A literal; also a tuple of such."""
    if isinstance(value, tuple):
        return tuple_of([constant(v, place) for v in value], place)
    return at(gast.Constant(value=value, kind=None), place)


def tuple_of(parts: Iterable[Any], place: Any, ctx: Any = None) -> Any:
    """A tuple display, or a tuple of targets."""
    return at(gast.Tuple(elts=list(parts), ctx=ctx or gast.Load()), place)


def assign(target: Any, value: Any, place: Any) -> Any:
    """`target = value`, the target being a node or a name."""
    target = store(target, place) if isinstance(target, str) else target
    return at(gast.Assign(targets=[target], value=value, type_comment=None), place)


def names_bound(target: Any) -> Any:
    """The names that a target binds, as it is written; None for what is no name."""
    if isinstance(target, (gast.Tuple, gast.List)):
        return tuple(map(names_bound, target.elts))
    return target.id if isinstance(target, gast.Name) else None


def operator_call(name: str, args: list[Any], place: Any, **keywords: Any) -> Any:
    """`__gs__.name(*args)` as an expression at `place`; keywords are literals."""
    start = at(gast.Name(id=CONTROL, ctx=gast.Load(), annotation=None, type_comment=None), place)
    func = at(gast.Attribute(value=start, attr=name, ctx=gast.Load()), place)
    for node in (start, func):  # on one line, or Python would place the call where the attribute ends
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    named = [at(gast.keyword(arg=k, value=constant(v, place)), place) for k, v in keywords.items()]
    return at(gast.Call(func=func, args=args, keywords=named), place)


def tell_of_caught(tree: Any) -> None:
    """Let each handler of errors say first that it has caught one, and each `with` that it has suppressed one."""
    for node in list(gast.walk(tree)):
        if isinstance(node, gast.withitem):
            node.context_expr = operator_call("entered", [node.context_expr], node.context_expr)
        if isinstance(node, gast.ExceptHandler):
            node.body.insert(0, at(gast.Expr(value=operator_call("caught", [], node)), node))


def _parameters(names: Iterable[str], place: Any) -> Any:
    args = [at(gast.Name(id=n, ctx=gast.Param(), annotation=None, type_comment=None), place) for n in names]
    return gast.arguments(
        args=args, posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )


def thunk(value: Any, place: Any, names: Iterable[str] = ()) -> Any:
    """`lambda *names: value`, whose code begins where `place` does."""
    return at(gast.Lambda(args=_parameters(names, place), body=value), place)


def function(name: str, parameters: Iterable[str], body: list[Any], place: Any) -> Any:
    """`def name(*parameters): body`, whose code begins where `place` does."""
    options: dict[str, Any] = {"type_params": []} if "type_params" in gast.FunctionDef._fields else {}
    return at(
        gast.FunctionDef(
            name=name, args=_parameters(parameters, place), body=body, decorator_list=[], returns=None, type_comment=None,
            **options,
        ),
        place,
    )  # fmt: skip


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below one, in order; quicker than `gast.iter_child_nodes`."""
    for value in map(node.__dict__.get, node._fields):
        if type(value) is list:
            yield from [v for v in value if isinstance(v, gast.AST)]
        elif isinstance(value, gast.AST):
            yield value


def blocks_of(statement: Any) -> Iterator[list[Any]]:
    """The lists of statements that stand directly in a compound statement, but for the bodies of functions and classes."""
    if isinstance(statement, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)):
        return
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body
