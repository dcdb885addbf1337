"""Ways a number leaves a Tensor, places where people write them, and what a transform may make of each: right, or it raises.

Usage: python ways_out.py --all [--workers 2] [--way TEXT] [--place NAME] [--flavour file|exec|imported] [--every N]

A way is user code that takes a scalar `t` to a number `r`; a place is a program around it. Each program is run plainly (the
value, and central differences of it), under `gs.value_and_grad` and under `gs.compile` of that, at several points.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import importlib.util
import itertools
import linecache
import math
import pathlib
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gradscribe as gs

__all__ = [
    "FAULTS",
    "FLAVOURS",
    "MODES",
    "PLACES",
    "WAYS",
    "Kind",
    "Outcome",
    "Place",
    "Way",
    "combinations",
    "outcome",
]


_ASSIGNS = re.compile(r"^\s*r = ", re.MULTILINE)


class Kind(enum.Enum):
    """What a transform may make of a way."""

    keeps = "the gradient is that of the plain program"
    no_loss = "text, truth, whole numbers, sizes: nothing is lost, said or raised"
    may_raise = "right, or GradientLossError or NoRuleError at the user's line"


@dataclasses.dataclass(frozen=True)
class Way:
    """Statements that take `t` to `r` (or one expression of `t`), and what is smooth in their place where they are not."""

    text: str
    kind: Kind
    top: str = ""
    smooth: str = ""  # for the differences, where the way itself is rounded (float32, tolerances of solvers)
    rtol: float = 3e-5
    needs: str = ""

    @property
    def name(self) -> str:
        return self.text.replace("\n", "; ")

    @property
    def is_expression(self) -> bool:
        return not _ASSIGNS.search(self.text)

    def body(self, smooth: bool = False) -> list[str]:
        text = self.smooth if smooth and self.smooth else self.text
        return text.split("\n") if _ASSIGNS.search(text) else [f"r = {text}"]

    def expression(self, smooth: bool = False) -> str:
        return (self.smooth if smooth and self.smooth else self.text) if self.is_expression else "way(t)"


@dataclasses.dataclass(frozen=True)
class Place:
    """Code at module level around a way (`{BODY}` its statements, `{EXPR}` it as an expression), and the lines that reach it."""

    name: str
    top: str = ""
    call: str = "r = run(t)"
    plainly: str = ""  # what these lines come to without a transform of ours, where they have one
    strict: bool = True  # whether what must be kept must be kept here too, or may raise


HEAD = """\
from __future__ import annotations
import abc, array, asyncio, bisect, builtins, cmath, collections, contextlib, contextvars, copy, csv, ctypes, dataclasses
import datetime, decimal, enum, fractions, functools, heapq, io, itertools, json, logging, marshal, math, numbers, operator, os
import pickle, pprint, queue, random, select, sqlite3, statistics, string, struct, sys, threading, time, types, typing, weakref
import numpy as np
import gradscribe as gs
"""
TAIL = """
def f(x):
    t = np.sum(x * x) * 0.1 + x[0] * x[1]
    {CALL}
    return r * 1.7 + np.sum(x) * 0.3
"""
DIRECTION = np.array([0.6, -0.3, 0.5])
POINTS = tuple(
    np.array(p) for p in ([0.513, 0.612, 0.707], [0.313, 0.704, 0.436], [0.807, 0.711, 0.203], [0.612, 0.911, 0.514])
)

WAYS: list[Way] = []


def _ways(kind: Kind, texts: str, **more: Any) -> None:
    """One way a line: its statements are joined by ` ;; `, and what differences are taken of in its place follows ` ==> `."""
    for line in texts.strip().splitlines():
        text, _, smooth = line.strip().replace(" ;; ", "\n").replace("\\n", "\n").partition(" ==> ")
        WAYS.append(Way(text, kind, smooth=smooth, **more))


# --- what must be kept ------------------------------------------------------------------------------------------------

_ways(Kind.keeps, """
    float(t)
    float(t) * t
    float(x=t) if False else float(t)
    builtins.float(t)
    getattr(builtins, "float")(t)
    getattr(builtins, "fl" + "oat")(t) * 2.0
    __builtins__["float"](t) if isinstance(__builtins__, dict) else __builtins__.float(t)
    conv = float ;; r = conv(t)
    convs = [float, int] ;; r = convs[0](t)
    convs = {"f": float} ;; r = convs["f"](t)
    (float if t > 0 else int)(t)
    (lambda c: c(t))(float)
    type(1.0)(t)
    (1.0).__class__(t)
    float(np.mean(t * np.ones(3)))
    float((t * np.ones(1)).sum()) ** 2
    float(np.array(t) * 2.0)
    float(t * 1.0) + float(t * t)
    float(float(t))
    -float(t)
    1.0 / float(t)
    2.0 ** float(t)
    float(t) ** 2.5
    float(t) @ np.ones(()) if False else float(t)
    float(t) * np.ones(3) @ np.ones(3)
    sum([float(t), t, float(t)])
    abs(-float(t))
    np.exp(float(t))
    math.exp(float(t))
    t.item()
    t.item() * t
    np.mean(t * np.ones(2)).item()
    (t * np.ones((1, 1))).item()
    (t * np.ones(3)).item(1)
    (t * np.ones((2, 2))).item(1, 0)
    getattr(t, "item")()
    take = t.item ;; r = take()
    operator.methodcaller("item")(t)
    type(t).item(t)
    np.float64.item(t)
    np.ndarray.sum(t * np.ones(2))
    list(map(np.ndarray.item, [t * np.ones(1)]))[0]
    of = np.ndarray.mean ;; r = of(t * np.ones(3), axis=0)
    t.__float__()
    complex(t).real
    complex(t, t).imag
    (complex(t) * (1 + 2j)).imag
    abs(complex(t, 0.5))
    complex(0.3, t).conjugate().imag
    complex(real=0.1, imag=t).imag
    np.float64(t)
    np.double(t) * t
    np.complex128(t).real
    (np.complex128(t) * 1j).imag
    np.array(np.float64(t))[()]
    np.fromiter([t, t * t], float).sum()
    np.fromiter((k * t for k in range(3)), dtype=np.float64).sum()
    np.fromiter((v for v in t * np.arange(4.0)), float, count=4).sum()
    np.fromiter(map(float, [t, t]), dtype=float) @ np.ones(2)
    sum(map(float, [t, 2.0 * t]))
    list(map(float, t * np.ones(3)))[1]
    sum(float(v) for v in t * np.arange(3.0))
    [float(v) for v in (t, t * t)][1]
    {k: float(k * t) for k in (1, 2)}[2]
    list(itertools.starmap(pow, [(t, 2.0)]))[0]
    sum(map(math.exp, [t, 0.5]))
    sum(map(lambda v: float(v) * 2.0, [t]))
    sorted([t, 2.0 * t], key=float)[1]
    sorted([float(2.0 * t), float(t)])[0]
    min([t, 2.0 * t], key=float)
    max(t, 0.1, key=float)
    max([(t, 1.0), (t * t, 2.0)], key=lambda p: float(p[0]))[0]
    functools.reduce(lambda a, b: a + float(b), [t, t], 0.0)
    functools.reduce(operator.mul, [t, t, 2.0])
    functools.partial(float)(t)
    functools.partial(complex, 0.5)(t).imag
    functools.partial(math.pow, 2.0)(t)
    d = collections.defaultdict(float) ;; d["a"] += t ;; d["a"] += t * t ;; r = d["a"]
    d = collections.defaultdict(float) ;; d["a"] += float(t) ;; r = d["a"] + d["b"]
    d = {} ;; d["a"] = d.get("a", 0.0) + float(t) ;; r = d["a"]
    list(itertools.accumulate([t, t, t]))[-1]
    q = collections.deque([float(t)]) ;; q.append(t) ;; r = q.pop() + q.popleft()
    P = collections.namedtuple("P", "a b") ;; r = P(float(t), t).a
    a, *b = map(float, [t, t, t]) ;; r = a + b[1]
    dict(zip("ab", map(float, [t, t * t])))["b"]
    max(float(t), 0.1)
    min(t, 0.9)
    sum([t, t * t])
    sum([t, t * t], 0.5)
    abs(t - 5.0)
    pow(t, 3)
    pow(2.0, t)
    divmod(t, 0.2)[1]
    t % 0.2
    2.0 % t
    next(iter([float(t)]))
    [*map(float, [t])][0]
    (lambda *a: a[0])(*map(float, [t]))
    np.array([t, t * t]).sum()
    np.array([t, 1.0]) @ np.array([2.0, t])
    np.array([float(t), 2.0]).sum()
    np.array([[t, 0.0], [1.0, t]]).trace()
    np.array((t, t)).prod()
    np.array([t.item(), math.exp(t)]).sum()
    np.asarray([t, 2.0]).max()
    np.asarray(t) * 2.0
    np.asarray(t)[()]
    np.array(t)[...] * 1.0
    np.array(list(t * np.ones(2))).sum()
    np.array([row * 2.0 for row in t * np.ones((2, 2))]).sum()
    np.full(3, t).sum()
    np.full((2, 2), fill_value=t)[0, 1]
    np.full_like(np.ones(3), t).sum()
    np.stack([t, t]).sum()
    np.stack([np.array([t, 1.0]), np.ones(2)])[0, 0]
    np.diag([t, t]).sum()
    np.diag([t, 2.0])[0, 0]
    np.hstack([t, 1.0]).sum()
    np.concatenate([[t], [1.0]]).sum()
    np.vstack([[t, 1.0], [2.0, t]]).trace()
    np.atleast_1d(t)[0]
    np.where([True, False], t, 2.0).sum()
    np.linspace(0.0, t, 5).sum()
    o = np.zeros(3) ;; o[0] = t ;; r = o.sum()
    o = np.zeros(3) ;; o[1] = float(t) ;; r = o @ np.arange(3.0)
    o = np.zeros((2, 2)) ;; o[0] = [t, 2.0 * t] ;; r = o.sum()
    o = np.zeros((2, 2)) ;; o[0, 1] = t ;; r = o[0].sum()
    o = np.zeros((2, 3)) ;; o[1] = t * np.arange(3.0) ;; r = o.sum()
    o = np.zeros(3) ;; o[:] = t ;; r = o.sum()
    o = np.zeros(3) ;; o[[0, 2]] = t ;; r = o.sum()
    o = np.zeros(3) ;; o[np.array([True, False, True])] = t ;; r = o.sum()
    o = np.zeros(3) ;; o[...] = t ;; r = o.sum()
    o = np.zeros(3) ;; o += t ;; r = o.sum()
    o = np.ones(3) ;; o *= t ;; r = o.sum()
    o = np.ones(3) ;; o -= t * np.ones(3) ;; r = o[1]
    o = np.ones(3) ;; o /= t ;; r = o[1]
    o = np.ones(3) ;; o[0] += t ;; r = o.sum()
    o = np.ones(3) ;; o[1:] *= t ;; r = o.sum()
    o = np.empty(2) ;; o.fill(t) ;; r = o.sum()
    o = np.zeros(3) ;; np.add(o, t, out=o) ;; r = o.sum()
    o = np.zeros(3) ;; np.copyto(o, t) ;; r = o.sum()
    o = np.zeros(3) ;; np.add.at(o, [0, 0], t) ;; r = o[0]
    o = np.zeros(3) ;; o.__setitem__(0, t) ;; r = o.sum()
    o = np.zeros(3) ;; operator.setitem(o, 0, t) ;; r = o.sum()
    o = np.zeros(3) ;; v = o[1:] ;; v[0] = t ;; r = o.sum()
    o = np.ones(3) ;; o = operator.iadd(o, t) ;; r = o.sum()
    o = [0.0] * 3 ;; o[1] = float(t) ;; r = np.array(o).sum()
    o = np.zeros(2) ;; o[0], o[1] = t, t * t ;; r = o[1]
    o = np.zeros(2) ;; for_ = [o.__setitem__(k, t * k) for k in range(2)] ;; r = o[1]
    [t][0]
    (t, 1.0)[0]
    operator.itemgetter(0)([t, 1.0])
    operator.attrgetter("real")(t)
    operator.add(t, 1.0)
    operator.mul(t, t)
    operator.pow(t, 2)
    operator.neg(t)
    operator.truediv(1.0, t)
    operator.mod(t, 0.2)
    operator.pos(t)
    operator.abs(-t)
    operator.sub(2.0, t)
    operator.matmul(t * np.ones(2), np.ones(2))
    t.real
    t.conjugate()
    t.T
    t.astype(float)
    t.copy()
    t.sum()
    t.max()
    t.reshape(1)[0]
    t.flatten()[0]
    t.ravel()[0]
    t.squeeze()
    t.clip(0.0, 5.0)
    t.__mul__(2.0)
    t.__rsub__(2.0)
    t.__abs__()
    t.__add__(t)
    (t * np.ones(3)).flat[1]
    next(iter(t * np.ones(3)))
    [v for v in t * np.ones(3)][2]
    a, b = t * np.ones(2) ;; r = a * b
    np.vectorize(lambda v: v * v)(t * np.ones(3)).sum()
    np.vectorize(math.exp)(t * np.ones(3)).sum()
    np.vectorize(float)(t * np.ones(3)).sum()
    np.apply_along_axis(np.sum, 0, t * np.ones(3)) * 1.0
    np.polyval([t, 1.0], 2.0)
    np.poly1d([t, 1.0])(2.0)
    np.polynomial.Polynomial([t, 1.0])(2.0)
    sum(v for _, v in np.ndenumerate(t * np.ones(3)))
    np.add.reduce([t, t])
    np.sum([t, t * t])
    np.mean([t, float(t)])
    np.dot([t, 1.0], [2.0, t])
    np.max([t, 0.1])
    np.linalg.norm([t, 1.0])
    np.cross([t, 1.0, 2.0], [0.5, t, 1.0]).sum()
    np.outer([t, 1.0], [1.0, t]).sum()
    np.interp(t, [0.0, 1.0], [1.0, 3.0])
    np.r_[t, 1.0].sum()
    np.append(np.ones(2), t).sum()
    np.insert(np.ones(2), 1, t).sum()
    np.block([[t * np.eye(2)]]).sum()
    np.repeat(t, 3).sum()
    np.select([t > 0.1], [t], 0.0)
    np.piecewise(t * np.ones(2), [np.array([True, False])], [lambda v: v * 2.0, 0.0]).sum()
    isinstance(t, float) * t
    isinstance(t, np.floating) * t
    isinstance(t, numbers.Real) * t
    isinstance(t, (int, float)) * t
    (t if isinstance(t, float) else 7.0)
    (7.0 if isinstance(t, np.ndarray) else t)
    (t * np.ones(2) if isinstance(t * np.ones(2), np.ndarray) else np.ones(2)).sum()
    sum(v if isinstance(v, float) else 9.0 for v in t * np.ones(3))
    isinstance(float(t), float) * float(t)
    isinstance(t.item(), numbers.Real) * t.item()
    float(t).real
    float(t).conjugate()
    float(t).__add__(1.0)
    float(t).__rpow__(2.0)
    float("0.5") * t
    float() + t
    float(np.array([t * 1.0])[0])
    np.array([t], dtype=float)[0]
    np.zeros(2, dtype=float)[0] + float(t)
    np.asarray([float(t)], dtype=float).sum()
    np.multiply(float(t), np.ones(2)).sum()
