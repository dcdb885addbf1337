"""Train a small network to read handwritten digits, with gradients that gradscribe writes as NumPy source.

    pip install "gradscribe[examples]"
    python digits.py            # trains to over 95 % on scans that it has not seen; times eager against compiled
    python digits.py --source   # also prints the generated gradient
    python digits.py --tiny     # a few steps, as the project's own checks run it

The data are the 1,797 scans that come with scikit-learn. Everything else is NumPy: the network, the loss and Adam.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gradscribe as gs

try:
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f'This example needs {error.name}; an extra of gradscribe brings it: pip install "gradscribe[examples]"')

Layers = list[tuple[Any, Any]]  # weights and bias of each


def network(layers: Layers, x: Any) -> Any:
    """Scores of the ten digits for each row of `x`."""
    for w, b in layers[:-1]:
        x = np.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


@gs.value_and_grad
def loss(layers: Layers, x: Any, labels: Any) -> Any:
    """Softmax cross-entropy."""
    scores = network(layers, x)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_probabilities = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(log_probabilities[np.arange(len(labels)), labels])


def initial(sizes: list[int], rng: np.random.Generator) -> Layers:
    """Random weights, and biases of zero."""
    return [(rng.normal(size=(n, m)) / np.sqrt(n), np.zeros(m)) for n, m in itertools.pairwise(sizes)]


class Adam:
    """Adam (Kingma and Ba, 2015); it changes the parameters in place."""

    def __init__(self, parameters: list[Any], rate: float) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: list[Any]) -> None:
        """One update."""
        self.steps += 1
        for p, g, m, v in zip(self.parameters, gradients, self.first, self.second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= self.rate * (m / (1 - 0.9**self.steps)) / (np.sqrt(v / (1 - 0.999**self.steps)) + 1e-8)


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """The rows of each batch of one epoch; the last batch is smaller where `size` does not divide `n`."""
    order = rng.permutation(n)
    return (order[start : start + size] for start in range(0, n, size))


def epoch(gradient: Callable[..., Any], layers: Layers, adam: Adam, x: Any, labels: Any, rng: Any) -> float:
    """One pass over the data; the mean loss."""
    total = 0.0
    for rows in batches(len(x), 64, rng):
        value, gradients = gradient(layers, x[rows], labels[rows])
        adam.step([g for layer in gradients for g in layer])
        total += float(value) * len(rows)
    return total / len(x)


def seconds_per_epoch(gradient: Callable[..., Any], x: Any, labels: Any, sizes: list[int]) -> float:
    """The shortest of three epochs from the same start, the first one, which may compile, not counted."""
    rng = np.random.default_rng(1)
    layers = initial(sizes, rng)
    adam = Adam([p for layer in layers for p in layer], rate=0.003)
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        epoch(gradient, layers, adam, x, labels, rng)
        taken.append(time.perf_counter() - start)
    return min(taken[1:])


def main() -> None:
    """Train, test, and time."""
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits with compiled gradients.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--source", action="store_true", help="print the generated gradient")
    parser.add_argument("--tiny", action="store_true", help="two epochs on 200 scans")
    options = parser.parse_args()

    digits = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits.data))[: 300 if options.tiny else None]
    x, labels = digits.data[order] / 16.0, digits.target[order]
    held_out = len(x) // 5
    test_x, test_labels, x, labels = x[:held_out], labels[:held_out], x[held_out:], labels[held_out:]
    epochs = 2 if options.tiny else options.epochs
    sizes = [64, 32, 10]
    print(f"{len(x):,} scans to train on, {len(test_x)} to test; a network of {sizes} units")

    layers = initial(sizes, rng)
    adam = Adam([p for layer in layers for p in layer], rate=0.003)
    gradient = gs.compile(loss)
    if options.source:
        print(gradient.source(layers, x[:64], labels[:64]))
    with tqdm(range(epochs), desc="training", unit="epoch") as progress:
        for _ in progress:
            mean = epoch(gradient, layers, adam, x, labels, rng)
            progress.set_postfix(loss=f"{mean:.4f}", refresh=False)

    accuracy = np.mean(np.argmax(network(layers, test_x), axis=1) == test_labels)
    print(f"test accuracy: {accuracy:.1%} of {len(test_x)} scans")
    eager = seconds_per_epoch(loss, x, labels, sizes)
    compiled = seconds_per_epoch(gradient, x, labels, sizes)
    times = f"eager {1e3 * eager:.1f} ms, compiled {1e3 * compiled:.1f} ms"
    print(f"time per epoch: {times}, {eager / compiled:.1f} times as fast")


if __name__ == "__main__":
    main()
