"""A hundred batch sizes of one gradient: how many sources are written, and what the first call at each size costs.

Beside it: the same where nothing is learnt of other sizes (each size captured by a function of its own), and eagerly.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["GRADSCRIBE_CACHE"] = "off"
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import is_tiny  # noqa: E402

import gradscribe as gs  # noqa: E402
from gradscribe.transforms.compiler.driver import specialise  # noqa: E402

Array = Any


def loss(p: dict[str, Array], x: Array, y: Array) -> Array:
    """Tanh layers and the mean softmax cross-entropy with one-hot targets."""
    h1 = np.tanh(x @ p["w1"] + p["b1"])
    h2 = np.tanh(h1 @ p["w2"] + p["b2"])
    logits = h2 @ p["w3"] + p["b3"]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    logp = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(y * logp, axis=1))


def milliseconds(function: Any, *args: Any) -> float:
    """The time of one call."""
    start = time.perf_counter()
    function(*args)
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    layers = (8, 6, 5, 4) if is_tiny() else (784, 256, 128, 10)
    p = {}
    for k, (m, n) in enumerate(itertools.pairwise(layers), 1):
        p[f"w{k}"], p[f"b{k}"] = rng.normal(size=(m, n)) / m**0.5, np.zeros(n)
    sizes = rng.permutation(np.arange(11, 111)) if not is_tiny() else np.arange(11, 16)
    batches = [(rng.normal(size=(n, layers[0])), np.eye(layers[-1])[rng.integers(layers[-1], size=n)]) for n in sizes]

    written = []
    original = specialise.Specialisation.__init__

    def counting(self: Any, *args: Any) -> None:
        written.append(self)
        original(self, *args)

    specialise.Specialisation.__init__ = counting  # type: ignore[method-assign]
    eager = gs.value_and_grad(loss)
    compiled = gs.compile(eager, verify="first calls")
    first = [milliseconds(compiled, p, x, y) for x, y in batches]
    count = len(written)
    again = [milliseconds(compiled, p, x, y) for x, y in batches]
    alone = [milliseconds(gs.compile(eager), p, x, y) for x, y in batches[: len(batches) // 4 + 1]]
    plain = [milliseconds(eager, p, x, y) for x, y in batches]
    print(f"{len(sizes)} batch sizes: {count} sources written, {len(gs.explain(compiled).specialisations)} kept")
    for what, times in (
        ("first call at a size, median", first[count:]), ("the same, captured by itself", alone), ("eager", plain),
        ("a later call at a known size", again),
    ):  # fmt: skip
        print(f"{what:30} {statistics.median(times):7.2f} ms")


if __name__ == "__main__":
    main()
