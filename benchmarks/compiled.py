"""Compiled functions and gradients over the same written by hand in straight NumPy.

Each workload runs in a process of its own, since an allocator remembers: what a process has freed before decides whether
the large arrays of the next workload are fresh memory, which costs more than to compute them. `--together` runs all in one.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import check_and_time, is_tiny  # noqa: E402

import gradscribe as gs  # noqa: E402

Array = Any
Layers = dict[str, Array]


# What is differentiated -------------------------------------------------------------------------------------------


def classifier(p: Layers, x: Array, y: Array) -> Array:
    """Tanh layers and the mean softmax cross-entropy with one-hot targets."""
    h1 = np.tanh(x @ p["w1"] + p["b1"])
    h2 = np.tanh(h1 @ p["w2"] + p["b2"])
    logits = h2 @ p["w3"] + p["b3"]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    logp = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(y * logp, axis=1))


def regression(p: Layers, x: Array, y: Array) -> Array:
    """Rectified layers and the mean squared error."""
    h1 = np.maximum(x @ p["w1"] + p["b1"], 0)
    h2 = np.maximum(h1 @ p["w2"] + p["b2"], 0)
    error = h2 @ p["w3"] + p["b3"] - y
    return np.mean(error**2)


def rosenbrock(x: Array) -> Array:
    """The banana valley in n dimensions."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def elementwise(x: Array, y: Array) -> Array:
    """Fifteen operations, element by element."""
    a = x * 1.5
    b = np.exp(-a)
    c = b + y
    d = np.sqrt(c * c + 1.0)
    e = np.tanh(d - 0.5)
    f = e * a
    g = np.log1p(f * f)
    h = g / (d + 2.0)
    return h - y


# By hand ------------------------------------------------------------------------------------------------------------


def layers_backward(p: Layers, x: Array, h1: Array, h2: Array, d3: Array, slope: Callable[[Array], Array]) -> Layers:
    """From the cotangent of the last layer's output to the cotangents of all weights; the slope is one of the output."""
    d2 = d3 @ p["w3"].T * slope(h2)
    d1 = d2 @ p["w2"].T * slope(h1)
    return {
        "w1": x.T @ d1, "b1": d1.sum(axis=0),
        "w2": h1.T @ d2, "b2": d2.sum(axis=0),
        "w3": h2.T @ d3, "b3": d3.sum(axis=0),
    }  # fmt: skip


def classifier_by_hand(p: Layers, x: Array, y: Array) -> tuple[Array, Layers]:
    """Value and gradient of `classifier`."""
    h1 = np.tanh(x @ p["w1"] + p["b1"])
    h2 = np.tanh(h1 @ p["w2"] + p["b2"])
    logits = h2 @ p["w3"] + p["b3"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    s = e.sum(axis=1, keepdims=True)
    value = -np.mean(np.sum(y * (shifted - np.log(s)), axis=1))
    with np.errstate(all="ignore"):
        return value, layers_backward(p, x, h1, h2, (e / s - y) / len(x), lambda h: 1 - h * h)


def regression_by_hand(p: Layers, x: Array, y: Array) -> tuple[Array, Layers]:
    """Value and gradient of `regression`."""
    h1 = np.maximum(x @ p["w1"] + p["b1"], 0)
    h2 = np.maximum(h1 @ p["w2"] + p["b2"], 0)
    error = h2 @ p["w3"] + p["b3"] - y
    value = np.mean(error**2)
    with np.errstate(all="ignore"):
        return value, layers_backward(p, x, h1, h2, 2 / error.size * error, lambda h: h > 0)


def rosenbrock_value_by_hand(x: Array) -> tuple[Array, Array]:
    """Value and gradient of `rosenbrock`."""
    left = x[:-1]
    t = x[1:] - left**2
    r = 1 - left
    value = np.sum(100.0 * t**2 + r**2)
    with np.errstate(all="ignore"):
        d = np.zeros_like(x)
        d[:-1] = -400.0 * t * left - 2 * r
        d[1:] += 200.0 * t
        return value, d


def rosenbrock_by_hand(x: Array) -> Array:
    """The gradient of `rosenbrock`."""
    left = x[:-1]
    t = x[1:] - left**2
    with np.errstate(all="ignore"):
        d = np.zeros_like(x)
        d[:-1] = -400.0 * t * left - 2 * (1 - left)
        d[1:] += 200.0 * t
        return d


# Both, in turns -----------------------------------------------------------------------------------------------------


def network(sizes: tuple[int, ...], batch: int, dtype: Any) -> tuple[Layers, Array, Array]:
    """Weights, inputs, and one-hot targets."""
    rng = np.random.default_rng(0)
    p: Layers = {}
    for k, (n, m) in enumerate(itertools.pairwise(sizes), 1):
        p[f"w{k}"] = (rng.normal(size=(n, m)) / np.sqrt(n)).astype(dtype)
        p[f"b{k}"] = (rng.normal(size=m) / 10).astype(dtype)
    y = np.eye(sizes[-1], dtype=dtype)[rng.integers(sizes[-1], size=batch)]
    return p, rng.normal(size=(batch, sizes[0])).astype(dtype), y


def report_memory(what: str, compiled: Any, by_hand: Any, args: tuple[Any, ...]) -> None:
    """The peak of what NumPy allocates, compiled over by hand."""
    peaks = []
    for f in (compiled, by_hand):
        f(*args)
        tracemalloc.start()
        f(*args)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    print(f"{what}: peak memory {peaks[0] / peaks[1]:.2f} of by hand")


def networks(dtype: Any) -> None:
    """The value and gradient of both networks."""
    sizes, batch = ((7, 5, 4, 3), 6) if is_tiny() else ((784, 256, 128, 10), 128)
    args = network(sizes, batch, dtype)
    for loss, by_hand in ((classifier, classifier_by_hand), (regression, regression_by_hand)):
        what = f"{loss.__name__} {dtype.__name__}"
        check_and_time(what, gs.compile(gs.value_and_grad(loss)), by_hand, args, *((2, 1) if is_tiny() else (150, 3)))


def chains(dtype: Any) -> None:
    """The elementwise chain, its time and its memory."""
    args = tuple(np.random.default_rng(2).uniform(0.1, 1, (2, 10 if is_tiny() else 10**6)).astype(dtype))
    what = f"elementwise {dtype.__name__}"
    check_and_time(what, gs.compile(elementwise), elementwise, args, 2 if is_tiny() else 40, 1)
    report_memory(what, gs.compile(elementwise), elementwise, args)


def valleys() -> None:
    """The gradient of the valley, and its value and gradient."""
    x = np.random.default_rng(1).normal(size=10 if is_tiny() else 1000)
    effort = (2, 1) if is_tiny() else (150, 200)
    check_and_time("rosenbrock gradient", gs.compile(gs.grad(rosenbrock)), rosenbrock_by_hand, (x,), *effort)
    compiled = gs.compile(gs.value_and_grad(rosenbrock))
    check_and_time("rosenbrock value and gradient", compiled, rosenbrock_value_by_hand, (x,), *effort)


WORKLOADS: dict[str, Callable[[], None]] = {
    "networks-float64": lambda: networks(np.float64),
    "networks-float32": lambda: networks(np.float32),
    "elementwise-float64": lambda: chains(np.float64),
    "elementwise-float32": lambda: chains(np.float32),
    "rosenbrock": valleys,
}

if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name in WORKLOADS]
    if asked or is_tiny() or "--together" in sys.argv:
        for name in asked or WORKLOADS:
            WORKLOADS[name]()
    else:
        for name in WORKLOADS:
            subprocess.run([sys.executable, __file__, name], check=True)
