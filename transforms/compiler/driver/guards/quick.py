"""Guards in C: the expressions of a plan as the trees that the optional extension runs, where it was built."""

from __future__ import annotations

import ast
import importlib
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .....unpatched import np as unpatched

__all__ = ["is_built", "joined", "quick"]


def _built() -> Any:
    """The extension, which is built with the package where there is a C compiler; None without it."""
    if sys.implementation.name != "cpython":
        return None
    try:
        return importlib.import_module("._entry", __package__)
    except ImportError:
        return None


ENTRY = _built()
_MOST = 64  # arguments and names of one call, as in the C
_COMPARED = {ast.Is: "is", ast.IsNot: "isnot", ast.Eq: "eq", ast.NotIn: "notin"}


class _UnknownError(Exception):
    """An expression that the extension does not know."""


def is_built() -> bool:
    """Whether guards run in C."""
    return ENTRY is not None


def quick(
    expression: str, names: Sequence[str], positional: int, space: Mapping[str, Any], same: Callable[..., bool]
) -> Callable[..., Any] | None:
    """Return an expression over constants in `space` as a function of these names in C; None where Python is to run it.

    The first `positional` of them are passed by position, the others by name. `same` is called where two objects are not one.
    """
    if ENTRY is None or len(names) > _MOST:
        return None
    try:
        form = _Forms(names, space, same).form(ast.parse(expression, mode="eval").body)
    except (_UnknownError, RecursionError):
        return None
    made: Callable[..., Any] = ENTRY.Tree(form, positional, tuple(names[positional:]), np.ndarray, same)
    return made


def joined(function: Callable[..., Any], reads: Any) -> Callable[..., Any] | None:
    """Return a function that is called with what `reads` gives behind its arguments; None where Python is to do it."""
    if ENTRY is None or type(reads) is not ENTRY.Tree:
        return None
    made: Callable[..., Any] = ENTRY.Joined(function, reads)
    return made


class _Forms:
    """The forms of expressions over the same names."""

    def __init__(self, names: Sequence[str], space: Mapping[str, Any], same: Callable[..., bool]) -> None:
        self.places = {name: k for k, name in enumerate(names)}
        self.space, self.same = space, same

    def form(self, node: ast.AST) -> tuple[Any, ...]:
        match node:
            case ast.Name(id=name) if name in self.places:
                return ("arg", self.places[name])
            case ast.Name(id=name) if name in self.space:
                return ("const", self.space[name])
            case ast.Constant(value=value):
                return ("const", value)
            case ast.Attribute(value=value, attr=name):
                return ("attr", self.form(value), sys.intern(name))
            case ast.Subscript(value=value, slice=key):
                return ("item", self.form(value), self.form(key))
            case ast.Tuple(elts=parts) if all(map(_is_literal, parts)):
                return ("const", ast.literal_eval(node))
            case ast.Tuple(elts=parts):
                return ("tuple", *map(self.form, parts))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ("not", self.form(operand))
            case ast.BoolOp(op=ast.And(), values=tests):
                return ("and", *self.tests(tests))
            case ast.BoolOp(op=ast.Or(), values=tests):
                return ("or", *map(self.form, tests))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                return (_COMPARED[type(op)], self.form(left), self.form(right))
            case ast.Call(func=function, args=args, keywords=[]):
                return self.call(function, args)
        raise _UnknownError

    def call(self, function: ast.AST, args: Sequence[ast.AST]) -> tuple[Any, ...]:
        """A call of a constant; of a dict, `get` with a name."""
        match function, args:
            case ast.Attribute(value=ast.Name(id=owner), attr="get"), [ast.Constant(value=str(key))]:
                if type(self.space.get(owner)) is dict:
                    return ("get", ("const", self.space[owner]), sys.intern(key))
        form = self.form(function)
        if form[0] == "attr":
            return ("call", operator.call, form, *map(self.form, args))
        if form[0] != "const":
            raise _UnknownError
        known = {id(type): "type", id(len): "len", id(self.same): "same"}.get(id(form[1]))
        return (known, *map(self.form, args)) if known is not None else ("call", form[1], *map(self.form, args))

    def tests(self, tests: Sequence[ast.expr]) -> list[tuple[Any, ...]]:
        """Conditions of which all must hold: those on one array's layout are one."""
        made: list[tuple[Any, ...]] = []
        for test in tests:
            if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
                made += self.tests(test.values)
            else:
                made.append(self.form(test))
        for k in reversed(range(len(made) - 3)):
            match made[k : k + 4]:
                case [
                    ("is", ("type", x), ("const", cls)), ("eq", ("attr", a, "dtype"), ("const", dtype)),
                    ("eq", ("attr", b, "shape"), ("const", shape)), ("eq", ("attr", c, "strides"), ("const", strides)),
                ] if cls is unpatched.ndarray and _is_one(x, a) and _is_one(x, b) and _is_one(x, c):  # fmt: skip
                    made[k : k + 4] = [("layout", x, dtype, shape, strides)]
        return made


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
    )


def _is_one(x: Any, y: Any) -> bool:
    """Whether two forms are the same, with the same objects in them."""
    if type(x) is tuple and type(y) is tuple:
        return len(x) == len(y) and all(map(_is_one, x, y))
    return x is y or (type(x) is type(y) is int and x == y)
