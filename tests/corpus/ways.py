"""Ways in which a value can reach a function from outside its arguments: each yields the function, then changes the value."""

from __future__ import annotations

import array
import builtins
import collections
import contextlib
import contextvars
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import itertools
import operator
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

__all__ = ["WAYS", "Way"]

Way = Callable[[], Iterator[Any]]
WAYS: dict[str, Way] = {}
VALUES = (2.0, 3.0, -1.5)
A, B, C = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 4.0]), np.array([2.0, 2.0, 5.0])
K: Any = 2.0
W: Any = A
HELPER: Any = None


def way(case: Way) -> Way:
    WAYS[case.__name__] = case
    return case


class Box:
    """A plain object."""

    def __init__(self, **names: Any) -> None:
        vars(self).update(names)


# Globals, closures, modules ------------------------------------------------------------------------------------------


@way
def global_number() -> Iterator[Any]:
    global K
    K = 2.0
    yield lambda x: np.sum(x * K)
    for K in (3.0, 3, np.float32(0.5), True, -0.0, 0.0, 1e300, 1j * 0 + 2.0):  # noqa: B007
        yield


@way
def global_array() -> Iterator[Any]:
    global W
    W = A.copy()
    yield lambda x: np.sum(np.sin(x) * W)
    W[1] = 9.0
    yield
    W = B.copy()
    yield
    W = B.astype(np.float32)
    yield
    W = np.stack([A, B])
    yield
    W = np.asfortranarray(np.stack([A, B, C]))
    yield
    W = 4.0
    yield


@way
def global_that_is_deleted() -> Iterator[Any]:
    global K
    K = 2.0
    yield lambda x: np.sum(x * K)
    del K
    yield
    K = 3.0
    yield


@way
def global_that_hides_a_builtin() -> Iterator[Any]:
    yield lambda x: np.sum(x) * abs(-2.0)
    try:
        globals()["abs"] = lambda v: v * 5
        yield
    finally:
        del globals()["abs"]
    yield


@way
def builtin_that_is_replaced() -> Iterator[Any]:
    yield lambda x: np.sum(x) * divmod(7, 2)[0]
    before = builtins.divmod
    try:
        builtins.divmod = lambda a, b: (5, 5)
        yield
    finally:
        builtins.divmod = before
    yield


def _scaled(x: Any) -> Any:
    return x * K


@way
def global_of_a_helper() -> Iterator[Any]:
    global K
    K = 2.0
    yield lambda x: np.sum(_scaled(x))
    for K in VALUES:  # noqa: B007
        yield


@way
def helper_that_is_replaced() -> Iterator[Any]:
    global HELPER
    HELPER = lambda x: x * 2
    yield lambda x: np.sum(HELPER(x))
    HELPER = np.sin
    yield
    HELPER = lambda x: x * 3
    yield
    HELPER = functools.partial(np.power, 2.0)
    yield


@way
def closure_number() -> Iterator[Any]:
    k = 2.0

    def f(x: Any) -> Any:
        return np.sum(x * k)

    yield f
    for k in (3.0, 3, np.float32(0.5), None, -1.0):  # noqa: B007
        yield


@way
def closure_array() -> Iterator[Any]:
    w = A.copy()

    def f(x: Any) -> Any:
        return np.sum(np.cos(x) * w)

    yield f
    w[:] = 7.0
    yield
    w = B[::-1]
    yield
    w = np.array(2.0)
    yield
    w = np.arange(3)
    yield


@way
def closure_of_a_helper_two_deep() -> Iterator[Any]:
    k = 2.0

    def inner(x: Any) -> Any:
        return lambda: x * k

    def f(x: Any) -> Any:
        return np.sum(inner(x)())

    yield f
    for k in VALUES:  # noqa: B007
        yield


@way
def module_attribute() -> Iterator[Any]:
    module = types.ModuleType("my_settings")
    module.k = 2.0
    yield lambda x: np.sum(x * module.k)
    for module.k in (3.0, A, B):
        yield


@way
def module_in_sys_modules() -> Iterator[Any]:
    module = sys.modules["my_settings_two"] = types.ModuleType("my_settings_two")
    module.k = 2.0

    def f(x: Any) -> Any:
        import my_settings_two  # type: ignore[import-not-found]

        return np.sum(x * my_settings_two.k)

    try:
        yield f
        module.k = 3.0
        yield
        sys.modules["my_settings_two"] = Box(k=5.0)  # type: ignore[assignment]
        yield
    finally:
        del sys.modules["my_settings_two"]


@way
def module_looked_up_in_sys_modules() -> Iterator[Any]:
    module = sys.modules["my_settings_three"] = types.ModuleType("my_settings_three")
    module.k = 2.0
    try:
        yield lambda x: np.sum(x * sys.modules["my_settings_three"].k)
        module.k = 3.0
        yield
    finally:
        del sys.modules["my_settings_three"]


@way
def module_with_a_getattr() -> Iterator[Any]:
    module = types.ModuleType("my_lazy")
    k = 2.0
    module.__getattr__ = lambda name: k  # type: ignore[method-assign]
    yield lambda x: np.sum(x * module.k)
    k = 3.0
    yield


@way
def globals_as_a_dict() -> Iterator[Any]:
    global K
    K = 2.0
    yield lambda x: np.sum(x * globals()["K"])
    for K in VALUES:  # noqa: B007
        yield


@way
def text_that_is_evaluated() -> Iterator[Any]:
    global K
    K = 2.0
    yield lambda x: np.sum(x * eval("K"))
    for K in VALUES:  # noqa: B007
        yield


# Defaults, attributes and code of functions -------------------------------------------------------------------------


@way
def default_of_a_parameter() -> Iterator[Any]:
    def f(x: Any, k: Any = 2.0) -> Any:
        return np.sum(x * k)

    yield f
    for k in (3.0, A, B):
        f.__defaults__ = (k,)
        yield


@way
def default_of_a_helper() -> Iterator[Any]:
    def helper(x: Any, *, k: Any = 2.0) -> Any:
        return x * k

    yield lambda x: np.sum(helper(x))
    for k in (3.0, 4.0):
        helper.__kwdefaults__ = {"k": k}
        yield
    helper.__kwdefaults__["k"] = 7.0
    yield


@way
def default_that_is_a_list() -> Iterator[Any]:
    ks = [2.0]

    def f(x: Any, ks: Any = ks) -> Any:
        return np.sum(x * ks[0])

    yield f
    for ks[0] in (3.0, A, B):
        yield


@way
def default_that_is_an_array() -> Iterator[Any]:
    w = A.copy()

    def f(x: Any, w: Any = w) -> Any:
        return np.sum(x * w)

    yield f
    w[0] = 11.0
    yield


@way
def default_of_a_lambda_inside() -> Iterator[Any]:
    k = 2.0

    def f(x: Any) -> Any:
        g = lambda v, k=k: v * k
        return np.sum(g(x))

    yield f
    for k in VALUES:  # noqa: B007
        yield


@way
def attribute_of_a_function() -> Iterator[Any]:
    def f(x: Any) -> Any:
        return np.sum(x * helper.k)

    def helper() -> None: ...

    helper.k = 2.0  # type: ignore[attr-defined]
    yield f
    for helper.k in VALUES:  # type: ignore[attr-defined]
        yield


