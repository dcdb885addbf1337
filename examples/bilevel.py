"""A bilevel problem: weights of penalties, chosen by what scipy.optimize.minimize finds with them.

    python bilevel.py

Inside, a logistic regression is fitted; outside, its loss on other data is made small.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, special

import gradscribe as gs

Array = Any


def cross_entropy(w: Array, x: Array, y: Array) -> Array:
    """The loss of a logistic regression."""
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of two penalties, and where to begin."""
    rng = np.random.default_rng(0)
    n = 30 if tiny else 100
    x = rng.normal(size=(2 * n, 4))
    y = (x[:, 0] - 0.5 * x[:, 1] + rng.normal(size=2 * n) > 0).astype(float)
    x_train, y_train, x_other, y_other = x[:n], y[:n], x[n:], y[n:]
    first = np.array([1.0, 1.0, 0.0, 0.0])

    def loss(p: Array) -> Array:
        penalty = np.exp(p[0]) * first + np.exp(p[1]) * (1.0 - first)

        def inner(w: Array) -> tuple[Array, Array]:
            slope = x_train.T @ (special.expit(x_train @ w) - y_train) / n
            return cross_entropy(w, x_train, y_train) + np.sum(penalty * w * w), slope + 2.0 * penalty * w

        found = optimize.minimize(inner, np.zeros(4), jac=True, tol=1e-10)
        return cross_entropy(found.x, x_other, y_other) + 1e-3 * np.sum(p * p)

    return loss, np.array([-3.0, -3.0])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="A bilevel problem: weights of penalties, chosen by what scipy.optimize.minimize finds with them"
    )
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 15})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
