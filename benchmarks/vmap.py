"""Per-example gradients of a network 784-256-128-10 over 128 examples: gs.vmap(gs.grad(loss)) over a Python loop of gs.grad."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradscribe as gs

sys.path.append(str(Path(__file__).parent))
from timing import interleaved, is_tiny, per_call, report


def loss(params: Any, x: Any, y: Any) -> Any:
    """The cross-entropy of one example."""
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    z = x @ w + b
    z = z - np.max(z)
    return np.log(np.sum(np.exp(z))) - np.sum(z * y)


def network(sizes: list[int], rng: np.random.Generator, dtype: Any) -> Any:
    """Weights and biases of a fresh network."""
    pairs = itertools.pairwise(sizes)
    return [((rng.normal(size=(m, n)) / np.sqrt(m)).astype(dtype), np.zeros(n, dtype)) for m, n in pairs]


def measure(sizes: list[int], batch: int, rounds: int, dtype: Any) -> None:
    """Time one choice of sizes."""
    rng = np.random.default_rng(0)
    params = network(sizes, rng, dtype)
    x = rng.normal(size=(batch, sizes[0])).astype(dtype)
    y = np.eye(sizes[-1], dtype=dtype)[rng.integers(sizes[-1], size=batch)]
    one = gs.grad(loss)
    batched = gs.vmap(one, in_axes=(None, 0, 0))
    compiled = gs.compile(batched, verify="first calls")

    def looped() -> Any:
        rows = [one(params, x[k], y[k]) for k in range(batch)]
        return [tuple(np.stack([row[j][p] for row in rows]) for p in (0, 1)) for j in range(len(params))]

    for (w, b), (v, c) in zip(batched(params, x, y), looped(), strict=True):
        np.testing.assert_allclose(w, v, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(b, c, rtol=1e-4, atol=1e-5)
    compiled(params, x, y)
    label = f"per-example gradients, {'-'.join(map(str, sizes))}, batch {batch}, {np.dtype(dtype).name}"
    found, loop, written = interleaved(
        rounds, per_call(lambda: batched(params, x, y), 1), per_call(looped, 1),
        per_call(lambda: compiled(params, x, y), 1),
    )  # fmt: skip
    report(label, found, loop, ("vmap(grad)", "a loop of grad"))
    report(f"{label}, compiled", written, loop, ("compile(vmap(grad))", "a loop of grad"))


if __name__ == "__main__":
    if is_tiny():
        measure([6, 5, 4, 3], 4, 2, np.float64)
    else:
        for dtype in (np.float64, np.float32):
            measure([784, 256, 128, 10], 128, 10, dtype)
        measure([20, 16, 16, 3], 128, 30, np.float64)