@way
def attribute_of_the_function_itself() -> Iterator[Any]:
    def f(x: Any) -> Any:
        return np.sum(x * f.k)  # type: ignore[attr-defined]

    f.k = 2.0  # type: ignore[attr-defined]
    yield f
    for f.k in VALUES:  # type: ignore[attr-defined]
        yield


@way
def code_of_a_helper() -> Iterator[Any]:
    def helper(x: Any) -> Any:
        return x * 2

    yield lambda x: np.sum(helper(x))
    helper.__code__ = (lambda x: x * 3).__code__
    yield


@way
def code_of_the_function_itself() -> Iterator[Any]:
    def f(x: Any) -> Any:
        return np.sum(x * 2)

    yield f
    f.__code__ = (lambda x: np.sum(x * 3)).__code__
    yield


@way
def decorated_helper() -> Iterator[Any]:
    k = 2.0

    def twice(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) * k

        return call

    @twice
    def helper(x: Any) -> Any:
        return x + 1

    yield lambda x: np.sum(helper(x))
    for k in VALUES:  # noqa: B007
        yield


@way
def cached_helper() -> Iterator[Any]:
    k = 2.0

    @functools.lru_cache
    def factor(n: int) -> Any:
        return n * k

    yield lambda x: np.sum(x * factor(2))
    k = 3.0
    yield
    factor.cache_clear()
    yield


@way
def singledispatch_helper() -> Iterator[Any]:
    @functools.singledispatch
    def factor(n: Any) -> Any:
        return 2.0

    yield lambda x: np.sum(x * factor(2))
    factor.register(int, lambda n: 5.0)
    yield


@way
def partial_that_holds_a_list() -> Iterator[Any]:
    ks = [2.0]
    yield functools.partial(lambda ks, x: np.sum(x * ks[0]), ks)
    for ks[0] in (3.0, A, B):
        yield


@way
def keywords_of_a_partial() -> Iterator[Any]:
    p = functools.partial(lambda x, k: np.sum(x * k), k=2.0)
    yield p
    for p.keywords["k"] in (3.0, A, B):
        yield


@way
def partial_as_a_helper() -> Iterator[Any]:
    p = functools.partial(lambda x, k: x * k, k=2.0)
    yield lambda x: np.sum(p(x))
    for p.keywords["k"] in (3.0, A, B):
        yield


@way
def nested_partials() -> Iterator[Any]:
    box = Box(k=2.0)
    inner = functools.partial(lambda box, y, x: np.sum(x * y * box.k), box)
    yield functools.partial(inner, 3.0)
    for box.k in VALUES:
        yield


# Objects ------------------------------------------------------------------------------------------------------------


@way
def attribute() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * box.k)
    for box.k in (3.0, A, B, 2, None):
        yield


@way
def attribute_that_changes_at_every_step() -> Iterator[Any]:
    box = Box(rate=0.5, step=0)
    yield lambda x: np.sum(x * box.rate) + np.sum(x) * box.rate
    for box.rate in np.linspace(0.1, 0.9, 25).tolist():
        yield


@way
def attribute_that_is_deleted() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * getattr(box, "k", 5.0))
    del box.k
    yield
    box.k = 7.0
    yield


@way
def attribute_of_an_attribute() -> Iterator[Any]:
    box = Box(inner=Box(w=A))
    yield lambda x: np.sum(x * box.inner.w)
    box.inner.w = B
    yield
    box.inner = Box(w=C)
    yield
    box.inner = Box(w=2.0)
    yield


@way
def attribute_by_name() -> Iterator[Any]:
    box, name = Box(k=2.0, h=3.0), "k"

    def f(x: Any) -> Any:
        return np.sum(x * getattr(box, name))

    yield f
    box.k = 4.0
    yield
    name = "h"
    yield
    box.h = 9.0
    yield


@way
def attribute_by_attrgetter() -> Iterator[Any]:
    box = Box(k=2.0)
    get = operator.attrgetter("k")
    yield lambda x: np.sum(x * get(box))
    for box.k in VALUES:
        yield


@way
def attribute_by_attrgetter_made_inside() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * operator.attrgetter("k")(box))
    for box.k in VALUES:
        yield


@way
def attributes_as_a_dict() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * vars(box)["k"])
    for box.k in VALUES:
        yield


@way
def dict_of_an_object() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * box.__dict__["k"])
    for box.k in VALUES:
        yield


@way
def dict_of_an_object_that_is_replaced() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x * box.k)
    box.__dict__ = {"k": 5.0}
    yield


@way
def slot() -> Iterator[Any]:
    class Slotted:
        __slots__ = ("k",)

    box = Slotted()
    box.k = 2.0  # type: ignore[attr-defined]
    yield lambda x: np.sum(x * box.k)  # type: ignore[attr-defined]
    for box.k in (3.0, A, B):  # type: ignore[attr-defined]
        yield


@way
def namespace() -> Iterator[Any]:
    box = types.SimpleNamespace(k=2.0)
    yield lambda x: np.sum(x * box.k)
    for box.k in (3.0, A, B):
        yield


@way
def dataclass_field() -> Iterator[Any]:
    @dataclasses.dataclass
    class Settings:
        k: Any
        c: ClassVar[float] = 2.0

    box = Settings(2.0)
    yield lambda x: np.sum(x * box.k) * box.c
    for box.k in (3.0, A, B):
        yield
    Settings.c = 9.0
    yield


@way
def class_attribute() -> Iterator[Any]:
    class Base:
        k: Any = 2.0

    class Derived(Base):
        pass

    box = Derived()
    yield lambda x: np.sum(x * box.k)
    Base.k = 3.0
    yield
    Derived.k = A
    yield
    box.k = 7.0
    yield
    del box.k
    yield


@way
def class_attribute_read_of_the_class() -> Iterator[Any]:
    class Settings:
        k: Any = 2.0

    yield lambda x: np.sum(x * Settings.k)
    for Settings.k in (3.0, A, B):
        yield


@way
def class_attribute_by_type() -> Iterator[Any]:
    class Settings:
        k: Any = 2.0

    box = Settings()
    yield lambda x: np.sum(x * type(box).k)
    for Settings.k in VALUES:
        yield


@way
def method_that_is_replaced() -> Iterator[Any]:
    class Model:
        def scale(self, x: Any) -> Any:
            return x * 2

    model = Model()
    yield lambda x: np.sum(model.scale(x))
    Model.scale = lambda self, x: x * 3  # type: ignore[method-assign]
    yield
    model.scale = lambda x: x * 4  # type: ignore[method-assign]
    yield


@way
def bound_method() -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.w = A

        def loss(self, x: Any) -> Any:
            return np.sum(x * self.w)

    model = Model()
    yield model.loss
    for model.w in (B, C, 2.0):
        yield


@way
def inherited_method() -> Iterator[Any]:
    class Base:
        def scale(self) -> Any:
            return 2.0

    class Derived(Base):
        def scale(self) -> Any:
            return super().scale() * 3

    model = Derived()
    yield lambda x: np.sum(x * model.scale())
    Base.scale = lambda self: 5.0  # type: ignore[method-assign]
    yield
    del Derived.scale
    yield


@way
def bases_of_a_class() -> Iterator[Any]:
    class One:
        k = 2.0

    class Two:
        k = 3.0

    class Derived(One):
        pass

    model = Derived()
    yield lambda x: np.sum(x * model.k)
    Derived.__bases__ = (Two,)
    yield


