"""A call as an expression: operators, attributes, indices, and else a call of NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.known_ops import BROADCAST_TO, COPY, EXPAND_DIMS, GETITEM, MULTIPLY, TRANSPOSE, WHERE
from ....runtime.ir.opcodes import AND, NOT, OR, function_of
from ....runtime.registry import require
from ....runtime.rules.control import COUNT, SHAPE, SIZE
from ....runtime.rules.messages import TEXT
from ..passes.rewrite import is_elementwise
from .inlining import body_of
from .literals import constant_tree, joined_text, new_axis
from .selections import selected
from .signs import SIGNED, negated
from .spelling import spelled
from .variables import name_tree

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["BINARY", "is_real", "once", "term"]

BINARY = {
    "+": gast.Add, "-": gast.Sub, "*": gast.Mult, "/": gast.Div, "//": gast.FloorDiv, "%": gast.Mod, "**": gast.Pow,
    "@": gast.MatMult, "&": gast.BitAnd, "<<": gast.LShift, ">>": gast.RShift, "|": gast.BitOr, "^": gast.BitXor,
}  # fmt: skip
_FUNCTIONS = {require(np.add): "+", require(np.subtract): "-", require(np.multiply): "*", require(np.divide): "/"}
_COMPARE = {"<": gast.Lt, "<=": gast.LtE, ">": gast.Gt, ">=": gast.GtE, "==": gast.Eq, "!=": gast.NotEq}
_UNARY = {"-": gast.USub, "+": gast.UAdd, "~": gast.Invert}
_WORDS = {AND: gast.And, OR: gast.Or}


def term(walk: Walk, call: Call) -> Any:
    """The expression of a call, whose arguments `walk` writes."""
    op, args = call.op, call.args
    if op.inline:
        (statement,) = body_of(call)
        return walk.inlined(statement.value, call, {})
    if (function := function_of(call)) is not None:
        named = name_tree(function.__name__)
        named.function = function
        return gast.Call(func=named, args=[walk.tree(a) for a in args], keywords=[])
    if op is TEXT:
        return joined_text(args[0], walk.tree)
    if op in _WORDS:
        return gast.BoolOp(op=_WORDS[op](), values=[walk.tree(a) for a in args])
    if op is NOT:
        return gast.UnaryOp(op=gast.Not(), operand=walk.tree(args[0]))
    if op.base is GETITEM:
        return gast.Subscript(value=walk.tree(args[0]), slice=walk.index(args[1]), ctx=gast.Load())
    if op is SHAPE:
        return gast.Attribute(value=walk.tree(args[0]), attr="shape", ctx=gast.Load())
    if op is COUNT:
        return gast.Attribute(value=walk.tree(args[0]), attr="size", ctx=gast.Load())
    if op is SIZE:
        shape = gast.Attribute(value=walk.tree(args[0]), attr="shape", ctx=gast.Load())
        return gast.Subscript(value=shape, slice=constant_tree(args[1]), ctx=gast.Load())
    if op.base is EXPAND_DIMS and _takes_index(walk, call):
        return gast.Subscript(
            value=walk.tree(args[0]), slice=new_axis(len(args[0].type.shape), args[1]), ctx=gast.Load()
        )
    symbol = op.infix or _symbol_of_function(call)
    if symbol in BINARY and len(args) == 2:
        if symbol == "*" and args[0] == -1 and isinstance(args[1], Value) and is_real(call, args[1]):
            return negated(walk.tree(args[1], call))
        if call.outs[0] in walk.facts.plain_sizes:
            return walk.tree(args[1])
        number, weak = once(call), call.outs[0] in walk.facts.weak
        if number is not None and (not weak or number.type.dtype.kind == "f"):
            plain = walk.tree(number)
            return plain if weak else gast.Call(name_tree("np.float64"), [plain], [])
        left, right = walk.tree(args[0], call), walk.tree(args[1], call)
        if symbol in SIGNED and is_real(call):
            return SIGNED[symbol](left, right)
        return gast.BinOp(left=left, op=BINARY[symbol](), right=right)
    if symbol in _COMPARE:
        return gast.Compare(
            left=walk.tree(args[0], call), ops=[_COMPARE[symbol]()], comparators=[walk.tree(args[1], call)]
        )
    if symbol == "-" and len(args) == 1 and is_real(call) and not _is_spread(walk, args[0]):
        return negated(walk.tree(args[0], call))
    if symbol in _UNARY and len(args) == 1:
        return gast.UnaryOp(op=_UNARY[symbol](), operand=walk.tree(args[0], call))
    if op.base is TRANSPOSE and args[1] is None and isinstance(args[0], Value) and args[0].type.kind == "array":
        return gast.Attribute(value=walk.tree(args[0]), attr="T", ctx=gast.Load())
    if op.base is COPY and args[0].type.kind == "array" and op.call_form(args)[1] == {"order": "C"}:
        copy = gast.Attribute(value=walk.tree(args[0]), attr="copy", ctx=gast.Load())
        return gast.Call(func=copy, args=[], keywords=[])
    found = selected(walk, call) if op.base is WHERE else None
    return spelled(call, lambda a: walk.tree(a, call)) if found is None else found


def once(call: Call) -> Value | None:
    """The number of Python's that a call multiplies by one, which makes NumPy's float of it; None where it does another thing."""
    if call.op.base is not MULTIPLY or len(call.args) != 2 or call.outs[0].type.kind != "scalar":
        return None
    for x, one in (call.args, call.args[::-1]):
        if not isinstance(x, Value) or x.type.kind != "python" or x.type.dtype not in (np.float64, np.int64):
            continue
        if isinstance(one, (float, np.float64)) and one == 1.0 and call.outs[0].type.dtype == np.float64:
            return x
    return None


def _symbol_of_function(call: Call) -> str | None:
    """`+` for `np.add`, which does the same where an operand is NumPy's."""
    numpys = any(isinstance(a, Value) and a.type.kind in ("array", "scalar") for a in call.args)
    return _FUNCTIONS.get(call.op) if numpys and len(call.args) == 2 else None


def _takes_index(walk: Walk, call: Call) -> bool:
    """Whether an axis may be added by an index: it has other strides, which only operations by element ignore."""
    x, axis = call.args
    if (
        type(axis) is not int
        or not isinstance(x, Value)
        or x.type.kind != "array"
        or call.outs[0] in walk.facts.outputs
    ):
        return False
    return all(is_elementwise(user) or user.op.base is WHERE for user in walk.facts.users.get(call.outs[0], []))


def _is_spread(walk: Walk, x: Any) -> bool:
    """Whether an array repeats its numbers in memory: its negation does not, so that a product with it has other strides."""
    if not isinstance(x, Value) or x.type.kind != "array":
        return False
    maker = walk.facts.maker.get(x)
    repeats = any(n > 1 and stride == 0 for n, stride in zip(x.type.shape, x.type.strides, strict=True))
    return repeats or (maker is not None and maker.op.base is BROADCAST_TO)


def is_real(call: Call, x: Value | None = None) -> bool:
    """Whether a call gives real floats; and `x` floats of that very dtype."""
    dtype = call.outs[0].type.dtype
    return dtype.kind == "f" and (x is None or (x.type.dtype == dtype and x.type.kind != "python"))
