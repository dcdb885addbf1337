"""Spelling of calls: as NumPy users write them, and in the backward part the shortest way there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.known_ops import SUM
from ....runtime.registry import ops_of, require
from ....runtime.rules.drawing import DRAW
from ....runtime.user_ops import USERS, home_of, is_users, text_name
from ..passes.means import SMALL
from .literals import constant_tree
from .variables import name_tree

__all__ = ["SCIPY", "imports_of_users", "spelled"]

# The modules of SciPy that a text may import, by their names.
SCIPY = tuple([
    f"scipy.{part}" for part in (
        "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
        "stats",
    )
])  # fmt: skip

_OF_FLOATS = ops_of(np.zeros, np.ones, np.empty, np.eye, np.identity)  # by default
_MADE_NEW = frozenset(["zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like"])
_METHODS = ops_of(np.sum, np.max, np.min, np.prod)  # the function takes as long again
_SHAPING = ops_of(np.reshape, np.transpose, np.swapaxes)
_ARANGE, _FULL, _ABSOLUTE, _STACK = map(require, (np.arange, np.full, np.absolute, np.stack))


def spelled(call: Call, tree: Callable[[Any], Any]) -> Any:
    """The expression of a call that is written as a call; `tree` gives that of an argument."""
    op = call.op
    if op.title.startswith("Masked"):
        return _masked(call, tree)
    positional, keywords = op.call_form(call.args)
    if op is DRAW:
        generator, method, positional, pairs = call.args
        owner = name_tree(generator) if isinstance(generator, str) else tree(generator)
        fn = gast.Attribute(value=owner, attr=method, ctx=gast.Load())
        named = [gast.keyword(arg=k, value=tree(v)) for k, v in pairs]
        return gast.Call(func=fn, args=[tree(a) for a in positional], keywords=named)
    if op.base is _STACK and (listed := _listed(call, tree)) is not None:
        made = gast.Call(func=name_tree("np.array"), args=[listed], keywords=[])
        made.numbers = listed
        return made
    if op.base is _ARANGE:  # NumPy users give the limits by position
        positional = (*positional, *[keywords.pop(k) for k in ("stop",) if k in keywords])
    of_floats = op.base in _OF_FLOATS or (op.base is _FULL and type(call.args[1]) is float)
    if of_floats and "dtype" in keywords and keywords["dtype"] in (np.float64, np.dtype(np.float64)):
        del keywords["dtype"]
    path = text_name(op.path) if USERS and is_users(op) else op.path
    fn = name_tree("abs" if op.infix == "abs()" else "np.abs" if op.base is _ABSOLUTE else path)
    args = [tree(a) for a in positional]
    if op.base in _METHODS and _is_quick(call, args[0]):
        fn = gast.Attribute(value=args.pop(0), attr=op.path.removeprefix("np."), ctx=gast.Load())
    if op.base in _SHAPING and _is_array(call.args[0]) and keywords.keys() <= {"axes"}:
        array, *rest = [*args, *map(tree, keywords.values())]
        fn = gast.Attribute(value=array, attr=op.path.removeprefix("np."), ctx=gast.Load())
        args = rest[0].elts if isinstance(rest[0], gast.Tuple) and rest[0].elts else rest
        keywords = {}
    return gast.Call(func=fn, args=args, keywords=[gast.keyword(arg=k, value=tree(v)) for k, v in keywords.items()])


def _listed(call: Call, tree: Callable[[Any], Any]) -> Any:
    """The list of numbers, or of such lists, that `np.array` makes of what is stacked; None where that is something else."""
    _, keywords = call.op.call_form(call.args)
    dtype = call.outs[0].type.dtype
    parts = call.args[0]
    if keywords or not isinstance(parts, (list, tuple)) or dtype.kind not in "fc":
        return None
    ints = dtype == np.float64  # which NumPy takes among doubles as such
    if all(_is_number(part, dtype) or (ints and type(part) is int) for part in parts):
        return gast.List(elts=[tree(part) for part in parts], ctx=gast.Load())
    trees = [tree(part) if isinstance(part, Value) and part.type.dtype == dtype else None for part in parts]
    rows = [
        constant_tree(part)
        if ints and _is_row(part)
        else getattr(made, "numbers", None)  # of those that are such lists
        for part, made in zip(parts, trees, strict=True)
    ]
    return None if None in rows else gast.List(elts=rows, ctx=gast.Load())


def _is_row(part: Any) -> bool:
    """Whether an argument is a list of constants."""
    return isinstance(part, (list, tuple)) and all(type(x) in (int, float) for x in part)


def _is_number(x: Any, dtype: Any) -> bool:
    """Whether an argument is a number of this dtype, and no array."""
    if isinstance(x, Value):
        return x.type.kind != "array" and x.type.dtype == dtype
    return (type(x) is float and dtype == np.float64) or (isinstance(x, np.generic) and x.dtype == dtype)


def imports_of_users(used: set[str]) -> list[str]:
    """The lines that import the functions of the user's which a text calls, after a gap."""
    names = {path: text_name(path) for path in USERS}
    lines = [
        f"from {home_of(path)} import {USERS[path].__name__} as {name}\n"
        for path, name in sorted(names.items())
        if name in used
    ]
    return ["\n", *lines] if lines else []


def _is_quick(call: Call, tree: Any) -> bool:
    """Whether a reduction is written as a method: of small arrays, and of names in the backward part."""
    x = call.args[0]
    if not _is_array(x):
        return False
    small = math.prod(x.type.shape) * int(x.type.dtype.itemsize) < SMALL
    return small or (bool(call.backward) and call.op.base is SUM and isinstance(tree, gast.Name))


def _is_array(x: Any) -> bool:
    return isinstance(x, Value) and x.type.kind == "array"


def _masked(call: Call, tree: Callable[[Any], Any]) -> Any:
    """A ufunc with `out=`, of which a copy is written, and `where=`: `np.log(x, out=np.array(y), where=x > 0)`."""
    *operands, into, where, dtype, casting = call.args
    buffer = tree(into)
    if not (isinstance(buffer, gast.Call) and getattr(buffer.func, "attr", "") in _MADE_NEW):
        buffer = gast.Call(func=name_tree("np.array"), args=[buffer], keywords=[])
    words = {"out": buffer}
    words |= {} if where is True else {"where": tree(where)}
    words |= {} if dtype is None else {"dtype": tree(dtype)}
    words |= {} if casting == "same_kind" else {"casting": tree(casting)}
    fn = name_tree(call.op.path.removesuffix("_where"))
    keywords = [gast.keyword(arg=k, value=v) for k, v in words.items()]
    return gast.Call(func=fn, args=[tree(a) for a in operands], keywords=keywords)
