"""Whole modules by chance: classes with methods and properties, helper modules, closures, callables in containers, and state.

Each is a program of fuzzing.py whose statements also call what its module defines. Where state is read, a call depends on the
calls before it; the differences of a call are therefore taken on fresh modules that have seen the same calls.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import linecache
import math
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs

from fuzzing import PURE, Program, _to_rounding, close, same
from stores import described

__all__ = ["Module", "module_problem"]

# Holes: <u> an expression of `a`, <b> one of `a` and `b`, <c> a number.
HELPERS = """\
K = <c>
RATES = {"slow": <c>, "fast": <c>}
def curve(a, k=<c>):
    return <u> * k
def blend(a, b=<c>):
    return <b>
class Scaler:
    factor = <c>
    def scale(self, a):
        return a * self.factor + RATES["slow"]
"""
MAIN = """\
SCALE, calls, log, memory = <c>, 0, [], {"last": <c>, "seen": []}
WEIGHTS = np.array([<c>, <c>, <c>])

class Base(helpers.Scaler):
    gain = <c>
    def __init__(self, w, k):
        self.w, self.k, self.total, self.seen = w, k, 0.5, []
        self.act = lambda a: <u>
        self.inner = None
    def shape(self, a):
        return <u>
    @property
    def rate(self):
        return self.k * SCALE + self.gain
    @property
    def weight(self):
        b = np.sum(self.w)
        return b * self.k
    @staticmethod
    def bend(a):
        return <u>
    @classmethod
    def scaled(cls, a):
        return a * cls.gain
    def forward(self, a):
        return self.act(self.shape(a)) * self.rate
    def __call__(self, a):
        return self.forward(a) + self.k
    def fill(self, a):
        out = np.zeros(3)
        for i in range(3):
            out[i] = np.sum(a) * self.k + i
        return out
    def row(self, a):
        out = np.ones((2, 3))
        out[0] = self.fill(a)
        out += self.rate
        return out

class Model(Base):
    def shape(self, a):
        return super().shape(a) + self.weight
    def __getitem__(self, k):
        return self.w[k] * self.gain
    def pair(self, a):
        yield self.shape(a)
        yield self.bend(a)

class Slots:
    __slots__ = ("k",)
    def __init__(self, k):
        self.k = k
    def apply(self, a):
        return <u> * self.k

class Delegate:
    def __init__(self, to):
        self.to = to
    def __getattr__(self, name):
        return getattr(self.__dict__["to"], name)

@dataclasses.dataclass
class Params:
    w: object
    b: float = <c>
    def apply(self, a):
        b = self.b
        return <b> * np.mean(self.w)

def outer(k):
    def inner(a):
        return <u> * k
    return inner

def counter(k):
    n = 0
    def step(a):
        nonlocal n
        n += 1
        return a * (k + 0.1 * n)
    return step

def count(a):
    global calls
    calls += 1
    return a * (1.0 + 0.01 * calls)

def checked(a):
    if np.sum(a) > 0.0:
        raise ValueError("above")
    return <u>

@contextlib.contextmanager
def scaling(k):
    yield k * SCALE

def doubled(fn):
    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        return fn(*args, **kwargs) * 2.0
    return wrapped

@doubled
def twice(a):
    return <u>

@functools.lru_cache(maxsize=8)
def table_of(n):
    return np.arange(1.0, n + 1.0) * SCALE

