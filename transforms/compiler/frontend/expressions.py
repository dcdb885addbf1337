"""Expressions of converted code: conditions, calls and reads of names as calls of the operators."""

from __future__ import annotations

import sys
from typing import Any

import gast

from .names import closures, own_nodes, uses
from .nodes import at, constant, load, operator_call, thunk, tuple_of
from .user_names import singular_of

__all__ = ["Expressions", "Frame"]

_SIGNS = {
    gast.Lt: "<", gast.LtE: "<=", gast.Gt: ">", gast.GtE: ">=", gast.Eq: "==", gast.NotEq: "!=", gast.Is: "is",
    gast.IsNot: "is not", gast.In: "in", gast.NotIn: "not in",
}  # fmt: skip


_ARITHMETIC = {
    gast.Add: "+", gast.Sub: "-", gast.Mult: "*", gast.Div: "/", gast.FloorDiv: "//", gast.Mod: "%", gast.Pow: "**",
}  # fmt: skip
_DISPLAYS = (gast.List, gast.Tuple, gast.Dict, gast.Set, gast.ListComp, gast.JoinedStr)
_NO_SIZES = (gast.Constant, *_DISPLAYS)


def _may_be_float(node: Any) -> bool:
    """Whether an expression may give a float; ints ask a size what they are combined with."""
    if isinstance(node, gast.UnaryOp):
        return _may_be_float(node.operand)
    if isinstance(node, gast.Constant):
        return isinstance(node.value, (float, complex))
    return not isinstance(node, _DISPLAYS)


def _item_called(holder: Any, counter: str) -> str | None:
    """What an item of a list is called: `W` of `Ws`, `W_k` of `W`; None of a list without a name."""
    match holder:
        case gast.Name():
            name = holder.id
        case gast.Attribute():
            name = holder.attr
        case gast.Subscript(slice=gast.Constant(value=str() as name)) if name.isidentifier():
            pass
        case _:
            return None
    one = singular_of(name)
    return one if one and one != name else f"{name}_{counter}"


class Frame:
    """A function of converted code while it is written: the user's, or one that stands for a body or branch in it."""

    def __init__(self, parameters: set[str], outer: Frame | None = None) -> None:
        self.parameters = parameters
        self.outer = outer
        self.wanted: set[str] = set()  # the names that are read although they may not be bound


