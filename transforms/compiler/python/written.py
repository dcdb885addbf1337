"""Constants as the user wrote them: `2 * np.pi` for 6.28..., where the user's source has an expression of that very value."""

from __future__ import annotations

import ast
import collections
import copy
import inspect
import linecache
import math
import operator
import re
import textwrap
import types
import warnings
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from ....runtime.ir.graph import Call
from ..frontend.hooks import cached_by_code
from .printer import to_source
from .signs import negated
from .variables import each_node

__all__ = ["as_written", "constant_name", "is_called"]

_LONG = 6  # digits of a number that nobody writes down unless it is meant
_LONGEST = 16  # letters of a name for a constant
_MOST = 16  # names whose expressions an expression is put together from, at most; more is not what the user wrote
_OF_RULES = (0.5, 1.0, 2.0, 3.0, 4.0)  # which come up in derivatives by themselves
_HOMES: dict[str, Any] = {"np": np, "numpy": np, "math": math}
_NUMBERS = frozenset(["pi", "e", "tau", "euler_gamma"])
_FUNCTIONS = frozenset(
    ["sqrt", "cbrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "gamma",
     "lgamma", "radians", "degrees", "deg2rad", "rad2deg", "float64"]
)  # fmt: skip
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.USub: operator.neg,
}  # fmt: skip


class _NotConstantError(Exception):
    """An expression depends on more than what stands in the source."""


def as_written(x: Any, call: Call, again: bool) -> Any:
    """Return the expression that gives a float of a call, where one of the user's does; None where there is none.

    It has the value to the last bit, and the type. What runs `again` and again is no call of a function.
    """
    if call.site is None or not isinstance(x, float) or x != x:
        return None
    known = _constants(call.site.code)
    plain = known.get((type(x), x)) if known else None
    found = known.get((type(x), -x)) if known and plain is None else plain
    if found is None:
        return None
    tree, lines = found
    short = len(repr(float(x)).lstrip("-")) < _LONG
    if short and (call.site.line not in lines or (call.backward and abs(x) in _OF_RULES)):
        return None
    if again and is_called(tree):
        return None
    made = copy.deepcopy(tree)
    return made if plain is not None else negated(made)


def is_called(tree: Any) -> bool:
    """Whether an expression calls a function."""
    return any(isinstance(node, gast.Call) for node in gast.walk(tree))


def constant_name(tree: Any) -> str:
    """Return a name for a constant expression: `log_2_pi` for `np.log(2 * np.pi)`."""
    words = re.findall(r"[a-z]\w*|[1-9]\d*(?!\.[1-9])", re.sub(r"\b(np|math)\.", "", to_source(tree)))
    name = "_".join(words)
    return name if name.isidentifier() and len(name) <= _LONGEST else "constant"


_Found = tuple[Any, set[int]]  # an expression, and the lines on which it or another of its value stands


@cached_by_code(256)
def _constants(code: types.CodeType) -> dict[tuple[type, float], _Found]:
    """The expressions in the source of a function that are constants, by what they give."""
    lines = linecache.getlines(code.co_filename)
    try:
        block = inspect.getblock(lines[code.co_firstlineno - 1 :])
        tree = ast.parse(textwrap.dedent("".join(block)).lstrip("@"))
    except (SyntaxError, IndexError, ValueError, RecursionError):
        return {}
    nodes = each_node(tree)
    names = _Names(nodes, lines)
    found: dict[tuple[type, float], _Found] = {}
    for node in nodes:
        if not isinstance(node, (ast.BinOp, ast.Call, ast.Attribute, ast.Name)):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            continue
        try:
            value = names.value(node)
            written = names.spelled(node)
        except (_NotConstantError, ArithmeticError, ValueError, TypeError, RecursionError):
            continue
        if type(value) not in (float, np.float64) or isinstance(written, (ast.Constant, ast.UnaryOp)):
            continue
        made = gast.parse(ast.unparse(written), mode="eval").body
        line = code.co_firstlineno + node.lineno - 1
        found.setdefault((type(value), float(value)), (made, set()))[1].add(line)
    return found


class _Names:
    """The values of the names in a function, as far as one assignment of a constant says them."""

    def __init__(self, nodes: list[ast.AST], lines: list[str]) -> None:
        self.lines = lines
        self.values: dict[
            str, Any
        ] = {}  # of the names asked for, once each; `_NotConstantError` of one that is no constant
        self.inner: dict[str, Any] = {}  # None: assigned otherwise, or more than once
        for node in nodes:
            if isinstance(node, ast.arg):
                self.inner[node.arg] = None
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.inner[node.id] = None
        names = (n for n in nodes if isinstance(n, ast.Name))
        stored = collections.Counter(n.id for n in names if not isinstance(n.ctx, ast.Load))
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if stored[name] == 1:
                    self.inner[name] = node.value

    def meant(self, name: str) -> Any:
        """The expression that a name was given."""
        found = self.inner[name] if name in self.inner else _of_module(self.lines, name)
        if found is None:
            raise _NotConstantError
        return found

    def value(self, node: Any) -> Any:
        """Return the value of an expression."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.values:
                self.values[node.id] = _NotConstantError  # of a name that stands in its own expression, too
                self.values[node.id] = self.value(self.meant(node.id))
            if self.values[node.id] is _NotConstantError:
                raise _NotConstantError
            return self.values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self.value(node.left), self.value(node.right)
            if isinstance(node.op, ast.Pow) and abs(right) > 64:
                raise _NotConstantError  # which could take its time
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand)
        if isinstance(node, ast.Attribute) and node.attr in _NUMBERS:
            return getattr(self.home(node), node.attr)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FUNCTIONS):
            raise _NotConstantError
        function = getattr(self.home(node.func), node.func.attr, None)
        if function is None or node.keywords or len(node.args) != 1:
            raise _NotConstantError
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            return function(self.value(node.args[0]))

    def home(self, node: ast.Attribute) -> Any:
        """The module of which something is read."""
        if not isinstance(node.value, ast.Name) or node.value.id in self.inner or node.value.id not in _HOMES:
            raise _NotConstantError
        return _HOMES[node.value.id]

    def spelled(self, node: Any) -> Any:
        """A constant expression as it stands where none of the user's names is known."""
        names = self

        class Spelling(ast.NodeTransformer):
            replaced = 0

            def visit_Name(self, name: ast.Name) -> Any:
                if name.id in _HOMES and name.id not in names.inner:
                    return ast.Name("np" if _HOMES[name.id] is np else name.id, ast.Load())
                self.replaced += 1
                if self.replaced > _MOST:
                    raise _NotConstantError
                return self.visit(copy.deepcopy(names.meant(name.id)))

        return Spelling().visit(copy.deepcopy(node))


def _of_module(lines: list[str], name: str) -> Any:
    """Return the expression that a module assigns to a name, in one line that alone does so; None where there is none."""
    given = [
        m[1]
        for line in lines
        if line.startswith(name) and (m := re.match(rf"{re.escape(name)}\s*(?::[^=]*)?=\s*([^=].*)", line))
    ]
    try:
        return ast.parse(given[0], mode="eval").body if len(given) == 1 else None
    except (SyntaxError, ValueError):
        return None
