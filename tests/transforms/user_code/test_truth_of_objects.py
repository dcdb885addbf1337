"""Objects of the user whose truth, order and equality rest on what is differentiated: as Python has them, eager and compiled."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradscribe as gs
from gradscribe import EagerWarning


class Positive:
    def __init__(self, t: Any) -> None:
        self.t = t

    def __bool__(self) -> bool:
        return self.t > 0  # type: ignore[no-any-return]


class Same(Positive):
    def __bool__(self) -> bool:
        return self.t == 1.5  # type: ignore[no-any-return]


@functools.total_ordering
class Ordered:
    def __init__(self, t: Any) -> None:
        self.t = t

    def __eq__(self, other: Any) -> bool:
        return self.t == other.t  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> bool:
        return self.t < other.t  # type: ignore[no-any-return]


def halved(p: Any) -> Any:
    found, total = Positive(p), 0.0 * p
    while found:
        total = total + found.t * found.t
        found = Positive(found.t - 0.5)
    return total


TRUTHS: dict[str, Callable[[Any], Any]] = {
    "if": lambda p: p * 2 if Positive(p) else p * 3,
    "not": lambda p: p * 2 if not Positive(p - 9) else p * 3,
    "bool()": lambda p: p * 2 * bool(Positive(p)),
    "and, or": lambda p: (Positive(p) and p * 2) + (Positive(-p) or p * 1.0),
    "while": halved,
    "any, all": lambda p: p * any([Positive(-p), Positive(p)]) + p * p * all([Positive(p)]),
    "filter": lambda p: sum(found.t for found in filter(None, [Positive(p), Positive(-p), Positive(2 * p)])),
    "==": lambda p: p * 2 if Same(p) else p * 3,
    "order": lambda p: max(Ordered(p), Ordered(p * 2)).t * (2 if Ordered(p) >= Ordered(1.0) else 3),
    "sorted": lambda p: sorted([Ordered(p * 3), Ordered(p), Ordered(p * 2)])[1].t,
    "in": lambda p: p * 2 if Ordered(p) in [Ordered(9.0), Ordered(p)] else p * 3,
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_of_an_object(name: str) -> None:
    f, h = TRUTHS[name], 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        compiled = gs.compile(gs.grad(f))
        for p in (1.25, 1.65, 1.45):
            expected = pytest.approx((f(p + h) - f(p - h)) / (2 * h), rel=1e-5)
            assert gs.grad(f)(p) == expected
            assert compiled(p) == expected


def test_a_comparison_of_pythons_numbers_is_pythons() -> None:
    def f(x: Any) -> Any:
        assert (x > 0) is True
        assert (x == 2.5) is False
        assert ~(x < 0) == -1
        return x * (x > 0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of ~True
        assert gs.grad(f)(1.5) == 1.0