""")  # fmt: skip

# The same calls by other roads.
_ways(Kind.keeps, """
    list(itertools.starmap(float, [(t,), (t * t,)]))[1]
    sum(itertools.starmap(math.pow, [(t, 2.0), (2.0, t)]))
    list(itertools.accumulate(map(float, [t, t])))[-1]
    list(itertools.chain.from_iterable([map(float, [t])]))[0]
    sum(next(g)[0] for g in [iter(zip(map(float, [t, 1.0]), [0, 1]))])
    sum(float(v) for row in t * np.ones((2, 2)) for v in row)
    np.array([[float(v) for v in row] for row in t * np.ones((2, 2))]).sum()
    np.array([*map(float, t * np.ones(2))]).sum()
    np.array(list(map(math.exp, [t, 0.5]))).sum()
    np.array([np.float64(v) for v in (t, 1.0)]).sum()
    np.stack([float(t) * np.ones(2), np.ones(2)]).sum()
    np.asarray([[t.item(), float(t)], [1.0, 2.0]]).sum()
    max(*map(float, [t, 0.1]))
    min(map(float, [t, 0.9]))
    max([t, 0.1], key=lambda v: (float(v), 1))
    sorted([(float(t), "a"), (0.1, "b")])[1][0]
    sorted([t, 0.1, 0.9], key=lambda v: -float(v))[1]
    sorted({"a": t, "b": 0.9}, key={"a": t, "b": 0.9}.get)[0] == "a" and t
    o = [0.9, t, 0.1] ;; o.sort(key=float) ;; r = o[1]
    sum(map(complex, [t, 1.0])).real
    sum(map(np.float64, [t, 1.0]))
    sum(map(operator.methodcaller("item"), [t, t * t]))
    sum(map(operator.attrgetter("real"), [t, t]))
    sum(map(abs, [-t, t]))
    sum(map(operator.neg, [t, t]))
    sum([t], start=float(t))
    sum({"a": float(t), "b": t}.values())
    dict(conv=float)["conv"](t)
    {"conv": (float, int)}["conv"][0](t)
    [float, math.exp][1](float(t))
    types.SimpleNamespace(conv=float).conv(t)
    K.conv(t)
    K().conv(t)
    K().exp(t)
    K().total(t)
    as_float(t)
    as_float(t, conv=np.float64)
    apply(float, t)
    apply(math.sin, t)
    apply(lambda v: v.item(), t)
    apply(functools.partial(math.pow, 3.0), t)
    compose(math.exp, float)(t)
    compose(float, np.sqrt)(t)
    converters["f"](t)
    {name: fn(t) for name, fn in converters.items()}["e"]
    sum(fn(t) for fn in (float, math.exp, np.sin))
    (lambda conv=float: conv(t))()
    (lambda *fs: [f(t) for f in fs][1])(abs, float)
    functools.reduce(lambda v, fn: fn(v), [float, math.exp, np.sqrt], t)
    functools.reduce(max, [t, 0.1, 0.2])
    functools.reduce(lambda a, b: float(a) * b, [t, t, 2.0])
    copy.copy(float)(t)
    callable(float) and float(t)
    next(filter(lambda v: float(v) > 0.0, [t]))
    next(map(float, iter([t])))
    next((float(v) for v in [t]), None)
    [v for v in map(float, [t, 1.0]) if v < 1.0][0]
    list(dict.fromkeys([float(t)]))[0]
    (float(t), t)[0] * [float(t)][-1]
    float(t) if isinstance(t, float) else 0.0
    float(t) if not isinstance(t, (list, tuple, np.ndarray)) else float(t[0])
    float(np.squeeze(t * np.ones((1, 1))))
    float(np.dot(t * np.ones(2), np.ones(2)))
    float(np.linalg.norm(t * np.ones(2)))
    float(np.max(t * np.arange(3.0)))
    float((t * np.ones(3))[1])
    float(np.float32(0.5) * t)
    float(t.astype(float))
    float(t.reshape(()))
    float(+t)
    float(abs(-t)) ** 0.5
    float(t) * 2 + 1j.real
    float(t) + np.arange(3.0)[1] * float(t)
    (float(t) * np.ones((2, 2))).trace()
    (np.ones(2) / float(t)).sum()
    np.ones(2) @ (float(t) - np.ones(2))
    np.power(float(t), 2.0)
    np.maximum(float(t), 0.1)
    np.where(float(t) > 0.1, float(t), 0.0)
    np.sum([float(t), 1.0])
    np.dot([float(t), 1.0], [1.0, 2.0])
    np.exp(-float(t) * np.arange(3.0)).sum()
    np.clip(float(t), 0.0, 1.0)
    np.full(2, float(t)).sum()
    np.append([1.0], float(t)).sum()
    np.linspace(0.0, float(t), 3).sum()
    o = np.ones(3) ;; o *= float(t) ;; r = o.sum()
    o = np.zeros((2, 2)) ;; o[1] = float(t) ;; r = o.sum()
    o = np.zeros(3) ;; o[1] += t.item() ;; r = o.sum()
    o = np.zeros(3) ;; o[:2] = float(t), t ;; r = o.sum()
    o = np.zeros(3) ;; o[-1] = math.exp(t) ;; r = o @ o
    o = np.zeros(2) ;; o[int(t)] = t ;; r = o[0]
    o = np.zeros((2, 2)) ;; o[np.diag_indices(2)] = t ;; r = o.trace()
    o = np.zeros(4) ;; o[::2] = t ;; o[1::2] -= float(t) * 2.0 ;; r = o.sum()
    o = [t] * 3 ;; o[1] *= 2.0 ;; r = sum(o)
    o = {} ;; o["a"] = o.setdefault("b", float(t)) ;; r = o["a"]
    a = b = float(t) ;; a += t ;; r = a * b
    a = float(t) ;; a *= a ;; r = a
    a = 0.0 ;; a += float(t) ;; a -= 2.0 * t.item() ;; r = a
    a = float(t) ;; b = a ;; del a ;; r = b
    a: float = float(t) ;; r = a
    for a in map(float, [t]):\\n    r = a
    for k, a in enumerate((float(t), t.item())):\\n    r = a * k
    for a, b in zip([float(t)], [2.0]):\\n    r = a * b
    while True:\\n    r = float(t)\\n    break
    with contextlib.nullcontext(float(t)) as a:\\n    r = a
    if (a := float(t)) > 0.0:\\n    r = a
    def inner(v: float = float(t)) -> float:\\n    return v * 2.0\\nr = inner()
    def inner(conv=float):\\n    return conv(t)\\nr = inner()
    class L:\\n    a = float(t)\\nr = L.a
    try:\\n    r = float(t)\\nexcept (TypeError, ValueError):\\n    r = 0.0
    lo, hi = 0.0, 2.0 ;; k = 0 ;; while k < 3:\\n    lo, hi, k = (lo + float(t)) / 2.0, hi, k + 1\\nr = lo
    e, k = float(t), 0 ;; while abs(e) > 0.05 and k < 20:\\n    e, k = e * float(t), k + 1\\nr = e
""", top="""
converters = {"f": float, "e": math.exp, "s": np.sin}
class K:
    conv = float
    exp = staticmethod(math.exp)
    def __init__(self):
        self.sum = sum
    def total(self, t):
        return self.sum([self.conv(t), t])
def as_float(v, conv=float):
    return conv(v)
def apply(fn, *args):
    return fn(*args)
def compose(*fns):
    return lambda v: functools.reduce(lambda w, fn: fn(w), reversed(fns), v)
""")  # fmt: skip

for _name in (
    "acos", "asin", "atan", "cos", "sin", "tan", "cosh", "sinh", "tanh", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt",
    "cbrt", "exp2", "fabs", "degrees", "radians", "erf", "erfc", "gamma", "lgamma", "asinh", "atanh",
):  # fmt: skip
    WAYS.append(Way(f"math.{_name}(t)", Kind.keeps))
_ways(Kind.keeps, """
    math.acosh(t + 1.0)
    math.pow(t, 2.5)
    math.pow(2.0, t)
    math.atan2(t, 2.0)
    math.atan2(1.0, t)
    math.hypot(t, 2.0)
    math.hypot(t, 1.0, t)
    math.hypot(*[t, 2.0])
    math.copysign(t, -1.0)
    math.copysign(2.0, t) * t
    math.fmod(t, 0.2)
    math.fmod(2.0, t)
    math.remainder(t, 0.3)
    math.remainder(2.0, t)
    math.fsum([t, t * t, 1.0])
    math.fsum(v for v in t * np.ones(3))
    math.prod([t, t, 2.0])
    math.prod([2.0, 3.0], start=t)
    math.dist([t, 1.0], [0.0, 2.0])
    math.dist((0.0, t), (t * t, 2.0))
    math.ldexp(t, 3)
    math.frexp(t)[0]
    math.modf(t + 2.0)[0]
    math.log(t, 3.0)
    math.log(2.0, t)
    math.nextafter(t, 5.0)
    math.sin(float(t))
    math.exp(t.item())
    math.exp(t * 1.0) * math.erf(t)
    math.sqrt(np.float64(t))
    math.exp((t * np.ones(2))[0])
    from math import exp ;; r = exp(t)
    import math as m ;; r = m.sqrt(t)
    fn = math.tanh ;; r = fn(t)
    getattr(math, "cosh")(t)
    {"s": math.sin}["s"](t)
    0.5 * (1.0 + math.erf(t / math.sqrt(2.0)))
    cmath.exp(t).real
    cmath.exp(1j * t).imag
    cmath.sqrt(t).real
    cmath.sqrt(-t).imag
    cmath.log(t).real
    cmath.log(-t, 2.0).real
    cmath.log10(t + 1j).imag
    cmath.sin(t + 0.5j).imag
    cmath.cos(t + 0.5j).real
    cmath.tan(t + 0.5j).imag
    cmath.sinh(t + 0.5j).imag
    cmath.cosh(t + 0.5j).real
    cmath.tanh(t + 0.5j).imag
    cmath.asin(t).real
    cmath.acos(t).real
    cmath.atan(t + 0.5j).imag
    cmath.asinh(t).real
    cmath.acosh(t + 1.0).real
    cmath.atanh(t).real
    cmath.phase(complex(1.0, t))
    cmath.polar(complex(t, 2.0))[0]
    cmath.polar(1.0 + 1j * t)[1]
    cmath.rect(t, 0.5).real
    cmath.rect(2.0, t).imag
    abs(cmath.exp(complex(t, 1.0)))
