"""A likelihood with a quadrature in it, by scipy.integrate.quad.

    python quadrature_likelihood.py

Counts of groups that differ by an effect nobody sees: it is integrated out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, optimize, special

import gradscribe as gs

Array = Any


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The negative logarithm of the likelihood, and where to begin."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(1.0 + 0.6 * rng.normal(size=(4 if tiny else 25))))
    groups, times = np.unique(counts, return_counts=True)
    seen = [(float(k), float(n)) for k, n in zip(groups, times, strict=True)]

    def loss(p: Array) -> Array:
        total = 0.0
        for k, n in seen:

            def density(u: Array, k: float = k) -> Array:
                rate = p[0] + np.exp(p[1]) * u
                return np.exp(k * rate - np.exp(rate) - special.gammaln(k + 1.0) - u * u / 2.0)

            total = total - n * np.log(integrate.quad(density, -8.0, 8.0)[0])
        return total / counts.size

    return loss, np.array([0.5, -1.0])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(description="A likelihood with a quadrature in it, by scipy.integrate.quad")
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 25})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