@way
def class_of_an_object() -> Iterator[Any]:
    class One:
        k = 2.0

        def scale(self) -> Any:
            return self.k

    class Two:
        k = 3.0

        def scale(self) -> Any:
            return self.k * 2

    model: Any = One()
    yield lambda x: np.sum(x * model.scale())
    model.__class__ = Two
    yield


@way
def property_of_an_object() -> Iterator[Any]:
    class Model:
        half = 1.0

        @property
        def k(self) -> Any:
            return self.half * 2

    model = Model()
    yield lambda x: np.sum(x * model.k)
    model.half = 3.0
    yield
    Model.k = property(lambda self: 11.0)  # type: ignore[assignment, method-assign]
    yield


@way
def cached_property_of_an_object() -> Iterator[Any]:
    class Model:
        half = 1.0

        @functools.cached_property
        def k(self) -> Any:
            return self.half * 2

    model = Model()
    yield lambda x: np.sum(x * model.k)
    model.half = 3.0
    yield
    del model.k
    yield
    model.k = 13.0
    yield


@way
def static_and_class_methods() -> Iterator[Any]:
    class Model:
        k = 2.0

        @staticmethod
        def plus(x: Any) -> Any:
            return x + K

        @classmethod
        def times(cls, x: Any) -> Any:
            return x * cls.k

    global K
    K = 2.0
    model = Model()
    yield lambda x: np.sum(model.times(model.plus(x)))
    Model.k = 5.0
    yield
    K = 4.0
    yield
    Model.plus = staticmethod(lambda x: x - 1)  # type: ignore[assignment, method-assign]
    yield


@way
def descriptor() -> Iterator[Any]:
    class Constant:
        value = 2.0

        def __get__(self, obj: Any, cls: Any) -> Any:
            return self.value

    class Model:
        k = Constant()

    model = Model()
    yield lambda x: np.sum(x * model.k)
    Constant.value = 3.0
    yield


@way
def getattr_of_a_class() -> Iterator[Any]:
    state = {"k": 2.0}

    class Model:
        def __getattr__(self, name: str) -> Any:
            return state[name]

    model = Model()
    yield lambda x: np.sum(x * model.k)
    state["k"] = 3.0
    yield


@way
def special_methods() -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.ws = [A, B]

        def __len__(self) -> int:
            return len(self.ws)

        def __getitem__(self, k: int) -> Any:
            return self.ws[k]

        def __iter__(self) -> Any:
            return iter(self.ws)

        def __contains__(self, k: int) -> bool:
            return k < len(self.ws)

        def __bool__(self) -> bool:
            return len(self.ws) > 1

        def __call__(self, x: Any) -> Any:
            return x * self.ws[0]

    model = Model()

    def f(x: Any) -> Any:
        whole = np.sum(x * model[0]) * len(model) + sum(np.sum(w * x) for w in model)
        return whole + (2 in model) + bool(model) + np.sum(model(x))

    yield f
    model.ws.append(C)
    yield
    model.ws[0] = B
    yield
    del model.ws[1:]
    yield
    Model.__len__ = lambda self: 17  # type: ignore[method-assign]
    yield


@way
def operators_of_a_class() -> Iterator[Any]:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def __rmul__(self, x: Any) -> Any:
            return x * self.k

        def __matmul__(self, x: Any) -> Any:
            return x * self.k

        __array_ufunc__ = None

    scale = Scale(2.0)
    yield lambda x: np.sum(x * scale) + np.sum(scale @ x)
    scale.k = 3.0
    yield
    Scale.__rmul__ = lambda self, x: x * 11.0  # type: ignore[method-assign]
    yield


@way
def object_in_the_closure_that_is_replaced() -> Iterator[Any]:
    box = Box(k=2.0)

    def f(x: Any) -> Any:
        return np.sum(x * box.k)

    yield f
    box = Box(k=3.0)
    yield
    box = types.SimpleNamespace(k=4.0)  # type: ignore[assignment]
    yield


@way
def one_object_under_two_names() -> Iterator[Any]:
    box = Box(k=2.0)
    other = box

    def f(x: Any) -> Any:
        return np.sum(x * box.k) + np.sum(x * other.k) + (box is other)

    yield f
    box.k = 3.0
    yield
    other = Box(k=7.0)
    yield


@way
def object_with_equality() -> Iterator[Any]:
    @dataclasses.dataclass
    class Point:
        k: float

    one, two = Point(2.0), Point(2.0)
    yield lambda x: np.sum(x) * (3.0 if one == two else 5.0)
    two.k = 4.0
    yield


@way
def object_made_inside() -> Iterator[Any]:
    class Point:
        offset = 1.0

        def __init__(self, k: Any) -> None:
            self.k = k + self.offset

        def scaled(self, x: Any) -> Any:
            return x * self.k

    yield lambda x: np.sum(Point(2.0).scaled(x))
    Point.offset = 5.0
    yield
    Point.scaled = lambda self, x: x - self.k  # type: ignore[method-assign]
    yield
    Point.__init__ = lambda self, k: setattr(self, "k", 3 * k)  # type: ignore[misc, method-assign]
    yield


@way
def objects_of_classes_with_all_sorts_of_members() -> Iterator[Any]:
    class Base:
        offset: Any = 1.0
        ws = [A, B]  # noqa: RUF012

        def __init__(self, k: Any) -> None:
            self.k = k * K

        @classmethod
        def made(cls, k: Any) -> Any:
            return cls(k + cls.offset)

        @staticmethod
        def half(x: Any) -> Any:
            return x / K

        @property
        def third(self) -> Any:
            return self.k / 3

        @third.setter
        def third(self, value: Any) -> None:
            self.k = value * 3

        @functools.cached_property
        def twice(self) -> Any:
            return self.k * self.offset

        def __add__(self, other: Any) -> Any:
            return type(self)(self.k + other.k)

        def __call__(self, x: Any) -> Any:
            return x * self.k

    class Derived(Base):
        def __init__(self, k: Any, h: Any = 2.0) -> None:
            super().__init__(k)
            self.h = h

        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * self.h + np.sum(self.ws[0])

    global K
    K = 2.0

    def f(x: Any) -> Any:
        one, two = Derived(x), Derived.made(x)
        both = one + two
        both.third = both.third + 1.0
        kinds = isinstance(both, Base) + 2 * isinstance(both, (int, Derived)) + 4 * issubclass(Derived, Base)
        kinds += 8 * isinstance(x, Base)
        return np.sum(both(x) * kinds + Base.half(both.twice) + both.twice)

    yield f
    K = 3.0
    yield
    Base.offset = 5.0
    yield
    Derived.offset = A
    yield
    Base.ws[0] = C
    yield
    Derived.__init__.__defaults__ = (7.0,)
    yield
    Base.third = property(lambda self: self.k, lambda self, v: setattr(self, "k", v))  # type: ignore[method-assign]
    yield
    Base.__add__ = lambda self, other: self  # type: ignore[method-assign]
    yield
    Derived.extra = 1  # type: ignore[attr-defined]
    yield
    del Derived.__call__
    yield
    Derived.__bases__ = (Base, Box)
    yield