""")  # fmt: skip
if hasattr(math, "sumprod"):
    _ways(Kind.keeps, "math.sumprod([t, 1.0], [2.0, t])")
_ways(Kind.keeps, """
    np.float32(t) * 2.0 ==> t * 2.0
    np.float32(t) * np.ones(2, np.float32) @ np.ones(2) ==> t * 2.0
    np.single(t).item() ==> t
    np.array([t], np.float32).sum() ==> t
    np.array([t, 1.0]).astype(np.float32).sum() ==> t + 1.0
    float(np.float32(t)) ==> t
    np.asarray(t, dtype=np.float32)[()] ==> t
    o = np.zeros(2, np.float32) ;; o[0] = t ;; r = o.sum() ==> r = t * 1.0
    np.fromiter([t, t], np.float32).sum() ==> t * 2.0
""")  # fmt: skip

# What needs no more than that the above are kept: containers, arithmetic on what they give, functions with rules.
_CLASSES = """
@dataclasses.dataclass
class Q:
    t: float
    def __float__(self):
        return float(self.t)
    def __complex__(self):
        return complex(self.t)
    def __abs__(self):
        return abs(self.t)
    def __add__(self, other):
        return self.t + other
    def __round__(self, n=None):
        return round(self.t, n)
    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.t)

class V:
    def __init__(self, t):
        self.t = t
    def __float__(self):
        return self.t * 1.0

class F(float):
    pass

async def co(t):
    await asyncio.sleep(0)
    return float(t) * 2.0
"""
_ways(Kind.keeps, """
    copy.copy(t)
    copy.copy(float(t))
    copy.deepcopy(t)
    copy.deepcopy([float(t), {"a": t}])[1]["a"]
    copy.deepcopy(t * np.ones(2)).sum()
    copy.copy({"a": t})["a"]
    dataclasses.asdict(Q(t))["t"]
    dataclasses.astuple(Q(float(t)))[0]
    dataclasses.replace(Q(1.0), t=t).t
    float(decimal.Decimal(2)) * t
    random.Random(0).gauss(t, 1.0)
    random.Random(0).gauss(0.0, float(t))
    random.Random(0).uniform(0.0, t)
    random.Random(0).normalvariate(t, 1.0)
    random.Random(0).expovariate(t)
    random.Random(0).weibullvariate(t, 1.5)
    random.Random(0).paretovariate(t)
    random.Random(0).choice([t, t * t])
    random.Random(0).sample([t, t * t, 1.0], 3)[1] + t
    random.seed(0) ;; r = random.gauss(t, 1.0)
    random.seed(0) ;; r = random.uniform(float(t), 2.0)
    o = [t, t * t] ;; random.Random(0).shuffle(o) ;; r = o[0]
    q = queue.Queue() ;; q.put(float(t)) ;; r = q.get()
    v = contextvars.ContextVar("v") ;; v.set(float(t)) ;; r = v.get()
    types.SimpleNamespace(a=float(t)).a
    abs(Q(t))
    Q(t) + 1.0
    round(Q(t), 2) + t
    np.complex128(t + 1j).imag + t
    (t * np.ones(2)).view(float).sum()
    o = np.zeros(3) ;; o.flat[0] = t ;; r = o.sum()
    o = np.zeros(3) ;; o.flat = t ;; r = o.sum()
    o = np.zeros(3) ;; o.put([0], t) ;; r = o.sum()
    o = np.zeros(3) ;; np.put(o, [0, 1], t) ;; r = o.sum()
    o = np.zeros((2, 2)) ;; np.fill_diagonal(o, t) ;; r = o.sum()
    o = np.zeros(3) ;; np.place(o, np.array([True, False, True]), t * np.ones(2)) ;; r = o.sum()
    o = np.zeros(3) ;; np.putmask(o, np.array([True, False, True]), t) ;; r = o.sum()
    o = np.zeros((2, 2)) ;; np.put_along_axis(o, np.array([[0], [1]]), t, 1) ;; r = o.sum()
    o = np.zeros(3) ;; np.multiply.at(o, [0], t) ;; o[1] = t ;; r = o.sum()
    o = np.zeros(3) ;; list(map(o.__setitem__, range(3), [t, t, t])) ;; r = o.sum()
    o = np.zeros(3) ;; o.real[0] = t ;; r = o.sum()
    o = np.zeros(3) ;; o.T[0] = t ;; r = o.sum()
    o = np.zeros(4) ;; o.reshape(2, 2)[0] = t ;; r = o.sum()
    o = np.zeros(3) ;; o.__iadd__(t) ;; r = o.sum()
    o = np.zeros(3) ;; np.sum(t * np.ones((2, 3)), axis=0, out=o) ;; r = o.sum()
    o = np.zeros(()) ;; np.exp(t, out=o) ;; r = o * 1.0
    o = np.zeros(()) ;; o[()] = t ;; r = o * 1.0
    np.fromfunction(lambda i: i * t, (3,)).sum()
    np.fromstring(str(2.0), sep=" ").sum() * t
    np.ones(3).dot(t).sum()
    np.ones(3).clip(0.0, t).sum()
    np.geomspace(t, 1.0, 4).sum()
    np.logspace(0.0, t, 4).sum()
    np.vander([t, 2.0]).sum()
    np.histogram([t, 0.5], bins=[0.0, 0.4, 1.0])[0][0] + t
    np.quantile([t, 1.0, 2.0], 0.3)
    np.trapezoid([t, 1.0, 2.0])
    np.convolve([t, 1.0], [1.0, t]).sum()
    np.polyfit([0.0, 1.0, 2.0], [t, 1.0, 2.0], 1)[0]
    np.roots([1.0, -3.0 - t, 2.0]).max()
    np.unwrap([t, 1.0]).sum()
    np.gradient([t, 1.0, t * t])[1]
    np.choose(0, [t, 1.0])
    np.nan_to_num([t, 1.0]).sum()
    np.c_[t, 1.0].sum()
    np.mgrid[0:2].sum() * t
    np.ix_([0, 1])[0].sum() * t
    np.asanyarray([t]).sum()
    np.copy([t, 1.0]).sum()
    np.array([t, t * t], order="F").sum()
    np.array([(t, 1.0), [2.0, t]]).sum()
    np.array([[[t]]]).sum()
    np.array([np.array([t]), np.array([1.0])]).sum()
    np.array(tuple(t * np.ones(2))).sum()
    np.float64(t).item()
    np.vectorize(lambda v: float(v) ** 2)(t * np.ones(2)).sum()
    np.linalg.det([[t, 1.0], [2.0, t]])
    np.linalg.solve([[t, 1.0], [2.0, 1.0]], [1.0, t]).sum()
    np.linalg.inv([[t, 1.0], [2.0, 1.0]]).sum()
    np.pad([t, 1.0], 1, constant_values=t).sum()
    np.clip(0.5, t, 2.0) + t
    np.clip([0.1, 5.0], 0.0, t).sum()
    np.tile(t, 3).sum()
    np.broadcast_to(t, (3,)).sum()
    (3.0 if type(t) is np.float64 else 5.0) * t
    (3.0 if type(t.item()) is float else 5.0) * t
    (3.0 if issubclass(type(t), float) else 5.0) * t
    (3.0 if hasattr(t, "__len__") else 5.0) * t
    (3.0 if hasattr(t, "shape") else 5.0) * t
    (3.0 if np.iterable(t) else 5.0) * t
    (3.0 if isinstance(t, collections.abc.Hashable) else 5.0) * t
    (3.0 if isinstance(t, np.generic) else 5.0) * t
    (3.0 if isinstance(t, np.number) else 5.0) * t
    (3.0 if isinstance(t, numbers.Complex) else 5.0) * t
    (3.0 if isinstance(t, int) else 5.0) * t
    (3.0 if isinstance(float(t), np.floating) else 5.0) * t
    (3.0 if isinstance(t, typing.SupportsFloat) else 5.0) * t
    (3.0 if isinstance(t, float | int) else 5.0) * t
    float(t) == t and t * 3.0 or t * 5.0
    eval("t * 2.0")
    functools.lru_cache(lambda v: v * 2.0)(t)
    list(filter(None, [t, 0.0]))[0]
    list(filter(lambda v: float(v) > 0.1, [t, 0.0]))[0]
    list(zip([t], [1.0]))[0][0]
    [v for v in itertools.chain([float(t)], [1.0])][0]
    sum(itertools.islice(itertools.repeat(float(t)), 3))
    next(itertools.takewhile(lambda v: v < 5.0, itertools.count(t)))
    list(itertools.accumulate([t, 2.0], lambda a, b: a * float(b)))[-1]
    sorted({"a": t, "b": 2.0}.items(), key=operator.itemgetter(1))[0][1]
    min({"a": t, "b": 2.0}.values())
    max(zip([t, 0.1], "ab"))[0]
    collections.Counter({"a": t})["a"]
    collections.ChainMap({"a": float(t)})["a"]
    d = {} ;; d.setdefault("a", []).append(float(t)) ;; r = sum(d["a"])
    operator.length_hint([t]) * t
    operator.concat([t], [1.0])[0]
    operator.contains([t], t) * t
    operator.indexOf([0.5, t], t) * t
    operator.countOf([t], t) * t
    operator.index(round(float(t) * 10)) * t
    heapq.nsmallest(1, [t, 2.0])[0]
    heapq.nlargest(1, [t, 0.1], key=float)[0]
    list(heapq.merge([t], [2.0]))[0]
    b = [0.1, 0.9] ;; bisect.insort(b, t) ;; r = b[1]
    sum(np.array([t, 1.0]))
    max(np.array([t, 0.1]))
    list(reversed([t, 1.0]))[1]
    [t, 1.0][::-1][1]
    abs(float(t) - 1j)
    (float(t) + 1j).imag + t
    complex("1j").imag * t
    complex(float(t), float(t)).real
    (1j * float(t)).imag
    int(t * 10) / 10 + t
    int(float(t) + 2.5) * t
    bool(float(t)) * t
    float(True) * t
    float(t > 0.1) * t
    float(int(t * 10)) * t
    divmod(float(t), 0.2)[1]
    float(t) % 0.2
    pow(float(t), 2)
    round(float(t) * 10.0) + t
    string.Formatter().format("{0:.2f}", t) and t
    print(t, end="", file=io.StringIO()) or t
""", top=_CLASSES)  # fmt: skip
_ways(Kind.keeps, """
    stats.norm.pdf(t)
    stats.norm.cdf(t)
    stats.norm.logpdf(t, 0.5, 2.0)
    stats.norm.ppf(t)
    stats.norm.sf(0.5, loc=t)
    stats.norm(t, 1.0).pdf(0.3)
    stats.norm(loc=t).logpdf([0.1, 0.2]).sum()
    stats.t.pdf(t, 3.0)
    stats.gamma.logpdf(t, 2.0)
    stats.beta.cdf(t, 2.0, 3.0)
    stats.expon.pdf(0.5, scale=t)
    stats.poisson.pmf(2, t)
    special.expit(t)
    special.gamma(t)
    special.erf(float(t))
    special.logsumexp([t, 1.0])
    special.jv(1, t)
    special.xlogy(t, t)
    optimize.rosen([t, 1.0])
    optimize.rosen_der([t, 1.0])[0]
