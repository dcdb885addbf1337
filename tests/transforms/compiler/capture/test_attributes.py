"""Methods, callable objects and the attributes that they read: compiled, and never stale."""

from __future__ import annotations

import abc
import dataclasses
import gc
import types
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import gradscribe as gs

from following import Setup, x
from instances import A, Base, Derived, compiled_through, put, scale

SCALE: Any = 2.0


def setting(**names: Any) -> Setup:
    return lambda: globals().update(names)


CHANGES: dict[str, Callable[[Any], Setup]] = {
    "rebound": lambda m: put(m, w=x(4, 5, 6)),
    "another shape": lambda m: put(m, w=np.array([[1.0], [2.0]])),
    "a scalar in its place": lambda m: put(m, w=2.5),
    "another dtype": lambda m: put(m, w=np.array([1, 2, 3], np.float32)),
    "another layout": lambda m: put(m, w=np.arange(6.0)[::2]),
    "a scalar": lambda m: put(m, k=5.0),
    "a scalar of another type": lambda m: put(m, k=2),
    "a scalar for an array": lambda m: put(m, k=np.float32(2)),
    "None and back": lambda m: put(m, k=-0.0),
    "an attribute over the class's": lambda m: put(m, factor=7.0),
    "a method of the instance": lambda m: put(m, scaled=lambda a: a * 5.0),
    "the class": lambda m: put(m, __class__=Derived),
    "a global that a method reads": lambda m: scale(9.0),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("how", ["a bound method", "a callable object", "a global", "a closure", "an argument"])
def test_changes(what: str, how: str) -> None:
    global MODEL
    MODEL = model = Base()

    def back() -> None:
        vars(model).clear()
        model.__class__ = Base
        Base.__init__(model)
        scale(2.0)()

    change = CHANGES[what](model)
    if how == "an argument":
        function: Any = lambda a, m: m.loss(a)
        args: tuple[Any, ...] = (A, model)
        for setup in (back, change, back):  # follows() would copy the instance
            setup()
            expected = gs.value_and_grad(function)(*args)
            for _ in range(3):
                assert _bits(ARGUMENT(*args)) == _bits(expected)
        back()
        return
    functions = {
        "a bound method": model.loss, "a callable object": model, "a global": lambda a: MODEL.loss(a),
        "a closure": lambda a: model.loss(a),
    }  # fmt: skip
    try:
        compiled_through(functions[how], back, change)
    finally:
        back()


MODEL: Any = None
ARGUMENT = gs.compile(gs.value_and_grad(lambda a, m: m.loss(a)), max_specialisations=100)


def _bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_bits(v) for v in value])
    return type(value), value.dtype, np.asarray(value).tobytes()


def test_class_changes() -> None:
    class Own:
        k = 2.0

        def factor(self) -> Any:
            return self.k

        def loss(self, a: Any) -> Any:
            return np.sum(a) * self.factor() * self.k

    own = Own()

    def back() -> None:
        Own.k = 2.0
        Own.factor = lambda self: self.k  # type: ignore[method-assign]

    compiled_through(
        own.loss, back, put(Own, k=3.0), put(Own, factor=lambda self: 11.0), put(Own, factor=property(lambda self: lambda: 4.0))
    )  # fmt: skip


def test_arrays_in_attributes_are_inputs() -> None:
    model = Base()
    found = compiled_through(model.loss, put(model, w=x(1, 2, 3)), put(model, w=x(4, 5, 6)), lambda: model.w.fill(7.0))
    assert found.captures == 1
    assert "def loss(a, *, w):" in gs.source(model.loss, A)


def test_two_instances_of_one_class() -> None:
    one, two = Base(x(1, 2, 3), 2.0), Base(x(1, 2), 3.0)
    f = lambda a: one.loss(a) + two.loss(a[:2])
    compiled_through(f, put(one, k=2.0), put(two, k=4.0), put(one, w=x(3, 2, 1)), put(two, w=x(7, 7)))
    first, second = gs.compile(gs.grad(one.loss)), gs.compile(gs.grad(two.loss))
    for _ in range(4):
        np.testing.assert_array_equal(first(A), gs.grad(one.loss)(A))
        np.testing.assert_array_equal(second(A[:2]), gs.grad(two.loss)(A[:2]))


