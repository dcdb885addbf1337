"""Lifetimes, of which some are not over: a distribution of scipy.stats is fitted.

    python distribution_fit.py

Weibull's density of those that are over, and its survival function of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, stats

import gradscribe as gs

Array = Any


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of shift and scale, and of the shape by the density, and where to begin."""
    rng = np.random.default_rng(0)
    lives = 1.0 + 3.0 * rng.weibull(1.8, 30 if tiny else 400)
    end = 4.5
    over, on = lives[lives < end], np.full(np.sum(lives >= end), end)
    first, shape = np.min(lives), 1.8

    def loss(p: Array) -> Array:
        family = stats.weibull_min(shape, loc=first - np.exp(p[0]), scale=np.exp(p[1]))
        return -(np.sum(family.logpdf(over)) + np.sum(family.logsf(on))) / lives.size

    return loss, np.array([-1.0, 0.8])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="Lifetimes, of which some are not over: a distribution of scipy.stats is fitted"
    )
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 80})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