""", top="from scipy import optimize, special, stats", needs="scipy")  # fmt: skip

# --- where nothing is lost --------------------------------------------------------------------------------------------

_ways(Kind.no_loss, """
    float(str(t)[:4]) * t
    float(f"{t}"[:4]) * t
    len(f"{t:.3f}") * t
    len(f"{t:>12.2e}") * t
    len(f"{float(t):.3f}") * t
    len(f"{t!s:>30}") * t
    float(f"{t.item():g}"[:3]) * t
    len("%.3f" % t) * t
    float(("%s %d" % (t, t))[:4]) * t
    len("%(a).4g" % {"a": t}) * t
    len("{:.2f} {}".format(t, 1)) * t
    len("{0.real:.2f}".format(t)) * t
    len(format(t, ".4f")) * t
    float(format(float(t))[:4]) * t
    len("{a:.1f}".format_map({"a": t})) * t
    float(string.Template("$a").substitute(a=t)[:4]) * t
    0.0 * len(repr(t)) + t
    0.0 * len(f"{t!r}") + t
    0.0 * len("%r" % t) + t
    0.0 * len(ascii(t)) + t
    0.0 * len(pprint.pformat([t])) + t
    float(str(float(t))[:4]) * t
    0.0 * len(str(t * np.ones(2))) + t
    0.0 * len(repr([t, {"a": t}])) + t
    0.0 * len(np.array2string(t * np.ones(2))) + t
    s = io.StringIO() ;; print(t, float(t), file=s) ;; r = float(s.getvalue()[:4]) * t
    s = io.StringIO() ;; print(f"loss {t:.3f}", file=s) ;; r = t
    s = io.StringIO() ;; csv.writer(s).writerow([t, float(t)]) ;; r = t
    s = logging.makeLogRecord({"msg": "%.3f", "args": (t,)}) ;; r = float(s.getMessage()) * t
    s = io.StringIO() ;; logging.StreamHandler(s).emit(logging.makeLogRecord({"msg": "loss %s", "args": (float(t),)})) ;; r = t
    logging.getLogger("ways").debug("loss %f", t) ;; r = t
    bool(t) * t
    (not t) + t
    (t > 0.4) * 2.0 + t
    (float(t) > 0.4) * 2.0 + t
    (0.2 < t < 0.4) * 2.0 + t
    t if t else 3.0
    t or 3.0
    t and 3.0 * t
    (t == t) * t
    (t != 0.5) * t
    (t >= 0.3) + (t <= 0.5) + t
    operator.gt(t, 0.4) * t
    operator.truth(t) * t
    any([t]) * t
    all([t, float(t)]) * t
    (t in [t, 0.5]) * t
    (0.5 in [t, float(t)]) + t
    [0.1, 0.5].count(t) + t
    2.0 if math.isnan(t) else t
    math.isinf(t) + t
    math.isfinite(t) * t
    math.isclose(t, 0.5) + t
    math.isclose(0.5, t, rel_tol=0.5) * t
    cmath.isfinite(t) * t
    cmath.isclose(t, 0.5) + t
    np.isclose(t, 0.5) + t
    np.allclose(t, 0.5, atol=0.2) * 1.0 + t
    np.isnan(t) + t
    np.isfinite(float(t)) * t
    np.array_equal([t], [t]) * t
    hash(t) * 0.0 + t
    (hash(t) == hash(t + 0.0)) * t
    {t: 2.0}[t] * t
    {t: 2.0}.get(t + 0.0, 5.0) * t
    {t: t * t}[float(t)]
    len({t, t + 0.0, float(t)}) * t
    len({float(t): 1, t.item(): 2}) * t
    len(set([t, t * t])) * t
    (t in {0.5: 1.0}) + t
    d = {} ;; d[t] = 1.0 ;; r = (t in d) * t
    int(t * 10) * t
    int(float(t) * 10.0) * t
    int(np.floor(t * 10.0)) * t
    math.floor(t * 10) * t
    math.ceil(t * 10) * t
    math.trunc(t * 10) * t
    math.floor(float(t) * 7.0) * t
    round(t * 10) * t
    round(t, 2) * t
    round(t, 1) + t
    round(float(t), 2) * t
    round(float(t) * 10.0) * t
    t // 0.1 * t
    float(t) // 0.1 * t
    divmod(t, 0.1)[0] * t
    divmod(float(t), 0.1)[0] * t
    operator.floordiv(t, 0.1) * t
    t.__floor__() + t if hasattr(t, "__floor__") else t
    np.int64(t * 10) * t
    np.int32(t * 10.0) * t
    np.floor(t * 10.0) * t
    np.rint(t * 10.0) * t
    (t * 10.0).astype(int) * t
    [1.0, 2.0, 3.0, 4.0][int(t * 4)] * t
    [5.0] * int(t * 10) == [] or t * 2.0
    len(range(int(t * 10))) * t
    sum(1.0 for k in range(int(t * 10))) * t
    np.zeros(int(t * 10)).size * t
    np.arange(5.0)[int(t * 5)] * t
    np.arange(10.0)[: int(t * 10)].sum() * t
    operator.index(int(t * 10)) * t
    np.arange(0.0, t, 0.1).size * t
    "abcdefghij"[int(t * 10)] in "abc" and t or 2.0 * t
    t.is_integer() + t
    float(t).is_integer() + t
    len(t.hex()) * 0.0 + t
    len(float(t).hex()) * 0.0 + t
    t.as_integer_ratio()[1] * 0.0 + t
    float(t).as_integer_ratio()[0] * 0.0 + t
    (t.as_integer_ratio() == float(t).as_integer_ratio()) * t
    t.imag + t
    float(t).imag + t
    (t.ndim + t.size + len(t.shape)) * t
    t.itemsize * t
    (t.dtype == np.float64) * t
    (t.dtype.kind == "f") * t
    np.ndim(t) + np.size(t) * t
    np.shape(t) == () and t
    np.isscalar(t) * t
    np.result_type(t, np.float32).itemsize * t
    np.isrealobj(t) * t
    np.iscomplexobj(t) + t
    np.issubdtype(t.dtype, np.floating) * t
    callable(t) + t
    bisect.bisect([0.3, 0.5, 0.7], t) * t
    bisect.bisect_left([0.3, 0.5, 0.7], float(t)) * t
    np.searchsorted([0.3, 0.5, 0.7], t) * t
    np.digitize(t, [0.3, 0.5, 0.7]) * t
    np.argmax([t, 0.5]) + t
    np.sign(t - 0.4) + t
    sorted([t, 0.5, 0.4]).index(0.5) * t
    h = [0.5, 0.6] ;; heapq.heappush(h, t) ;; r = heapq.heappop(h)
    h = [0.5, 0.4] ;; h.append(float(t)) ;; h.sort() ;; r = h[0] * t
    n, e = 0, t ;; while abs(float(e)) > 1e-2:\\n    e, n = e * 0.5, n + 1 ;; r = e * n
    n, e = 0, t ;; while e > 1e-2 and n < 50:\\n    e, n = e * 0.5, n + 1 ;; r = e * n
    assert t > 0.0, f"{t} is negative" ;; r = t
    assert isinstance(t, float) ;; r = t
    assert isinstance(t, numbers.Number) and not isinstance(t, np.ndarray) ;; r = t
    assert np.isfinite(t), t ;; r = t
    assert float(t) >= 0, f"{float(t):.3f}" ;; r = t
    if float(t) > 0.4:\\n    r = t * 2.0\\nelse:\\n    r = t * t
    if round(float(t), 1) == 0.4:\\n    r = t * 2.0\\nelse:\\n    r = t * t
    match t > 0.4:\\n    case True:\\n        r = t * 2.0\\n    case _:\\n        r = t
    x: float = t ;; r = x
    y: float | None = float(t) ;; r = y
    isinstance(1.0, float | int) * t
    (float | None) and t
    {float: 2.0}[float] * t
    {type(1.0): 2.0}[float] * t
    (float is type(1.0)) * t
    (float.__name__ == "float") * t
    (np.dtype(float) == np.float64) * t
    np.zeros(2, float).size * t
    np.ones(2).astype(float)[0] * t
    float.fromhex("0x1p-1") * t
    issubclass(np.float64, float) * t
    (type("F", (float,), {})(2.0) + 0.0) * t
    functools.partial(float).func is float and t
""")  # fmt: skip
_ways(Kind.no_loss, """
    (typing.get_type_hints(hinted)["t"] is float) * hinted(t)
    (inspect.signature(hinted).parameters["t"].annotation == "float") * hinted(t)
    hinted.__annotations__["return"] and hinted(float(t))
