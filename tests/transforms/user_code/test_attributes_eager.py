"""What the compiler does not follow of instances runs eagerly, as plain Python would, and a warning names the line."""

from __future__ import annotations

import copy
import functools
import types
import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from following import Setup, follows
from instances import A

SCALE: Any = 2.0


def setting(**names: Any) -> Setup:
    return lambda: globals().update(names)


def warned(function: Any, *setups: Setup | None, args: tuple[Any, ...] = (A,)) -> str:
    """`function` follows eager through the changes, eagerly; what the one warning says."""
    found = follows(function, *[(setup, args) for setup in setups], transform=lambda f: f)
    assert len(found.warned) == 1
    assert "test_attributes_eager.py:" in found.warned[0]
    return found.warned[0]


# Eagerly, with a warning --------------------------------------------------------------------------------------------


class Odd:
    def __init__(self) -> None:
        self.k = 2.0
        self.count = 0
        self.seen: list[Any] = []
        self.table: dict[str, Any] = {"a": 1.0}

    def appends(self, a: Any) -> Any:
        self.seen.append(1.0)
        return np.sum(a) * len(self.seen)

    def puts(self, a: Any) -> Any:
        self.table["b"] = self.table.get("b", 0.0) + 1.0
        return np.sum(a) * self.table["b"]

    def keeps_itself(self, a: Any) -> Any:
        self.seen.append(self)
        return np.sum(a) * self.seen[-1].k

    def calls_its_class(self, a: Any) -> Any:
        return np.sum(a) * type(self)().k * self.__class__().k

    def reads_its_dict(self, a: Any) -> Any:
        return np.sum(a) * self.__dict__["k"] * vars(self)["k"]

    def sets_by_name(self, a: Any) -> Any:
        setattr(self, "k", self.k + 1)  # noqa: B010
        return np.sum(a) * self.k

    def copies(self, a: Any) -> Any:
        other = copy.copy(self)
        other.k = 3.0
        return np.sum(a) * self.k * copy.deepcopy(other).k

    def text(self, a: Any) -> Any:
        return np.sum(a) * len(f"{self.table}") * (self.k if "Odd" in repr(self) else 0.0)

    @classmethod
    def made(cls) -> float:
        return 2.0

    def by_class(self, a: Any) -> Any:
        return np.sum(a) * self.made()

    @functools.lru_cache  # noqa: B019
    def memo(self) -> Any:
        return 3.0

    def reads_memo(self, a: Any) -> Any:
        return np.sum(a) * self.memo()

    def names_its_class(self, a: Any) -> Any:
        return np.sum(a) * __class__.limit  # type: ignore[name-defined]

    limit = 3.0


@pytest.mark.parametrize("name", [n for n, f in vars(Odd).items() if isinstance(f, types.FunctionType) and n[0] != "_"])
def test_what_runs_eagerly(name: str) -> None:
    odd, plain = Odd(), Odd()
    compiled = gs.compile(getattr(odd, name))
    found: list[str] = []
    for k in range(4):
        odd.k = plain.k = 2.0 + k
        if k == 2:
            odd.limit = plain.limit = 5.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = compiled(A)
        found += [str(w.message) for w in caught if issubclass(w.category, gs.EagerWarning)]
        assert result == getattr(plain, name)(A), (name, k)
        assert vars(odd).keys() == vars(plain).keys()
        assert (odd.k, odd.count, odd.table, len(odd.seen)) == (plain.k, plain.count, plain.table, len(plain.seen))
        assert all(v is odd or type(v) is float for v in odd.seen)
    if name == "text":
        assert len(found) <= 1
    else:
        assert len(found) == 1
        assert "test_attributes_eager.py:" in found[0]


class Getter:
    def __init__(self) -> None:
        self.k = 2.0

    def __getattr__(self, name: str) -> Any:
        return SCALE

    def loss(self, a: Any) -> Any:
        return np.sum(a) * self.k * self.other


class Descriptor:
    def __get__(self, obj: Any, owner: Any = None) -> Any:
        return SCALE


