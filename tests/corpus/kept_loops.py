"""Functions whose loops stay loops, each with inputs of several lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any


XS = np.random.default_rng(0).normal(size=(20, 3))


def issue(a: Array) -> Array:
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    c = b if b.sum() > 0 else 100 * b
    return c


def newton(a: Array) -> Array:
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def counted(x: Array) -> Array:
    n = 0
    while np.sum(x) < 10.0:
        x = x * 1.5
        n += 1
    return x * n


def counter_in_the_test(x: Array, most: int) -> Array:
    n = 0
    while n < most and np.sum(x) < 10.0:
        x = np.sin(x) + x
        n += 1
    return x


def several_carried(x: Array) -> Array:
    a, b, t = x, np.ones(3), 0.0
    while t < np.sum(np.abs(x)):
        a, b = b, a + 0.5 * b
        t += 0.7
    return a, b


def first_bound_inside(x: Array) -> Array:
    s = np.sum(x)
    while s < 20.0:
        last = s * s
        s = s + last + 1.0
    if s > 1.0:
        last = s
    return last * np.sin(s)


def starts_as_an_integer(x: Array) -> Array:
    s = 0
    while s < 5.0:
        s = s + np.exp(x)
    return s


def unchanged_and_invariant(x: Array, w: Array) -> Array:
    scale, k = np.tanh(w), x[0]
    y = x
    while np.sum(np.abs(y)) > 0.1:
        y = y * 0.5 * scale
        k = k * 1.0
    return y + scale * k


def while_else(x: Array) -> Array:
    y = x
    while np.sum(y) < 8.0:
        y = y * 1.7
        if y[0] > 3.0:
            break
    else:
        y = -y
    return y


def while_true(x: Array) -> Array:
    y = x
    while True:
        y = np.cos(y) + y
        if np.sum(y) > 4.0:
            break
    return y * y


def over_a_range(x: Array, n: int) -> Array:
    y = x
    for i in range(n):
        y = np.tanh(y) + 0.1 * i
    return y


def over_rows(xs: Array) -> Array:
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(x + 0.5 * h)
    return h


def over_an_index(xs: Array) -> Array:
    h = np.zeros(3)
    for t in range(1, len(xs)):
        h = h * xs[t - 1] + xs[t]
    return h


def enumerated(xs: Array) -> Array:
    s = np.zeros(3)
    for i, x in enumerate(xs, start=1):
        s = s + np.sin(x) * i
    return s


def zipped(xs: Array) -> Array:
    s = 1.0
    for a, b in zip(xs[:-1], xs[1:]):  # noqa: B905, RUF007
        s = s * 0.9 + np.dot(a, b)
    return s


def backwards(xs: Array) -> Array:
    h = np.zeros(3)
    for x in reversed(xs):
        h = h * 0.5 + np.exp(x)
    return h


def summed_from_zero(xs: Array) -> Array:
    s = 0
    for x in xs:
        s += np.sum(x**3)
    return s


def peeled(xs: Array) -> Array:
    s = 0
    for x in xs:
        s = s + x * x
    return s


def collected(xs: Array) -> Array:
    found = []
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(x - h)
        found.append(h)
    return np.stack(found) * 2.0


def in_place(xs: Array) -> Array:
    s = np.zeros(3)
    for x in xs:
        s += x * x
        s *= 0.9
    return s


def breaks(xs: Array) -> Array:
    s = np.zeros(3)
    for x in xs:
        if np.sum(x) > 1.5:
            break
        s = s + x * s + x
    return s


def continues(xs: Array) -> Array:
    s = np.ones(3)
    for x in xs:
        if x[0] < 0.0:
            continue
        s = s * x
    return s


def returns(xs: Array) -> Array:
    s = np.zeros(3)
    for x in xs:
        s = s + np.exp(x)
        if np.sum(s) > 9.0:
            return s * s
    return -s


def for_else(xs: Array) -> Array:
    s = np.zeros(3)
    for x in xs:
        s = s + x
        if np.max(s) > 1.0:
            s = s * 2.0
            break
    else:
        s = np.sin(s)
    return s


def all_of_them(xs: Array) -> Array:
    s = np.ones(3)
    for i, x in enumerate(xs):
        if np.sum(x) > 2.5:
            return s
        if x[1] < -1.0:
            continue
        s = s * np.cos(x)
        if s[0] < 0.0:
            s = s + i
            break
    else:
        return -s
    return s * 2.0


def branches(xs: Array) -> Array:
    s = 0.1 * np.ones(3)
    for x in xs:
        if np.sum(x) > 0 and x[0] > s[0]:
            y = x * s
        elif x[1] > 0 or not x[2] > 0:
            y = np.sin(x)
        else:
            y = s
        s = s + (y if 0.0 < np.sum(y) < 2.0 else -0.5 * y)
    return s


def triangle(x: Array, n: int) -> Array:
    for i in range(n):
        for j in range(i):
            x = np.sin(x) + 0.1 * (i + j)
    return x


def inner_by_a_value(xs: Array) -> Array:
    s = np.sum(xs[0])
    for x in xs:
        y = np.sum(x * x)
        while y > 0.5:
            y = y * 0.5 + 0.01 * s
        s = s + y
    return s


def inner_by_the_outer_variable(x: Array) -> Array:
    y = x
    while y < 30.0:
        z = 1.0
        while z < y:
            z = z * 1.5 + 0.1 * x
        y = y + z
    return y


def breaks_of_the_inner(xs: Array) -> Array:
    s = np.ones(3)
    for a in xs:
        for b in xs:
            if np.sum(a * b) > 1.0:
                break
            s = s + 0.1 * a * b
        else:
            s = s * 0.5
        if s[0] > 3.0:
            return s
    return np.cos(s)


def converges(x: Array) -> Array:
    if x < 1e-3:
        return x
    return newton(x)


def through_a_helper(xs: Array) -> Array:
    total = 0.0
    for x in xs:
        total = total + converges(np.sum(x * x) + 0.1)
    return total


class Cell:
    """A method with a loop, of an object with weights."""

    def __init__(self) -> None:
        self.w = XS[:3]

    def __call__(self, xs: Array) -> Array:
        h = np.zeros(3)
        for x in xs:
            h = self.step(h, x)
        return h

    def step(self, h: Array, x: Array) -> Array:
        return np.tanh(self.w @ h + x)


class Case(NamedTuple):
    """A function, and arguments for which it makes different numbers of trips."""

    function: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    sources: int | None = 1  # as many as all calls need, whichever comes first; None where Python's numbers decide
    exact: int = (
        3  # so many of value, gradient and second order are eager's bit for bit; the others differ in last bits,
    )


NUMBERS = [(v,) for v in (2.0, 0.3, 50.0, 1.0)]


VECTORS = [(k * np.array([0.5, 0.3, 0.2]),) for k in (1.0, 0.01, 30.0, 4.0, 12.0)]


ROWS = [(XS[:n].copy(),) for n in (6, 9, 5, 20)]


FEW = [(XS[:n].copy(),) for n in (1, 3, 2)]


MORE_ROWS = [*ROWS, (-XS,), (0.1 * XS,), (XS[::-1].copy(),)]


CASES = {
    case.function.__class__.__name__ if isinstance(case.function, Cell) else case.function.__name__: case
    for case in (
        Case(issue, [(np.float64(a),) for a in (0.37, -0.02, 900.0, 1e-9)]),
        Case(newton, [*NUMBERS, (1.0 + 1e-12,)], exact=1),
        Case(counted, VECTORS),
        Case(counter_in_the_test, [(v, n) for (v,) in VECTORS for n in (3, 0, 1, 20)], None),
        Case(several_carried, VECTORS),
        Case(first_bound_inside, VECTORS, 2, exact=2),
        Case(starts_as_an_integer, [(v,) for v in (0.5, -2.0, 3.0)]),
        Case(unchanged_and_invariant, [(v, w) for (v,) in VECTORS for w in (np.ones(3), XS[0])]),
        Case(while_else, VECTORS),
        Case(while_true, VECTORS),
        Case(over_a_range, [(XS[0], n) for n in (3, 0, 1, 12, 2)], None),
        Case(over_rows, ROWS),
        Case(over_an_index, ROWS),
        Case(enumerated, ROWS),
        Case(zipped, ROWS),
        Case(backwards, ROWS),
        Case(summed_from_zero, ROWS),
        Case(peeled, ROWS),
        Case(collected, ROWS, exact=2),
        Case(in_place, ROWS),
        Case(breaks, MORE_ROWS),
        Case(continues, MORE_ROWS),
        Case(returns, MORE_ROWS),
        Case(for_else, MORE_ROWS),
        Case(all_of_them, MORE_ROWS),
        Case(branches, MORE_ROWS, exact=2),
        Case(triangle, [(XS[0], n) for n in (3, 1, 0, 5, 2)], None),
        Case(inner_by_a_value, MORE_ROWS, exact=2),
        Case(inner_by_the_outer_variable, NUMBERS, exact=1),
        Case(breaks_of_the_inner, MORE_ROWS, exact=1),
        Case(through_a_helper, ROWS, None, exact=1),
        Case(Cell(), ROWS),
    )
}