""", top="import inspect\ndef hinted(t: float) -> float:\n    return t")  # fmt: skip

# --- right, or it raises ----------------------------------------------------------------------------------------------

_ways(Kind.may_raise, """
    float(str(t * 0.0)) + json.loads(json.dumps(t))
    json.loads(json.dumps(float(t))) * 2.0
    json.loads(json.dumps({"a": [float(t), t.item()]}))["a"][0]
    json.JSONEncoder().encode([float(t)]) and t
    len(json.dumps(float(t))) * 0.0 + t
    s = io.StringIO() ;; json.dump([float(t)], s) ;; r = json.loads(s.getvalue())[0]
    pickle.loads(pickle.dumps(t))
    pickle.loads(pickle.dumps(float(t)))
    pickle.loads(pickle.dumps([t * np.ones(2), t]))[1]
    s = io.BytesIO() ;; pickle.dump({"t": t}, s) ;; r = pickle.loads(s.getvalue())["t"]
    marshal.loads(marshal.dumps(float(t)))
    marshal.loads(marshal.dumps([t.item(), 1.0]))[0]
    struct.unpack("d", struct.pack("d", t))[0]
    struct.unpack("<2f", struct.pack("<2f", float(t), 1.0))[0] * 0.0 + t
    struct.unpack("d", struct.pack("d", float(t)))[0]
    struct.unpack("d", struct.pack("d", t.item()))[0]
    b = bytearray(8) ;; struct.pack_into("d", b, 0, t) ;; r = struct.unpack("d", b)[0]
    array.array("d", [t, 1.0])[0]
    array.array("d", [float(t)])[0]
    a = array.array("d", [0.0]) ;; a[0] = t ;; r = a[0]
    a = array.array("d") ;; a.append(float(t)) ;; r = a.tolist()[0]
    np.frombuffer(array.array("d", [t])).sum()
    ctypes.c_double(t).value
    ctypes.c_double(float(t)).value
    (ctypes.c_double * 2)(t, 1.0)[0]
    c = ctypes.c_double(0.0) ;; c.value = t ;; r = c.value
    ctypes.pythonapi.PyFloat_AsDouble and ctypes.c_double(t.item()).value
    float(decimal.Decimal(t))
    float(decimal.Decimal(float(t)) * 2)
    float(decimal.Decimal.from_float(t))
    float(decimal.Decimal.from_float(t.item()))
    float(fractions.Fraction(t))
    float(fractions.Fraction(float(t)) + 1)
    float(fractions.Fraction.from_float(t))
    float(fractions.Fraction(1, 2) * t)
    (fractions.Fraction(1, 3) + float(t)) * 1.0
    statistics.mean([t, 1.0])
    statistics.mean([float(t), 1.0, 2.0])
    statistics.fmean([t, 1.0])
    statistics.fmean([t, 1.0], weights=[0.3, t])
    statistics.geometric_mean([t, 1.0])
    statistics.harmonic_mean([t, 1.0])
    statistics.median([t, 1.0, 0.1])
    statistics.median([t, 1.0])
    statistics.median_low([t, 1.0, 0.1, 2.0])
    statistics.mode([t, t, 1.0])
    statistics.multimode([t])[0]
    statistics.pstdev([t, 1.0])
    statistics.stdev([float(t), 1.0, 2.0])
    statistics.variance([t, 1.0, 2.0])
    statistics.pvariance([t, 1.0], mu=0.5)
    statistics.quantiles([t, 1.0, 2.0])[0]
    statistics.correlation([t, 1.0, 2.0], [1.0, 3.0, 2.0])
    statistics.covariance([t, 1.0, 2.0], [1.0, 3.0, 2.0])
    statistics.linear_regression([1.0, 2.0, 3.0], [t, 1.0, 2.0]).slope
    statistics.NormalDist(t, 1.0).pdf(0.5)
    statistics.NormalDist(0.0, 1.0).cdf(t)
    statistics.NormalDist(0.0, 1.0).inv_cdf(t)
    statistics.NormalDist(0.0, t).mean + statistics.NormalDist(0.0, t).stdev
    random.Random(0).lognormvariate(t, 0.5)
    random.Random(0).triangular(0.0, 1.0, t)
    random.Random(0).betavariate(t, 1.0) * 0.0 + t
    random.Random(0).choices([1.0, 2.0], weights=[t, 1.0])[0] * t
    time.sleep(t * 1e-9) ;; r = t
    time.sleep(float(t) * 1e-9) ;; r = t
    time.gmtime(t).tm_sec + t
    time.ctime(t) and t
    threading.Event().wait(t * 1e-9) ;; r = t
    select.select([], [], [], t * 1e-9) ;; r = t
    datetime.timedelta(seconds=t * 1000.0).total_seconds() * 0.0 + t
    datetime.timedelta(seconds=float(t)).total_seconds() * 0.0 + t
    datetime.datetime.fromtimestamp(t * 10.0, datetime.timezone.utc).year * t
    datetime.timedelta(seconds=1) * 2 and t
    with contextlib.closing(sqlite3.connect(":memory:")) as db:\\n    r = db.execute("select ?", (float(t),)).fetchone()[0]
    with contextlib.closing(sqlite3.connect(":memory:")) as db:\\n    r = db.execute("select ? + 1", (t,)).fetchone()[0]
    with contextlib.closing(sqlite3.connect(":memory:")) as db:\\n    r = db.execute("select ?", (t.item(),)).fetchone()[0]
    t.tolist()
    (t * np.ones(2)).tolist()[0]
    sum((t * np.ones(3)).tolist())
    np.array(t * np.ones(2)).tolist()[1]
    float(np.asarray(t).tolist())
    float.__add__(float(t), 1.0)
    float.__call__(t) if False else t
    float.__new__(float, t)
    float.conjugate(t)
    float.__float__(t)
    operator.methodcaller("__float__")(t)
    type("F", (float,), {})(t) + 0.0
    F(t) + 0.0
    F(float(t)) * 2.0
    F.__mul__(F(t), 2.0)
    float(Q(t))
    complex(Q(t)).real
    float(V(t))
    np.float64(Q(t))
    np.asarray(Q(t)) * 1.0
    math.exp(Q(t))
    math.fsum([Q(t), 1.0])
    np.array([Q(t), 1.0], dtype=float).sum()
    o = np.zeros(2) ;; o[0] = Q(t) ;; r = o.sum()
    "%.3f" % Q(t) and t
    np.float16(t) * 0.0 + t
    np.half(t) * 0.0 + t
    np.longdouble(t) * 1.0
    float(np.longdouble(t))
    np.complex64(t).real * 0.0 + t
    np.clongdouble(t).real * 1.0
    np.dtype(float).type(t)
    np.dtype("f8").type(float(t))
    t.dtype.type(t)
    np.array([1.0]).dtype.type(t) * 2.0
    np.result_type(t).type(t)
    getattr(np, "float64")(t)
    np.asarray([t, t], dtype=object).sum()
    np.array([t, None], dtype=object)[0]
    o = np.empty(2, object) ;; o[0] = t ;; r = o[0]
    o = np.empty(2, object) ;; o[:] = [t, 1.0] ;; r = o.sum()
    np.array([float(t), "a"], dtype=object)[0]
    np.frompyfunc(lambda v: v * 2.0, 1, 1)(t)
    np.frompyfunc(math.exp, 1, 1)(t * np.ones(2)).sum()
    np.frompyfunc(float, 1, 1)(t * np.ones(2)).sum()
    np.array([str(float(t))])[0] and t
    np.array([t]).tobytes() and t
    np.frombuffer((t * np.ones(2)).tobytes()).sum()
    np.frombuffer(t * np.ones(2)).sum()
    memoryview(t * np.ones(2))[0]
    (t * np.ones(2)).data[0]
    memoryview(np.array([float(t)]))[0]
    (t * np.ones(2)).ctypes.data_as(ctypes.POINTER(ctypes.c_double))[0]
    struct.unpack("d", bytes(np.array([t])))[0]
    bytes(t * np.ones(1)) and t
    np.ctypeslib.as_ctypes(t * np.ones(2))[0]
    (t * np.ones(2)).view(np.int64).view(float).sum()
    np.ndarray((2,), float, t * np.ones(2)).sum()
    s = io.BytesIO() ;; np.save(s, t * np.ones(2)) ;; s.seek(0) ;; r = np.load(s).sum()
    s = io.BytesIO() ;; np.savez(s, a=t) ;; s.seek(0) ;; r = np.load(s)["a"] * 1.0
    s = io.StringIO() ;; np.savetxt(s, t * np.ones(2)) ;; r = t
    np.format_float_positional(t) and t
    np.nditer(t * np.ones(2)).__next__() * 1.0
    sum(float(v) for v in np.nditer(t * np.ones(2)))
    sum(v * 1.0 for v in np.nditer([t * np.ones(2)]))
    np.matrix([[t, 1.0]]).sum()
    np.asmatrix(t * np.ones((2, 2))).sum()
    np.ma.array([t, 1.0]).sum()
    np.ma.masked_array(t * np.ones(2), [True, False]).sum()
    np.recarray and np.rec.fromarrays([t * np.ones(2)], names="a").a.sum()
    o = np.zeros(2, [("a", float)]) ;; o["a"] = t ;; r = o["a"].sum()
    o = np.zeros(2, [("a", float)]) ;; o[0] = (t,) ;; r = o["a"].sum()
    np.array([(t, 1)], [("a", float), ("b", int)])["a"][0]
    o = np.zeros(3) ;; np.ndarray.fill(o, t) ;; r = o.sum()
    o = np.zeros(3) ;; np.ndarray.__setitem__(o, 1, t) ;; r = o.sum()
    o = np.zeros(3) ;; memoryview(o)[0] = t ;; r = o.sum()
    o = np.zeros(3) ;; o.data[1] = float(t) ;; r = o.sum()
    o = np.zeros(3, complex) ;; o.imag[:] = t ;; r = o.imag.sum()
    o = np.zeros(3, complex) ;; o.imag = t ;; r = o.imag.sum()
    o = np.zeros(()) ;; o[...] = float(t) ;; r = float(o)
    np.meshgrid([t, 1.0], [1.0])[0].sum()
    np.histogram([0.1, 0.5], bins=2, weights=[t, 1.0])[0].sum()
    np.bincount([0, 1, 1], weights=[t, t, 1.0])[1]
    np.percentile([1.0, 2.0, 5.0], t * 100.0)
    np.require([t, 1.0], float, "C").sum()
    np.ascontiguousarray([t, 1.0]).sum()
    np.asfortranarray([[t, 1.0]]).sum()
    np.array(t, copy=True, ndmin=1)[0]
    np.array({"a": t}, dtype=object)[()]["a"]
    np.array(range(3)) @ np.array([t, t, 1.0])
    np.array(map_ := list(map(float, [t, t]))).sum()
    np.float64(t).tolist()
    np.float64([t, 1.0]).sum()
    np.float64(t * np.ones(2)).sum()
    np.float64(float(t)).as_integer_ratio()[1] * 0.0 + t
    np.random.default_rng(0).normal(t, 1.0)
    np.random.default_rng(0).uniform(0.0, t)
    np.random.default_rng(0).exponential(t)
    np.random.default_rng(0).normal(0.0, float(t))
    np.random.default_rng(0).choice([t, 2.0])
    np.random.default_rng(0).poisson(t * 10.0) * 0.0 + t
    np.random.default_rng(0).multivariate_normal([t, 1.0], np.eye(2)).sum()
    np.random.default_rng(0).permutation([t, 1.0])[0] + t
    np.random.RandomState(0).normal(t, 1.0)
    np.random.seed(0) ;; r = np.random.normal(t, 1.0)
    np.vectorize(math.erf, otypes=[float])(t * np.ones(2)).sum()
    np.apply_along_axis(lambda v: float(v.sum()), 0, t * np.ones(3)) * 1.0
    np.einsum("i->", [t, 1.0])
    np.fft.fft([t, 1.0]).real.sum()
    np.lib.stride_tricks.as_strided(t * np.ones(3), (2,), (8,)).sum()
    np.lib.stride_tricks.sliding_window_view(t * np.ones(3), 2).sum()
    (3.0 if type(float(t)) is float else 5.0) * t
    (3.0 if t.__class__ is np.float64 else 5.0) * t
    (3.0 if isinstance(t, collections.abc.Iterable) else 5.0) * t
    match t:\\n    case float():\\n        r = t * 3.0\\n    case _:\\n        r = t * 5.0
    match float(t):\\n    case float(v):\\n        r = v * 3.0\\n    case _:\\n        r = t * 5.0
    match t:\\n    case int() | str():\\n        r = t * 3.0\\n    case _:\\n        r = t * 5.0
    match [t, 1.0]:\\n    case [a, b]:\\n        r = a * 3.0\\n    case _:\\n        r = t * 5.0
    try:\\n    t[0]\\n    r = t * 5.0\\nexcept (IndexError, TypeError):\\n    r = t * 3.0
    try:\\n    len(t)\\n    r = t * 5.0\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    r = 1.0 / (float(t) - float(t)) * t\\nexcept ZeroDivisionError:\\n    r = t * 3.0
    try:\\n    r = math.log(-t)\\nexcept ValueError:\\n    r = t * 3.0
    try:\\n    r = math.exp(t * 1e5)\\nexcept OverflowError:\\n    r = t * 3.0
    try:\\n    r = math.sqrt(float(t) - 9.0)\\nexcept ValueError:\\n    r = t * 3.0
    try:\\n    r = float([t])\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    operator.index(t)\\n    r = t\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    r = [1.0, 2.0][t]\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    r = range(t)[0]\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    r = (t + 1j) > 0\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    r = float(t + 1j)\\nexcept TypeError:\\n    r = t * 3.0
    try:\\n    t.undefined\\n    r = t * 5.0\\nexcept AttributeError:\\n    r = t * 3.0
    eval("float(t) * 2.0")
    eval("math.exp(t)", globals(), {"t": t})
    d = {"t": t} ;; exec("r = float(t) * 2.0", globals(), d) ;; r = d["r"]
    functools.lru_cache(maxsize=4)(float)(t)
    c = collections.Counter() ;; c["a"] += t ;; r = sum(c.values())
    weakref.WeakValueDictionary() or t
    asyncio.run(co(t))
    (lambda: (yield float(t)))().__next__()
    pow(float(t), 2.0, None)
    float(t).__round__() + t
    float(t).__trunc__() + t
    float(t).__hash__() * 0.0 + t
    float.hex(float(t)) and t
    sys.intern(str(float(t))) and t
    os.fsdecode(f"{float(t):.3f}") and t
    ctypes.c_float(t).value * 0.0 + t
""", top=_CLASSES)  # fmt: skip

_LINE = "np.linspace(0.0, 1.0, 6)"
_ways(Kind.may_raise, f"""
    integrate.quad(lambda s: s * t, 0.0, 1.0)[0]
    integrate.quad(lambda s: math.exp(s * t), 0.0, 1.0)[0]
    integrate.quad(lambda s: float(s * t), 0.0, 1.0)[0]
    integrate.quad(np.exp, 0.0, t)[0]
    integrate.quad(lambda s, k: s * k, 0.0, 1.0, args=(t,))[0]
    integrate.dblquad(lambda a, b: a * b * t, 0.0, 1.0, 0.0, 1.0)[0]
    integrate.simpson([t, 1.0, 2.0], dx=0.5)
    integrate.trapezoid([t, 1.0, 2.0])
    integrate.cumulative_trapezoid([t, 1.0, 2.0])[-1]
    integrate.fixed_quad(lambda s: s * t, 0.0, 1.0)[0]
    integrate.romb([t, 1.0, 2.0])
    interpolate.interp1d([0.0, 1.0], [1.0, 3.0])(t) * 1.0
    interpolate.interp1d([0.0, 1.0], [t, 3.0])(0.5) * 1.0
    interpolate.CubicSpline({_LINE}, np.sin({_LINE}))(t) * 1.0
    interpolate.CubicSpline({_LINE}, t * {_LINE} ** 2)(0.3) * 1.0
    interpolate.make_interp_spline({_LINE}, {_LINE} ** 2)(t) * 1.0
    interpolate.PchipInterpolator({_LINE}, {_LINE} ** 2)(t) * 1.0
    interpolate.splev(t, interpolate.splrep({_LINE}, {_LINE} ** 2)) * 1.0
    interpolate.RegularGridInterpolator(({_LINE},), {_LINE} ** 2)([t])[0]
    interpolate.UnivariateSpline({_LINE}, {_LINE} ** 2)(t) * 1.0
    stats.multivariate_normal.logpdf([t, 0.1], [0.0, 0.0])
    stats.gaussian_kde([0.1, 0.5, 0.9])(t)[0]
    stats.zscore([t, 1.0, 2.0])[0]
    stats.gmean([t, 1.0])
    stats.skew([t, 1.0, 3.0])
    stats.linregress([0.0, 1.0, 2.0], [t, 1.0, 3.0]).slope
    stats.pearsonr([0.0, 1.0, 2.0], [t, 1.0, 3.0])[0]
    stats.entropy([t, 1.0])
    special.softmax([t, 1.0])[0]
    linalg.expm([[t, 1.0], [0.0, t]])[0, 0]
    linalg.norm([t, 1.0])
    linalg.det([[t, 1.0], [2.0, t]])
    linalg.block_diag(t, 1.0)[0, 0]
    linalg.toeplitz([t, 1.0]).sum()
    linalg.solve_banded((0, 0), [[t, 1.0]], [1.0, 1.0])[0]
    spatial.distance.euclidean([t, 1.0], [0.0, 2.0])
    spatial.distance.cdist([[t, 1.0]], [[0.0, 2.0]])[0, 0]
    spatial.distance.pdist([[t, 1.0], [0.0, 2.0]])[0]
    spatial.distance.cosine([t, 1.0], [0.5, 2.0])
    ndimage.gaussian_filter1d([t, 1.0, 2.0], 1.0)[0]
    ndimage.map_coordinates([0.0, 1.0, 4.0], [[t]], order=1)[0]
    signal.lfilter([t], [1.0, 0.5], [1.0, 2.0])[1]
    signal.convolve([t, 1.0], [1.0, 2.0])[0]
    fft.rfft([t, 1.0]).real[0]
    sparse.csr_matrix([[t, 0.0], [0.0, 1.0]]).sum()
    sparse.diags([t, 1.0]).toarray().sum()
    (sparse.eye(2).tocsr() * t).sum()
    (sparse.eye(2).tocsr() @ (t * np.ones(2))).sum()
    sparse.csr_matrix(t * np.ones((2, 2))).toarray().sum()
    optimize.approx_fprime(np.array([0.5]), lambda s: s[0] ** 2 * t)[0] * 0.0 + t