@way
def base_that_is_called_by_name() -> Iterator[Any]:
    class Base:
        def __init__(self, k: Any) -> None:
            self.k = k

        def scaled(self, x: Any) -> Any:
            return x * self.k

    class Derived(Base):
        def __init__(self, k: Any) -> None:
            Base.__init__(self, k * 2)

        def scaled(self, x: Any) -> Any:
            return Base.scaled(self, x) + 1

    outer = Derived(3.0)
    yield lambda x: np.sum(Derived(2.0).scaled(x)) + np.sum(Base.scaled(outer, x))
    Base.__init__ = lambda self, k: setattr(self, "k", k + 1)  # type: ignore[misc, method-assign]
    yield
    outer.k = 9.0
    yield
    Base.scaled = lambda self, x: x - self.k  # type: ignore[method-assign]
    yield


@way
def dataclass_with_methods() -> Iterator[Any]:
    @dataclasses.dataclass
    class State:
        x: Any
        v: Any = 1.0

        def __post_init__(self) -> None:
            self.e = self.x * K

        def step(self, dt: Any) -> Any:
            return State(self.x + dt * self.v, self.v - dt * self.x)

    global K
    K = 2.0

    def f(x: Any) -> Any:
        state = State(x)
        for _ in range(3):
            state = state.step(0.1)
        return np.sum(state.x * state.e)

    yield f
    K = 3.0
    yield
    State.__init__.__defaults__ = (4.0,)
    yield
    State.step = lambda self, dt: self  # type: ignore[method-assign]
    yield


@way
def class_with_a_value_that_is_not_read() -> Iterator[Any]:
    class Model:
        log = iter([1, 2])
        k: Any = 2.0
        inner = Box(w=A)
        act = lambda self, v: np.sin(v) * self.k

        class Config:
            h: Any = 3.0

    def f(x: Any) -> Any:
        one = Model()
        return np.sum(one.act(x) * Model.inner.w) * one.Config.h * len(type(one).__name__)

    yield f
    Model.inner.w = B
    yield
    Model.Config.h = 5.0
    yield
    Model.act = lambda self, v: v  # type: ignore[method-assign, assignment]
    yield
    Model.__name__ = "Modelling"
    yield


@way
def object_made_inside_that_is_matched() -> Iterator[Any]:
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    def f(x: Any) -> Any:
        match Point(x, 2.0):
            case Point(a, 2.0):
                return np.sum(a)
            case Point(b=b):
                return np.sum(x) * b
            case _:
                return np.sum(x) * 9.0

    yield f
    Point.__match_args__ = ("b", "a")
    yield
    Point.__init__ = lambda self, a, b: None  # type: ignore[misc, method-assign]
    yield


@way
def hash_and_order_of_objects_made_inside() -> Iterator[Any]:
    k = 3

    class Key:
        def __init__(self, n: int) -> None:
            self.n = n

        def __hash__(self) -> int:
            return k

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.n % k == other.n % k

        def __lt__(self, other: Any) -> bool:
            return (self.n % k) < (other.n % k)

    def f(x: Any) -> Any:
        table = {Key(1): 2.0, Key(2): 5.0}
        return np.sum(x) * table.get(Key(4), 7.0) + sorted([Key(3), Key(2), Key(4)])[0].n

    yield f
    k = 2
    yield


@way
def exception_of_the_user() -> Iterator[Any]:
    class Wrong(Exception):
        factor = 2.0

    ks = {"k": 2.0}

    def f(x: Any) -> Any:
        try:
            if ks["k"] > 2.5:
                raise Wrong("no")
            return np.sum(x)
        except Wrong as error:
            return np.sum(x) * error.factor

    yield f
    ks["k"] = 3.0
    yield
    Wrong.factor = 5.0
    yield


@way
def generic_class() -> Iterator[Any]:
    import typing

    T = typing.TypeVar("T")

    class Stack(typing.Generic[T]):
        start: Any = 1.0

        def __init__(self) -> None:
            self.items: list[Any] = [self.start]

        def push(self, x: Any) -> Any:
            self.items.append(x)
            return self

    yield lambda x: np.sum(Stack().push(x).push(x * 2).items[-1]) * Stack().items[0]
    Stack.start = 4.0
    yield


@way
def objects_that_count() -> Iterator[Any]:
    step = 1

    class Depth:
        def __init__(self) -> None:
            self.n = 0

        def __enter__(self) -> Any:
            self.n += step
            return self

        def __exit__(self, *error: Any) -> None:
            self.n -= step

    def f(x: Any) -> Any:
        with Depth() as one, one as two:
            return np.sum(x) * two.n

    yield f
    step = 3
    yield


@way
def frozen_dataclass_with_methods() -> Iterator[Any]:
    @dataclasses.dataclass(frozen=True)
    class Point:
        x: Any
        k: Any = 2.0

        def scaled(self) -> Any:
            return self.x * self.k * K

    global K
    K = 2.0
    yield lambda x: np.sum(dataclasses.replace(Point(x), k=3.0).scaled()) + np.sum(copy.copy(Point(x)).scaled())
    K = 3.0
    yield
    Point.__init__.__defaults__ = (7.0,)
    yield


@way
def abstract_class() -> Iterator[Any]:
    import abc

    class Layer(abc.ABC):
        @abc.abstractmethod
        def __call__(self, x: Any) -> Any: ...

    class Scale(Layer):
        k = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.k

    layer = Scale()
    yield lambda x: np.sum(layer(x) * Scale()(x)) * (2.0 if isinstance(layer, Layer) else 3.0)
    Scale.k = 5.0
    yield
    layer.k = 4.0
    yield


@way
def class_that_is_replaced() -> Iterator[Any]:
    class Model:
        k: Any = 2.0

    def f(x: Any) -> Any:
        return np.sum(x * Model().k)

    yield f
    before = Model
    Model = type("Model", (), {"k": 5.0})  # type: ignore[misc]
    yield
    Model = before  # type: ignore[misc]
    yield


@way
def class_in_a_list() -> Iterator[Any]:
    class One:
        k = 2.0

    class Two:
        k = 3.0

    kinds: list[Any] = [One]
    yield lambda x: sum(np.sum(x * kind().k) for kind in kinds)
    kinds.append(Two)
    yield
    Two.k = 7.0
    yield


@way
def class_by_its_tree() -> Iterator[Any]:
    class Base:
        k = 1.0

    class One(Base):
        k = 2.0

    more = []
    yield lambda x: np.sum(x) * sum(c.k for c in Base.__subclasses__()) * len(Base.__subclasses__())
    more.append(type("Two", (Base,), {"k": 3.0}))
    yield


@way
def dataclass_made_inside() -> Iterator[Any]:
    @dataclasses.dataclass
    class Point:
        k: Any
        h: Any = 2.0

    yield lambda x: np.sum(dataclasses.replace(Point(x), h=3.0).k * Point(x).h)
    Point.__init__.__defaults__ = (7.0,)
    yield


@dataclasses.dataclass
class Given:
    w: Any
    k: Any = 2.0


@way
def class_of_an_argument() -> Iterator[Any]:
    yield lambda p: np.sum(p.w * p.k), Given
    try:
        Given.v = property(lambda self: self.w)  # type: ignore[attr-defined]
        yield
        Given.k = property(lambda self: 7.0, lambda self, v: None)  # type: ignore[assignment, method-assign]
        yield
    finally:
        del Given.v  # type: ignore[attr-defined]
        Given.k = 2.0
    yield


