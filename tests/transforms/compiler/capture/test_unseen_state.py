"""State that the scope does not see makes a function eager, with the line named: it is never stale."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from following import Setup, follows, x


def setting(**names: Any) -> Setup:
    """Bind globals of this module."""
    return lambda: globals().update(names)


SCALE: Any = 2.0


# State that the scope does not see: the function runs eagerly --------------------------------------------------------


class Model:
    def __init__(self) -> None:
        self.k = 2.0


@dataclass
class WithClassVariable:
    w: Any
    scale: ClassVar[float] = 2.0


class Base:
    def twice(self) -> Any:
        return self.w * SCALE  # type: ignore[attr-defined]


@dataclass
class Inherits(Base):
    w: Any


@dataclass
class Indexed:
    w: Any

    def __getitem__(self, k: int) -> Any:
        return self.w[k] * SCALE


@dataclass
class Computed:
    w: Any

    @functools.cached_property
    def twice(self) -> Any:
        return self.w * SCALE


class Tuple(NamedTuple):
    w: Any

    def twice(self) -> Any:  # type: ignore[override]
        return self.w * SCALE


class Mode(enum.IntEnum):
    FAST = 1

    def factor(self) -> float:
        return float(SCALE)


class Number(float):
    bias = 1.0


MODEL = Model()
VECTORIZED = np.vectorize(lambda v: v * SCALE)
FROM_PYTHON = np.frompyfunc(lambda v: v * SCALE, 1, 1)
POLYNOMIAL = np.polynomial.Polynomial([1.0, 2.0])
NUMBER = Number(2.0)
TABLE = np.array([1.0, 2.0, 3.0])
DOT = TABLE.dot
COUNTER = iter(range(10**6))


def _set(holder: Any, name: str) -> Callable[[Any], Setup]:
    return lambda value: lambda: setattr(holder, name, value)


def _item(holder: Any, key: Any) -> Callable[[Any], Setup]:
    return lambda value: lambda: holder.__setitem__(key, value)


_scale: Callable[[Any], Setup] = lambda value: setting(SCALE=value)


@functools.lru_cache
def cached(v: float) -> float:
    return v * SCALE


def _uncached(value: Any) -> Setup:
    def setup() -> None:
        cached.cache_clear()
        globals().update(SCALE=value)

    return setup


@functools.singledispatch
def dispatched(v: Any) -> Any:
    return v * SCALE


UNSEEN: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Setup]]] = {
    "np.vectorize": (lambda a: np.sum(a) * float(VECTORIZED(1.0)), (x(),), _scale),
    "np.frompyfunc": (lambda a: np.sum(a) * FROM_PYTHON(1.0), (x(),), _scale),
    "a polynomial": (lambda a: np.sum(a) * POLYNOMIAL(1.0), (x(),), _item(POLYNOMIAL.coef, 0)),
    "an attribute of a number": (lambda a: np.sum(a) * NUMBER.bias, (x(),), _set(NUMBER, "bias")),
    "a class variable": (lambda p: np.sum(p.w) * p.scale, (WithClassVariable(x()),), _set(WithClassVariable, "scale")),
    "an inherited method": (lambda p: np.sum(p.twice()), (Inherits(x()),), _scale),
    "a special method": (lambda p: np.sum(p[0]), (Indexed(x()),), _scale),
    "a cached property": (lambda p: np.sum(p.twice), (Computed(x()),), _scale),
    "a method of a named tuple": (lambda p: np.sum(p.twice()), (Tuple(x()),), _scale),
    "a method of an enum": (lambda a, m: np.sum(a) * m.factor(), (x(), Mode.FAST), _scale),
    "an attribute of a class argument": (lambda a, c: np.sum(a) * c.k, (x(), type("K", (), {"k": 1.0})), _scale),
    "a method of an array": (lambda a: np.sum(a) * DOT(np.ones(3)), (x(),), _item(TABLE, 0)),
    "lru_cache": (lambda a: np.sum(a) * cached(1.0), (x(),), _uncached),
    "singledispatch": (lambda a: np.sum(a) * dispatched(1.0), (x(),), _scale),
    "globals()": (lambda a: np.sum(a) * globals().get("SCALE"), (x(),), _scale),
    "eval": (lambda a: np.sum(a) * eval("SCALE"), (x(),), _scale),
    "vars": (lambda a: np.sum(a) * vars(MODEL)["k"], (x(),), _set(MODEL, "k")),
    "sys.modules": (lambda a: np.sum(a) * sys.modules[__name__].SCALE, (x(),), _scale),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSEEN)
def test_state_that_is_not_seen(what: str) -> None:
    function, args, change = UNSEEN[what]
    calls = [(change(value), args) for value in (2.0, 3.0, 2.0)]
    if "class argument" in what:
        calls = [(_set(args[1], "k")(value), args) for value in (2.0, 3.0, 2.0)]
    try:
        found = follows(function, *calls)
    finally:
        change(2.0)()
    assert found.warned
    assert "test_unseen_state.py:" in found.warned[0]


def test_an_iterator_is_not_used_up() -> None:
    found = follows(lambda a: np.sum(a) * 0.0 + next(COUNTER) * 0.0, (None, (x(),)))
    assert found.warned


def test_a_class_defined_in_the_body() -> None:
    def f(a: Any) -> Any:
        class K:
            k = SCALE

        return np.sum(a) * K.k

    assert follows(f, *[(setting(SCALE=s), (x(),)) for s in (2.0, 3.0)]).warned
