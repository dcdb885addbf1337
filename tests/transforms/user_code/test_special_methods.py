"""Special methods of the user's classes that compute with `math`: run by builtins, operators and text, they keep gradients."""

from __future__ import annotations

import importlib
import pathlib
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe import EagerWarning

CLASSES = """
import math, operator
import numpy as np

class Wave:
    def __init__(self, v): self.v = v
    def _here(self, *rest): return math.sin(self.v) * math.exp(self.v)
    def _whole(self, *rest): return int(math.exp(self.v)) + 1
    def _yes(self, *rest): return math.sin(self.v) > 0.3
    def _text(self, *rest): return "a" * (1 + int(math.exp(self.v)))
    def _parts(self): return iter([math.sin(self.v), math.exp(self.v)])
    def _one(self, k):
        if k > 1: raise IndexError(k)
        return math.sin(self.v * (k + 1))
    def _two(self): return 2

class Held(Wave):
    def _grown(self, other):
        self.v = math.sin(self.v) * other
        return self
    __iadd__ = _grown

"""
# the special methods of a class, each as one of those above; what runs them of an `o`
RUN: dict[str, tuple[dict[str, str], str]] = {
    "abs": ({"__abs__": "_here"}, "abs(o)"),
    "operator.abs": ({"__abs__": "_here"}, "operator.abs(o)"),
    "map of abs": ({"__abs__": "_here"}, "sum(map(abs, [o, o]))"),
    "round": ({"__round__": "_here"}, "round(o)"),
    "round to digits": ({"__round__": "_here"}, "round(o, 2)"),
    "floor": ({"__floor__": "_here"}, "math.floor(o)"),
    "ceil": ({"__ceil__": "_here"}, "math.ceil(o)"),
    "trunc": ({"__trunc__": "_here"}, "math.trunc(o)"),
    "floor of a float": ({"__float__": "_here"}, "math.floor(o) * x[0]"),
    "divmod": ({"__divmod__": "_here"}, "divmod(o, 2)"),
    "divmod, reflected": ({"__rdivmod__": "_here"}, "divmod(2, o)"),
    "pow": ({"__pow__": "_here"}, "pow(o, 2)"),
    "operator.add": ({"__add__": "_here"}, "operator.add(o, 2)"),
    "operator.neg": ({"__neg__": "_here"}, "operator.neg(o)"),
    "reversed": ({"__reversed__": "_parts"}, "sum(reversed(o))"),
    "reversed by items": ({"__getitem__": "_one", "__len__": "_two"}, "sum(reversed(o))"),
    "next": ({"__next__": "_here"}, "next(o)"),
    "len": ({"__len__": "_whole"}, "len(o) * x[0]"),
    "int": ({"__int__": "_whole"}, "int(o) * x[0]"),
    "index": ({"__index__": "_whole"}, "operator.index(o) * x[0]"),
    "hash": ({"__hash__": "_whole"}, "hash(o) * x[0]"),
    "truth": ({"__bool__": "_yes"}, "(x[0] * 2 if o else x[0] * 3)"),
    "truth by length": ({"__len__": "_whole"}, "(x[0] * 2 if o else x[0] * 3)"),
    "not": ({"__bool__": "_yes"}, "(x[0] * 2 if not o else x[0] * 3)"),
    "and": ({"__bool__": "_yes"}, "(x[0] * 2 if x[0] > 0 and o else x[0] * 3)"),
    "bool": ({"__bool__": "_yes"}, "bool(o) * x[0]"),
    "truth in a comprehension": ({"__bool__": "_yes"}, "sum([x[0] for k in range(3) if o])"),
    "text": ({"__str__": "_text"}, "len(f'{o}') * x[0]"),
    "wide text": ({"__format__": "_text"}, "len(f'{o:>30}') * x[0]"),
    "text of a repr": ({"__repr__": "_text"}, "len(f'{o!r}') * x[0]"),
    "str": ({"__repr__": "_text"}, "len(str(o)) * x[0]"),
    "percent": ({"__str__": "_text"}, "len('%s' % o) * x[0]"),
    "percent of a dict": ({"__abs__": "_here"}, "len('%(a).3f' % {'a': x[0]}) * x[0]"),
    "percent of two": ({"__str__": "_text"}, "len('%s %s' % (o, 1)) * x[0]"),
    "format": ({"__str__": "_text"}, "len('{} {a}'.format(1, a=o)) * x[0]"),
    "format of an attribute": ({"__str__": "_text"}, "float('{0.v:.3f} {o.v}'.format(o, o=o)[:5]) * 0 + abs(x[0])"),
    "text of a list": ({"__repr__": "_text"}, "len(f'{[o, {1: (o,)}]}') * x[0]"),
    "unequal": ({"__eq__": "_yes"}, "(x[0] * 2 if o != 1 else x[0] * 3)"),
    "sum": ({"__radd__": "_here"}, "sum([o])"),
    "sum of several": ({"__add__": "_here"}, "sum([o], o)"),
    "print": ({"__str__": "_text"}, "(print(o), x[0])[1]"),
    "unpacked into a call": ({"__iter__": "_parts"}, "max(*o)"),
    "unpacked into a list": ({"__iter__": "_parts"}, "sum([*o, 1.0])"),
    "iterated by items": ({"__getitem__": "_one"}, "sum(o)"),
    "iterated by items in a loop": ({"__getitem__": "_one"}, "sum([v * v for v in o])"),
}
STATEMENTS = {
    "unpacked": ({"__iter__": "_parts"}, "a, b = o\n    return a * b * x[2]"),
    "unpacked by items": ({"__getitem__": "_one"}, "a, *b = o\n    return a * sum(b) * x[2]"),
    "added in place": ({"__iadd__": "_here"}, "o += 1\n    return o * x[2]"),
    "added in place, by what adds": ({"__add__": "_here"}, "o += 1\n    return o * x[2]"),
    "added in place, reflected": ({"__radd__": "_here"}, "t = 1.0\n    t += o\n    return t * x[2]"),
    "multiplied in place": ({"__imul__": "_here"}, "o *= 2\n    return o * x[2]"),
    "changed in place": ({}, "h = Held(x[0])\n    k = h\n    h += x[1]\n    return k.v * x[2]"),
    "while": ({"__bool__": "_yes"}, "k = 0\n    while o and k < 3:\n        o.v = o.v * 0.5\n        k += 1\n    return o.v * k"),
    "assert": ({"__bool__": "_yes"}, "o.v = x[0] * 0 + 1.0\n    assert o\n    return x[0] * x[1]"),
    "yielded from": ({"__iter__": "_parts"}, "def g():\n        yield from o\n    return sum(g()) * x[2]"),
    "the body of a class": ({}, "class L:\n        a = float(x[0]) * 2\n        b = math.sin(x[1]) * a\n    return L.b * x[2]"),
}  # fmt: skip
CASES = {name: (methods, f"return ({what}) * x[2]") for name, (methods, what) in RUN.items()} | STATEMENTS
METHODS = [  # classes whose bodies stand in methods
    "class L:\n            a = float(x[0]) * 2\n        return L.a * math.sin(x[1]) * x[2]",
    "class L:\n            a = math.sin(x[0])\n            b = [math.exp(v) for v in x]\n        return L.a * L.b[1] * x[2]",
]
ORDERS = {
    "sorted": "sorted(vs)[0]", "max": "max(vs)", "min": "min(*vs)", "sorted, reversed": "sorted(vs, reverse=True)[0]",
    "by a key": "max(vs, key=abs)",
}  # fmt: skip
POINTS = [np.array([0.5, 1.2, -0.3]), np.array([0.9, 0.8, 0.7]), np.array([0.7, 0.3, 2.3])]


