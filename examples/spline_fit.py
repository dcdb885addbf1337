"""A curve through parameters, by scipy.interpolate.CubicSpline.

    python spline_fit.py

The heights at a few knots are fitted, together with where the inner knots lie.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import interpolate, optimize

import gradscribe as gs

Array = Any


def curve(p: Array, x: Array) -> Array:
    """A natural spline through six knots, of which the inner ones move."""
    knots = np.concatenate([np.array([0.0]), np.array([0.2, 0.4, 0.6, 0.8]) + 0.08 * np.tanh(p[6:]), np.array([1.0])])
    return interpolate.CubicSpline(knots, p[:6], bc_type="natural")(x)


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of heights and knots, and where to begin."""
    x = np.linspace(0.0, 1.0, 20 if tiny else 200)
    data = np.exp(-40.0 * (x - 0.35) ** 2) + 0.3 * x + 0.02 * np.random.default_rng(0).normal(size=x.size)

    def loss(p: Array) -> Array:
        return np.mean((curve(p, x) - data) ** 2)

    return loss, np.concatenate([0.1 * np.arange(6.0) + 0.2, 0.1 * np.ones(4)])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(description="A curve through parameters, by scipy.interpolate.CubicSpline")
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
