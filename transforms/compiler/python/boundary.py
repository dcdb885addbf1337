"""The boundary of a generated function: statements that take arguments apart, and the expression that it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value
from ..frontend.user_names import Names
from ..schedule.program import Fork, Program, Return, Statement, Store, Unpack
from ..schedule.reuse import LARGE
from ..schedule.signature import Instance, children, has_attributes
from .layout import WIDTH
from .literals import constant_tree, given_tree
from .variables import about, name_tree
from .widths import width

if TYPE_CHECKING:
    from .walk import Walk

__all__ = [
    "Returns", "access_key", "is_large", "keeps_memory", "part_tree", "result_of", "returns_of", "unpacking_of",
]  # fmt: skip

ROW = 64  # columns of a result that has a row of its own


def unpacking_of(
    unpack: Unpack, program: Program, names: Names, trees: dict[Value, Any], walked: Set[Value] = frozenset()
) -> list[Any]:
    """Statements that take the leaves out of an argument that is a tree; `trees` learns how to write each input.

    Those that are read as items of the argument alone (`walked`) stay in it.
    """
    tree, parameter = unpack.tree, unpack.parameter
    if isinstance(tree, Value):
        trees[tree] = _name(parameter)
        return []
    every = _leaves(tree, _name(parameter))
    found = [(v, access) for v, access in every if v not in walked]
    whole = len(found) == len(every)
    if whole and type(tree) in (list, tuple) and len(tree) > 1 and all(isinstance(v, Value) for v in tree):
        targets = []
        for value, _ in found:
            name = names.new(program.names[value])
            trees[value] = _name(name)
            targets.append(gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None))
        left = gast.Tuple(elts=targets, ctx=gast.Store())
        return [gast.Assign(targets=[left], value=_name(parameter), type_comment=None)]
    taken = None if _is_flat(tree) or not whole else _taken_apart(tree, parameter, names, program)
    if taken is not None:
        statement, given = taken
        trees.update({value: _name(name) for value, name in given.items()})
        return [statement]
    statements: list[Any] = []
    for value, access in found:
        name = names.new(program.names[value])
        trees[value] = _name(name)
        target = gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
        statements.append(gast.Assign(targets=[target], value=access, type_comment=None))
    return _on_one_line(statements)


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
        out.extend(_leaves(sub, part_tree(access, access_key(tree, key))))
    return out


def access_key(tree: Any, key: Any) -> Any:
    """Return the key by which a part of an argument is read: `.w` of an attribute, ("w",) of an item."""
    return f".{key[1:]}" if has_attributes(tree) else (key,)


def part_tree(access: Any, key: Any) -> Any:
    """`p.w` for the key `.w`, `p["w"]` for ("w",)."""
    if isinstance(key, str):
        return gast.Attribute(value=access, attr=key[1:], ctx=gast.Load())
    return gast.Subscript(value=access, slice=constant_tree(key[0]), ctx=gast.Load())


def _build(tree: Any, leaf: Callable[[int], Any]) -> Any:
    if isinstance(tree, Instance):
        place = _name(tree.origin[0])
        for key in tree.origin[1:]:
            place = part_tree(place, key)
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


def _alone(tree: Any) -> list[int]:
    """The places of the results that no key and no field names."""
    return [k for part in tree for k in _alone(part)] if type(tree) is tuple else [tree] if type(tree) is int else []


def returns_of(body: list[Statement], graph: Graph) -> Returns | None:
    """Return what decides about the results of a function; None where paths return on their own, or something is stored last."""
    result = body[-1]
    if any(isinstance(s, (Fork, Store)) for s in body) or not isinstance(result, Return):
        return None
    return Returns(result, graph)


class Returns:
    """The results of a function, and which of them are expressions in its `return`."""

    def __init__(self, result: Return, graph: Graph) -> None:
        self.result = result
        self.quiet = any(call.quiet for call in graph.calls)
        of_backward = {v for call in graph.calls if call.backward for v in call.outs}
        results = [result.outputs[k] for k in _alone(result.tree)]
        gradients = [v for v in results if v in of_backward or not isinstance(v, Value)]
        self.sole = gradients[0] if len(gradients) == 1 else None  # the gradient, where it is one, and no key names it
        self.calls: dict[Value, Call] = {}  # of the results that are expressions
        self.names: dict[Value, str] = {}  # what they are called in the docstring

    def takes(self, walk: Walk, call: Call, tree: Any) -> bool:
        """Whether a result, which is read nowhere else, is written in the `return`; if so, it has its name there."""
        (out,) = call.outs
        if call.quiet != self.quiet or call.op.effect or call.op.may_raise or walk.pieces is not None:
            return False
        if out in walk.naming.wishes and not call.backward:
            return False  # the user has given it a name
        if out is self.sole:
            return False  # `d_w`, which is what a reader looks for
        if not walk.may_wait(call):
            return False
        if keeps_memory(walk, call, len(walk.facts.graph.calls)) or not self._has_room(walk, out, tree):
            return False
        self.calls[out] = call
        self.names[out] = walk.naming.new(out)
        return True

    def _has_room(self, walk: Walk, out: Value, tree: Any) -> bool:
        """Whether the `return` fits on a line with this expression, or has a row for each result anyway."""
        plain, whole = self._width(walk, {}), self._width(walk, {out: tree})
        room = WIDTH - len("    return ") - 4 * self.quiet
        return whole <= room or (plain > room and width(tree) <= ROW)

    def _width(self, walk: Walk, trees: dict[Value, Any]) -> int:
        """The columns of the results, with what is known by now in it."""

        def leaf(v: Any) -> Any:
            if not isinstance(v, Value):
                return given_tree(v)
            if v in trees:
                return trees[v]
            if v in walk.trees and (v in walk.nested or isinstance(walk.trees[v], gast.Name)):
                return walk.trees[v]
            return name_tree(walk.naming.wished(v))

        result = result_of(self.result.tree, leaf, list(self.result.outputs))
        return width(result) - 2 * isinstance(result, gast.Tuple)

    def name(self, walk: Walk, v: Value) -> str:
        """Return the variable of a value that is a statement after all."""
        self.calls.pop(v, None)
        name = self.names.pop(v, None)
        if name is None:
            return walk.fresh(v)
        walk.trees[v] = name_tree(name)
        return name

    def owner(self) -> Call | None:
        """Return what the `return` belongs to: the call of its expression, if it is of one line of the user's."""
        calls = list(self.calls.values())
        if not calls:
            return None
        lines = {None if call.site is None else (call.site.code.co_filename, call.site.line) for call in calls}
        return (
            Call(calls[0].op, (), (), calls[0].site, calls[0].backward, self.quiet)
            if len(lines) == 1
            else about(calls[0])
        )


def keeps_memory(walk: Walk, call: Call, until: int) -> bool:
    """Whether large arrays would live longer if a call were made at a later place, while others are made."""
    facts = walk.facts
    between = facts.graph.calls[facts.place[call] + 1 : until]
    if all(v in facts.outputs or v.type.kind != "array" for other in between for v in other.outs):
        return False
    reads, seen = list(call.reads), set[Value]()
    while reads:
        v = reads.pop()
        if v in seen:
            continue
        seen.add(v)
        maker = facts.maker.get(v)
        if v in walk.nested and maker is not None:
            reads += maker.reads
        elif maker is not None and facts.last[v] < until and is_large(v):
            return True
    return False


def is_large(v: Value) -> bool:
    """Whether the memory of a value is worth a thought."""
    return math.prod(v.type.shape) * int(v.type.dtype.itemsize) >= LARGE
