"""Compiled Hessian-vector products over the same written by hand in straight NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from compiled import Array, Layers, classifier, network, rosenbrock  # noqa: E402
from timing import check_and_time, is_tiny  # noqa: E402

import gradscribe as gs  # noqa: E402


def rosenbrock_by_hand(x: Array, v: Array) -> Array:
    """The Hessian of `rosenbrock` times `v`."""
    left, along = x[:-1], v[:-1]
    t = x[1:] - left**2
    with np.errstate(all="ignore"):
        dt = v[1:] - 2 * left * along
        h = np.zeros_like(x)
        h[:-1] = 2 * along - 400.0 * (along * t + left * dt)
        h[1:] += 200.0 * dt
        return h


def classifier_by_hand(p: Layers, x: Array, y: Array, v: Layers) -> Layers:
    """The Hessian of `classifier` with respect to the weights, times `v`: Pearlmutter's forward and backward pass."""
    h1 = np.tanh(x @ p["w1"] + p["b1"])
    h2 = np.tanh(h1 @ p["w2"] + p["b2"])
    logits = h2 @ p["w3"] + p["b3"]
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    with np.errstate(all="ignore"):
        share = e / e.sum(axis=1, keepdims=True)
        slope1, slope2 = 1 - h1 * h1, 1 - h2 * h2
        d3 = (share - y) / len(x)
        back2 = d3 @ p["w3"].T
        d2 = back2 * slope2
        back1 = d2 @ p["w2"].T
        t1 = (x @ v["w1"] + v["b1"]) * slope1
        t2 = (t1 @ p["w2"] + h1 @ v["w2"] + v["b2"]) * slope2
        t3 = t2 @ p["w3"] + h2 @ v["w3"] + v["b3"]
        r3 = share * (t3 - (share * t3).sum(axis=1, keepdims=True)) / len(x)
        r2 = (r3 @ p["w3"].T + d3 @ v["w3"].T) * slope2 - 2 * back2 * h2 * t2
        r1 = (r2 @ p["w2"].T + d2 @ v["w2"].T) * slope1 - 2 * back1 * h1 * t1
        return {
            "w1": x.T @ r1, "b1": r1.sum(axis=0),
            "w2": t1.T @ d2 + h1.T @ r2, "b2": r2.sum(axis=0),
            "w3": t2.T @ d3 + h2.T @ r3, "b3": r3.sum(axis=0),
        }  # fmt: skip


def networks(dtype: Any) -> None:
    """The product with the Hessian of a network."""
    p, x, y = network(*(((7, 5, 4, 3), 6) if is_tiny() else ((784, 256, 128, 10), 128)), dtype)
    rng = np.random.default_rng(1)
    v = {k: rng.normal(size=w.shape).astype(dtype) for k, w in p.items()}
    compiled, rounds = gs.compile(gs.hvp(classifier)), (2, 1) if is_tiny() else (60, 1)
    check_and_time(
        f"Hessian-vector product of a network, {dtype.__name__}", compiled, classifier_by_hand, (p, x, y, v), *rounds
    )


def valley() -> None:
    """The product with the Hessian of Rosenbrock's function."""
    x = np.random.default_rng(0).normal(size=7 if is_tiny() else 1000)
    what, compiled = f"Hessian-vector product of Rosenbrock, n = {len(x)}", gs.compile(gs.hvp(rosenbrock))
    check_and_time(what, compiled, rosenbrock_by_hand, (x, np.cos(x)), *((2, 1) if is_tiny() else (200, 200)))


WORKLOADS: dict[str, Callable[[], None]] = {
    "rosenbrock": valley,
    "network-float64": lambda: networks(np.float64),
    "network-float32": lambda: networks(np.float32),
}

if __name__ == "__main__":  # each in a process of its own, as in compiled.py
    asked = [name for name in sys.argv[1:] if name in WORKLOADS]
    if asked or is_tiny():
        for name in asked or WORKLOADS:
            WORKLOADS[name]()
    else:
        for name in WORKLOADS:
            subprocess.run([sys.executable, __file__, name], check=True)
