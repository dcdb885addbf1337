"""Which backward part stands in a `with np.errstate`: one in which NumPy could warn of what the forward part has not.

A division, a power or a logarithm warns at singular points, where the gradient may be right all the same. Products and sums
warn where a number is too large for its dtype, and so is the gradient: that is told, as it is in the forward part.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import gast

from ....runtime.ir.graph import Call
from ....runtime.ir.opcodes import Function
from ....runtime.registry import ops_of
from ....runtime.rules.indexing import add_place, index_add, index_add_at, index_set, place, scatter
from .printer import to_source
from .variables import each_node, is_no_zero, mentions, name_of, pairs_of

__all__ = ["may_warn"]

# Functions and methods that have no singular points.
_SILENT = frozenset(
    ["abs", "absolute", "add", "all", "any", "append", "arange", "arctan", "argmax", "argmin", "argsort", "array", "astype",
     "at", "broadcast_to", "concatenate", "conj", "conjugate", "copy", "copysign", "cos", "cross", "cumsum", "delete",
     "diag", "diagonal", "diff", "dot", "dtrtrs", "einsum", "empty", "empty_like", "enumerate", "expand_dims", "eye", "fft",
     "fft2", "fftn", "fftshift", "flip", "float32", "float64", "full", "full_like", "ifft", "ifft2", "ifftn", "ifftshift",
     "imag", "inner", "isnan", "kron", "len", "list", "logical_and", "logical_not", "logical_or", "matmul", "max", "maximum",
     "min", "minimum", "moveaxis", "multiply", "nan_to_num", "negative", "ones", "ones_like", "outer", "pad", "pop", "range",
     "ravel", "real", "repeat", "reshape", "reverse", "reversed", "roll", "sign", "sin", "solve", "squeeze", "stack",
     "subtract", "sum", "swapaxes", "take", "take_along_axis", "tanh", "tensordot", "tile", "trace", "transpose", "tril",
     "triu", "type", "vdot", "where", "zeros", "zeros_like", "zip"]
)  # fmt: skip
_DEEPEST = 64  # expressions that the sign of one is followed back through
_AT_PLACES = ops_of(operator.getitem, index_add, index_set, place, add_place, scatter, index_add_at)
_SILENT_NODES = (
    gast.Assign, gast.Attribute, gast.AugAssign, gast.Compare, gast.Constant, gast.Delete, gast.Dict, gast.Expr, gast.For,
    gast.If, gast.IfExp, gast.List, gast.Name, gast.Pass, gast.Return, gast.Slice, gast.Starred, gast.Subscript, gast.Tuple,
    gast.UnaryOp, gast.While, gast.boolop, gast.BoolOp, gast.cmpop, gast.expr_context, gast.keyword, gast.operator,
    gast.unaryop,
)  # fmt: skip
_SILENT_OPERATORS = (gast.Add, gast.Sub, gast.Mult, gast.MatMult, gast.BitAnd, gast.BitOr, gast.BitXor)


def may_warn(statements: Iterable[Any], entries: Collection[tuple[Any, Call]]) -> bool:
    """Whether NumPy could warn in any of these statements, but for numbers that are too large; `entries` are all of a text."""
    known = _known(entries)
    return not all(_is_silent(node, known) for statement in statements for node in each_node(statement))


class _Known(NamedTuple):
    """What is known of expressions, as written: at which zeros the forward part warns, and what is no zero."""

    divisors: frozenset[str]  # what is divided by, the factors of that, and what logarithms are taken of
    helpers: frozenset[str]  # functions of the text in which nothing can warn
    ties: frozenset[str]  # variables that hold `x == x.max()` and the like, and how many there are
    exponentials: frozenset[str]
    safe: frozenset[str]  # what has another number in place of zero
    positive: _Positive


def _known(entries: Collection[tuple[Any, Call]]) -> _Known:
    """What is known of the expressions of a text."""
    ties, exponentials, safe, values = set[str](), set[str](), set[str](), dict[str, Any]()
    for statement, _ in entries:
        if isinstance(statement, gast.Assign) and getattr(statement.value, "attr", None) == "shape":
            safe |= mentions(statement.targets[0])  # `n, d = x.shape`
        for name, value in pairs_of(statement):
            values[name] = value
            if _is_length(value):
                safe.add(name)
            if isinstance(value, gast.Compare) and isinstance(value.ops[0], gast.Eq):
                ties.add(name)
            elif isinstance(value, gast.Call) and _called(value) == "exp":
                exponentials.add(name)
            elif isinstance(value, gast.Call) and _called(value) == "where" and len(value.args) == 3:
                if is_no_zero(*value.args):
                    safe.add(name)
            elif _summed(value) in ties:
                ties.add(name)
    divided = itertools.chain.from_iterable(_divisors(statement) for statement, call in entries if not call.quiet)
    divisors = frozenset(to_source(factor) for divisor in divided for factor in _factors(divisor, values))
    helpers = {call.op.fn.__name__ for _, call in entries if _is_silent_helper(call.op.fn)}
    positive = _Positive(entries)
    return _Known(divisors, frozenset(helpers), frozenset(ties), frozenset(exponentials), frozenset(safe), positive)


class _Positive:
    """Which expressions of a text are greater than zero, whatever the numbers: `np.sqrt(x**2 + 1e-6)`."""

    def __init__(self, entries: Collection[tuple[Any, Call]]) -> None:
        self._entries = entries
        self._known: dict[tuple[bool, str], bool] = {}
        self._finite: dict[str, bool] = {}  # of variables

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """The variables that stay what they were made, each with its value."""
        return _assigned_once(self._entries)

    def __call__(self, tree: Any, depth: int = 0) -> bool:
        """Whether an expression is positive, or NaN; of one that is made of very many it is not known."""
        depth += 1
        match tree:
            case gast.Constant():
                return type(tree.value) in (int, float) and tree.value > 0
            case gast.Name():
                return self._of_variable(self, tree.id, depth)
            case gast.BinOp(left=left, op=gast.Add(), right=right):
                one = self(right, depth)
                return (one or self(left, depth)) and self._is_no_less(left if one else right, depth)
            case gast.Call(args=[x]) if _called(tree) == "sqrt":
                return self(x, depth)
            case gast.Call(args=[x, y]) if _called(tree) == "maximum":
                return self(x, depth) or self(y, depth)
        return False

    def _is_no_less(self, tree: Any, depth: int) -> bool:
        """Whether an expression is zero, positive, or NaN."""
        depth += 1
        match tree:
            case gast.Name():
                return self._of_variable(self._is_no_less, tree.id, depth)
            case gast.BinOp(op=gast.Pow(), right=gast.Constant(value=int() as power)):
                return power > 0 and power % 2 == 0
            case gast.BinOp(left=gast.Name(id=one), op=gast.Mult(), right=gast.Name(id=other)) if one == other:
                return True
            case gast.BinOp(left=left, op=gast.Add() | gast.Mult() | gast.Div(), right=right):
                return self._is_no_less(left, depth) and self._is_no_less(right, depth)
            case gast.Call() if _called(tree) in ("abs", "absolute", "exp", "square", "len", "var", "std", "norm"):
                return True
            case gast.Call() if _called(tree) in ("sqrt", "sum", "mean"):
                method = isinstance(tree.func, gast.Attribute) and name_of(tree.func.value) != "np"
                of = [tree.func.value] if method else tree.args[:1]
                return all(self._is_no_less(x, depth) for x in of)
            case gast.Attribute():
                return bool(tree.attr == "size")
        return self(tree, depth)

    def is_finite(self, tree: Any, depth: int = 0) -> bool:
        """Whether the backward part does not overflow on the way to an expression: where it does, a quotient by that is right."""
        for node in each_node(tree):
            if isinstance(node, gast.BinOp) and isinstance(node.op, (gast.Mult, gast.Pow)):
                return False
            if isinstance(node, gast.Call) and _called(node) in ("exp", "square"):
                return False
            if isinstance(node, gast.Name) and not self._is_finite(node.id, depth):
                return False
        return True

    def _is_finite(self, name: str, depth: int) -> bool:
        if name not in self._finite:
            self._finite[name] = False  # until it is known: a loop may go in circles
            made = self.values.get(name) if name in self._backward else None
            self._finite[name] = made is None or (depth < _DEEPEST and self.is_finite(made, depth + 1))
        return self._finite[name]

    @functools.cached_property
    def _backward(self) -> frozenset[str]:
        """The variables that the backward part makes."""
        return frozenset(name for statement, call in self._entries if call.quiet for name, _ in pairs_of(statement))

    def _of_variable(self, asked: Callable[[Any, int], bool], name: str, depth: int) -> bool:
        """Ask that of the value of a variable, each once: of `y * y` of `y * y` there are many ways down."""
        key = asked is self, name
        if key not in self._known:
            self._known[key] = False  # until it is known: a loop may go in circles
            self._known[key] = name in self.values and depth < _DEEPEST and asked(self.values[name], depth)
        return self._known[key]


def _assigned_once(entries: Collection[tuple[Any, Call]]) -> dict[str, Any]:
    """The real variables of a text that stay what they were made, each with its value."""
    if any(v.type.dtype.kind == "c" for _, call in entries for v in (*call.reads, *call.outs)):
        return {}
    values: dict[str, Any] = {}
    changed: set[str] = set()
    for statement, _ in entries:
        for name, value in pairs_of(statement):
            changed |= {name} & values.keys()
            values[name] = value
        for node in each_node(statement):
            match node:
                case gast.AugAssign(target=written):
                    changed |= mentions(written)
                case gast.Subscript(value=written, ctx=gast.Store()) | gast.keyword(arg="out", value=written):
                    changed |= mentions(written)
    return {name: value for name, value in values.items() if name not in changed}


def _is_silent_helper(function: Any) -> bool:
    """Whether this is a function of the text that adds and multiplies, and calls functions without singular points."""
    return isinstance(function, Function) and all(map(_is_silent_call, function.graph.calls))


def _is_silent_call(call: Call) -> bool:
    infix, last = call.op.infix, call.args[-1] if call.args else None
    if infix is not None:
        return infix in ("+", "-", "*", "@", "&", "|", "^") or (infix == "**" and isinstance(last, int) and last >= 0)
    written = call.op.path.rpartition(".")[2]
    return written in _SILENT or call.op.base in _AT_PLACES or _is_silent_helper(call.op.fn)


def _is_silent(node: Any, known: _Known) -> bool:
    """Whether this part of a statement, but for what stands in it, has no singular points."""
    if isinstance(node, gast.AugAssign):
        return isinstance(node.op, _SILENT_OPERATORS)
    if isinstance(node, gast.BinOp):
        if isinstance(node.op, gast.Div):
            right = node.right
            if to_source(right) in known.divisors:
                return True
            if (_is_no_zero(right, node.left, known) or known.positive(right)) and known.positive.is_finite(right):
                return True
            made = known.positive.values.get(name_of(right) or "")  # `R_k`, which is `R[k]`
            return made is not None and to_source(made) in known.divisors
        if isinstance(node.op, gast.Pow):
            return isinstance(node.right, gast.Constant) and isinstance(node.right.value, int)
        return isinstance(node.op, _SILENT_OPERATORS)
    if not isinstance(node, gast.Call):
        return isinstance(node, _SILENT_NODES)
    called = _called(node)
    if isinstance(node.func, gast.Call):  # `type(model)(...)`
        return _called(node.func) == "type"
    return (called in _SILENT or called in known.helpers) and not any(
        keyword.arg == "dtype" for keyword in node.keywords
    )


def _divisors(statement: Any) -> Iterator[Any]:
    """What a statement divides by, and what it takes logarithms of."""
    for node in each_node(statement):
        if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Div):
            yield node.right
        elif isinstance(node, gast.Call) and _called(node) == "log" and node.args:
            yield node.args[0]


def _factors(tree: Any, values: dict[str, Any]) -> Iterator[Any]:
    """An expression, and those of which it is a product or a power, so that it is zero where one of them is."""
    left, seen = [tree], set[str | None]()
    while left:
        tree = left.pop()
        yield tree
        name = name_of(tree)
        made = tree if name in seen else values.get(name or "", tree)  # `x = 0.9 * x` in a loop goes in circles
        seen.add(name)
        if isinstance(made, gast.BinOp) and isinstance(made.op, (gast.Mult, gast.Pow)):
            left += [made.left] if isinstance(made.op, gast.Pow) else [made.right, made.left]


def _is_no_zero(divisor: Any, dividend: Any, known: _Known) -> bool:
    """Whether a divisor is another number than zero, or is one only where the dividend is NaN, of which nothing is said."""
    match divisor:
        case gast.Constant():
            return bool(divisor.value != 0)
        case gast.BinOp():  # `np.exp(x) + 1.0`
            more = divisor.right
            positive = isinstance(more, gast.Constant) and isinstance(more.value, float) and more.value > 0
            return isinstance(divisor.op, gast.Add) and positive and name_of(divisor.left) in known.exponentials
        case gast.Name() | gast.Call() if (name_of(divisor) or _summed(divisor)) in known.ties:
            # How many share a maximum: none where it is NaN. What flows back then is NaN, unless it is a number.
            return not _is_number(dividend)
        case gast.Name() if divisor.id in known.safe:
            return True
        case gast.Call(args=[test, instead, x]) if _called(divisor) == "where":
            return is_no_zero(test, instead, x)
    return _is_length(divisor)


def _is_length(tree: Any) -> bool:
    """Whether an expression is `len(x)`, `x.size` or one of `x.shape`: what is divided by a length of zero is nothing."""
    match tree:
        case gast.Attribute():
            return bool(tree.attr == "size")
        case gast.Subscript():
            return isinstance(tree.value, gast.Attribute) and tree.value.attr == "shape"
        case gast.Call():
            return _called(tree) == "len"
    return False


def _is_number(tree: Any) -> bool:
    """Whether an expression is made of numbers and lengths alone."""
    sizes = {
        id(node.value)
        for node in each_node(tree)
        if isinstance(node, gast.Attribute) and node.attr in ("size", "shape")
    }
    return not any(isinstance(node, gast.Name) and id(node) not in sizes for node in each_node(tree))


def _summed(tree: Any) -> str | None:
    """The variable whose `.sum()` this is."""
    method = isinstance(tree, gast.Call) and _called(tree) == "sum" and isinstance(tree.func, gast.Attribute)
    return name_of(tree.func.value) if method else None


def _called(node: Any) -> str:
    """The last name of what a call calls."""
    return node.func.attr if isinstance(node.func, gast.Attribute) else getattr(node.func, "id", "")
