"""Tables that a loop fills and reads as it goes: in place in the source where nobody sees it, and with the bits of eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def recurrence(a: Any) -> Any:
    r = np.zeros(len(a) + 1)
    for i in range(1, len(a) + 1):
        r[i] = np.sin(r[i - 1]) + a[i - 1]
    return r[len(a)]


def table(a: Any) -> Any:
    r = np.zeros((len(a) + 1, len(a) + 1))
    for i in range(len(a)):
        for j in range(len(a)):
            r[i + 1, j + 1] = np.maximum(r[i, j + 1], r[i + 1, j]) + a[i] * a[j]
    return r[len(a), len(a)]


def read_again(a: Any) -> Any:
    r = np.zeros(len(a) + 2)
    s = 0.0
    for i in range(len(a)):
        v = r[i]
        r[i + 1] = v * 0.5 + a[i]
        r[i] = r[i + 1] * 2
        s += v * r[i]
    return np.sum(r) * s


def exchanged(a: Any) -> Any:
    r = a * 1.0
    for i in range(len(a) - 1):
        r[i], r[i + 1] = r[i + 1], r[i] * 2
    return np.sum(r**2) + np.sum(a * r)


def sorted_by_exchange(a: Any) -> Any:
    b = a + 0
    for _ in range(len(a)):
        for j in range(len(a) - 1):
            if b[j] > b[j + 1]:
                b[j], b[j + 1] = b[j + 1], b[j]
    return np.sum(b * np.arange(len(a)))


def branched(a: Any) -> Any:
    r = np.zeros(len(a))
    for i in range(len(a)):
        if r[i - 1] > 0.3:
            r[i] = a[i] * r[i - 1]
        else:
            r[i] = a[i] + r[i - 2]
    return np.sum(r**2)


def until(a: Any) -> Any:
    r, i = np.ones(4), 0
    while r[i % 4] < 20:
        r[i % 4] = r[i % 4] * np.abs(a[0]) + r[(i + 1) % 4] * 1.5
        i += 1
    return np.sum(r**2)


def summed(a: Any) -> Any:
    r, t = a + 1, 0.0
    for i in range(4):
        m = np.sum(r)
        for j in range(4):
            r[j] = r[j] * 0.9 + m * a[i]
        t += r[i] * m
    return t + np.sum(r)


def remembered(a: Any) -> Any:
    r = np.zeros(len(a))
    rs = []
    for i in range(len(a)):
        r[i] = a[i] + r[i - 1]
        rs.append(r * 2)
    return np.sum(np.stack(rs) ** 2)


def rows(a: Any) -> Any:
    r = np.zeros((len(a), 3))
    for i in range(1, len(a)):
        row = r[i - 1]
        r[i] = row * a[i] + 1
        r[i - 1] = a[i] + np.sum(r)
        r[0] += row
    return np.sum(r**2)


def without_loop(a: Any) -> Any:
    p, q = a * 2, a * 3
    t, z = p[1] * q[2], q.sum()
    p[1] = t * z
    q[0] = p[1] + p[0]
    p, q = q, p
    q[2] = p[0] * z
    return np.sum(p * q) * t


FILLED = [
    recurrence, table, read_again, exchanged, sorted_by_exchange, branched, until, summed, remembered, rows, without_loop,
]  # fmt: skip


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("f", FILLED, ids=lambda f: f.__name__)
def test_the_bits_of_eager(f: Callable[..., Any], order: int) -> None:
    g = f if order == 0 else gs.value_and_grad(f)
    if order == 2:
        first = gs.grad(f)
        g = gs.grad(lambda a: np.sum(np.sin(first(a))))
    compiled = gs.compile(g, verify="first calls")
    rng = np.random.default_rng(order)
    for n in (5, 5, 6, 8):
        a = rng.normal(size=(n, 3) if f is rows else n)
        found, expected = compiled(a), g(a)
        pairs = zip(found, expected, strict=True) if order == 1 else [(found, expected)]
        for x, y in pairs:
            if order == 2:
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-300)
            else:
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("f", [recurrence, table, read_again], ids=lambda f: f.__name__)
def test_no_trip_copies_the_table(f: Callable[..., Any]) -> None:
    assert "np.array(" not in gs.source(f if f is read_again else gs.grad(f), np.ones(5))


def test_the_number_of_a_range_has_its_name() -> None:
    text = gs.source(recurrence, np.ones(4))
    assert "for i in range(1, a.size + 1):" in text


def test_a_loop_whose_result_no_gradient_asks_for_is_left_out() -> None:
    def smooth(a: Any) -> Any:
        s = np.zeros(len(a) + 1)
        for i in range(len(a)):
            s[i + 1] = 0.9 * s[i] + 0.1 * a[i]
        return s[len(a)]

    assert gs.source(gs.grad(smooth), np.ones(4)).count("    for i in ") == 1


def test_equal_numbers_of_a_trip_are_computed_once() -> None:
    def decay(y: Any, k: Any) -> Any:
        for _ in range(5):
            y = y - 0.1 * (-k * y) + 0.2 * (-k * (y + 1))
        return np.sum(y)

    assert gs.source(gs.value_and_grad(decay, argnums=(0, 1)), np.ones(2), 0.5).count("= -k\n") == 1