def text_of(name: str) -> str:
    methods, body = CASES[name]
    rows = "".join(f"    {special} = Wave.{ours}\n" for special, ours in methods.items())
    return f"{CLASSES}class C(Wave):\n    pass\n{rows}\ndef f(x):\n    o = C(x[0] * x[1])\n    {body}\n"


def slope(f: Callable[[Any], float], x: Any) -> Any:
    h = 1e-6
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


WITHOUT_SOURCE = [
    name for name in CASES if name != "the body of a class"
]  # which Python runs past all that is rewritten


@pytest.mark.parametrize(
    ("name", "source"), [*((name, "file") for name in CASES), *((name, "none") for name in WITHOUT_SOURCE)]
)
def test_the_gradient_is_kept(name: str, source: str, tmp_path: Any) -> None:
    text = text_of(name)
    path = tmp_path / "waves.py"
    if source == "file":
        path.write_text(text)
    module: Any = types.ModuleType("waves")
    exec(compile(text, str(path) if source == "file" else "<none>", "exec"), vars(module))
    gradient = gs.grad(module.f)
    compiled = gs.compile(gs.grad(module.f))
    for x in POINTS:
        expected = slope(module.f, x)
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EagerWarning)
            np.testing.assert_array_equal(compiled(x), gradient(x))