def test_inheritance_super_and_properties() -> None:
    model = Derived()

    def back() -> None:
        put(model, k=2.0, w=x(1, 2, 3))()
        Base.scaled = original  # type: ignore[method-assign]
        Derived.offset = offset  # type: ignore[assignment, method-assign]

    original, offset = Base.scaled, Derived.__dict__["offset"]
    try:
        compiled_through(
            model.loss, back, put(model, k=3.0), put(Base, scaled=lambda self, a: a * self.k),
            put(Derived, offset=property(lambda self: self.k * 3)), put(Derived, offset=11.0),
        )  # fmt: skip
        compiled_through(lambda a: np.sum(model.squared(a)), scale(2.0), scale(5.0))
    finally:
        back()
        scale(2.0)()


def test_a_class_between_gets_the_method() -> None:
    class Top:
        def f(self, a: Any) -> Any:
            return np.sum(a)

    class Middle(Top):
        pass

    class Bottom(Middle):
        def f(self, a: Any) -> Any:
            return super().f(a) * 3

    def back() -> None:
        if "f" in vars(Middle):
            del Middle.f

    compiled_through(Bottom().f, back, put(Middle, f=lambda self, a: np.sum(a * a)))


def test_abstract_generic_slots_and_dataclasses() -> None:
    T = TypeVar("T")

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def rate(self) -> Any: ...

        def loss(self, a: Any) -> Any:
            return np.sum(a * a) * self.rate()

    class Concrete(Abstract, Generic[T]):
        def rate(self) -> Any:
            return self.r  # type: ignore[attr-defined]

    class Slots:
        __slots__ = ("r", "w")

        def loss(self, a: Any) -> Any:
            return np.sum(a * self.w) * self.r

    @dataclasses.dataclass
    class Data:
        r: Any
        w: Any = dataclasses.field(default_factory=lambda: x(1, 2, 3))

        def loss(self, a: Any) -> Any:
            return np.sum(a * self.w) * self.r

    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        r: Any

        def loss(self, a: Any) -> Any:
            return np.sum(a) * self.r

    concrete, slots, data = Concrete[int](), Slots(), Data(2.0)
    compiled_through(concrete.loss, put(concrete, r=2.0), put(concrete, r=3.0), put(concrete, r=A * 2))
    compiled_through(slots.loss, put(slots, r=2.0, w=x(1, 2, 3)), put(slots, r=3.0), put(slots, w=x(1)))
    compiled_through(data.loss, put(data, r=2.0), put(data, r=3.0), put(data, w=x(1)))
    compiled_through(Frozen(2.0).loss, None)


def test_a_namespace_of_settings() -> None:
    config = types.SimpleNamespace(rate=0.5, deep=types.SimpleNamespace(k=2, name="sum", on=True, axes=(0,)))

    def f(a: Any) -> Any:
        total = getattr(np, config.deep.name)(a * config.rate, axis=config.deep.axes)
        return total * config.deep.k if config.deep.on else total

    deep = config.deep
    compiled_through(
        f, put(config, rate=0.5, deep=deep), put(config, rate=0.25), put(deep, k=3), put(deep, name="mean"), put(deep, on=False),
        put(deep, on=True), put(config, deep=types.SimpleNamespace(k=9, name="sum", on=True, axes=None)),
    )  # fmt: skip


def test_an_optional_attribute() -> None:
    class Layer:
        def __init__(self) -> None:
            self.w = x(1, 2, 3)

        def loss(self, a: Any) -> Any:
            y = a * self.w
            if hasattr(self, "bias"):
                y = y + self.bias
            extra = getattr(self, "extra", None)
            return np.sum(y if extra is None else y * extra)

    layer = Layer()

    def back() -> None:
        vars(layer).pop("bias", None), vars(layer).pop("extra", None)
        Layer.__dict__.get("bias") is None or delattr(Layer, "bias")

    compiled_through(layer.loss, back, put(layer, bias=x(1, 1, 1)), put(layer, extra=3.0), put(Layer, bias=2.0))