@way
def default_of_an_argument() -> Iterator[Any]:
    yield lambda p: np.sum(p.w * p.k), Given
    Given.__init__.__defaults__ = (5.0,)
    yield
    Given.__init__.__defaults__ = (2.0,)
    yield


@way
def attribute_of_an_argument() -> Iterator[Any]:
    box = Box(k=2.0)

    def made(x: Any) -> Any:
        box.x = x
        return box

    yield lambda b: np.sum(b.x * b.k), made
    for box.k in (3.0, A, B):
        yield


@way
def argument_in_place_of_another() -> Iterator[Any]:
    k: Any = 2.0
    yield lambda pair: np.sum(pair[0] * pair[1]), lambda x: (x, k)
    for k in (3.0, 3, np.float32(0.5), True, 1, A, B.astype(np.float32)):  # noqa: B007
        yield


@way
def function_as_an_argument() -> Iterator[Any]:
    k = 2.0
    helper = lambda x: x * k

    def g(pair: Any) -> Any:
        return np.sum(pair[1](pair[0]))

    yield g, lambda x: (x, helper)
    k = 3.0
    yield
    helper = lambda x: x * 5
    yield


@way
def named_tuple_made_inside() -> Iterator[Any]:
    class Pair(NamedTuple):
        a: Any
        b: Any = 2.0

    yield lambda x: np.sum(Pair(x).a * Pair(x).b)
    Pair.__new__.__defaults__ = (7.0,)
    yield


@way
def isinstance_of_a_class() -> Iterator[Any]:
    class Model:
        k = 2.0

    class Other:
        k = 2.0

    model: Any = Model()

    def f(x: Any) -> Any:
        return np.sum(x) * (model.k if isinstance(model, Model) else 9.0)

    yield f
    Model.k = 3.0
    yield
    model = Other()
    yield
    Model, Other = Other, Model  # type: ignore[misc]
    yield


@way
def enum_member() -> Iterator[Any]:
    class Mode(enum.Enum):
        FAST = 1
        SLOW = 2

    mode = Mode.FAST

    def f(x: Any) -> Any:
        return np.sum(x) * (2.0 if mode is Mode.FAST else 3.0) * mode.value

    yield f
    mode = Mode.SLOW
    yield


@way
def int_enum_member() -> Iterator[Any]:
    class Mode(enum.IntEnum):
        FAST = 1
        SLOW = 2

    box = Box(mode=Mode.FAST)
    yield lambda x: np.sum(x) * box.mode
    box.mode = Mode.SLOW
    yield


# Containers ---------------------------------------------------------------------------------------------------------


@way
def list_of_arrays() -> Iterator[Any]:
    ws = [A, B]
    yield lambda x: sum(np.sum(x * w) for w in ws)
    ws[0] = C
    yield
    ws.append(A)
    yield
    ws.reverse()
    yield
    ws.clear()
    yield
    ws += [2.0, A]
    yield


@way
def dict_of_arrays() -> Iterator[Any]:
    ws: dict[Any, Any] = {"a": A, "b": B}
    yield lambda x: sum(np.sum(x * w) * len(k) for k, w in ws.items())
    ws["a"] = C
    yield
    ws["long"] = A
    yield
    ws["b"] = ws.pop("b")
    yield
    del ws["a"]
    yield
    ws.update(a=3.0)
    yield


@way
def tuple_that_holds_a_list() -> Iterator[Any]:
    ks = [2.0]
    pair = (A, ks)
    yield lambda x: np.sum(x * pair[0]) * pair[1][0]
    for ks[0] in VALUES:
        yield


@way
def containers_in_containers() -> Iterator[Any]:
    tree: Any = {"layers": [{"w": A, "k": 2.0}, {"w": B, "k": 3.0}]}
    yield lambda x: sum(np.sum(x * p["w"]) * p["k"] for p in tree["layers"])
    tree["layers"][1]["k"] = 5.0
    yield
    tree["layers"][0]["w"] = C
    yield
    tree["layers"][0] = {"w": C, "k": 7.0}
    yield
    tree["layers"] = tree["layers"][::-1]
    yield


@way
def one_list_in_two_places() -> Iterator[Any]:
    ks = [2.0]
    tree = {"a": ks, "b": ks}
    yield lambda x: np.sum(x) * tree["a"][0] + (tree["a"] is tree["b"]) + tree["b"][0]
    ks[0] = 3.0
    yield
    tree["b"] = [3.0]
    yield


@way
def membership() -> Iterator[Any]:
    names = ["a"]
    yield lambda x: np.sum(x) * (2.0 if "b" in names else 3.0)
    names.append("b")
    yield


@way
def membership_of_a_dict() -> Iterator[Any]:
    options: dict[str, Any] = {}
    yield lambda x: np.sum(x) * options.get("k", 3.0) * (1 if options else 2)
    options["k"] = 4.0
    yield
    options["k"] = 5.0
    yield


@way
def set_of_names() -> Iterator[Any]:
    names = {"a"}
    yield lambda x: np.sum(x) * (2.0 if "b" in names else 3.0)
    names.add("b")
    yield


@way
def deque() -> Iterator[Any]:
    ks = collections.deque([2.0])
    yield lambda x: np.sum(x) * ks[0]
    ks[0] = 3.0
    yield


@way
def default_dict() -> Iterator[Any]:
    ks = collections.defaultdict(float, k=2.0)
    yield lambda x: np.sum(x) * ks["k"]
    ks["k"] = 3.0
    yield


@way
def ordered_dict() -> Iterator[Any]:
    ks = collections.OrderedDict(k=2.0)
    yield lambda x: np.sum(x) * ks["k"]
    ks["k"] = 3.0
    yield


@way
def counter() -> Iterator[Any]:
    ks = collections.Counter("aab")
    yield lambda x: np.sum(x) * ks["a"]
    ks["a"] += 1
    yield


@way
def chain_map() -> Iterator[Any]:
    inner = {"k": 2.0}
    ks = collections.ChainMap({}, inner)
    yield lambda x: np.sum(x) * ks["k"]
    inner["k"] = 3.0
    yield


@way
def view_of_a_dict() -> Iterator[Any]:
    inner = {"k": 2.0}
    ks = types.MappingProxyType(inner)
    values = inner.values()
    yield lambda x: np.sum(x) * ks["k"] + sum(values)
    inner["k"] = 3.0
    yield


@way
def bytes_in_memory() -> Iterator[Any]:
    data, view = bytearray(b"ab"), memoryview(bytearray(b"ab"))
    yield lambda x: np.sum(x) * data[0] * view[0]
    data[0] = 5
    yield
    view[0] = 7
    yield


@way
def array_of_the_standard_library() -> Iterator[Any]:
    data = array.array("d", [2.0])
    yield lambda x: np.sum(x) * data[0]
    data[0] = 3.0
    yield


