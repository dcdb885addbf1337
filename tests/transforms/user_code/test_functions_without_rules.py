"""Functions of NumPy and SciPy without a rule: of what is not differentiated they are calls of the source, else they raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats

import gradscribe as gs

DRAWS = np.random.default_rng(3)


def blurred(x: Any) -> Any:
    i, j = np.mgrid[: x.size, : x.size]
    return np.sum(np.exp(-((i - j) ** 2) / 4) * np.outer(x, x))


def blurred_thinly(x: Any) -> Any:
    i, j = np.ogrid[: x.size, : x.size]
    return np.sum(np.exp(-((i - j) ** 2) / 4) * np.outer(x, x))


def at_steps(x: Any) -> Any:
    i, j = np.mgrid[0:1:6j, 1:7:2]
    return np.sum(x[0] * i + x[1] * j**2) + np.sum(np.mgrid[-2:3] * x[2]) + np.sum(np.mgrid[1.0:4.0:0.5] * x[3])


def to_a_traced_end(x: Any) -> Any:
    return np.sum(np.mgrid[0 : x[0] : 3j] ** 2) + np.sum(np.ogrid[0 : x[1] : 4j, 0:2][0])


def of_places(x: Any) -> Any:
    return np.sum(np.fromfunction(lambda i, j: x[0] * i + x[1] * j * (i > 1), (3, 4)) ** 2)


def integrated(x: Any) -> Any:
    nodes, weights = np.polynomial.legendre.leggauss(6)
    return np.sum(np.exp(x[0] * nodes) * weights) * x[1]


def filtered(x: Any) -> Any:
    b, a = scipy.signal.butter(2, 0.3)
    return np.sum(scipy.signal.lfilter(b, a, x) ** 2)


def labelled(x: Any) -> Any:
    labels, _ = scipy.ndimage.label(input=x > 1)
    return sum(np.sum(x[labels == k]) ** 2 for k in range(1, 3))


def windowed(x: Any) -> Any:
    return np.sum(x * scipy.signal.firwin(len(x), 0.3)) + np.sum(x[:3] * scipy.special.jn_zeros(0, 3))


def projected(x: Any) -> Any:
    return np.sum(scipy.linalg.orth(np.eye(4) + 1) @ x[:4]) * np.sum(scipy.signal.chirp(np.arange(6.0), 1, 5, 2))


def assigned(x: Any) -> Any:
    cost = (x[:, None] - np.array([1.0, 2.0, 0.3, 0.7])[None]) ** 2
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    return cost[rows, columns].sum()


SOLVERS = {"assignment": scipy.optimize.linear_sum_assignment}


def assigned_by_name(x: Any) -> Any:
    cost = (x[:, None] - np.array([1.0, 2.0, 0.3, 0.7])[None]) ** 2
    rows, columns = SOLVERS["assignment"](cost)
    return cost[rows, columns].sum()


def at_peaks(x: Any) -> Any:
    places, found = scipy.signal.find_peaks(x, height=0.1)
    return np.sum(x[places] ** 2) + np.sum(found["peak_heights"])


def ranked(x: Any) -> Any:
    return np.sum(x * scipy.stats.rankdata(x))


def of_a_constant_matrix(x: Any) -> Any:
    return np.sum((scipy.sparse.csr_matrix(np.eye(4) * 2) @ x[:4]) ** 2)


@pytest.mark.parametrize(
    "f",
    [blurred, blurred_thinly, at_steps, to_a_traced_end, of_places, integrated, filtered,
     labelled, windowed, projected, assigned, assigned_by_name,
     at_peaks,
     ranked, of_a_constant_matrix],
)  # fmt: skip
def test_what_has_no_rule_is_a_call_of_the_source(f: Callable[[Any], Any]) -> None:
    compiled = gs.compile(gs.value_and_grad(f))
    for n in (6, 8, 8, 7):
        x = DRAWS.uniform(0.05, 2.0, n)
        value, gradient = gs.value_and_grad(f)(x)
        assert value == f(x)
        steps = 1e-6 * np.eye(n)
        np.testing.assert_allclose(gradient, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], rtol=1e-4, atol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("error", gs.EagerWarning)
            found = compiled(x)
        assert found[0] == value
        assert np.array_equal(found[1], gradient)


def test_the_source_calls_the_function_as_the_user_did() -> None:
    source = gs.source(gs.grad(filtered), np.ones(5))
    assert "b, a = scipy.signal.butter(2, 0.3)" in source
    assert "nodes, weights = np.polynomial.legendre.leggauss(6)" in gs.source(gs.grad(integrated), np.ones(5))
    assert "np.indices((x.size, x.size))" in gs.source(gs.grad(blurred), np.ones(5))


@pytest.mark.parametrize(
    "f",
    [lambda x: scipy.signal.butter(2, x[0])[0].sum(), lambda x: np.sum(scipy.signal.firwin(5, x[0])),
     lambda x: np.sum(scipy.signal.firwin(5, [x[0], 0.6])), lambda x: np.sum(scipy.signal.firwin(5, 0.3, width=x[0])),
     lambda x: np.sum(scipy.signal.get_window(x[0] * 20.0, 5)), lambda x: np.sum(scipy.signal.get_window(("kaiser", x[0]), 5)),
     lambda x: np.sum(scipy.signal.find_peaks(x, prominence=0.1)[1]["prominences"])],
)  # fmt: skip
def test_of_what_is_differentiated_it_raises(f: Callable[[Any], Any]) -> None:
    x = np.array([0.2, 0.5, 0.1, 0.6, 0.3])
    for transform in (gs.grad, lambda f: gs.compile(gs.grad(f))):
        with pytest.raises((gs.GradientLossError, NotImplementedError)):
            transform(f)(x)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_a_function_that_writes_into_its_argument_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        a = np.array([3.0, 1.0, 2.0])
        scipy.linalg.lu_factor(np.eye(3))
        scipy.linalg.solve_toeplitz(a, a)
        scipy.signal.detrend(a, overwrite_data=True)
        return np.sum(a * x)

    x = np.ones(3)
    f(x)
    assert np.array_equal(gs.compile(gs.grad(f))(x), gs.grad(f)(x))
