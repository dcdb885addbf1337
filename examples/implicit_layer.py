"""A layer of a network that is the solution of equations, found by scipy.optimize.root.

    python implicit_layer.py

The state of the layer solves z = tanh(W z + U x); its derivative is that of the solution, not of the steps to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

import gradscribe as gs

Array = Any


def layer(w: Array, u: Array, x: Array) -> Array:
    """The state at rest."""
    return optimize.root(lambda z: z - np.tanh(w @ z + u @ x), np.zeros(3), tol=1e-12).x


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of all weights, and where to begin."""
    rng = np.random.default_rng(0)
    inputs = list(rng.normal(size=(4 if tiny else 20, 2)))
    targets = [np.sin(2.0 * x[0]) * x[1] for x in inputs]

    def loss(p: Array) -> Array:
        w, u, v = 0.5 * np.tanh(np.reshape(p[:9], (3, 3))), np.reshape(p[9:15], (3, 2)), p[15:]
        off = [v @ layer(w, u, x) - y for x, y in zip(inputs, targets, strict=True)]
        return np.mean(np.stack(off) ** 2)

    return loss, 0.5 * rng.normal(size=18)


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="A layer of a network that is the solution of equations, found by scipy.optimize.root"
    )
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 20})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
