"""The functions of examples/ that loop: eager, compiled and finite differences agree, whatever the number of trips."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from house import ROOT
from trips import held

Array = Any
EXAMPLES = ROOT / "examples"


def module(name: str) -> ModuleType:
    """A program of examples/, imported."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


roots, simulations, sequences, estimation, recursion = map(
    module, ("root_finding", "simulations", "sequences", "estimation", "recursion")
)


class Case(NamedTuple):
    """A function, what it is differentiated by, and arguments with which its loops make different numbers of trips."""

    function: Callable[..., Any]
    calls: list[Callable[[], tuple[Any, ...]]]
    argnums: tuple[int, ...] = (0,)
    sources: int | None = 1  # as many as all calls need; None where Python's values decide
    # Whether the gradient is eager's bit for bit, too: not where a loop starts from what it also reads, and but for the signs
    # of zeros (None) where no trip may enter a branch.
    exact: bool | None = True


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def args(*values: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: values


def network(length: int) -> Callable[[], tuple[Any, ...]]:
    p = {"w": normal(12, 5) / 2, "b": normal(12, seed=1) / 2, "out": normal(3, seed=2)}
    return args(p, normal(length, 2, seed=length), 0.5)


TABLE = np.linspace(0.0, 3.0, 40)
WORDS = [np.array([ord(c) - ord("a") for c in word]) for word in ("kitten", "sitting", "kid", "", "i")]
COSTS = 1.0 + 0.3 * normal(26, 26) ** 2
START = normal(3, 2)

CASES = {
    "Newton": Case(
        roots.newton,
        [args(*a) for a in ((1.0, 0.4), (2.0, 0.4), (0.3, 0.9), (1.5, 1e-9), (0.0, 0.3))],
        (0, 1),
        exact=False,
    ),
    "bisection": Case(roots.bisection, [args(*a) for a in ((1.0, 0.4), (2.0, 0.5), (0.3, 0.9), (1.0, 1e-9))], (0, 1)),
    "fixed point": Case(roots.at_rest, [args(*a) for a in ((1.0, 0.4), (2.0, 0.5), (0.3, 0.6), (1.0, 1e-9))], (0, 1)),
    "binary search": Case(
        roots.look_up,
        [args(x, TABLE[:n], np.sin(TABLE[:n])) for x, n in ((1.01, 40), (0.1, 40), (2.9, 40), (0.3, 10), (0.05, 2))],
        (0, 2),
    ),
    "adaptive Runge-Kutta": Case(
        simulations.oscillator,
        [args(mu, np.array([2.0, 0.1]), t) for mu, t in ((1.0, 0.4), (2.0, 0.6), (0.1, 0.05), (1.0, 0.0))],
        (0, 1),
        exact=False,
    ),
    "bodies": Case(
        simulations.missed,
        [args(0.1 * START, START, np.ones(3), np.ones(2), n) for n in (7, 12, 5, 1, 0)],
        (0, 1),
        None,
    ),
    "LSTM": Case(sequences.lstm, [network(n) for n in (5, 8, 30, 12)]),
    "edit distance": Case(
        sequences.edit_distance,
        [args(COSTS, 0.9, WORDS[a], WORDS[b]) for a, b in ((0, 1), (1, 0), (2, 0), (4, 4), (0, 3), (3, 4))],
        (0, 1),
        None,
    ),
    "soft edit distance": Case(
        lambda swap, gap, one, two: sequences.edit_distance(swap, gap, one, two, sequences.soft_least),
        [args(COSTS, 0.9, WORDS[a], WORDS[b]) for a, b in ((0, 1), (1, 0), (2, 0))],
        (0, 1),
        None,
    ),
    "edit distance by a table": Case(
        sequences.edit_table,
        [args(COSTS, 0.9, WORDS[a], WORDS[b]) for a, b in ((2, 4), (4, 2))],
        (0, 1),
        sources=None,
    ),
    "CTC": Case(
        sequences.ctc,
        [args(normal(t, 4, seed=t), np.array(y)) for t, y in ((6, [1, 2]), (9, [1, 1, 3]), (14, [2, 1, 3, 3, 1]))],
    ),
    "Kalman filter": Case(estimation.kalman, [args(0.5, 1.5, normal(n, 1)) for n in (5, 9, 30, 12)], (0, 1)),
    "Metropolis": Case(
        estimation.metropolis,
        [
            lambda n=n, seed=seed: (np.array([0.1, -0.2]), 1.5, np.random.default_rng(seed), n)
            for n, seed in ((5, 0), (9, 1), (1, 2), (40, 3))
        ],
        sources=None,
        exact=None,
    ),
    "k-means": Case(
        estimation.inertia,
        [args(p, p[:3].copy()) for p in (normal(12, 2), normal(30, 2, seed=4), normal(50, 2, seed=5))],
    ),
    "recursion over a tree": Case(
        recursion.sentiment,
        [args(normal(3, 6), normal(6, 3, seed=1), tree) for tree in ((0, 1), ((0, 1), 2), ((0, (3, 4)), (1, (2, 5))))],
        (0, 1),
        sources=3,
    ),
    "recursion on numbers": Case(recursion.period, [args(angle) for angle in (1.0, 1.1, 0.01, 3.0)], sources=None),
    "deep recursion on numbers": Case(recursion.logarithm, [args(x) for x in (1.05, 1.5, 100.0, 1e30)], sources=None),
}


def moved(value: Any, direction: Any, by: float) -> Any:
    if isinstance(value, dict):
        return {k: moved(v, direction[k], by) for k, v in value.items()}
    return value + by * direction


def along(value: Any, rng: np.random.Generator) -> Any:
    """A direction in which to move a value."""
    if isinstance(value, dict):
        return {k: along(v, rng) for k, v in value.items()}
    return rng.normal(size=np.shape(value))[()]


def inner(one: Any, other: Any) -> float:
    if isinstance(one, dict):
        return sum(inner(one[k], other[k]) for k in one)
    return float(np.sum(one * other))


@pytest.mark.parametrize("name", CASES)
def test_eager_is_near_finite_differences(name: str) -> None:
    case = CASES[name]
    gradient = gs.grad(case.function, argnums=case.argnums)
    for call in case.calls:
        rng, h = np.random.default_rng(1), 1e-6
        directions = {n: along(call()[n], rng) for n in case.argnums}
        found = sum(inner(g, directions[n]) for g, n in zip(gradient(*call()), case.argnums, strict=True))
        ends = []
        for by in (h, -h):
            given = list(call())
            for n, direction in directions.items():
                given[n] = moved(given[n], direction, by)
            ends.append(case.function(*given))
        assert found == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=2e-4, abs=1e-7)


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager_bit_for_bit(name: str, differentiated: bool) -> None:
    case = CASES[name]
    eager: Any = gs.value_and_grad(case.function, argnums=case.argnums) if differentiated else case.function
    sources, _ = held(eager, case.calls, case.exact if differentiated else True)
    if case.sources is not None:
        assert sources == case.sources