""", top="from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats",
    rtol=2e-4, needs="scipy")  # fmt: skip
_ways(Kind.may_raise, """
    optimize.brentq(lambda s: s ** 3 - t, 0.0, 2.0) ==> np.cbrt(t)
    optimize.brentq(lambda s: float(s ** 3 - t), 0.0, 2.0) ==> np.cbrt(t)
    optimize.bisect(lambda s: s - t, 0.0, 2.0) ==> t
    optimize.newton(lambda s: s * s - t, 1.0) ==> np.sqrt(t)
    optimize.root_scalar(lambda s: s * s - t, bracket=[0.0, 2.0]).root ==> np.sqrt(t)
    optimize.fsolve(lambda s: s * s - t, 1.0)[0] ==> np.sqrt(t)
    optimize.root(lambda s: s * s - t, [1.0]).x[0] ==> np.sqrt(t)
    optimize.minimize_scalar(lambda s: (s - t) ** 2).x ==> t
    optimize.fminbound(lambda s: (s - t) ** 2, 0.0, 1.0) ==> t
    optimize.minimize_scalar(lambda s: (s - t) ** 2 + t).fun ==> t
    optimize.minimize(lambda s: float((s[0] - t) ** 2), [0.0]).x[0] ==> t
    optimize.minimize(lambda s: (s[0] - t) ** 2, [0.1], method='Nelder-Mead').x[0] ==> t
    optimize.least_squares(lambda s: s - t, [0.0]).x[0] ==> t
    optimize.leastsq(lambda s: s - t, [0.0])[0][0] ==> t
    optimize.curve_fit(lambda s, k: k * s, np.arange(3.0), t * np.arange(3.0))[0][0] ==> t
    optimize.linprog([1.0], bounds=[(t, 2.0)]).x[0] ==> t
    optimize.nnls([[1.0]], [t])[0][0] ==> t
    optimize.fixed_point(lambda s: 0.5 * s + 0.5 * t, 0.1) ==> t
    optimize.minimize(lambda s: np.sum((s - 1.0) ** 2), [t]).x[0] * 0.0 + t ==> t
    integrate.solve_ivp(lambda s, y: -t * y, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-9).y[0, -1] ==> np.exp(-t)
    integrate.solve_ivp(lambda s, y: -y, (0.0, 1.0), [t], rtol=1e-9, atol=1e-9).y[0, -1] ==> t * np.exp(-1.0)
    integrate.solve_ivp(lambda s, y: -y, (0.0, t), [1.0], rtol=1e-9, atol=1e-9).y[0, -1] ==> np.exp(-t)
    integrate.odeint(lambda y, s: -t * y, 1.0, [0.0, 1.0])[-1, 0] ==> np.exp(-t)
    integrate.odeint(lambda y, s, k: -k * y, 1.0, [0.0, 1.0], args=(t,))[-1, 0] ==> np.exp(-t)
""", top="from scipy import integrate, optimize", needs="scipy", rtol=1e-3)  # fmt: skip
_ways(Kind.may_raise, """
    pd.Series([t, 1.0]).sum()
    pd.Series([float(t), 1.0]).mean()
    (pd.Series([1.0, 2.0]) * t).sum()
    (pd.Series([1.0, 2.0]) + float(t)).sum()
    pd.Series(t * np.ones(2)).to_numpy().sum()
    pd.Series(np.array([t, 1.0])).iloc[0]
    pd.Series([1.0, 2.0]).mul(t).sum()
    pd.Series([1.0, 2.0]).map(lambda v: v * t).sum()
    pd.Series([1.0, 2.0]).apply(lambda v: v * t).sum()
    pd.DataFrame({"a": [t, 1.0]})["a"].sum()
    pd.DataFrame({"a": t * np.ones(2)}).to_numpy().sum()
    (pd.DataFrame({"a": [1.0, 2.0]}) * t).to_numpy().sum()
    s = pd.Series([0.0, 1.0]) ;; s.iloc[0] = t ;; r = s.sum()
    s = pd.Series([0.0, 1.0]) ;; s[0] = float(t) ;; r = s.sum()
    s = pd.DataFrame({"a": [0.0, 1.0]}) ;; s.loc[0, "a"] = t ;; r = s["a"].sum()
    s = pd.DataFrame({"a": [0.0, 1.0]}) ;; s["b"] = t ;; r = s["b"].sum()
    pd.Series([1.0, 2.0]).fillna(t).sum() + t
    pd.Series([1.0, 2.0]).clip(upper=t).sum()
    pd.to_numeric([t])[0]
    pd.isna(t) + t
    pd.Series([1.0, 2.0, 3.0]).quantile(t)
    pd.Timedelta(seconds=float(t)).total_seconds() * 0.0 + t
    pd.Series([1.0, 2.0]).ewm(alpha=t).mean().iloc[-1]
    pd.Series([t, 1.0]).to_list()[0]
""", top="import pandas as pd", needs="pandas", rtol=1e-4)  # fmt: skip
_ways(Kind.may_raise, """
    preprocessing.StandardScaler().fit_transform([[t], [1.0], [3.0]])[0, 0]
    metrics.mean_squared_error([t, 1.0], [0.5, 2.0])
    metrics.log_loss([0, 1], [t, 0.6])
    linear_model.LinearRegression().fit([[0.0], [1.0]], [t, 1.0]).coef_[0]
""", top="from sklearn import linear_model, metrics, preprocessing", needs="sklearn", rtol=1e-4)  # fmt: skip

# --- places -----------------------------------------------------------------------------------------------------------

# Each: its name, code at module level, and after `>>>` the lines in `f` that reach it, where these are not `r = run(t)`;
# after `===` what these lines come to, where they have a transform of ours within.
_PLACES = """
## plain
>>>
{BODY}
## helper
def run(t):
    {BODY}
    return r
## helper of a helper
def inner(t):
    {BODY}
    return r
def middle(t):
    return inner(t)
def run(t):
    return middle(t)
## lambda
run = lambda t: {EXPR}
## lambda in f
>>>
run = lambda t: {EXPR}
r = run(t)
## closure
def make(k):
    def run(t):
        {BODY}
        return r * k
    return run
run = make(2.0)
## closure in f
>>>
def run():
    {BODY}
    return r
r = run()
## nonlocal
>>>
n = 0.0
def run(t):
    nonlocal n
    {BODY}
    n = n + r
run(t)
r = n
## global
total = 0.0
def run(t):
    global total
    {BODY}
    total = r
    return total
## default argument
def inner(t):
    {BODY}
    return r
def run(t, fn=inner):
    return fn(t)
## keywords
def run(*, t, **more):
    {BODY}
    return r
>>>
r = run(**{"t": t, "k": 1})
## star
def run(*ts):
    (t,) = ts
    {BODY}
    return r
>>>
r = run(*[t])
## recursion
def run(t, n=3):
    if n:
        return run(t, n - 1)
    {BODY}
    return r
## decorated
def twice(fn):
    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        return 2.0 * fn(*args, **kwargs)
    return wrapped
@twice
def run(t):
    {BODY}
    return r
## lru_cache
@functools.lru_cache
def run(t):
    {BODY}
    return r
## lru_cache, maxsize
@functools.lru_cache(maxsize=None)
def run(t):
    {BODY}
    return r
## functools.cache
@functools.cache
def run(t):
    {BODY}
    return r
## partial
def inner(k, t):
    {BODY}
    return r * k
run = functools.partial(inner, 2.0)
## partial in f
def inner(k, t):
    {BODY}
    return r * k
>>>
r = functools.partial(inner, 2.0)(t)
## singledispatch
@functools.singledispatch
def run(t):
    {BODY}
    return r
@run.register
def _(t: str):
    return 0.0
## in a list
def inner(t):
    {BODY}
    return r
steps = [abs, inner]
>>>
r = steps[1](t)
## in a tuple, each
def inner(t):
    {BODY}
    return r
steps = (inner,)
>>>
for step in steps:
    r = step(t)
## in a dict
def inner(t):
    {BODY}
    return r
steps = {"a": inner}
>>>
r = steps["a"](t)
## in a dict, each
def inner(t):
    {BODY}
    return r
steps = {"a": inner}
>>>
r = sum([s(t) for s in steps.values()])
## in a namespace
def inner(t):
    {BODY}
    return r
ns = types.SimpleNamespace(run=inner)
>>>
r = ns.run(t)
## method
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r * self.k
c = C(2.0)
>>>
r = c.run(t)
## method, object made in f
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r * self.k
>>>
r = C(2.0).run(t)
## method of a method
class C:
    def __init__(self, k):
        self.k = k
    def inner(self, t):
        {BODY}
        return r
    def run(self, t):
        return self.inner(t) * self.k
c = C(2.0)
>>>
r = c.run(t)
## bound method
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r * self.k
run = C(2.0).run
## method of the class
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r
c = C(2.0)
>>>
r = C.run(c, t)
## method by getattr
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r
c = C(2.0)
>>>
r = getattr(c, "run")(t)
## static method
class C:
    @staticmethod
    def run(t):
        {BODY}
        return r
c = C()
>>>
r = c.run(t) + C.run(t)
## class method
class C:
    k = 2.0
    @classmethod
    def run(cls, t):
        {BODY}
        return r * cls.k
c = C()
>>>
r = c.run(t) + C.run(t)
## property
class C:
    def __init__(self, t):
        self.t = t
    @property
    def run(self):
        t = self.t
        {BODY}
        return r
>>>
r = C(t).run
## property of a lasting object
class C:
    t = 0.0
    @property
    def run(self):
        t = self.t
        {BODY}
        return r
c = C()
>>>
c.t = t
r = c.run
## property setter
class C:
    @property
    def t(self):
        return self.r
    @t.setter
    def t(self, t):
        {BODY}
        self.r = r
c = C()
>>>
c.t = t
r = c.t
## cached property
class C:
    def __init__(self, t):
        self.t = t
    @functools.cached_property
    def run(self):
        t = self.t
        {BODY}
        return r
>>>
c = C(t)
r = c.run + c.run
## descriptor
class D:
    def __get__(self, c, owner=None):
        t = c.t
        {BODY}
        return r
class C:
    run = D()
c = C()
>>>
c.t = t
r = c.run
## partialmethod
class C:
    def inner(self, k, t):
        {BODY}
        return r * k
    run = functools.partialmethod(inner, 2.0)
c = C()
>>>
r = c.run(t)
## attribute holds a function
class C:
    def __init__(self, k):
        self.k = k
def inner(t):
    {BODY}
    return r
c = C(inner)
>>>
r = c.k(t)
## attribute holds a lambda
class C:
    def __init__(self, k):
        self.k = k
c = C(lambda t: {EXPR})
>>>
r = c.k(t)
## attribute holds a method
class C:
    def __init__(self, k):
        self.k = k
    def run(self, t):
        {BODY}
        return r
c = C(C(1.0).run)
>>>
r = c.k(t)
## callable object
class C:
    def __init__(self, k):
        self.k = k
    def __call__(self, t):
        {BODY}
        return r * self.k
run = C(2.0)
## callable object in a list
class C:
    def __init__(self, k):
        self.k = k
    def __call__(self, t):
        {BODY}
        return r * self.k
layers = [C(2.0), C(3.0)]
>>>
r = 0.0
for layer in layers:
    r = r + layer(t)
## dataclass
@dataclasses.dataclass
class C:
    k: float
    def run(self, t):
        {BODY}
        return r * self.k
c = C(2.0)
>>>
r = c.run(t)
## frozen dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class C:
    k: float
    def run(self, t):
        {BODY}
        return r * self.k
c = C(2.0)
>>>
r = c.run(t)
## inherited
class B:
    def run(self, t):
        {BODY}
        return r
class C(B):
    pass
c = C()
>>>
r = c.run(t)
## super
class B:
    def run(self, t):
        {BODY}
        return r
class C(B):
    def run(self, t):
        return 2.0 * super().run(t)
c = C()
>>>
r = c.run(t)
## abstract
class B(abc.ABC):
    @abc.abstractmethod
    def inner(self, t): ...
    def run(self, t):
        return self.inner(t)
class C(B):
    def inner(self, t):
        {BODY}
        return r
c = C()
>>>
r = c.run(t)
## slots
class C:
    __slots__ = ('k',)
    def __init__(self):
        self.k = 2.0
    def run(self, t):
        {BODY}
        return r * self.k
c = C()
>>>
r = c.run(t)
## __getattr__
class I:
    def run(self, t):
        {BODY}
        return r
class C:
    def __init__(self):
        self.inner = I()
    def __getattr__(self, name):
        return getattr(self.inner, name)
c = C()
>>>
r = c.run(t)
## __getattribute__
class C:
    k = 2.0
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)
    def run(self, t):
        {BODY}
        return r * self.k
c = C()
>>>
r = c.run(t)
## __getitem__
class C:
    def __getitem__(self, t):
        {BODY}
        return r
c = C()
>>>
r = c[t]
## operators
class C:
    def __add__(self, t):
        {BODY}
        return r
    def __rmul__(self, t):
        return self + t
c = C()
>>>
r = c + t + 2.0 * (t * c if False else c + t)
## __iter__
class C:
    def __init__(self, t):
        self.t = t
    def __iter__(self):
        t = self.t
        {BODY}
        yield r
>>>
(r,) = C(t)
## __init__
class C:
    def __init__(self, t):
        {BODY}
        self.r = r
>>>
r = C(t).r
## __post_init__
@dataclasses.dataclass
class C:
    t: float
    def __post_init__(self):
        t = self.t
        {BODY}
        self.r = r
>>>
r = C(t).r
## context manager
class C:
    def __init__(self, t):
        self.t = t
    def __enter__(self):
        t = self.t
        {BODY}
        return r
    def __exit__(self, *e):
        return False
>>>
with C(t) as r:
    pass
## in a with block
class C:
    def __enter__(self):
        return self
    def __exit__(self, *e):
        return False
>>>
with C():
    {BODY}
## contextlib
@contextlib.contextmanager
def run(t):
    {BODY}
    yield r