model, other, params, slots = Model(WEIGHTS, <c>), Model(WEIGHTS * 0.5, <c>), Params(np.ones(3)), Slots(<c>)
model.inner, delegate = other, Delegate(other)
bound, closed, step = model.forward, outer(<c>), counter(<c>)
part = functools.partial(helpers.blend, b=<c>)
part_of_method = functools.partial(Model.shape, other)
layers = [model, other]
steps = [lambda a: <u>, model.shape, helpers.curve, closed]
table = {"u": lambda a: <u>, "m": other.forward, "p": part, "model": model}
"""
CALLS = (  # without state
    "model({a})", "model.forward({a})", "model.shape({a})", "model.rate * {a}", "model.weight * {a}", "Model.scaled({a})",
    "model.bend({a})", "model.act({a})", "model.inner.forward({a})", "model.scale({a})", "model.k * {a} + other.rate",
    "model.w * {a}", "np.sum(model.w) * {a}", "model[0] * {a}", "Model.shape(other, {a})", "getattr(model, 'shape')({a})",
    "bound({a})", "closed({a})", "part({a})", "part_of_method({a})", "twice({a})", "slots.apply({a})", "delegate.shape({a})",
    "delegate.k * {a}", "params.apply({a})", "params.b * {a}", "steps[0]({a})", "steps[1]({a})", "steps[2]({a}, k=0.5)",
    "table['u']({a})", "table['m']({a})", "table['p']({a})", "table['model'].shape({a})", "helpers.curve({a})",
    "helpers.blend({a}, {b})", "helpers.K * {a} + SCALE", "helpers.RATES['fast'] * {a}", "[s({a}) for s in steps[:2]][1]",
    "sum([s({a}) for s in layers])", "functools.reduce(lambda v, s: s(v), steps[:3], {a})",
    "list(map(model.shape, [{a}, {b}]))[0]",
    "Model(WEIGHTS, 0.7).forward({a})", "Params(np.ones(2), 0.4).apply({a})", "Slots(0.3).apply({a})", "WEIGHTS[1] * {a}",
    "(model if np.sum({a}) > 0 else other).forward({a})", "next(iter(model.pair({a})))", "list(model.pair({a}))[1]",
    "np.stack([layer.k * np.mean({a}) for layer in layers])", "[fn({a}) for fn in table.values()][0]", "outer(0.5)({a})",
    "max(layers, key=lambda layer: layer.k).shape({a})", "helpers.Scaler().scale({a})", "type(model)(WEIGHTS, 0.2).bend({a})",
)  # fmt: skip
STATEFUL = (
    "{n} = step({a})", "{n} = count({a})", "{n} = model.fill({a})", "{n} = model.row({a})",
    "log.append(float(np.sum({a})))\n{n} = {a} * 1.0", "log.append({a})\n{n} = log[-1] * 0.5",
    "{n} = {a} * memory['last']\nmemory['last'] = float(np.tanh(np.sum({a})))",
    "memory['last'] = float(np.tanh(np.sum({a})))\n{n} = {b} * memory['last']",
    "memory['seen'].append((len(memory['seen']), np.mean({a})))\n{n} = {a} + 0.1",
    "model.total = 0.9 * model.total + 0.1 * float(np.tanh(np.mean({a})))\n{n} = {b} * model.total",
    "model.last = {a}\n{n} = model.last + 0.5", "model.seen.append(np.sum({a}).item())\n{n} = {a} * model.rate",
    "params.w = np.tanh({a})\n{n} = params.apply({b})", "{n} = {a} * float(np.tanh(np.sum({b})))",
    "{n} = {a} * math.exp(math.tanh(np.sum({b})))", "{n} = {a} + math.sqrt(1.0 + float(np.mean({b} ** 2)))",
    "{n} = np.array([float(v) for v in np.ravel({a})])", "{n} = np.array([math.sin(v) for v in np.ravel({a})])",
    "{n} = {a} * (2.0 if float(np.sum({a})) > 0 else 0.5)", "{n} = {a} * np.tanh(np.mean({b})).item()",
    "with scaling(0.5) as k:\n    {n} = {a} * k", "try:\n    {n} = checked({a})\nexcept ValueError:\n    {n} = {a} * 0.1",
    "{n} = {a}\nfor layer in layers:\n    {n} = np.tanh(layer.shape({n}))", "{n} = table_of(3) * {a}",
    "local = Model(WEIGHTS, float(np.tanh(np.sum({a}))))\n{n} = local.forward({b})",
    "local = Params({a})\nlocal.b = float(np.cos(np.sum({b})))\n{n} = local.apply({a})",
    "{n} = sum(map(float, np.ravel({a}))) * {b}",
    "found = collections.defaultdict(float)\nfound['a'] += np.sum({a})\n{n} = found['a'] * {b}",
    "{n} = np.fromiter((v * v for v in np.ravel({a})), float)", "{n} = helpers.curve({a}, k=float(np.tanh(np.mean({b}))))",
)  # fmt: skip
STATE = ("SCALE", "calls", "log", "memory", "model", "other", "params")


class Module(Program):
    """A function `f` of two arrays, with the module around it and a module of helpers."""

    def _space(self) -> dict[str, Any]:
        self.helpers, self.main = self._drawn(HELPERS), self._drawn(MAIN)
        self.defined = self._definitions({})
        return {**super()._space(), **self.defined}

    def _drawn(self, text: str) -> str:
        """A template with its holes filled."""
        while "<" in text and (holes := [h for h in ("<u>", "<b>", "<c>") if h in text]):
            hole = min(holes, key=text.index)
            if hole == "<c>":
                filling = str(self.choose([0.3, 0.5, 0.7, 1.1, 1.3, -0.4]))
            else:
                filling = self.choose(PURE["unary" if hole == "<u>" else "binary"]).format(a="a", b="b")
                filling = f"({filling})"
            text = text.replace(hole, filling, 1)
        return text

    def _definitions(self, other: dict[str, Any]) -> dict[str, Any]:
        """The namespace of a fresh module, over NumPy or over what `other` says."""
        sys.modules.setdefault("fuzzed", types.ModuleType("fuzzed"))  # dataclasses look there
        helpers = types.ModuleType("fuzzed_helpers")
        helpers.__dict__.update({"np": np, **other})
        _run(self.helpers, f"<fuzzed helpers {id(self)}>", helpers.__dict__)
        space = {
            "np": np, "math": math, "functools": functools, "collections": collections, "dataclasses": dataclasses,
            "contextlib": contextlib, **other, "helpers": helpers, "__name__": "fuzzed",
        }  # fmt: skip
        _run(self.main, f"<fuzzed module {id(self)}>", space)
        return space

    def _statement(self) -> str:
        if self.choose([True, False]):
            return super()._statement()
        names = list(self.values)
        a, b = self.choose(names[::-1]), self.choose(names)
        stateful = not self.pure and self.choose([True, False])
        template = self.choose(STATEFUL) if stateful else f"{{n}} = {self.choose(CALLS)}"
        return template.replace("{a}", a).replace("{b}", b)

    @property
    def whole(self) -> str:
        """The text of both modules and the function."""
        return f"# helpers\n{self.helpers}\n# the module\n{self.main}\n{self.text}"

    def function(self, **other: Any) -> Any:
        """The function over a fresh module."""
        ops = {name: value for name, value in self.space.items() if name not in self.defined}
        space = {**ops, **self._definitions(other), **other}
        # functions of the module have its globals: `f` must share them
        defined = space["count"].__globals__
        defined.update({name: value for name, value in space.items() if name not in defined})
        _run(self.text, f"<fuzzed {id(self)}>", defined)
        return defined["f"]


def _run(text: str, filename: str, space: dict[str, Any]) -> None:
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), space)


def _state(f: Any) -> Any:
    """What the module of a function holds now."""
    return described({name: f.__globals__[name] for name in STATE})


def _arguments(program: Program) -> list[list[Any]]:
    """The arguments of each call, the last as the first."""
    first = [np.copy(x) if np.ndim(x) else np.float64(x) for x in program.inputs]
    return [first, [x * 0.93 + 0.011 for x in first], [x * 1.04 - 0.017 for x in first], [x * 1.0 for x in first]]


def _moved(args: list[Any], directions: list[Any], step: float) -> list[Any]:
    return [x + step * d for x, d in zip(args, directions, strict=True)]


def _copies(args: list[Any]) -> list[Any]:
    return [np.copy(x) if np.ndim(x) else x for x in args]


def _slope(program: Module, calls: list[list[Any]], k: int, directions: list[Any], step: float) -> float:
    """The central difference of call `k`, on fresh modules that have seen the calls before it."""
    ends = []
    for sign in (step, -step):
        f = program.function()
        for args in calls[:k]:
            f(*_copies(args))
        ends.append(f(*_moved(calls[k], directions, sign)))
    return float(ends[0] - ends[1]) / (2 * step)


def module_problem(program: Module) -> str | None:
    """What is wrong with values, gradients or state of a module, eager or compiled; None: nothing; "": no smooth program."""
    calls = _arguments(program)
    single = "float32" in program.text
    rtol, digits = (1e-3, 1e-5) if single else (2e-5, 1e-9)
    directions = [np.cos(np.arange(np.size(x)) + k).reshape(np.shape(x))[()] for k, x in enumerate(calls[0])]
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        plain, values, states, slopes = program.function(), [], [], []
        for k, args in enumerate(calls):
            try:
                values.append(plain(*_copies(args)))
            except Exception:
                return ""  # what the calls before it made of the state
            if np.iscomplexobj(values[-1]):
                return ""  # no gradient
            states.append(_state(plain))
            steps = (1e-3, 2e-3) if single else (1e-5, 2e-5)
            one, other = (_slope(program, calls, k, directions, step) for step in steps)
            if not abs(one - other) <= 1e-3 * (1 + abs(one)) or not np.all(np.isfinite(values[-1])):
                return ""  # a kink
            slopes.append(one)
        found = {}
        transforms: dict[str, Callable[[Any], Any]] = {"eager": lambda g: g, "compiled": lambda g: gs.compile(g)}
        for mode, wrap in transforms.items():
            f = program.function()
            gradient = wrap(gs.value_and_grad(f, argnums=(0, 1)))
            found[mode] = []
            for k, args in enumerate(calls):
                try:
                    value, gradients = gradient(*_copies(args))
                except (np.linalg.LinAlgError, NotImplementedError, gs.GradientLossError) as error:
                    return f"{mode} call {k + 1} raises {error!r}" if isinstance(error, gs.GradientLossError) else ""
                if not close(value, values[k], digits):
                    return f"{mode} call {k + 1}: value {value!r}, plain {values[k]!r}"
                along = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
                size = sum(np.sum(np.abs(g * d)) for g, d in zip(gradients, directions, strict=True))
                if not np.isfinite(along):
                    return ""
                if not abs(along - slopes[k]) <= rtol * 10 * (1 + size):
                    return f"{mode} call {k + 1}: gradient along a direction {along!r}, differences {slopes[k]!r}"
                if not single and (now := _state(f)) != states[k]:
                    return f"{mode} call {k + 1}: state {now}\nplain {states[k]}"
                found[mode].append([value, *gradients])
        for k, (eager, compiled) in enumerate(zip(found["eager"], found["compiled"], strict=True)):
            alike = all(map(same, compiled, eager))
            if not alike and not (all(map(close, compiled, eager)) and _to_rounding(gradient, calls[k])):
                return f"call {k + 1}: compiled {compiled!r}, eager {eager!r}"
    for w in seen:
        text = str(w.message)
        if (issubclass(w.category, gs.EagerWarning) and "please report" in text) or "carries no gradient" in text:
            return text
    return None
