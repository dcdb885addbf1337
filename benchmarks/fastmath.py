"""What `fastmath=True` gains: compiled with it over compiled without, in one run."""

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

import gradscribe as gs  # noqa: E402

Array = Any


def polynomial(x: Array) -> Array:
    """Powers of many numbers."""
    return np.mean(x**5 / 5 - x**4 + x**3 / 3)


def pairs(x: Array, y: Array) -> Array:
    """A matrix product that is written as a sum over a third axis."""
    return np.sum(np.sum(x[:, :, None] * y[None], axis=1) ** 2)


def weighted(x: Array, w: Array, y: Array) -> Array:
    """Weighted least squares, written as sums of products."""
    residual = np.sum(x * w, axis=1) - y
    return np.mean(residual**2)


def neuron(s: float) -> float:
    """A chain of functions of one number."""
    for _ in range(8):
        s = np.tanh(s) * 0.9 + np.arctan(s) * s
    return s


def run(what: str, function: Callable[..., Array], args: tuple[Any, ...], rounds: int, repeats: int) -> None:
    """Time both, each after its checks."""
    fast, exact = gs.compile(function, fastmath=True, verify="first calls"), gs.compile(function)
    for _ in range(4):  # until what is left to check is checked
        fast(*args), exact(*args)
        args = (args[0] * 1.0000001, *args[1:])
    ours, theirs = interleaved(rounds, per_call(lambda: fast(*args), repeats), per_call(lambda: exact(*args), repeats))
    report(what, ours, theirs, ("fastmath", "exact"))


if __name__ == "__main__":
    n, m, rounds, repeats = (10, 4, 2, 1) if is_tiny() else (10**6, 128, 15, 1)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, n)
    for dtype in (np.float64, np.float32):
        run(f"polynomial {dtype.__name__}", gs.value_and_grad(polynomial), (x.astype(dtype),), rounds, repeats)
    run("pairs gradient", gs.value_and_grad(pairs), (rng.normal(size=(m, m)), rng.normal(size=(m, m))), rounds, repeats)
    rows = rng.normal(size=(n // 10, 20))
    run("weighted", gs.value_and_grad(weighted, argnums=1), (rows, rng.normal(size=20), x[: n // 10]), rounds, repeats)
    run("neuron, one number", neuron, (np.float64(0.3),), rounds, 1 if is_tiny() else 1000)
