"""A step of training, the loss, its gradient and Adam's update: compiled whole, in parts, eager, on tensors, and PyTorch's.

The network is a perceptron with tanh, of float64; the times are of one step in µs. PyTorch has one thread: set OMP_NUM_THREADS=1.
Run: python benchmarks/training.py [--tiny]      (PyTorch where it is installed)
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

from timing import interleaved, is_tiny, per_call

import gradscribe as gs

Array = Any
Step = Callable[[], object]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def loss(layers: Any, x: Array, y: Array) -> Array:
    """The mean squared error, of arrays and of tensors of either library."""
    for layer in layers[:-1]:
        x = (x @ layer["w"] + layer["b"]).tanh() if hasattr(x, "tanh") else np.tanh(x @ layer["w"] + layer["b"])
    return ((x @ layers[-1]["w"] + layers[-1]["b"] - y) ** 2).mean()


def of_pytrees(layers: Any, x: Array, y: Array) -> dict[str, Step]:
    """Steps that give new parameters."""
    opt = gs.optim.Adam(lr=1e-4)

    def whole(layers: Any, state: Any, x: Array, y: Array) -> Any:
        _, gradients = gs.value_and_grad(loss)(layers, x, y)
        return opt.update(layers, gradients, state)

    gradient = gs.compile(gs.value_and_grad(loss))

    def in_parts(layers: Any, state: Any, x: Array, y: Array) -> Any:
        return opt.update(layers, gradient(layers, x, y)[1], state)

    def running(step: Any) -> Step:
        box = [layers, opt.init(layers)]

        def run() -> None:
            box[:] = step(*box, x, y)

        return run

    forms = {"compiled": gs.compile(whole), "gradient compiled": in_parts, "eager": whole}
    return {name: running(step) for name, step in forms.items()}


def of_tensors(library: Any, layers: Any, x: Array, y: Array) -> Step:
    """A step in place, of either library."""
    tensors = [{name: library.tensor(v, requires_grad=True) for name, v in layer.items()} for layer in layers]
    optimizer = library.optim.Adam([t for layer in tensors for t in layer.values()], lr=1e-4)
    x, y = library.tensor(x), library.tensor(y)

    def step() -> None:
        optimizer.zero_grad()
        loss(tensors, x, y).backward()
        optimizer.step()

    return step


def main() -> None:
    """A row for each size."""
    shapes = [([3, 8, 1], 16), ([64, 64, 10], 64), ([784, 256, 256, 10], 64)]
    names: list[str] = []
    for sizes, batch in shapes[:1] if is_tiny() else shapes:
        rng = np.random.default_rng(0)
        layers = [{"w": rng.normal(size=(n, m)) / np.sqrt(n), "b": np.zeros(m)} for n, m in itertools.pairwise(sizes)]
        x, y = rng.normal(size=(batch, sizes[0])), rng.normal(size=(batch, sizes[-1]))
        steps = {**of_pytrees(layers, x, y), "on tensors": of_tensors(gs, layers, x, y)}
        if HAS_TORCH:
            import torch

            torch.set_num_threads(1)
            steps["PyTorch"] = of_tensors(torch, layers, x, y)
        if not names:
            names = list(steps)
            print(f"{'network, batch':24}", *[f"{name:>18}" for name in names])
        rounds, repeats = (2, 1) if is_tiny() else (40, 100 if sizes[0] < 100 else 5)
        for step in steps.values():
            step()
            step()
        times = interleaved(rounds, *[per_call(step, repeats) for step in steps.values()])
        print(f"{f'{sizes}, {batch}':24}", *[f"{1e6 * t.least:18.0f}" for t in times], flush=True)


if __name__ == "__main__":
    main()
