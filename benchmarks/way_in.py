"""How long the way into a native kernel is: a small gradient, by where its loss reads from, and where the time goes."""

from __future__ import annotations

import os
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import is_tiny  # noqa: E402

import gradscribe as gs  # noqa: E402
from gradscribe.transforms.compiler.driver.guards import quick  # noqa: E402

Array = Any
SCALE = 1.0
RNG = np.random.default_rng(0)
X, Y, W, B = RNG.normal(size=(8, 3)), (RNG.random(8) > 0.5) * 1.0, RNG.normal(size=3), np.float64(0.1)
LAYERS = [RNG.normal(size=(4, 4)) for _ in range(6)]


def loss(w: Array, b: Array, x: Array, y: Array) -> Array:
    """A layer, and the cross-entropy of its probabilities."""
    p = 1.0 / (1.0 + np.exp(-(x @ w + b)))
    return -np.mean(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))


class Model:
    """Holds the weights."""

    def __init__(self) -> None:
        self.w, self.b = W, B


MODEL = Model()


def of_attributes(x: Array, y: Array) -> Array:
    """The loss of a model's weights, by a global."""
    return loss(MODEL.w, MODEL.b, x, y) * SCALE


def of_cells(w: Array, b: Array) -> Callable[..., Array]:
    """The loss of an enclosing function's weights."""
    return lambda x, y: loss(w, b, x, y)


def of_a_list(x: Array) -> Array:
    """Six layers, which stand in a list."""
    for layer in LAYERS:
        x = np.tanh(layer @ x)
    return np.sum(x)


def microseconds(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """The least time of a call."""
    n, repeats = (10, 1) if is_tiny() else (20_000, 9)
    return min(timeit.repeat(lambda: function(*args), number=n, repeat=repeats)) / n * 1e6


def run(name: str, function: Callable[..., Array], args: tuple[Any, ...], argnums: int | tuple[int, ...] = 0) -> None:
    """Print the whole of a call, its guards, and the kernel with what it is handed."""
    compiled = gs.compile(gs.grad(function, argnums=argnums), target="native")
    for _ in range(5):
        compiled(*args)
    entry: Any = compiled._last
    times = [microseconds(one, args) for one in (compiled, entry.check, entry.call)]
    print(f"{name:<34}" + "".join(f"{t:>10.2f}" for t in times))


if __name__ == "__main__":
    for extension in (quick.ENTRY, None):
        if extension is None and quick.ENTRY is None:
            print("the extension was not built")
        quick.ENTRY = extension
        words = "with" if extension is not None else "without"
        print(f"{words + ' the extension, in µs':<34}{'call':>10}{'guards':>10}{'kernel':>10}")
        run("its arguments", loss, (W, B, X, Y), (0, 1))
        run("attributes, a global, a helper", of_attributes, (X, Y))
        run("closure variables", of_cells(W, B), (X, Y))
        run("a list of six arrays", of_a_list, (RNG.normal(size=4),))