@pytest.mark.parametrize("body", METHODS)
def test_the_body_of_a_class_in_a_method_keeps_the_gradient(body: str, tmp_path: Any) -> None:
    path = tmp_path / "bodies.py"
    path.write_text(
        f"{CLASSES}class C:\n    def run(self, x):\n        {body}\n\nc = C()\ndef f(x):\n    return c.run(x)\n"
    )
    module: Any = types.ModuleType("bodies")
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    for x in POINTS:
        np.testing.assert_allclose(gs.grad(module.f)(x), slope(module.f, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_computes_keeps_the_gradient(name: str) -> None:
    text = (
        "    def __abs__(self): return math.hypot(self.v, 0.0)\n    def __lt__(self, other): return abs(self) < abs(other)\n"
        f"def f(x):\n    vs = [Vec(v) for v in x]\n    return {ORDERS[name]}.v ** 2\n"
    )
    space: dict[str, Any] = {"__name__": "vectors"}
    exec(f"{CLASSES}class Vec(Wave):\n{text}", space)
    for x in POINTS:
        np.testing.assert_allclose(gs.grad(space["f"])(x), slope(space["f"], x), rtol=1e-6, atol=1e-7)


PAIR = """
import math
class Pair:
    def __init__(self, x, y): self.x, self.y = x, y
    def __iter__(self): yield math.sin(self.x); yield self.y
    def __add__(self, other): return Pair(self.x + other.x, self.y + other.y)
    def __lt__(self, other): return math.hypot(*self) < math.hypot(*other)
def f(x):
    a, b = Pair(x, 2.0), Pair(x * x, x)
    total = sum([a, b], Pair(0.0, 1.0))
    return max(a, b).x * min(a, b, Pair(9.0, 9.0)).y + sum(a) * max(b) + total.x * total.y + len([*a]) + dict([(1, x)])[1]
"""


@pytest.mark.parametrize("source", ["file", "none"])
def test_objects_that_can_be_run_over_are_compared_and_summed_as_they_are(source: str, tmp_path: Any) -> None:
    path = tmp_path / "pairs.py"
    path.write_text(PAIR)
    module: Any = types.ModuleType("pairs")
    exec(compile(PAIR, str(path) if source == "file" else "<none>", "exec"), vars(module))
    for x in (0.7, 1.9):
        expected = (module.f(x + 1e-6) - module.f(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(gs.grad(module.f)(x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("broken", ["len(o)", "abs(o)", "next(o)", "bool(o)", "reversed(o)", "'%d' % o"])
def test_errors_are_pythons(broken: str) -> None:
    space: dict[str, Any] = {}
    body = f"class C:\n    def __len__(self): return -1\ndef f(x):\n    o = C()\n    {broken}\n    return x\n"
    exec(body, space)
    with pytest.raises((TypeError, ValueError)) as plain:
        space["f"](1.0)
    with pytest.raises(plain.type) as found:
        gs.grad(space["f"])(1.0)
    assert str(found.value).splitlines()[0] == str(plain.value)


LIBRARY = """
import abc
import math

import numpy as np


class Turn:
    def __init__(self, a, b):
        self.parts = np.array([a, b])

    def __mul__(self, other):
        a, b = self.parts
        c, d = other.parts
        return Turn(a * c - b * d, math.fma(a, d, b * c) if hasattr(math, "fma") else math.fsum([a * d, b * c]))


UNIT = Turn(1.0, 0.5)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Ring(Shape):
    def __init__(self, r):
        self.outer = math.exp(r)

    def area(self):
        return self.outer**2
"""
PROGRAM = """
import a_library
from a_library import UNIT


def products(x):
    both = a_library.Turn(x[0], x[1]) * a_library.Turn(x[1], 2.0) * UNIT
    return both.parts[0] * both.parts[1] + UNIT.parts[1]


def rings(x):
    return a_library.Ring(x[0]).area() * x[1]
"""


@pytest.mark.parametrize("name", ["products", "rings"])
@pytest.mark.parametrize("compiled", [False, True])
def test_classes_of_a_module_that_is_imported_whole(
    name: str, compiled: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, text in (("a_library", LIBRARY), ("a_program", PROGRAM)):
        (tmp_path / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    f = getattr(importlib.import_module("a_program"), name)
    gradient = gs.compile(gs.grad(f)) if compiled else gs.grad(f)
    for x in (np.array([0.4, 0.7]), np.array([0.5, 0.6])):
        expected = [(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(2) * 1e-6]
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-7)


def test_a_class_of_a_library_may_be_asked_for_in_compiled_code() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * x) if not isinstance(x, pytest.Item) else x

    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.EagerWarning)
        np.testing.assert_allclose(gs.compile(gs.grad(f))(np.array([0.4, 0.7])), [0.8, 1.4])