>>>
with run(t) as r:
    r = r * 1.0
## local class
>>>
class C:
    def run(self, t):
        {BODY}
        return r
r = C().run(t)
## enum
class C(enum.Enum):
    a = 2.0
    def run(self, t):
        {BODY}
        return r * self.value
>>>
r = C.a.run(t)
## named tuple
class C(typing.NamedTuple):
    k: float
    def run(self, t):
        {BODY}
        return r * self.k
c = C(2.0)
>>>
r = c.run(t)
## metaclass
class M(type):
    def run(cls, t):
        {BODY}
        return r
class C(metaclass=M):
    pass
>>>
r = C.run(t)
## subclass of a list
class C(list):
    def run(self, t):
        {BODY}
        return r * self[0]
c = C([2.0])
>>>
r = c.run(t)
## subclass of a dict
class C(dict):
    def __missing__(self, t):
        {BODY}
        return r
c = C()
>>>
r = c[t]
## list comprehension
>>>
r = [{EXPR} for t in (t, t)][1]
## dict comprehension
>>>
r = {k: {EXPR} for k in (1, 2)}[2]
## generator expression
>>>
r = sum({EXPR} for k in range(2))
## generator
def run(ts):
    for t in ts:
        {BODY}
        yield r
>>>
r = sum(run([t, t]))
## yield from
def inner(t):
    {BODY}
    yield r
def run(t):
    yield from inner(t)
>>>
r = next(run(t))
## send
def run():
    t = yield
    {BODY}
    yield r
>>>
g = run()
next(g)
r = g.send(t)
## map
def run(t):
    {BODY}
    return r
>>>
r = sum(map(run, [t, t]))
## reduce
def run(t):
    {BODY}
    return r
>>>
r = functools.reduce(lambda a, b: a + run(b), [t, t], 0.0)
## sort key
def run(t):
    {BODY}
    return r
>>>
r = sorted([t, t * 3.0], key=lambda v: run(t) + float(v))[0] * run(t)
## for loop
>>>
total = 0.0
for k in range(3):
    {BODY}
    total = total + r * k
r = total
## while loop
>>>
trip, total = 0, 0.0
while trip < 3:
    {BODY}
    total, trip = total + r, trip + 1
r = total
## branch
>>>
if t > 0.4:
    {BODY}
else:
    {BODY}
    r = r * 2.0
## conditional expression
>>>
r = ({EXPR}) if t > 0.4 else 2.0 * ({EXPR})
## walrus
>>>
r = (v := {EXPR}) + v * 0.5
## try
>>>
try:
    {BODY}
except ZeroDivisionError:
    r = 0.0
finally:
    k = 1.0
## swallowed
>>>
try:
    {BODY}
except Exception:
    r = 0.25
## swallowed bare
def run(t):
    {BODY}
    return r
>>>
try:
    r = run(t)
except:
    r = 0.25
## swallowed by suppress
>>>
r = 0.25
with contextlib.suppress(TypeError, RuntimeError, ValueError, NotImplementedError):
    {BODY}
## stored in a list
log = []
def run(t):
    {BODY}
    return r
>>>
log.append(run(t))
r = log[-1]
## stored in a dict
memo = {}
def run(t):
    {BODY}
    return r
>>>
memo['a'] = run(t)
r = memo['a']
## stored in an attribute
def run(t):
    {BODY}
    return r
class C:
    pass
c = C()
>>>
c.r = run(t)
r = c.r
## dict memo (may raise)
memo = {}
def run(t):
    if t not in memo:
        {BODY}
        memo[t] = r
    return memo[t]
## nested transform, outer value
def run(t):
    {BODY}
    return r
>>>
r = gs.grad(lambda s: s * s * run(t))(t)
===
r = 2.0 * t * run(t)
## nested transform, jvp
def run(t):
    {BODY}
    return r
>>>
r = gs.jvp(lambda s: s * run(t), (t,), (1.0,))[1]
===
r = run(t) * np.float64(1.0)
## nested transform, inner plain
def run(t):
    {BODY}
    return r
>>>
r = run(t) + gs.grad(lambda s: s ** 3)(t)
===
r = run(t) + 3.0 * t ** 2
## nested transform, vmap
def run(t):
    {BODY}
    return r
>>>
r = run(t) * np.sum(gs.vmap(lambda s: s * 2.0)(np.ones(2)))
===
r = run(t) * np.float64(4.0)
## partial of a method
class C:
    def run(self, k, t):
        {BODY}
        return r * k
c = C()
run = functools.partial(c.run, 2.0)
## partial of a partial
def inner(k, n, t):
    {BODY}
    return r * k * n
run = functools.partial(functools.partial(inner, 2.0), 3.0)
## lru_cache on a method
class C:
    @functools.lru_cache
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = c.run(t)
## lru_cache of a partial
def inner(k, t):
    {BODY}
    return r * k
run = functools.lru_cache(functools.partial(inner, 2.0))
## map of a method
class C:
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = sum(map(c.run, [t, t]))
## method type
def inner(self, t):
    {BODY}
    return r * self.k
c = types.SimpleNamespace(k=2.0)
c.run = types.MethodType(inner, c)
>>>
r = c.run(t)
## nested containers
def inner(t):
    {BODY}
    return r
table = {"a": [(inner, 2.0)], "b": {"c": inner}}
>>>
r = table["a"][0][0](t) + table["b"]["c"](t)
## container of an attribute
class C:
    def __init__(self):
        self.steps = [self.run]
        self.named = {"run": self.run}
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = c.steps[0](t) + c.named["run"](t)
## attribute of an attribute
class C:
    def run(self, t):
        {BODY}
        return r
c = types.SimpleNamespace(model=types.SimpleNamespace(head=C()))
>>>
r = c.model.head.run(t)
## attrgetter
class C:
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = operator.attrgetter("run")(c)(t)
## methodcaller
class C:
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = operator.methodcaller("run", t)(c)
## set by setattr
class C:
    pass
def inner(self, t):
    {BODY}
    return r
setattr(C, "run", inner)
c = C()
>>>
r = c.run(t)
## decorated method
def twice(fn):
    def wrapped(self, *args):
        return 2.0 * fn(self, *args)
    return wrapped
class C:
    @twice
    def run(self, t):
        {BODY}
        return r
c = C()
>>>
r = c.run(t)
## decorator with arguments
def times(k):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            return k * fn(*args, **kwargs)
        return wrapped
    return decorate
@times(2.0)
@times(1.5)
def run(t):
    {BODY}
    return r
## class as a decorator
class Decorate:
    def __init__(self, fn):
        self.fn = fn
    def __call__(self, *args):
        return self.fn(*args)
@Decorate
def run(t):
    {BODY}
    return r
## class that is decorated
@functools.total_ordering
class C:
    def __init__(self, t):
        self.t = t
    def __eq__(self, other):
        return self.t == other.t
    def __lt__(self, other):
        t = self.t
        {BODY}
        self.r = r
        return t < other.t
>>>
c = C(t)
r = (c < C(t * 2.0)) * c.r
## slots, with a property
class C:
    __slots__ = ("t",)
    def __init__(self, t):
        self.t = t
    @property
    def run(self):
        t = self.t
        {BODY}
        return r
>>>
r = C(t).run
## two bases
class A:
    def run(self, t):
        {BODY}
        return r
class B(A):
    def run(self, t):
        return super().run(t) * 2.0
class D(A):
    def run(self, t):
        return super().run(t) + 1.0
class C(B, D):
    pass
c = C()
>>>
r = c.run(t)
## __new__
class C:
    def __new__(cls, t):
        {BODY}
        self = super().__new__(cls)
        self.r = r
        return self
>>>
r = C(t).r
## __class_getitem__
class C:
    def __class_getitem__(cls, t):
        {BODY}
        return r
>>>
r = C[t]
## __contains__
class C:
    def __contains__(self, t):
        {BODY}
        self.r = r
        return True
c = C()
>>>
r = (t in c) * c.r
## alias of a method
class C:
    def __init__(self, t):
        self.t = t
    def total(self):
        t = self.t
        {BODY}
        return r
    __neg__ = total
>>>
r = -C(t)
## generator method
class C:
    def run(self, ts):
        for t in ts:
            {BODY}
            yield r
c = C()
>>>
r = sum(c.run([t, t]))
## comprehension in a method
class C:
    k = 2.0
    def run(self, ts):
        return [({EXPR}) * self.k for t in ts]
c = C()
>>>
r = c.run([t, t])[1]
## protocol
class P(typing.Protocol):
    def run(self, t): ...
class C(P):
    def run(self, t):
        {BODY}
        return r
c: P = C()
>>>
r = c.run(t)
## named tuple of functions
def inner(t):
    {BODY}
    return r
Fns = collections.namedtuple("Fns", "run k")
fns = Fns(inner, 2.0)
>>>
r = fns.run(t) * fns[1]
## dataclass with a function
def inner(t):
    {BODY}
    return r
@dataclasses.dataclass
class C:
    fn: object = inner
    fns: list = dataclasses.field(default_factory=lambda: [inner])
c = C(inner)
>>>
r = c.fn(t) + c.fns[0](t)
## dispatch by class
class C:
    @functools.singledispatchmethod
    def run(self, t):
        {BODY}
        return r
    @run.register
    def _(self, t: str):
        return 0.0
c = C()
>>>
r = c.run(t)
## exit stack
>>>
with contextlib.ExitStack() as stack:
    {BODY}
    stack.callback(lambda: None)
## match
>>>
match (t, 1.0):
    case (t, k):
        {BODY}
    case _:
        r = 0.0
## return in a loop
def run(t):
    for k in range(5):
        if k == 2:
            {BODY}
            return r
## finally
def run(t):
    try:
        return t * 0.0 + ({EXPR})
    finally:
        k = 1.0
## raised and caught
class Found(Exception):
    def __init__(self, r):
        self.r = r
def inner(t):
    {BODY}
    raise Found(r)
>>>
try:
    inner(t)
except Found as found:
    r = found.r
## checkpoint (may raise)
def run(t):
    {BODY}
    return r
>>>
r = gs.checkpoint(run, t)
===
r = run(t)
## thread
def run(t):
    {BODY}
    return r
>>>
found = []
th = threading.Thread(target=lambda: found.append(run(t)))
th.start()
th.join()
(r,) = found
## coroutine (may raise)
async def run(t):
    {BODY}
    return r
