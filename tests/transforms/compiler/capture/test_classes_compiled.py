"""Classes of the user's inside compiled functions: made, asked for, read; objects leave as their own."""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from following import x

SCALE = 2.0


class Base:
    offset: Any = 1.0

    def __init__(self, k: Any) -> None:
        self.k = k * SCALE

    def scaled(self, a: Any) -> Any:
        return a * self.k + self.offset


class Derived(Base):
    def __init__(self, k: Any) -> None:
        super().__init__(k)
        self.h = 3.0

    def scaled(self, a: Any) -> Any:
        return super().scaled(a) * self.h


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self) -> None: ...


def test_the_source_has_no_objects() -> None:
    f = gs.compile(gs.grad(lambda a: np.sum(Derived(a).scaled(a))), verify="first calls")
    assert np.array_equal(f(x()), 12.0 * x())
    text = f.specialisation(x()).text
    assert "Derived" not in text.replace("Derived(a)", "")
    assert "self" not in text.split("def ", 1)[1].replace("self.", "")


def test_an_object_that_leaves_is_one_of_its_own_class() -> None:
    kept: list[Any] = []

    def f(a: Any) -> Any:
        one = Derived(a)
        kept.append(one)
        return np.sum(one.scaled(a))

    with pytest.warns(gs.EagerWarning, match="stores a Derived"):
        gs.compile(f)(x())
    assert [type(one) for one in kept] == [Derived]
    assert type(kept[0].k) is np.ndarray
    assert np.array_equal(kept[0].scaled(x()), Derived(x()).scaled(x()))

    with pytest.warns(gs.EagerWarning, match="returns a Derived"):
        made = gs.compile(lambda a: Derived(a))(x())
    assert type(made) is Derived
    assert np.array_equal(made.scaled(x()), Derived(x()).scaled(x()))


def test_the_users_classes_are_left_as_they_were() -> None:
    gs.compile(lambda a: np.sum(Derived(a).scaled(a)) * isinstance(a, Base))(x())
    assert Base.__subclasses__() == [Derived]
    assert Derived.__subclasses__() == []
    assert type(Derived(1.0)) is Derived


def test_an_abstract_class_is_not_made() -> None:
    def f(a: Any) -> Any:
        return np.sum(a) * (Abstract() is None)  # type: ignore[abstract]

    with pytest.raises(TypeError, match="abstract"):
        gs.compile(f)(x())


def test_stores_into_a_class_run_eagerly() -> None:
    class Counter:
        n = 0

    def f(a: Any) -> Any:
        Counter.n += 1
        return np.sum(a) * Counter.n

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="stores the attribute `n`"):
        assert [compiled(np.ones(2)) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert Counter.n == 3


def test_a_store_into_another_object_is_compiled() -> None:
    class Log:
        seen = 0

    log = Log()

    class Model:
        def __init__(self, a: Any) -> None:
            self.a = a
            log.seen += 1

    compiled = gs.compile(lambda a: np.sum(Model(a).a))
    assert [compiled(x()) for _ in range(5)] == [1.25] * 5
    assert log.seen == 5


def test_cached_properties_are_computed_once() -> None:
    import functools

    runs = []

    class Model:
        def __init__(self) -> None:
            self.w = x(1, 2, 3)

        @functools.cached_property
        def norm(self) -> Any:
            return np.sum(self.w**2)

    class Noted(Model):
        @functools.cached_property
        def norm(self) -> Any:
            runs.append(1)
            return np.sum(self.w**2)

    model = Model()
    f = gs.compile(lambda a: np.sum(a) * model.norm, verify="first calls")
    for _ in range(3):
        assert f(x()) == np.sum(x()) * 14.0
    assert type(model.__dict__["norm"]) is np.float64
    model.norm = 2.0  # type: ignore[misc]
    assert f(x()) == np.sum(x()) * 2.0
    del model.norm
    assert f(x()) == np.sum(x()) * 14.0
    noted = Noted()
    g = gs.compile(lambda a: np.sum(a) * noted.norm)
    assert [g(x()) for _ in range(3)] == [17.5] * 3
    assert runs == [1]


class Link:
    __slots__ = ("n", "next", "v")

    def __init__(self, v: Any, to: Any = None) -> None:
        self.v, self.next = v, to

    def moved(self, a: Any) -> Link:
        self.v = self.v + a
        return self

    @property
    def square(self) -> Any:
        return self.v**2


class Named(Link):
    __slots__ = ("name",)

    def moved(self, a: Any) -> Link:
        self.name = "moved"
        return super().moved(2 * a)


class Open(Link):
    def moved(self, a: Any) -> Link:
        self.before = self.v
        return super().moved(a)


@dataclasses.dataclass(slots=True)
class Pair:
    a: Any
    b: Any = 2.0

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.a + other.a, self.b * other.b)


SLOTS: dict[str, Any] = {
    "a list of links": lambda a: sum_of(functools.reduce(lambda to, v: Link(v, to), list(a), None)),
    "methods and properties": lambda a: Link(a[0]).moved(a[1]).square * Named(a[1]).moved(a[0]).moved(1.0).v,
    "attributes beside the slots": lambda a: (lambda o: o.moved(a[1]).v * o.before)(Open(a[0])),
    "a slot that nothing is in": lambda a: a[0] * 2.0 if hasattr(Link(a[0]), "n") else a[1] ** 2,
    "a dataclass": lambda a: (lambda p: p.a * p.b)(Pair(a[0]) + Pair(a[1], a[2])),
}


def sum_of(link: Any) -> Any:
    total = 0.0
    while link is not None:
        total, link = total * 0.7 + link.square, link.next
    return total


@pytest.mark.parametrize("name", SLOTS)
def test_objects_with_slots(name: str) -> None:
    eager = gs.value_and_grad(SLOTS[name])
    compiled = gs.compile(eager, verify="first calls")
    for k in range(3):
        a = np.random.default_rng(k).uniform(0.5, 1.5, 4)
        for found, expected in zip(compiled(a), eager(a), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_an_object_with_slots_that_leaves_is_one_of_its_own_class() -> None:
    kept: list[Any] = []

    def f(a: Any) -> Any:
        one = Named(a[0] * 2.0)
        kept.append(one)
        return one.square

    with pytest.warns(gs.EagerWarning, match="stores a Named"):
        gs.compile(gs.grad(f))(np.array([1.5, 1.0]))
    assert [(type(one), type(one.v), one.v) for one in kept] == [(Named, np.float64, 3.0)]
