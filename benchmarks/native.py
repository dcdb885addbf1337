"""What `target="native"` gains: value and gradient as C over NumPy's source, in one run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import interleaved, is_tiny, per_call, report  # noqa: E402
from workloads import WORKLOADS, mixture, plain_loop, rosenbrock, waves  # noqa: E402

import gradscribe as gs  # noqa: E402

Array = Any


def linear_and_bce(w: Array, b: Array, x: Array, y: Array) -> Array:
    """A layer, and the cross-entropy of its logits."""
    z = x @ w + b
    return np.mean(np.logaddexp(0.0, z) - y * z)


def grown(x: Array) -> Array:
    """A loop whose end the numbers decide."""
    y = x
    while np.sum(y) < 1000.0:
        y = y * 1.1 + 0.01 * np.sin(y)
    return np.sum(y * y)


def run(what: str, function: Callable[..., Array], args: tuple[Any, ...], n: int, rounds: int, repeats: int) -> None:
    """Time value and gradient by the first `n` arguments on both targets, each after its checks."""
    both = gs.value_and_grad(function, argnums=tuple(range(n)))
    native, numpy = gs.compile(both, target="native"), gs.compile(both, target="numpy")
    for _ in range(4):  # until what is left to check is checked
        native(*args), numpy(*args)
        args = (args[0] * 1.0000001, *args[1:])
    ours, theirs = interleaved(
        rounds, per_call(lambda: native(*args), repeats), per_call(lambda: numpy(*args), repeats)
    )
    report(what, ours, theirs, ("native", "numpy"))


if __name__ == "__main__":
    n, rounds, repeats = (10, 2, 1) if is_tiny() else (10**6, 15, 200)
    rng = np.random.default_rng(0)
    x, w, y = rng.normal(size=(32, 8)), rng.normal(size=8), (rng.random(32) > 0.5) * 1.0
    run("linear and BCE", linear_and_bce, (w, np.float64(0.1), x, y), 2, rounds, repeats)
    run("Rosenbrock", rosenbrock(np, plain_loop), (np.linspace(-1.0, 1.0, 10),), 1, rounds, repeats)
    run("a kept while", grown, (np.ones(5),), 1, rounds, max(repeats // 10, 1))
    run(
        "mixture",
        mixture(np, plain_loop),
        (np.zeros(5), rng.normal(size=(5, 3)), rng.normal(size=(500, 3))),
        2,
        rounds,
        max(repeats // 20, 1),
    )
    for name in (
        "Runge-Kutta",
        "Kalman filter",
        "hidden Markov model",
        "bodies",
        "fifty layers",
        "logistic regression",
    ):
        work = WORKLOADS[name]
        given = work.arguments(np.random.default_rng(0), is_tiny())
        run(name, work.make(np, plain_loop), given, len(work.argnums), rounds, 1)
    for dtype in (np.float64, np.float32):
        run(
            f"elementwise, {n} of {np.dtype(dtype)}",
            waves(np, plain_loop),
            (rng.normal(size=n).astype(dtype),),
            1,
            rounds,
            1,
        )