def test_an_optional_slot() -> None:
    class Slotted:
        __slots__ = ("bias",)

        def loss(self, a: Any) -> Any:
            return np.sum(a + self.bias if hasattr(self, "bias") else a)

    slotted = Slotted()
    compiled_through(
        slotted.loss, lambda: hasattr(slotted, "bias") and delattr(slotted, "bias"), put(slotted, bias=2.0)
    )


def test_special_methods() -> None:
    class Vector:
        def __init__(self, w: Any) -> None:
            self.w = w

        def __getitem__(self, k: Any) -> Any:
            return self.w[k] * SCALE

        def __len__(self) -> int:
            return len(self.w)

        def __matmul__(self, other: Any) -> Any:
            return self.w @ other

        def __rmul__(self, other: Any) -> Any:
            return other * self.w

        def __iter__(self) -> Any:
            return iter([self[0], self[1]])

        def __eq__(self, other: object) -> bool:
            return bool(self.w[0] == other)

        def __bool__(self) -> bool:
            return SCALE == 2.0

        def __hash__(self) -> int:
            return 1

    v = Vector(x(1, 2, 3))
    f = lambda a: sum(v) * (v @ a + v[1] + np.sum(2.0 * v)) * len(v) * (2.0 if v == 1.0 else 3.0) * (1.0 if v else 0.5)
    try:
        compiled_through(
            f, lambda: put(v, w=x(1, 2, 3))() or setting(SCALE=2.0)(), setting(SCALE=3.0), put(v, w=x(4, 2, 3))
        )
    finally:
        setting(SCALE=2.0)()


def test_identity_and_equality_of_instances() -> None:
    one, two = Base(k=1.0), Base(k=2.0)
    one.peer, two.peer, one.all = two, one, [one, two]  # type: ignore[attr-defined]

    def f(a: Any) -> Any:
        same = one.peer.peer is one and one in one.all and one == one.all[0] and one != two  # type: ignore[attr-defined]
        kinds = isinstance(one, object) and not isinstance(one, str)
        return np.sum(a) * (2.0 if same and kinds else 3.0) * one.all.index(two)  # type: ignore[attr-defined]

    compiled_through(f, put(one, peer=two), put(two, peer=two), put(two, peer=one), put(one, all=[two, one]))


def test_dataclass_equality() -> None:
    @dataclasses.dataclass
    class Config:
        rate: float = 0.5

    one, two = Config(), Config()
    compiled_through(lambda a: np.sum(a) * (2.0 if one == two else 3.0), put(one, rate=0.5), put(one, rate=0.25))


def test_errors_are_the_users() -> None:
    model = Base()
    del model.k
    compiled = gs.compile(model.loss)
    with pytest.raises(AttributeError, match="'Base' object has no attribute 'k'"):
        compiled(A)
    model.k = 2.0
    assert compiled(A) == model.loss(A)


def test_lists_changed_in_a_call_that_raises() -> None:
    seen: list[Any] = []

    def f(a: Any) -> Any:
        seen.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        gs.compile(f)(A)
    assert seen == [1]


def test_returning_what_was_read() -> None:
    model = Base()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gs.compile(lambda a: model)(A) is model
        assert gs.compile(lambda a: [model, a])(A)[0] is model
    assert type(gs.compile(lambda a: {"w": model.w, "s": a + 1})(A)["w"]) is np.ndarray


def test_nothing_of_the_capture_stays() -> None:
    model = Base()
    gs.compile(model.loss)(A)
    gc.collect()
    assert Base.__subclasses__() == [Derived]


def test_another_class_with_other_properties_and_special_methods() -> None:
    class One:
        @property
        def p(self) -> Any:
            return 2.0

        def __len__(self) -> int:
            return 3

    class Two(One):
        @property
        def p(self) -> Any:
            return 5.0

        def __len__(self) -> int:
            return 7

    one = One()
    compiled_through(lambda a: np.sum(a) * one.p, put(one, __class__=One), put(one, __class__=Two))
    compiled_through(lambda a: np.sum(a) * len(one), put(one, __class__=One), put(one, __class__=Two))