>>>
r = asyncio.run(run(t))
"""


def _places(text: str) -> Iterator[Place]:
    for block in text.strip().removeprefix("## ").split("\n## "):
        name, _, code = block.partition("\n")
        top, _, rest = code.partition(">>>\n")
        call, _, plainly = rest.partition("\n===\n")
        strict = not name.endswith(" (may raise)")
        yield Place(name.removesuffix(" (may raise)"), top, call.rstrip() or "r = run(t)", plainly.rstrip(), strict)


PLACES = {place.name: place for place in _places(_PLACES)}

FLAVOURS = ("file", "exec", "imported")  # a module of its own; text without a source; the helpers in another module


# --- programs ---------------------------------------------------------------------------------------------------------


def _filled(template: str, way: Way, smooth: bool) -> str:
    """A template with the way in it, its statements indented as the line that they stand on."""
    lines: list[str] = []
    for line in template.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() == "{BODY}":
            lines += [indent + inner for text in way.body(smooth) for inner in text.split("\n")]
        else:
            lines.append(line.replace("{EXPR}", way.expression(smooth)))
    return "\n".join(lines)


def program(way: Way, place: Place, plain: bool = False, smooth: bool = False) -> tuple[str, str]:
    """The text of a program: what stands before `f`, and `f`; `plain` is the one that knows no transform."""
    top = HEAD + way.top + "\n"
    if not way.is_expression:
        top += "def way(t):\n    " + "\n    ".join(way.body(smooth)) + "\n    return r\n"
    top += _filled(place.top, way, smooth) + "\n"
    call = _filled((plain and place.plainly) or place.call, way, smooth).replace("\n", "\n    ")
    return top, TAIL.replace("{CALL}", call)


_NUMBER = itertools.count()


def _load(text: str, filename: str) -> types.ModuleType:
    """A fresh module of a text; other loads of the same text share nothing with it."""
    module = types.ModuleType(f"way_out_{next(_NUMBER)}")
    module.__file__ = filename
    sys.modules[module.__name__] = module  # dataclasses and pickle look it up there
    exec(compile(text, filename, "exec", dont_inherit=True), module.__dict__)
    return module


class Loader:
    """Makes the functions of one program, each over a module of its own, and forgets them."""

    def __init__(self, way: Way, place: Place, flavour: str, folder: pathlib.Path) -> None:
        self.way, self.place, self.flavour = way, place, flavour
        self.folder, self.loaded = folder, list[types.ModuleType]()
        self.stem = f"ways_{next(_NUMBER)}"
        self.path = folder / f"{self.stem}.py"
        self.files = [self.path]

    def _module(self, text: str, name: str = "") -> types.ModuleType:
        path = self.folder / f"{self.stem}{name}.py"
        if self.flavour == "exec":
            filename = f"<{self.stem}>"
        else:
            filename = str(path)
            path.write_text(text)
            linecache.checkcache(filename)
            self.files.append(path)
        self.loaded.append(module := _load(text, filename))
        return module

    def function(self, plain: bool = False, smooth: bool = False) -> Any:
        """The function `f`, fresh; `smooth` is the one that differences are taken of."""
        top, tail = program(self.way, self.place, plain, smooth)
        name = "_smooth" if smooth else "_plain" if plain else ""
        if self.flavour == "imported":
            helpers = self._module(top, name + "_helpers")
            sys.modules[helpers.__name__] = helpers
            names = ", ".join(n for n in vars(helpers) if not n.startswith("__") and n != "annotations")
            module = self._module(f"from {helpers.__name__} import {names}\n{tail}", name)
        else:
            module = self._module(top + tail, name)
        return module.f

    def names_line(self, error: BaseException) -> bool:
        """Whether an error says which line of the program it is about."""
        text = "\n".join([str(error), *getattr(error, "__notes__", [])])
        evaluated = "|<string>" if re.search(r"\b(eval|exec)\(", self.way.text) else ""  # a text of the user's own
        return bool(re.search(rf"({self.stem}\w*(\.py)?>?{evaluated})(\", line |:)\d+", text))

    def close(self) -> None:
        for module in self.loaded:
            sys.modules.pop(module.__name__, None)
        for path in self.files:
            path.unlink(missing_ok=True)
            linecache.cache.pop(str(path), None)


# --- the oracle -------------------------------------------------------------------------------------------------------


FAULTS = ("lost", "warned", "error", "message")  # the worst first
STATUSES = ("right", "raised", "uneven", *FAULTS, "no program")


@dataclasses.dataclass
class Outcome:
    """What became of a combination.

    `right`, `raised`, `uneven` (some calls right, others raise), `refused` (of what may raise: by another error); or a fault:
    `lost` (a wrong gradient or value, in silence), `warned`, `error` (not the error that it should be, or one where nothing may
    be raised), `message` (its words or its line); or `no program`, where the plain one fails.
    """

    status: str
    detail: str = ""
    compiles: bool = True  # or runs eagerly, which gs.compile says

    @property
    def fine(self) -> bool:
        return self.status in ("right", "raised", "uneven", "refused")


def _slopes(f: Callable[[Any], Any], x: Any, step: float) -> Any:
    columns = []
    for k in range(x.size):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        columns.append((f(up) - f(down)) / (2 * step))
    return np.array(columns, float)


def _plain_number(r: Any) -> bool:
    return isinstance(r, (float, np.floating)) or (type(r) is np.ndarray and r.shape == () and r.dtype.kind == "f")


@dataclasses.dataclass
class Plain:
    """What the plain program gives at each point: values, slopes, second derivatives along a direction; and its own warnings."""

    values: list[Any]
    slopes: list[Any]
    curvature: list[Any]
    said: set[str]


def _bent(f: Callable[[Any], Any], x: Any, step: float) -> Any:
    """The product of the Hessian and the direction, by differences."""
    columns = []
    for unit in np.eye(x.size):
        ends = [one * two * f(x + step * (one * unit + two * DIRECTION)) for one in (1, -1) for two in (1, -1)]
        columns.append(sum(ends) / (4 * step * step))
    return np.array(columns, float)


def _agreed(difference: Callable[..., Any], f: Callable[[Any], Any], x: Any, step: float, rtol: float) -> Any:
    """A difference, where one of twice the step agrees with it."""
    one, other = difference(f, x, step), difference(f, x, 2 * step)
    if not np.allclose(one, other, rtol=rtol, atol=rtol * 0.1):
        raise ArithmeticError(f"the plain program is not smooth at {x}: {one}, {other}")
    return one


def _plain(loader: Loader, second: bool = False) -> Plain:
    f, smooth = loader.function(plain=True), loader.function(plain=True, smooth=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        values = [f(x.copy()) for x in POINTS]
        slopes = [_agreed(_slopes, smooth, x, 1e-5, 1e-3) for x in POINTS]
        curvature = [_agreed(_bent, smooth, x, 2e-4, 1e-2) for x in POINTS] if second else []
    if not all(map(_plain_number, values)):
        raise TypeError(f"the plain program returns {values[0]!r}")
    return Plain(values, slopes, curvature, {f"{w.category.__name__}: {str(w.message)[:40]}" for w in seen})


ALLOWED = (gs.GradientLossError, gs.NoRuleError)


def _call(transformed: Any, point: int, expected: tuple[Any, Any, float], loader: Loader) -> str:
    """What one call does: "right", "raised", or what is wrong with it."""
    plain, slopes, rtol = expected
    try:
        value, gradient = transformed(POINTS[point].copy())
    except ALLOWED as error:
        if "put the code into a function under gs.grad" in str(error):
            return f"message: tells a user of gs.grad to use gs.grad: {str(error)[:120]}"
        if not loader.names_line(error):
            return f"message: names no line of the program: {str(error)[:80]} {getattr(error, '__notes__', [])}"[:300]
        return "raised"
    except Exception as error:
        return f"error: {type(error).__name__}: {str(error)[:160]}"
    if not _plain_number(value) or np.asarray(value).dtype != np.asarray(plain).dtype:
        return f"lost: value {value!r} of {type(value).__name__}, plain {plain!r} of {type(plain).__name__}"
    if not np.allclose(value, plain, rtol=1e-9, atol=1e-12):
        return f"lost: value {float(value)!r}, plain {float(plain)!r}"
    if not isinstance(gradient, np.ndarray) or not np.allclose(gradient, slopes, rtol=rtol, atol=rtol):
        return f"lost: gradient {gradient!r}, differences {slopes!r}"
    return "right"


def _forward(f: Any) -> Any:
    """Value and gradient by one jvp for each direction."""

    def value_and_slopes(x: Any) -> Any:
        pairs = [gs.jvp(f, (x,), (unit,)) for unit in np.eye(x.size)]
        return pairs[0][0], np.array([slope for _, slope in pairs], float)

    return value_and_slopes


def _second(f: Any) -> Any:
    """The value, and the product of the Hessian and the direction."""

    def along(x: Any) -> Any:
        value, gradient = gs.value_and_grad(f)(x)
        return gradient @ DIRECTION, value

    return lambda x: (f(x), gs.grad(lambda x: along(x)[0])(x))


# How a function is transformed, and at which points it is called, the last as the first.
MODES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "eager": (gs.value_and_grad, (0, 1, 2, 0)),
    "compiled": (lambda f: gs.compile(gs.value_and_grad(f)), (0, 1, 2, 3, 0)),
    "forward": (_forward, (0, 1, 0)),
    "second": (_second, (0, 1, 0)),
}


def _calls(loader: Loader, plain: Plain, mode: str) -> tuple[list[str], bool]:
    """What each of several calls does, and the plain function of that module at the end; whether all of it compiled."""
    f, compiles = loader.function(), True
    transform, points = MODES[mode]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        transformed = transform(f)
        slopes, rtol = (plain.curvature, 3e-2) if mode == "second" else (plain.slopes, loader.way.rtol)
        found = [_call(transformed, k, (plain.values[k], slopes[k], rtol), loader) for k in points]
        if "raised" not in found:  # what a call left behind that raised may be half done
            try:
                again = f(POINTS[0].copy())
                if not _plain_number(again) or not np.allclose(again, plain.values[0], rtol=1e-9):
                    found.append(f"lost: the plain function gives {again!r} afterwards")
            except Exception as error:
                if not (loader.place.plainly and isinstance(error, ALLOWED)):  # a transform within it may raise
                    fault = "error" if loader.place.plainly else "lost"
                    found.append(f"{fault}: the plain function raises {type(error).__name__} afterwards: {error}")
    for w in seen:
        text = f"{w.category.__name__}: {str(w.message)[:40]}"
        if issubclass(w.category, gs.EagerWarning) and "please report" not in str(w.message):
            compiles = False
        elif text not in plain.said and not issubclass(w.category, ResourceWarning):  # which comes when memory is freed
            found.append(f"warned: {w.category.__name__}: {str(w.message)[:160]}")
            break
    return found, compiles


def outcome(
    way: Way, place: Place, flavour: str, folder: pathlib.Path, modes: tuple[str, ...] = ("eager", "compiled")
) -> Outcome:
    """What a combination comes to in each mode, at several points and again at the first."""
    loader, found, compiles = Loader(way, place, flavour, folder), {}, True
    try:
        with np.errstate(all="ignore"):
            try:
                plain = _plain(loader, "second" in modes)
            except Exception as error:
                return Outcome("no program", f"{type(error).__name__}: {error}")
            for mode in modes:
                found[mode], fine = _calls(loader, plain, mode)
                compiles = compiles and fine
    finally:
        loader.close()
    wrong = [
        (FAULTS.index(what.partition(":")[0]), f"{mode} call {k + 1}: {what.partition(': ')[2]}")
        for mode, calls in found.items()
        for k, what in enumerate(calls) if what not in ("right", "raised")
    ]  # fmt: skip
    if wrong:
        worst, detail = min(wrong, key=lambda fault: fault[0])
        if FAULTS[worst] == "error" and way.kind is Kind.may_raise and "afterwards" not in detail:
            return Outcome("refused", detail)
        return Outcome(FAULTS[worst], detail + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""))
    said = {what for calls in found.values() for what in calls}
    if said == {"right"}:
        return Outcome("right", compiles=compiles)
    lenient = way.kind is Kind.may_raise or (way.kind is Kind.keeps and (flavour == "exec" or not place.strict))
    if not lenient:
        where = ", ".join(f"{m} {c}" for m, c in found.items())
        return Outcome("error", f"raises, where nothing may: {where}")
    return Outcome("raised") if said == {"raised"} else Outcome("uneven", str(found))


def installed(way: Way) -> bool:
    """Whether the library that a way is about is there."""
    return not way.needs or importlib.util.find_spec(way.needs) is not None


def combinations(
    places: list[str], flavours: tuple[str, ...] = FLAVOURS, every: int = 1
) -> Iterator[tuple[int, str, str]]:
    """Every way in every place, in every flavour; or one in `every`, each place with others, so that all come up alike."""
    numbers = {name: k for k, name in enumerate(PLACES)}
    for (k, way), place, flavour in itertools.product(enumerate(WAYS), places, flavours):
        if (k + numbers[place] + 7 * FLAVOURS.index(flavour)) % every == 0 and installed(way):
            yield k, place, flavour


def _work(job: tuple[int, str, str, tuple[str, ...]]) -> tuple[int, str, str, Outcome]:
    number, place, flavour, modes = job
    with tempfile.TemporaryDirectory() as folder:
        return number, place, flavour, outcome(WAYS[number], PLACES[place], flavour, pathlib.Path(folder), modes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every way in every place")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--way", default="", help="ways with this in their text")
    parser.add_argument(
        "--ways", default="", help="ways of these numbers, such as 0-299, so that the whole can be run in parts"
    )
    parser.add_argument("--place", default="", help="this place (or the ones separated by |)")
    parser.add_argument("--flavour", default="", choices=["", *FLAVOURS])
    parser.add_argument("--kind", default="", choices=["", *Kind.__members__])
    parser.add_argument("--quiet", action="store_true", help="counts alone")
    parser.add_argument("--every", type=int, default=1, help="one combination in so many")
    parser.add_argument("--modes", default="eager,compiled", help=f"of {', '.join(MODES)}")
    options = parser.parse_args()
    every = list(PLACES) if options.all or options.way else ["plain", "method"]
    chosen = options.place.split("|") if options.place else every
    flavours = (options.flavour,) if options.flavour else FLAVOURS if options.all else ("file",)
    modes = tuple(options.modes.split(","))
    first, _, last = options.ways.partition("-")
    numbers = range(int(first or 0), int(last or first or len(WAYS) - 1) + 1)
    jobs = [
        (k, place, flavour, modes)
        for k, place, flavour in combinations(chosen, flavours, options.every)
        if k in numbers and options.way in WAYS[k].text and options.kind in ("", WAYS[k].kind.name)
    ]
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)

    def report(result: tuple[int, str, str, Outcome]) -> None:
        number, place, flavour, found = result
        counts[WAYS[number].kind.name][found.status] += 1
        counts[WAYS[number].kind.name]["eagerly"] += not found.compiles
        if not options.quiet and (not found.fine or (found.status == "uneven" and len(jobs) < 50)):
            print(f"{found.status} | {place} | {flavour} | {WAYS[number].name} | {found.detail}", flush=True)

    if options.workers > 1:
        import multiprocessing

        with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
            for result in pool.imap_unordered(_work, jobs, chunksize=16):
                report(result)
    else:
        for job in jobs:
            report(_work(job))
    total = sum(counts.values(), collections.Counter())
    for name, found in [*counts.items(), ("all", total)]:
        words = ", ".join(f"{found[s]} {s}" for s in STATUSES if found[s])
        print(
            f"{name}: {sum(found[s] for s in STATUSES)} combinations: {words}; {found['eagerly']} right ones run eagerly"
        )
    return 1 if any(total[s] for s in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
