"""A differential equation, fitted to data through scipy.integrate.solve_ivp.

    python ode_fit.py

Prey and predators: the rates follow from noisy counts. The derivative is by the adjoint equation, which SciPy solves, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, optimize

import gradscribe as gs

Array = Any

TRUE = np.log([1.1, 0.4, 0.4, 0.1])


def rates(t: Array, y: Array, p: Array) -> Array:
    """How prey and predators grow and die."""
    prey, hunters = y
    return [p[0] * prey - p[1] * prey * hunters, p[3] * prey * hunters - p[2] * hunters]


def counts(p: Array, times: Array) -> Array:
    """How many there are at some times."""
    found = integrate.solve_ivp(
        rates, (0.0, times[-1]), [10.0, 5.0], args=(np.exp(p),), t_eval=times, rtol=1e-8, atol=1e-8
    )
    return found.y


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of the rates, and where to begin."""
    times = np.linspace(0.5, 4.0 if tiny else 10.0, 4 if tiny else 20)
    data = counts(TRUE, times) * np.exp(0.02 * np.random.default_rng(0).normal(size=(2, times.size)))

    def loss(p: Array) -> Array:
        return np.mean((np.log(counts(p, times)) - np.log(data)) ** 2)

    return loss, TRUE + np.array([0.1, -0.1, 0.1, -0.1])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="A differential equation, fitted to data through scipy.integrate.solve_ivp"
    )
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="L-BFGS-B", options={"maxiter": 30})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