@way
def list_of_functions() -> Iterator[Any]:
    layers: list[Any] = [np.sin, lambda x: x * 2]

    def f(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return np.sum(x)

    yield f
    layers[0] = np.cos
    yield
    layers.append(lambda x: x * 5)
    yield


@way
def dict_of_functions() -> Iterator[Any]:
    table: dict[str, Any] = {"f": np.sin}
    yield lambda x: np.sum(table["f"](x))
    table["f"] = lambda x: x * 3
    yield


@way
def list_of_objects() -> Iterator[Any]:
    boxes = [Box(w=A), Box(w=B)]
    yield lambda x: sum(np.sum(x * b.w) for b in boxes)
    boxes[1].w = C
    yield
    boxes.pop()
    yield


# Iterators, generators, tools ----------------------------------------------------------------------------------------


@way
def iterator() -> Iterator[Any]:
    ks = itertools.count(2)
    yield lambda x: np.sum(x) * next(ks)
    yield


@way
def generator() -> Iterator[Any]:
    ks = (float(k) for k in range(2, 100))
    yield lambda x: np.sum(x) * next(ks)
    yield


@way
def reduce() -> Iterator[Any]:
    ws = [A, B]
    k = 2.0
    yield lambda x: np.sum(functools.reduce(lambda a, b: a * b + k, [x, *ws]))
    ws[0] = C
    yield
    k = 3.0
    yield


@way
def map_filter_zip_sorted() -> Iterator[Any]:
    ks, ws = [3.0, 1.0, 2.0], [A, B, C]
    helper = lambda k: k * factor
    factor = 2.0

    def f(x: Any) -> Any:
        order = sorted(range(3), key=lambda k: ks[k])
        kept = list(filter(lambda k: ks[k] > 1, order))
        return sum(k * np.sum(x * ws[j]) for j, k in zip(kept, map(helper, ks), strict=False))

    yield f
    ks[0] = 0.5
    yield
    ws[1] = A
    yield
    factor = 5.0
    yield


@way
def any_all_min_max() -> Iterator[Any]:
    ks = [1.0, 2.0]
    yield lambda x: np.sum(x) * (2 if any(k > 2 for k in ks) else 3) * max(ks) * min(ks) * (2 if all(ks) else 5)
    ks[0] = 3.0
    yield
    ks[1] = 0.0
    yield


@way
def itemgetter() -> Iterator[Any]:
    ks = {"k": 2.0}
    yield lambda x: np.sum(x) * operator.itemgetter("k")(ks)
    ks["k"] = 3.0
    yield


@way
def methodcaller() -> Iterator[Any]:
    class Model:
        k = 2.0

        def scale(self) -> Any:
            return self.k

    model = Model()
    yield lambda x: np.sum(x) * operator.methodcaller("scale")(model)
    model.k = 3.0
    yield


@way
def context_manager() -> Iterator[Any]:
    k = 2.0

    class Doubling:
        def __enter__(self) -> Any:
            return k

        def __exit__(self, *error: Any) -> None: ...

    @contextlib.contextmanager
    def tripling() -> Iterator[Any]:
        yield k * 3

    def f(x: Any) -> Any:
        with Doubling() as a, tripling() as b:
            return np.sum(x) * a * b

    yield f
    for k in VALUES:  # noqa: B007
        yield


@way
def try_and_finally() -> Iterator[Any]:
    ks = {"k": 2.0}

    def f(x: Any) -> Any:
        try:
            k = ks["k"]
        except KeyError:
            k = 7.0
        finally:
            x = x * 2
        return np.sum(x) * k

    yield f
    del ks["k"]
    yield
    ks["k"] = 3.0
    yield


@way
def generator_function() -> Iterator[Any]:
    ws = [A, B]
    k = 2.0

    def terms(x: Any) -> Iterator[Any]:
        for w in ws:
            yield np.sum(x * w) * k

    yield lambda x: sum(terms(x))
    ws[1] = C
    yield
    k = 3.0
    yield


@way
def comprehensions() -> Iterator[Any]:
    ws = {"a": A, "b": B}
    ks = {1.0, 2.0}
    yield lambda x: sum({k: np.sum(w * x) for k, w in ws.items()}.values()) * max({k * 2 for k in ks})
    ws["a"] = C
    yield
    ks.add(5.0)
    yield


@way
def star_arguments() -> Iterator[Any]:
    args, kwargs = [2.0, 3.0], {"c": 4.0}

    def helper(a: Any, b: Any, *, c: Any) -> Any:
        return a * b + c

    yield lambda x: np.sum(helper(x, *args[1:], **kwargs))
    args[1] = 5.0
    yield
    kwargs["c"] = 7.0
    yield


# State of Python, NumPy and the machine -----------------------------------------------------------------------------


@way
def environment_variable() -> Iterator[Any]:
    os.environ["GRADSCRIBE_TEST_K"] = "2"
    try:
        yield lambda x: np.sum(x) * float(os.environ["GRADSCRIBE_TEST_K"])
        os.environ["GRADSCRIBE_TEST_K"] = "3"
        yield
        yield
    finally:
        del os.environ["GRADSCRIBE_TEST_K"]


@way
def context_variable() -> Iterator[Any]:
    k = contextvars.ContextVar("k", default=2.0)
    yield lambda x: np.sum(x) * k.get()
    k.set(3.0)
    yield


@way
def thread_local() -> Iterator[Any]:
    box = threading.local()
    box.k = 2.0
    yield lambda x: np.sum(x) * box.k
    box.k = 3.0
    yield


@way
def random_generator() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    yield lambda x: np.sum(x * rng.normal(size=3))
    yield


@way
def random_state_of_numpy() -> Iterator[Any]:
    np.random.seed(0)
    yield lambda x: np.sum(x * np.random.normal(size=3))
    np.random.seed(3)
    yield


@way
def setting_of_numpy() -> Iterator[Any]:
    before = np.geterr()["under"]
    try:
        yield lambda x: np.sum(x) * (2.0 if np.geterr()["under"] == before else 3.0)
        np.seterr(under="warn" if before != "warn" else "ignore")
        yield
    finally:
        np.seterr(under=before)


@way
def buffer_size_of_numpy() -> Iterator[Any]:
    before = np.getbufsize()
    try:
        yield lambda x: np.sum(x) * np.getbufsize()
        np.setbufsize(16)
        yield
    finally:
        np.setbufsize(before)


@way
def print_options_of_numpy() -> Iterator[Any]:
    with np.printoptions(precision=8):
        yield lambda x: np.sum(x) * np.get_printoptions()["precision"]
        np.set_printoptions(precision=3)
        yield


@way
def setting_of_scipy() -> Iterator[Any]:
    from scipy import special

    before = special.geterr()
    try:
        yield lambda x: np.sum(x) * (2.0 if special.geterr()["singular"] == "raise" else 3.0)
        special.seterr(singular="raise")
        yield
    finally:
        special.seterr(**before)


@way
def workers_of_scipy() -> Iterator[Any]:
    from scipy import fft

    with fft.set_workers(1):
        yield lambda x: np.sum(x) * fft.get_workers()
        with fft.set_workers(2):
            yield


@way
def numbers_of_other_types() -> Iterator[Any]:
    third, half = fractions.Fraction(1, 3), decimal.Decimal("0.5")

    def f(x: Any) -> Any:
        return np.sum(x) * float(third) * float(half)

    yield f
    third = fractions.Fraction(2, 3)
    yield
    half = decimal.Decimal("1.5")
    yield


@way
def vectorized_helper() -> Iterator[Any]:
    k = 2.0
    helper = np.vectorize(lambda v: v * k)
    yield lambda x: np.sum(x * helper(A))
    k = 3.0
    yield


@way
def applied_along_an_axis() -> Iterator[Any]:
    k, w = 2.0, np.stack([A, B])
    yield lambda x: np.sum(x * np.apply_along_axis(lambda v: v * k, 1, w))
    k = 3.0
    yield
    w[0, 0] = 50.0
    yield


@way
def array_by_way_of_a_view() -> Iterator[Any]:
    base = np.arange(6.0)
    view = base[::2]
    yield lambda x: np.sum(x * view)
    base[0] = 100.0
    yield


@way
def array_read_as_numbers() -> Iterator[Any]:
    w = A.copy()
    yield lambda x: np.sum(x) * float(w[0]) * (2.0 if w[1] > 0 else 3.0) * w.tolist()[2]
    w[0] = 7.0
    yield
    w[1] = -1.0
    yield
    w[2] = 9.0
    yield


@way
def array_as_an_index() -> Iterator[Any]:
    index, mask, n = np.array([0, 2]), np.array([True, False, True]), np.array(2)
    yield lambda x: np.sum(x[index]) + np.sum(x[mask]) * 2 + np.sum(x[: int(n)]) * 3
    index[0] = 1
    yield
    mask[1] = True
    yield
    n[...] = 1
    yield


@way
def array_by_its_buffer() -> Iterator[Any]:
    data = bytearray(np.array([1.0, 2.0, 3.0]).tobytes())
    yield lambda x: np.sum(x * np.frombuffer(data))
    data[:8] = np.array([9.0]).tobytes()
    yield


@way
def structured_array() -> Iterator[Any]:
    data = np.zeros(3, dtype=[("k", float)])
    data["k"] = 2.0
    yield lambda x: np.sum(x * data["k"])
    data["k"][1] = 5.0
    yield


@way
def masked_array() -> Iterator[Any]:
    w = np.ma.masked_array(A.copy(), mask=[False, True, False])
    yield lambda x: np.sum(x * w.filled(5.0))
    w.mask = [True, False, False]
    yield


@way
def array_of_objects() -> Iterator[Any]:
    w = np.array([2.0, "a"], dtype=object)
    yield lambda x: np.sum(x) * w[0]
    w[0] = 3.0
    yield


@way
def deep_copy_inside() -> Iterator[Any]:
    box = Box(w=A, ks=[2.0])
    yield lambda x: np.sum(x * copy.deepcopy(box).w) * copy.copy(box).ks[0]
    box.w = B
    yield
    box.ks[0] = 3.0
    yield


@way
def function_that_is_made_inside() -> Iterator[Any]:
    k = 2.0

    def f(x: Any) -> Any:
        def inner(v: Any) -> Any:
            return v * k * K

        class Local:
            c = k

        return np.sum(inner(x)) * Local.c

    global K
    K = 2.0
    yield f
    k = 3.0
    yield
    K = 5.0
    yield


@way
def variable_written_by_another_function() -> Iterator[Any]:
    k = 2.0

    def set_to(value: Any) -> None:
        nonlocal k
        k = value

    def f(x: Any) -> Any:
        return np.sum(x * k)

    yield f
    for value in (3.0, A, B):
        set_to(value)
        yield


@way
def callable_object() -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.w = A

        def __call__(self, x: Any) -> Any:
            return np.sum(x * self.w)

    model = Model()
    yield model
    model.w = B
    yield
    Model.__call__ = lambda self, x: np.sum(x - self.w)  # type: ignore[method-assign]
    yield


@way
def weak_reference() -> Iterator[Any]:
    import weakref

    box = Box(k=2.0)
    ref = weakref.ref(box)
    yield lambda x: np.sum(x * ref().k)
    box.k = 3.0
    yield


@way
def abstract_base_with_a_registry() -> Iterator[Any]:
    import abc

    class Scaled(abc.ABC):  # noqa: B024
        pass

    class Model:
        pass

    model = Model()
    yield lambda x: np.sum(x) * (2.0 if isinstance(model, Scaled) else 3.0)
    Scaled.register(Model)
    yield


@way
def length_and_truth_of_containers() -> Iterator[Any]:
    ws: list[Any] = []
    yield lambda x: np.sum(x) * (len(ws) + 2) * (3.0 if ws else 4.0)
    ws.append(None)
    yield


@way
def string_formatting() -> Iterator[Any]:
    box = Box(k=2)
    table = {"k2": 5.0, "k3": 6.0}
    yield lambda x: np.sum(x) * table[f"k{box.k}"]
    box.k = 3
    yield
    table["k3"] = 9.0
    yield


# Identity, memory and other questions about arrays -------------------------------------------------------------------


@way
def the_array_itself_as_the_argument() -> Iterator[Any]:
    w = A.copy()
    given: Any = None
    yield lambda x: np.sum(x) * (2.0 if x is w else 3.0), lambda x: x if given is None else given
    given = w
    yield
    given = w[:]
    yield


@way
def one_array_in_two_places() -> Iterator[Any]:
    box = Box(v=A, w=A)
    yield lambda x: np.sum(x * box.v) * (2.0 if box.v is box.w else 3.0)
    box.w = A.copy()
    yield
    box.v = box.w
    yield


@way
def one_argument_in_two_places() -> Iterator[Any]:
    alike = False
    yield lambda p: np.sum(p[0] * p[1]) * (2.0 if p[0] is p[1] else 3.0), lambda x: (x, x if alike else x.copy())
    alike = True
    yield


@way
def shared_memory() -> Iterator[Any]:
    base = np.arange(6.0)
    box = Box(v=base[:3], w=base[3:])
    yield lambda x: np.sum(x) * (2.0 if np.shares_memory(box.v, box.w) else 3.0)
    box.w = base[2:5]
    yield


@way
def questions_about_an_array() -> Iterator[Any]:
    box = Box(w=A.copy())

    def f(x: Any) -> Any:
        w = box.w
        kinds = np.issubdtype(w.dtype, np.integer) + 2 * np.iscomplexobj(w) + 4 * (w.ndim == 1) + 8 * (len(w) == 3)
        return np.sum(x) * (kinds + 16 * (np.size(w) > 3) + 32 * (w.itemsize == 8) + np.result_type(w, np.float32).num)

    yield f
    for box.w in (A.astype(int), A.astype(complex), A.astype(np.float32), np.stack([A, B]), A[:2]):
        yield


@way
def flags_of_an_array() -> Iterator[Any]:
    w = A.copy()
    yield lambda x: np.sum(x) * (2.0 if w.flags.writeable else 3.0) * (5.0 if w.flags["C_CONTIGUOUS"] else 7.0)
    w.flags.writeable = False
    yield
    w = np.arange(6.0)[::2]
    yield


@way
def base_of_an_array() -> Iterator[Any]:
    w = A.copy()
    yield lambda x: np.sum(x) * (2.0 if w.base is None else 3.0)
    w = w[:]
    yield


@way
def decisions_about_an_array() -> Iterator[Any]:
    w = A.copy()

    def f(x: Any) -> Any:
        kinds = np.array_equal(w, A) + 2 * np.allclose(w, A) + 4 * bool(np.any(w > 4)) + 8 * bool(w.all())
        return np.sum(x) * (kinds + 16 * int(np.argmax(w)) + 64 * (w.max() > 4))

    yield f
    w[0] = 1.0 + 1e-12
    yield
    w[1] = 9.0
    yield
    w[2] = 0.0
    yield


@way
def order_of_an_array() -> Iterator[Any]:
    w = A.copy()

    def f(x: Any) -> Any:
        order = np.argsort(w)
        best = sorted(range(3), key=lambda k: -w[k])[0]
        return np.sum(x[order] * A) + x[best] * 10 + max(w, key=lambda v: -v)

    yield f
    w[:] = [3.0, 1.0, 2.0]
    yield
    w[:] = [1.0, 3.0, 2.0]
    yield


@way
def array_as_bytes() -> Iterator[Any]:
    w = np.array([1, 2, 3], dtype=np.uint8)
    yield lambda x: np.sum(x) * bytes(w)[0]
    w[0] = 7
    yield


@way
def array_as_a_set() -> Iterator[Any]:
    w = np.array([1, 2, 2])
    yield lambda x: np.sum(x) * len({int(v) for v in w}) * len(np.unique(w))
    w[2] = 3
    yield


@way
def loop_over_an_array() -> Iterator[Any]:
    w = np.array([1, 2, 3])

    def f(x: Any) -> Any:
        for n in w:
            for _ in range(n):
                x = x * 1.5
        return np.sum(x)

    yield f
    w[0] = 4
    yield
    w = np.array([1, 1, 1, 1])
    yield


@way
def empty_array() -> Iterator[Any]:
    w = np.zeros(0)
    yield lambda x: np.sum(x) + np.sum(w) + len(w)
    w = np.ones(2)
    yield


@way
def array_of_another_byte_order() -> Iterator[Any]:
    w = A.copy()
    yield lambda x: np.sum(x * w)
    w = A.astype(">f8")
    w[0] = 5.0
    yield
    w[0] = 6.0
    yield


# More of Python ------------------------------------------------------------------------------------------------------


@way
def presence_of_an_attribute() -> Iterator[Any]:
    box = Box(k=2.0)
    yield lambda x: np.sum(x) * (2.0 if hasattr(box, "h") else 3.0) * (5.0 if callable(box.k) else 7.0)
    box.h = 1.0
    yield
    box.k = np.sin
    yield


@way
def contents_of_a_cell() -> Iterator[Any]:
    k = 2.0
    f = lambda x: np.sum(x * k)
    yield f
    f.__closure__[0].cell_contents = 3.0  # type: ignore[index]
    yield


@way
def name_and_text_of_a_helper() -> Iterator[Any]:
    def helper() -> None:
        """Two."""

    yield lambda x: np.sum(x) * len(helper.__name__) * len(helper.__doc__ or "")
    helper.__name__ = "another"
    yield
    helper.__doc__ = "Something else."
    yield


@way
def module_that_is_imported_from() -> Iterator[Any]:
    module = sys.modules["my_settings_four"] = types.ModuleType("my_settings_four")
    module.k, module.helper = 2.0, lambda x: x * module.k

    def f(x: Any) -> Any:
        from my_settings_four import helper, k  # type: ignore[import-not-found]

        return np.sum(helper(x) * k)

    try:
        yield f
        module.k = 3.0
        yield
        module.helper = lambda x: x
        yield
    finally:
        del sys.modules["my_settings_four"]


@way
def method_of_another_object() -> Iterator[Any]:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def times(self, x: Any) -> Any:
            return x * self.k

    scale = Scale(2.0)
    box = Box(act=scale.times)
    yield lambda x: np.sum(box.act(x))
    scale.k = 3.0
    yield
    box.act = Scale(7.0).times
    yield


@way
def recursion() -> Iterator[Any]:
    depth, k = 3, 2.0

    def power(x: Any, n: int) -> Any:
        return x if n == 0 else power(x, n - 1) * k

    yield lambda x: np.sum(power(x, depth))
    depth = 2
    yield
    k = 3.0
    yield


@way
def function_without_source() -> Iterator[Any]:
    space: dict[str, Any] = {"np": np, "k": 2.0}
    exec("def f(x):\n    return np.sum(x * k)\n", space)
    yield space["f"]
    for space["k"] in (3.0, A, B):
        yield


@way
def search_in_a_list() -> Iterator[Any]:
    import bisect

    ks = [1.0, 2.0, 4.0]
    yield lambda x: np.sum(x) * (bisect.bisect(ks, 3.0) + ks.index(4.0) + ks.count(1.0) + 2 * (ks == [1.0, 2.0, 4.0]))
    ks[1] = 3.5
    yield
    ks.insert(0, 0.5)
    yield


@way
def order_of_a_dict() -> Iterator[Any]:
    ws = {"a": 2.0, "b": 3.0}
    yield lambda x: np.sum(x) * ws[next(iter(ws))] * (2.0 if list(ws) == ["a", "b"] else 5.0)
    ws["a"] = ws.pop("a")
    yield


@way
def equality_of_containers() -> Iterator[Any]:
    one, two = {"k": [1.0, 2.0]}, {"k": [1.0, 2.0]}
    yield lambda x: np.sum(x) * (2.0 if one == two else 3.0) * (5.0 if one is two else 7.0)
    two["k"][1] = 3.0
    yield


@way
def super_of_a_value() -> Iterator[Any]:
    class Base:
        k: Any = 2.0

    class Derived(Base):
        k = 3.0

        def __call__(self, x: Any) -> Any:
            return np.sum(x * super().k)

    yield Derived()
    Base.k = 5.0
    yield


@way
def class_of_self() -> Iterator[Any]:
    class Model:
        k: Any = 2.0

        def __call__(self, x: Any) -> Any:
            return np.sum(x * self.__class__.k) * (2.0 if type(self) is Model else 3.0)

    yield Model()
    Model.k = 5.0
    yield
    Model.k = A
    yield


@way
def abstract_number() -> Iterator[Any]:
    import numbers

    box = Box(k=2.0)
    yield lambda x: np.sum(x) * (2.0 if isinstance(box.k, numbers.Integral) else 3.0) * box.k
    for box.k in (3, np.int64(4), True, 0.5, 0.75, 0.25):
        yield


@way
def clock_and_files() -> Iterator[Any]:
    import tempfile
    import time

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.txt")

        def write(k: float) -> None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(str(k))

        def f(x: Any) -> Any:
            with open(path, encoding="utf-8") as file:
                return np.sum(x) * float(file.read()) + 0.0 * time.time()

        write(2.0)
        yield f
        write(3.0)
        yield


@way
def date_of_today() -> Iterator[Any]:
    import datetime

    k = datetime.timedelta(seconds=2)
    yield lambda x: np.sum(x) * k.total_seconds() + 0.0 * datetime.date.today().year
    k = datetime.timedelta(seconds=3)
    yield


@way
def objects_in_a_tuple_of_a_class() -> Iterator[Any]:
    class Net:
        layers: Any = (Box(w=A, k=2.0), Box(w=B, k=3.0))

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = x * layer.w * layer.k
            return np.sum(x)

    net = Net()
    yield net
    net.layers[0].k = 5.0
    yield
    net.layers[1].w = C
    yield
    Net.layers = (Box(w=C, k=1.0),)
    yield


@way
def several_numbers_that_change_at_every_step() -> Iterator[Any]:
    box, ks = Box(rate=0.5, on=True), {"decay": 0.9}

    def f(x: Any) -> Any:
        global K
        return np.sum(x * box.rate) * ks["decay"] + (K if box.on else -K)

    global K
    K = 2.0
    yield f
    for k in range(20):
        box.rate, ks["decay"], K, box.on = 1.0 / (k + 1), 0.9**k, K + 0.5, k % 7 != 3
        yield
    box.rate = 2
    yield
    box.rate = A
    yield
    K = None
    yield
