"""Numbers outside a function that change at every step become inputs of its source, where that changes no digit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradscribe as gs

from following import x


class Schedule:
    def __init__(self, rate: Any, momentum: Any = 0.5) -> None:
        self.rate, self.momentum = rate, momentum
        self.all = [rate]


def texts_through(f: Any, s: Schedule, rates: Any, transform: Any = gs.value_and_grad) -> int:
    """How many texts a function has after a schedule of rates, at each of which compiled is eager."""
    compiled = gs.compile(transform(f), verify="first calls")
    for k, rate in enumerate(rates):
        s.rate, s.momentum, s.all[0] = rate, rate / 2, rate * 3
        for scale in (1.0, 1.0 + k):
            found, expected = compiled(x() * scale), transform(f)(x() * scale)
            assert repr(found) == repr(expected), (rate, found, expected)
    return len(compiled._texts)


RATES = np.linspace(0.1, 0.9, 25).tolist()


def test_one_source_serves_a_schedule() -> None:
    s = Schedule(0.5)
    assert texts_through(lambda a: np.sum(a * a) * s.rate, s, RATES) == 2
    assert texts_through(lambda a: np.sum(a * a) * s.rate - s.momentum / 3.0, s, RATES) == 2
    assert texts_through(lambda a: np.sum(a * s.all[0]), s, RATES) == 2
    assert texts_through(lambda a: np.sum(a * a) * s.rate, s, [np.float32(r) for r in RATES]) == 2

    def chosen(a: Any) -> Any:
        return np.sum(a * s.rate) + (1.0 if s.rate > 0.5 else 2.0)

    assert texts_through(chosen, s, RATES) == 2


def test_a_number_that_does_not_change_is_a_literal() -> None:
    s = Schedule(0.5)
    f = gs.compile(lambda a: np.sum(a * s.rate))
    for _ in range(3):
        f(x())
    assert "a * 0.5" in f.specialisation(x()).text


def test_a_power_of_another_number_does_not_matter() -> None:
    """As in Adam's bias correction: the step is an argument, the rate changes outside."""
    s = Schedule(0.5)

    def f(a: Any, step: float) -> Any:
        return np.sum(a * (s.rate / (1 - 0.9**step)))

    compiled = gs.compile(f, verify="first calls")
    for k in range(1, 12):
        s.rate = 1 / k
        assert compiled(x(), float(k)) == f(x(), float(k))
    assert len(compiled._texts) == 2


def test_the_input_has_the_name_that_the_user_gave() -> None:
    s = Schedule(0.5)
    f = gs.compile(lambda a: np.sum(a * s.rate))
    for s.rate in (0.1, 0.2, 0.3):
        f(x())
    assert "a * rate" in f.specialisation(x()).text
    assert "`s.rate`: any float" in str(gs.explain(f))


def test_zeros_infinities_and_nan() -> None:
    s = Schedule(0.5)
    with np.errstate(all="ignore"):
        assert texts_through(lambda a: np.sum(a * s.rate), s, [1.0, 2.0, 0.0, -0.0, math.inf, math.nan, 1e-320]) == 2


def test_what_python_calculates_itself_stays_python() -> None:
    s = Schedule(0.5)
    for f in (
        lambda a: np.sum(a) * math.sin(s.rate),
        lambda a: np.sum(a) * s.rate**3,
        lambda a: np.sum(a) * round(s.rate, 1),
        lambda a: np.sum(a) * int(s.rate * 10),
        lambda a: np.sum(a) * (s.rate // 0.3),
        lambda a: np.sum(a) * len(f"{s.rate}"),
        lambda a: np.sum(a) * {0.1: 5.0}.get(s.rate, 2.0),
        lambda a: np.sum(a) * (2.0 if s.rate.is_integer() else 3.0),
        lambda a: np.sum(a) * (2.0 if isinstance(s.rate, float) and not hasattr(s.rate, "shape") else 3.0),
        lambda a: np.sum(a) * (2.0 if np.isscalar(s.rate) else 3.0) * len(getattr(s.rate, "shape", (1,))),
    ):
        assert texts_through(f, s, RATES[:10]) <= 10


def test_a_division_by_zero_is_still_an_error() -> None:
    s = Schedule(0.5)
    f = gs.compile(lambda a: np.sum(a) * (1.0 / s.rate))
    for s.rate in (0.1, 0.2, 0.3, 0.4):
        assert f(x()) == np.sum(x()) * (1.0 / s.rate)
    s.rate = 0.0
    for _ in range(2):
        try:
            f(x())
        except ZeroDivisionError:
            continue
        raise AssertionError("no error")


def test_ints_become_inputs_too() -> None:
    s = Schedule(1)
    f = gs.compile(lambda a: np.sum(a) * s.rate)
    for s.rate in (1, 2, 3, 1.5, 2.5, 4):
        assert f(x()) == np.sum(x()) * s.rate
    assert len(f._texts) == 2
