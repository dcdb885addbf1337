"""The bodies of our own ops, put in place of calls to them: generated source names nothing but NumPy."""

from __future__ import annotations

import copy
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import gast

from ....runtime.ir.graph import Call, Value, values_in
from .literals import constant_tree
from .variables import name_tree

__all__ = ["body_of", "inlined", "locals_of", "times_used"]

Tree = Callable[[Any], Any]


class Inliner(gast.NodeTransformer):
    """Puts arguments, and names of their own, into a copy of a body."""

    def __init__(self, given: dict[str, Any], renamed: dict[str, str], tree: Tree, index: Tree) -> None:
        self.given = given  # the op's arguments by name
        self.renamed = renamed  # the body's own names
        self.tree = tree  # how an argument is written, and how it is written as an index
        self.index = index

    def visit_Subscript(self, node: Any) -> Any:
        if isinstance(node.slice, gast.Name) and node.slice.id in self.given:
            if self.given[node.slice.id] is Ellipsis and isinstance(node.ctx, gast.Load):
                return self.visit(node.value)
            return gast.Subscript(
                value=self.visit(node.value), slice=self.index(self.given[node.slice.id]), ctx=node.ctx
            )
        return self.generic_visit(node)

    def visit_Call(self, node: Any) -> Any:
        made = self.generic_visit(node)
        if getattr(made.func, "attr", "") == "zeros" and getattr(made.args[-1], "attr", "") == "float64":
            del made.args[1:]  # what np.zeros gives by itself
        if getattr(made.func, "id", "") == "max" and all(_number(a) is not None for a in made.args):
            return constant_tree(max(map(_number, made.args)))
        if getattr(made.func, "id", "") == "getattr" and str(getattr(made.args[1], "value", "")).isidentifier():
            return gast.Attribute(value=made.args[0], attr=made.args[1].value, ctx=gast.Load())
        return made

    def visit_IfExp(self, node: Any) -> Any:
        made = self.generic_visit(node)
        if isinstance(made.test, gast.Constant) and isinstance(made.test.value, bool):
            return made.body if made.test.value else made.orelse
        return made

    def visit_UnaryOp(self, node: Any) -> Any:
        made = self.generic_visit(node)
        value = _number(made.operand) if isinstance(made.op, gast.USub) else None
        return made if value is None else constant_tree(-value)

    def visit_Name(self, node: Any) -> Any:
        if node.id in self.renamed:
            return name_tree(self.renamed[node.id], store=isinstance(node.ctx, gast.Store))
        return self.tree(self.given[node.id]) if node.id in self.given else node


def _number(tree: Any) -> Any:
    """The value of a literal integer; None for anything else."""
    if isinstance(tree, gast.UnaryOp) and isinstance(tree.op, gast.USub):
        value = _number(tree.operand)
        return None if value is None else -value
    value = getattr(tree, "value", None)
    return value if isinstance(tree, gast.Constant) and type(value) is int else None


def inlined(tree: Any, call: Call, renamed: dict[str, str], write: Tree, index: Tree) -> Any:
    """A piece of an op's body with the arguments of `call` in it."""
    given = {p.name: a for p, a in zip(call.op.params, call.args, strict=True)}
    return Inliner(given, renamed, write, index).visit(copy.deepcopy(tree))


def body_of(call: Call, consuming: bool = False) -> tuple[Any, ...]:
    """The statements of an op of ours (of the form that writes into its first argument), without the docstring."""
    fn = call.op.consuming if consuming else call.op.fn
    return _body(fn, tuple([p.name for p in call.op.params]))


def locals_of(body: tuple[Any, ...]) -> list[str]:
    """The names that a body assigns."""
    stores = (n.id for s in body for n in gast.walk(s) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store))
    return list(dict.fromkeys(stores))


@functools.lru_cache(maxsize=256)
def _body(fn: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The statements of an op of ours, from its own source, without the docstring."""
    tree = gast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    if tuple(a.id for a in tree.args.args) != names:
        raise TypeError(f"{fn.__name__} takes other arguments than its op ({', '.join(names)})")
    body = tree.body
    if isinstance(body[0], gast.Expr) and isinstance(body[0].value, gast.Constant):
        body = body[1:]
    if len(body) > 1:
        given = body[-1].value
        if not all(isinstance(e, gast.Name) for e in (given.elts if isinstance(given, gast.Tuple) else [given])):
            raise TypeError(
                f"{fn.__name__}: a body of several statements ends in `return name`, or in names; assign the result first"
            )
    return tuple(body)


def times_used(call: Call, v: Value) -> int:
    """Return the number of times that the body of an op of ours reads an argument; in a loop more than once."""
    k = next(j for j, a in enumerate(call.args) if v in list(values_in(a)))
    name = call.op.params[k].name
    body = body_of(call)
    looped = [s for loop in body if isinstance(loop, gast.For) for s in loop.body]
    return sum(isinstance(n, gast.Name) and n.id == name for s in (*body, *looped) for n in gast.walk(s))