class Expressions:
    """Rewrites the expressions of one function, whose code is placed where `place` stands."""

    def __init__(
        self, own: set[str], native: set[str], hidden: set[str], fresh: Any, place: Any, sizes: bool = False
    ) -> None:
        self.sizes = sizes  # whether arithmetic is seen, of which a size may be part
        self.own = own  # its variables
        self.native = native  # those of them that Python itself must find unbound
        self.hidden = hidden  # those that the conversion added
        self.fresh = fresh
        self.place = place
        self.frame = Frame(set())
        self.counters: set[str] = set()  # what loops call their items, of which a list may be asked for its own
        self._deferred = 0  # the functions of ours in which an expression stands
        self._inner = 0  # the comprehensions in which it stands, where they are functions to Python

    def all(self, nodes: list[Any]) -> list[Any]:
        """The expressions, rewritten."""
        return [self.one(n) for n in nodes]

    def one(self, node: Any, test: bool = False) -> Any:
        """An expression, rewritten; where only its truth is wanted, it is a `test`."""
        rewrite = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rewrite is not None:
            return rewrite(node, test)
        return self.within(node)

    def within(self, node: Any) -> Any:
        """A node whose parts are rewritten in place."""
        for field, old in gast.iter_fields(node):
            if isinstance(old, list):
                old[:] = [self.one(n) if isinstance(n, gast.AST) else n for n in old]
            elif isinstance(old, gast.AST):
                setattr(node, field, self.one(old))
        return node

    def later(self, value: Any, test: bool = False) -> Any:
        """An expression as a function that gives it."""
        self._deferred += 1
        made = thunk(self.one(value, test), self.place)
        self._deferred -= 1
        return made

    def read(self, name: str, place: Any) -> Any:
        """A name that may not be bound."""
        if name in self.hidden:
            self.frame.wanted.add(name)
            return load(name, place)
        words = [constant(name, place), constant(place.lineno, place), *[constant(True, place)] * bool(self._inner)]
        if name not in self.native:
            self.frame.wanted.add(name)
            return operator_call("name", [load(name, place), *words], place)
        if self._deferred or self.frame.outer is not None:
            return operator_call("bound", [thunk(load(name, place), self.place), *words], place)
        return load(name, place)

    def _name(self, node: Any, test: bool) -> Any:
        return self.read(node.id, node) if getattr(node, "gs_maybe", False) else node

    def _subscript(self, node: Any, test: bool) -> Any:
        index = node.slice if isinstance(node.slice, (gast.Name, gast.BinOp, gast.UnaryOp)) else None
        counter = (
            next((n.id for n in gast.walk(index) if getattr(n, "id", None) in self.counters), None) if index else None
        )
        if counter is None or not isinstance(node.ctx, gast.Load):
            return self.within(node)
        called = getattr(node, "gs_called", None) or _item_called(node.value, counter)
        return operator_call("item", [self.one(node.value), self.one(node.slice), constant(called, node)], node)

    def _boolop(self, node: Any, test: bool) -> Any:
        if _binds(node.values[1:]):
            return self.within(node)
        name = "and_" if isinstance(node.op, gast.And) else "or_"
        first, *rest = node.values
        if len(rest) > 1:
            more = at(gast.BoolOp(op=node.op, values=rest), node)
            more.lineno, more.col_offset = rest[0].lineno, rest[0].col_offset
            rest = [more]
        args = [self.one(first, test), self.later(rest[0], test), *[constant(True, node)] * test]
        return operator_call(name, args, node)

    def _unaryop(self, node: Any, test: bool) -> Any:
        if not isinstance(node.op, gast.Not):
            return self.within(node)
        return operator_call("not_", [self.one(node.operand, True)], node)

    def _binop(self, node: Any, test: bool) -> Any:
        sign = _ARITHMETIC.get(type(node.op))
        if not self.sizes or sign is None or not _may_be_float(node.left) or isinstance(node.right, _NO_SIZES):
            return self.within(node)
        return operator_call("binary", [self.one(node.left), constant(sign, node), self.one(node.right)], node)

    def _compare(self, node: Any, test: bool) -> Any:
        if len(node.ops) == 1 or _binds(node.comparators[1:]):
            return self.within(node)
        signs = [constant(_SIGNS[type(op)], node) for op in node.ops]
        args = [self.one(node.left), signs[0], self.one(node.comparators[0])]
        for sign, value in zip(signs[1:], node.comparators[1:], strict=True):
            args += [sign, self.later(value)]
        return operator_call("chain", args, node, **{"test": True} if test else {})

    def _ifexp(self, node: Any, test: bool) -> Any:
        if _binds([node.body, node.orelse]):
            return self.within(node)
        return operator_call(
            "ifexp", [self.one(node.test, True), self.later(node.body, test), self.later(node.orelse, test)], node
        )

    def _call(self, node: Any, test: bool) -> Any:
        if isinstance(node.func, gast.Name) and node.func.id == "super":
            return self.within(node)
        if isinstance(node.func, gast.Name) and node.func.id == "sum" and (made := self._sum(node)) is not None:
            return made
        place = node
        if isinstance(node.func, gast.Attribute) and node.func.lineno != node.func.end_lineno:
            place = at(gast.Call(), node)  # Python says that a method is called where its name stands
            place.lineno = node.func.end_lineno
            place.col_offset = node.func.end_col_offset - len(node.func.attr.encode())
        called = operator_call("call", [self.one(node.func)], node.func)
        made = gast.Call(func=called, args=self.all(node.args), keywords=[self.within(k) for k in node.keywords])
        return at(made, place)

    def _lambda(self, node: Any, test: bool) -> Any:
        node.args.defaults[:] = self.all(node.args.defaults)
        node.args.kw_defaults[:] = [d and self.one(d) for d in node.args.kw_defaults]
        node.body = self.one(node.body)
        return node

    def _sum(self, node: Any) -> Any:
        """`sum(element for item in iterable)`, or of a list, perhaps with a start; None of other calls."""
        items, *start = [*node.args, *[k.value for k in node.keywords if k.arg == "start"]] or [None]
        known = len(node.args) + len(node.keywords) == 1 + len(start) <= 2
        if not known or not isinstance(items, (gast.GeneratorExp, gast.ListComp)) or _binds(start):
            return None
        parts = self._items(items)
        listed = {"listed": True} if isinstance(items, gast.ListComp) else {}
        return parts and operator_call("summed", [self.one(node.func), *parts, *self.all(start)], node, **listed)

    def _listcomp(self, node: Any, test: bool) -> Any:
        parts = self._items(node)
        return self._rest(node, test) if parts is None else operator_call("listcomp", parts, node)

    def _items(self, node: Any) -> Any:
        """Return the iterable of a comprehension, its element as a function of an item, its line; None if it has more parts."""
        (first, *more) = node.generators
        names = {n.id for n in gast.walk(first.target) if isinstance(n, gast.Name)}
        self.counters |= names
        shared = any(uses([c]).reads & names for c in closures([node.elt]))
        if more or first.ifs or first.is_async or shared or _binds([node]):
            return None
        place = self.place
        line = constant(node.lineno, node)
        if isinstance(first.target, gast.Name):
            element = thunk(self._element(node, node.elt), place, [first.target.id])
        else:
            item = self.fresh("item")
            given = tuple_of([load(item, node)], node)
            one = at(gast.comprehension(target=self._element(node, first.target), iter=given, ifs=[], is_async=0), node)
            inner = at(gast.ListComp(elt=self._element(node, node.elt), generators=[one]), node)
            element = thunk(
                at(gast.Subscript(value=inner, slice=constant(0, node), ctx=gast.Load()), node), place, [item]
            )
        return [self.one(first.iter), element, line]

    def _element(self, comprehension: Any, node: Any) -> Any:
        """A part of a comprehension, which our function or Python's evaluates."""
        self._deferred += 1
        self._inner += is_function(comprehension)
        made = self.one(node)
        self._inner -= is_function(comprehension)
        self._deferred -= 1
        return made

    def _match_case(self, node: Any, test: bool) -> Any:
        node.guard = node.guard and self.one(node.guard, True)
        return node

    def _rest(self, node: Any, test: bool) -> Any:
        """A comprehension that stays one: its first iterable is evaluated outside of it."""
        first = node.generators[0].iter = self.one(node.generators[0].iter)
        for g in node.generators:
            g.iter = first if g.iter is first else self._element(node, g.iter)
            g.ifs = [self._element(node, t) for t in g.ifs]
            g.target = self._element(node, g.target)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                setattr(node, part, self._element(node, getattr(node, part)))
        return node

    _setcomp = _dictcomp = _generatorexp = _rest


def is_function(comprehension: Any) -> bool:
    """Whether Python makes a function of a comprehension, in which names are read from outside."""
    return sys.version_info < (3, 12) or isinstance(comprehension, gast.GeneratorExp)


def _binds(nodes: list[Any]) -> bool:
    """Whether expressions bind names, which a function of their own would keep."""
    return any(isinstance(n, gast.NamedExpr) for n in own_nodes(nodes))
