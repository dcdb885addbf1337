"""Distributions of scipy.stats that were frozen outside of the function: globals, attributes, defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from case_tables import slopes

stats = pytest.importorskip("scipy.stats")

NORMAL, GAMMA, COUNTS = stats.norm(0.5, 2.0), stats.gamma(2.0, scale=1.5), stats.poisson(2.0)
EACH = stats.gamma(np.array([1.0, 2.0]))
PLANE = stats.multivariate_normal([0.0, 0.2], [[2.0, 0.3], [0.3, 1.0]])
PRIORS = {"rate": stats.t(5.0)}


class Model:
    """A model that has its prior as an attribute."""

    def __init__(self) -> None:
        self.prior, self.others = stats.beta(2.0, 3.0), [stats.expon(scale=2.0)]

    def score(self, x: Any) -> Any:
        """Logarithms of densities."""
        return np.sum(self.prior.logpdf(x)) + np.sum(self.others[0].logsf(x))


def of_default(x: Any, prior: Any = stats.weibull_min(1.5)) -> Any:  # noqa: B008  # that is the case
    return np.sum(prior.cdf(x) * x)


def within(x: Any) -> Any:
    inner = stats.norm(x[0], 1.0)

    def read(y: Any) -> Any:
        return inner.logpdf(y) + NORMAL.isf(y)

    return np.sum(read(x))


CASES: dict[str, Callable[[Any], Any]] = {
    "logpdf": lambda x: np.sum(NORMAL.logpdf(x)),
    "cdf, sf, ppf": lambda x: np.sum(GAMMA.cdf(x) * NORMAL.sf(x) + GAMMA.ppf(x)),
    "an array of shapes": lambda x: np.sum(EACH.logpdf(x)),
    "of several variables": lambda x: PLANE.logpdf(x) + PLANE.pdf(x),
    "in a dict": lambda x: np.sum(PRIORS["rate"].logpdf(x)),
    "in a loop": lambda x: sum(prior.logpdf(v) for prior, v in zip([NORMAL, GAMMA], x, strict=True)),
    "an attribute": lambda x: Model().score(x),
    "a default": of_default,
    "in an inner function": within,
    "moments": lambda x: x[0] * (GAMMA.mean() + GAMMA.std() + NORMAL.median()) + x[1] * np.sum(NORMAL.interval(0.9)),
    "its parameters": lambda x: x[0] * np.sum(NORMAL.args) + x[1] * GAMMA.kwds["scale"],
}


@pytest.mark.parametrize("name", CASES)
def test_eager_and_compiled(name: str) -> None:
    f, x = CASES[name], np.array([0.3, 0.7])
    found = gs.grad(f)(x)
    assert gs.value_and_grad(f)(x)[0] == pytest.approx(float(f(x)), rel=1e-12)
    np.testing.assert_allclose(found, slopes(f, x), rtol=1e-7)
    compiled = gs.compile(gs.grad(f))
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * (1 + 0.01 * k)), gs.grad(f)(x * (1 + 0.01 * k)))
    compiled.specialisation(x)  # which raises where it runs eagerly


def test_what_has_no_formula_raises_and_draws_run_eagerly() -> None:
    wishart = stats.wishart(4, np.eye(2))
    with pytest.raises(gs.GradientLossError, match="wishart_frozen"):
        gs.grad(lambda x: wishart.logpdf(np.diag(x)))(np.ones(2))
    f = lambda x: np.sum(x * NORMAL.rvs(2, random_state=1))
    with pytest.warns(gs.EagerWarning, match="may draw random numbers"):
        np.testing.assert_array_equal(gs.compile(gs.grad(f))(np.ones(2)), NORMAL.rvs(2, random_state=1))


def test_masses_take_counts_beside_parameters() -> None:
    f = lambda x: np.sum(x * COUNTS.logpmf(np.array([1, 2])))
    np.testing.assert_allclose(gs.grad(f)(np.ones(2)), COUNTS.logpmf([1, 2]))
