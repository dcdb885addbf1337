"""Signals on a graph, smoothed by a system of scipy.sparse; how much is learned.

    python graph_smoothing.py

Each edge has a weight, and the whole a strength: the smoothed signal solves a sparse system.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import linalg

import gradscribe as gs

Array = Any


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of the strengths of two kinds of edges, and where to begin."""
    n = 12 if tiny else 200
    rng = np.random.default_rng(0)
    near, far = np.arange(n - 1), rng.integers(0, n, (2, n // 2))
    rows, columns = np.concatenate([near, far[0]]), np.concatenate([near + 1, far[1]])
    is_near = np.concatenate([np.ones(n - 1), np.zeros(n // 2)])
    clean = np.sin(np.linspace(0.0, 6.0, n))
    noisy = clean + 0.3 * rng.normal(size=n)
    every = np.arange(n)

    def loss(p: Array) -> Array:
        w = np.exp(p[0]) * is_near + np.exp(p[1]) * (1.0 - is_near)
        numbers = np.concatenate([-w, -w, w, w, np.ones(n)])
        places = (
            np.concatenate([rows, columns, rows, columns, every]), np.concatenate([columns, rows, rows, columns, every]),
        )  # fmt: skip
        smooth = linalg.spsolve(sparse.csc_array((numbers, places), shape=(n, n)), noisy)
        return np.mean((smooth - clean) ** 2)

    return loss, np.array([0.5, -1.0])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="Signals on a graph, smoothed by a system of scipy.sparse; how much is learned"
    )
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 40})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
