"""Special methods of the user's classes that compute with `math`: run by builtins, operators and text, they keep gradients."""

from __future__ import annotations

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