class Described:
    k = Descriptor()

    def loss(self, a: Any) -> Any:
        return np.sum(a) * self.k


class ListOf(list):  # type: ignore[type-arg]
    def loss(self, a: Any) -> Any:
        return np.sum(a) * self[0] * SCALE


class Watching:
    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def loss(self, a: Any) -> Any:
        return np.sum(a) * SCALE


@pytest.mark.parametrize("model", [Getter(), Described(), ListOf([2.0]), Watching()], ids=lambda m: type(m).__name__)
def test_classes_that_it_does_not_follow(model: Any) -> None:
    try:
        warned(model.loss, setting(SCALE=2.0), setting(SCALE=3.0))
        warned(lambda a: model.loss(a), setting(SCALE=2.0), setting(SCALE=3.0))
    finally:
        setting(SCALE=2.0)()


class Layer:
    """One that keeps what it computed, as layers with a backward of their own do."""

    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0, 3.0])
        self.kept: list[Any] = []
        self._set: Any = None
        self.by_name: dict[str, Any] = {}
        self.peer: Any = None

    @property
    def set(self) -> Any:
        return self._set

    @set.setter
    def set(self, value: Any) -> None:
        self._set = value

    def forward(self, a: Any) -> Any:
        self.given = a
        self.hidden = np.tanh(a * self.w)
        self.both = (self.hidden, [a, self])
        self.set = self.hidden
        object.__setattr__(self, "past", self.hidden)
        self.kept.append(self.hidden)
        self.by_name["h"] = self.hidden
        REGISTRY.append(self)
        self.peer = self
        return self.hidden

    def loss(self, a: Any) -> Any:
        return np.sum(self.forward(a) * self.hidden) + np.sum(self.kept[0] * self.by_name["h"]) + np.sum(self.both[0])


REGISTRY: list[Any] = []


def test_what_is_stored_is_the_users() -> None:
    layer, plain = Layer(), Layer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gs.compile(layer.loss)(A) == plain.loss(A)
    for one in (layer, plain):
        assert one.given is A
        assert one.both[1][0] is A
        assert one.both[1][1] is one is one.peer
        assert type(one.hidden) is np.ndarray is type(one.both[0])
        assert one.kept[0] is one.hidden is one.by_name["h"] is one.set is one.past
    assert [one is other for one, other in zip(REGISTRY, (layer, plain), strict=True)] == [True, True]
    np.testing.assert_array_equal(layer.hidden, plain.hidden)


def test_gradients_through_what_is_stored() -> None:
    layer = Layer()

    def back() -> None:
        Layer.__init__(layer)
        REGISTRY.clear()

    found = follows(layer.loss, (back, (A,)), (back, (A * 2,)))
    assert "uses `__setattr__`" in found.warned[0]


def test_stores_that_go_past_attribute_access() -> None:
    class Frozen:
        n = 0.0

        def loss(self, a: Any) -> Any:
            object.__setattr__(self, "n", self.n + 1.0)
            return np.sum(a) * self.n

        def reads(self, a: Any) -> Any:
            return np.sum(a) * object.__getattribute__(self, "n")

    one, plain = Frozen(), Frozen()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled, reads = gs.compile(one.loss), gs.compile(one.reads)
        for _ in range(4):
            assert compiled(A) == plain.loss(A)
            assert reads(A) == plain.reads(A)
    assert len(caught) == 2


class AsComplex:
    def __get__(self, obj: Any, owner: Any = None) -> Any:
        return float(np.complex128(obj.t).real)


class Holder:
    part = AsComplex()


@pytest.mark.filterwarnings("ignore:gs.compile")
def test_a_descriptor_of_the_users_is_in_scope_at_the_first_compiled_call_too() -> None:
    holder = Holder()

    def f(x: Any) -> Any:
        holder.t = x * x
        return holder.part * 2.0

    compiled = gs.compile(gs.grad(f))
    for x in (1.5, 2.5, 1.5):
        assert compiled(x) == gs.grad(f)(x) == 4.0 * x
