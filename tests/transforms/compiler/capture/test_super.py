"""`super` in every place where it is written: eager and compiled give what Python means by it, from the first call on."""

from __future__ import annotations

import math
import pathlib
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

pytestmark = pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # running eagerly is no loss

PLACES = {
    "method": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return {super_self}.f(x) * x
        call = B().f
        """,
    "class method": """
        class A:
            w = 2.0
            @classmethod
            def f(cls, x): return cls.w * K * math.sin(x)
        class B(A):
            w = 5.0
            @classmethod
            def f(cls, x): return {super_cls}.f(x) * x
        call = B.f
        """,
    "class method, by an object": """
        class A:
            w = 2.0
            @classmethod
            def f(cls, x): return cls.w * K * math.sin(x)
        class B(A):
            w = 5.0
            @classmethod
            def f(cls, x): return {super_cls}.f(x) * x
        b = B()
        def call(x): return b.f(x) + B.f(x)
        """,
    "class method of the base, by a method": """
        class A:
            w = 2.0
            @classmethod
            def f(cls, x): return cls.w * K * math.sin(x)
        class B(A):
            w = 5.0
            def f(self, x): return {super_self}.f(x) * x
        call = B().f
        """,
    "static method": """
        class A:
            @staticmethod
            def f(x): return K * math.sin(x)
        class B(A):
            @staticmethod
            def f(x): return super(B, B).f(x) * x
        def call(x): return B.f(x) + B().f(x)
        """,
    "static method of the base, by a method": """
        class A:
            @staticmethod
            def f(x): return K * math.sin(x)
        class B(A):
            def f(self, x): return {super_self}.f(x) * x
        call = B().f
        """,
    "property": """
        class A:
            def __init__(self): self.w = 2.0
            @property
            def p(self): return self.w * K
        class B(A):
            @property
            def p(self): return {super_self}.p * 3.0
        b = B()
        def call(x): return b.p * math.sin(x) * x
        """,
    "property of what is traced": """
        class A:
            def __init__(self, w): self.w = w
            @property
            def p(self): return math.sin(self.w) * K
        class B(A):
            @property
            def p(self): return {super_self}.p * self.w
        def call(x): return B(x).p
        """,
    "property of what is traced, kept outside": """
        class A:
            w = 1.0
            @property
            def p(self): return math.sin(self.w) * K
        class B(A):
            @property
            def p(self): return {super_self}.p * self.w
        b = B()
        def call(x):
            b.w = x
            return b.p
        """,
    "cached property": """
        import functools
        class A:
            def __init__(self, w): self.w = w
            @functools.cached_property
            def p(self): return math.sin(self.w) * K
        class B(A):
            @property
            def q(self): return {super_self}.p * self.w
        def call(x): return B(x).q
        """,
    "class attribute": """
        class A:
            w = 2.0
        class B(A):
            w = 3.0
            def f(self, x): return {super_self}.w * K * math.sin(x)
        call = B().f
        """,
    "class attribute, by a class method": """
        class A:
            w = 2.0
        class B(A):
            w = 3.0
            @classmethod
            def f(cls, x): return {super_cls}.w * K * math.sin(x)
        call = B.f
        """,
    "initialiser": """
        class A:
            def __init__(self, w): self.w = math.sin(w) * K
        class B(A):
            def __init__(self, w):
                {super_self}.__init__(w * w)
                self.h = 2.0
        def call(x): return B(x).w * B(x).h
        """,
    "constructor": """
        class A:
            def __new__(cls, w):
                made = object.__new__(cls)
                made.w = math.sin(w) * K
                return made
        class B(A):
            def __new__(cls, w): return {super_cls}.__new__(cls, w * w)
        def call(x): return B(x).w
        """,
    "three classes": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return super(B, self).f(x) * x
        class C(B):
            def f(self, x): return super(C, self).f(x) * x
        call = C().f
        """,
    "over the next class": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return 7.0 * x
        class C(B):
            def f(self, x): return super(B, self).f(x) * x
        call = C().f
        """,
    "diamond": """
        class A:
            def f(self, x): return K * math.sin(x)
        class L(A):
            def f(self, x): return super(L, self).f(x) * x
        class R(A):
            def f(self, x): return super(R, self).f(x) + x
        class C(L, R):
            def f(self, x): return super(C, self).f(x) * 2.0
        call = C().f
        """,
    "nested classes": """
        class Outer:
            class A:
                w = 2.0
                def f(self, x): return self.w * K * math.sin(x)
            class B(A):
                def f(self, x): return super(Outer.B, self).f(x) * x
                @classmethod
                def g(cls, x): return super(Outer.B, cls).f(cls(), x) * x
        def call(x): return Outer.B().f(x) + Outer.B.g(x)
        """,
    "class of a function": """
        def make():
            class A:
                w = 2.0
                def f(self, x): return self.w * K * math.sin(x)
            class B(A):
                def f(self, x): return {super_self}.f(x) * x
            return B()
        call = make().f
        """,
    "slots": """
        class A:
            __slots__ = ("w",)
            def __init__(self): self.w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
            @classmethod
            def g(cls, x): return K * math.cos(x)
        class B(A):
            __slots__ = ()
            def f(self, x): return {super_self}.f(x) * x
            @classmethod
            def g(cls, x): return {super_cls}.g(x) * x
        b = B()
        def call(x): return b.f(x) + b.g(x) + B.g(x)
        """,
    "special methods": """
        class A:
            w = 2.0
            def __call__(self, x): return self.w * K * math.sin(x)
            def __getitem__(self, x): return math.cos(x)
        class B(A):
            def __call__(self, x): return {super_self}.__call__(x) * x
            def __getitem__(self, x): return {super_self}.__getitem__(x) * x
        b = B()
        def call(x): return b(x) + b[x]
        """,
    "stored attribute": """
        class A:
            n = 0
            def f(self, x):
                self.n = self.n + 1
                return K * math.sin(x)
        class B(A):
            def f(self, x): return {super_self}.f(x) * x
        call = B().f
        """,
    "setter": """
        class A:
            v = 1.0
            def __setattr__(self, name, value): object.__setattr__(self, name, value * 2.0)
        class B(A):
            def __setattr__(self, name, value): {super_self}.__setattr__(name, math.sin(value))
        def call(x):
            b = B()
            b.v = x
            return b.v * K
        """,
    "a class read in a loop": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x):
                total = 0.0
                for k in range(3):
                    total = total + {super_self}.f(x) * x ** k
                return total
        call = B().f
        """,
    "in a comprehension": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return sum([super(B, self).f(x * k) for k in range(1, 3)])
        call = B().f
        """,
    "its own class": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return super(type(self), self).f(x) + super(self.__class__, self).f(x) * x
        call = B().f
        """,
    "other names": """
        import builtins
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        above = super
        class B(A):
            def f(self, x):
                mine = above(B, self)
                return mine.f(x) * builtins.super(B, self).f(x)
        call = B().f
        """,
    "abstract": """
        import abc
        class A(abc.ABC):
            @abc.abstractmethod
            def f(self, x): return K * math.sin(x)
        class B(A):
            def f(self, x): return {super_self}.f(x) * x
        call = B().f
        """,
    "getattr": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return getattr({super_self}, "f")(x) * x
        call = B().f
        """,
    "unbound": """
        class A:
            w = 2.0
            def f(self, x): return self.w * K * math.sin(x)
        class B(A):
            def f(self, x): return super(B).__get__(self).f(x) * x
        call = B().f
        """,
}
FORMS = {
    "two arguments": {"super_self": "super(B, self)", "super_cls": "super(B, cls)"},
    "no arguments": {"super_self": "super()", "super_cls": "super()"},
}
FORMS["two arguments, NumPy"] = FORMS["two arguments"]  # which takes what is traced where `math` would raise
CASES = [(p, f) for p, text in PLACES.items() for f in FORMS if "{super" in text or f != "no arguments"]


def made(place: str, form: str, file: pathlib.Path) -> dict[str, Any]:
    """Run the module of a case, whose source is in a file."""
    text = textwrap.dedent(PLACES[place].format(**FORMS[form]))
    text = text.replace("math.", "np.") if form.endswith("NumPy") else text
    file.write_text(text)
    space: dict[str, Any] = {"math": math, "np": np, "K": 1.5, "__name__": "of_the_user"}
    exec(compile(text, str(file), "exec"), space)
    return space


def differences(call: Callable[[float], Any], x: float) -> float:
    """Return the derivative of a plain function by central differences."""
    return float((call(x + 1e-6) - call(x - 1e-6)) / 2e-6)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize(("place", "form"), CASES)
def test_super_is_what_python_means(place: str, form: str, mode: str, tmp_path: pathlib.Path) -> None:
    space = made(place, form, tmp_path / "of_the_user.py")
    gradient = gs.grad(space["call"]) if mode == "eager" else gs.compile(gs.grad(space["call"]))
    for k, x in enumerate((0.3, 0.7, 1.1, -0.4)):
        space["K"] = 1.5 if k < 3 else 2.5  # read by the class above: a change of it is seen
        np.testing.assert_allclose(gradient(x), differences(space["call"], x), rtol=1e-6, err_msg=f"call {k}")