def test_the_gradients_are_the_right_ones() -> None:
    slopes = [gs.grad(f, argnums=1)(1.3, 0.4) for f in (roots.newton, roots.bisection, roots.at_rest)]
    e = roots.newton(1.3, 0.4)
    np.testing.assert_allclose(slopes, np.sin(e) / (1 - 0.4 * np.cos(e)), rtol=1e-9)
    assert gs.grad(recursion.logarithm)(100.0) == pytest.approx(0.01, rel=1e-8)
    values = sequences.edit_distance(COSTS, 0.9, *WORDS[:2]), sequences.edit_table(COSTS, 0.9, *WORDS[:2])
    assert values[0] == values[1]


def test_ctc_is_the_sum_over_all_ways_to_say_it() -> None:
    scores, labels = normal(4, 3), np.array([1, 1])

    def spelled(path: tuple[int, ...]) -> list[int]:
        return [p for k, p in enumerate(path) if p and (k == 0 or path[k - 1] != p)]

    def by_hand(scores: Array) -> Array:
        likely = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        paths = [p for p in itertools.product(range(3), repeat=4) if spelled(p) == list(labels)]
        return -np.log(sum(np.exp(sum(likely[t, k] for t, k in enumerate(p))) for p in paths))

    value, d_scores = gs.value_and_grad(sequences.ctc)(scores, labels)
    expected, d_expected = gs.value_and_grad(by_hand)(scores)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(d_scores, d_expected, rtol=1e-9, atol=1e-12)


def test_the_kalman_filter_is_the_likelihood_of_one_gaussian() -> None:
    q, r, n = 0.5, 1.5, 5
    ys = normal(n, 1)
    move, drift = np.array([[1.0, 1.0], [0.0, 1.0]]), q**2 * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    powers = [np.linalg.matrix_power(move, k) for k in range(n + 1)]
    covariance = r**2 * np.eye(n)
    for i in range(n):
        for j in range(n):
            shared = [powers[i - k] @ drift @ powers[j - k].T for k in range(min(i, j) + 1)]
            covariance[i, j] += (powers[i + 1] @ powers[j + 1].T * 10 + sum(shared))[0, 0]
    exact = -0.5 * (ys[:, 0] @ np.linalg.solve(covariance, ys[:, 0]) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    assert estimation.kalman(q, r, ys) == pytest.approx(exact, rel=1e-10)


def test_a_loop_whose_first_trip_leaves_a_singular_matrix_is_kept() -> None:
    def truss(areas: Any, elements: Any, load: Any) -> Any:
        stiffness = np.zeros((len(load), len(load)))
        for e in range(len(elements)):
            v = np.zeros(len(load))
            v[elements[e]] = np.array([1.0, -1.0])
            stiffness += areas[e] * np.outer(v, v)
        return load[1:] @ np.linalg.solve(stiffness[1:, 1:], load[1:])

    elements = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    args = np.array([1.0, 2.0, 0.5, 0.7]), elements, np.array([0.0, 1.0, -2.0, 0.5])
    compiled = gs.compile(gs.grad(truss), verify="first calls")
    assert compiled(*args).tobytes() == gs.grad(truss)(*args).tobytes()
    assert "for e in reversed(range(len(elements))):" in str(gs.source(gs.grad(truss), *args))
    assert not gs.explain(compiled).specialisations[0].unrolled
