"""A digital filter, fitted through scipy.signal.lfilter.

    python filter_fit.py

A recursive filter is found from what goes in and what comes out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, signal

import gradscribe as gs

Array = Any


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of a filter's coefficients, and where to begin."""
    sound = np.random.default_rng(0).normal(size=50 if tiny else 500)
    heard = signal.lfilter([0.2, 0.3], [1.0, -0.5, 0.2], sound)

    def loss(p: Array) -> Array:
        return np.mean((signal.lfilter(p[:2], np.append(1.0, p[2:]), sound) - heard) ** 2)

    return loss, np.array([0.1, 0.1, -0.1, 0.1])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(description="A digital filter, fitted through scipy.signal.lfilter")
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 60})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
