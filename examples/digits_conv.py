"""Train a small convolutional network to read handwritten digits; each whole step, gradient and Adam, is NumPy source.

    pip install "gradscribe[examples]"
    python digits_conv.py            # trains to over 98 % on scans that it has not seen
    python digits_conv.py --source   # also prints the generated step
    python digits_conv.py --tiny     # a few steps, as the project's own checks run it

The data are the 1,797 scans, of 8 x 8 points, that come with scikit-learn; one in five is held out. Each batch is moved by chance
by up to a point, and a part of the features is dropped.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # these products are so small that two threads wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import gradscribe as gs  # noqa: E402
import gradscribe.functional as F  # noqa: E402

try:
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f'This example needs {error.name}; an extra of gradscribe brings it: pip install "gradscribe[examples]"')

Parameters = dict[str, Any]
ADAM = gs.optim.Adam()


def initial(rng: np.random.Generator, first: int, second: int) -> Parameters:
    """Weights by chance (He et al., 2015) and biases of zero, in float32."""
    shapes = {"conv1": (first, 1, 3, 3), "conv2": (second, first, 3, 3), "scores": (10, second * 16)}
    made: Parameters = {}
    for name, shape in shapes.items():
        made[name] = (rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
        made[f"{name}_bias"] = np.zeros(shape[0], np.float32)
    return made


def network(p: Parameters, x: Any, dropped: float = 0.0, rng: Any = None) -> Any:
    """Scores of the ten digits for each scan of `x`, which is (scans, 1, 8, 8)."""
    x = F.relu(F.conv2d(x, p["conv1"], p["conv1_bias"], padding="same"))
    x = F.relu(F.conv2d(x, p["conv2"], p["conv2_bias"], padding="same"))
    x = F.max_pool2d(x, 2)
    x = F.dropout(np.reshape(x, (len(x), -1)), dropped, generator=rng)
    return F.linear(x, p["scores"], p["scores_bias"])


@gs.value_and_grad
def loss(p: Parameters, x: Any, labels: Any, rng: Any) -> Any:
    """Softmax cross-entropy."""
    return F.cross_entropy(network(p, x, 0.3, rng), labels)


@gs.compile
def step(p: Parameters, state: Any, x: Any, labels: Any, rate: float, rng: Any) -> tuple[Any, Parameters, Any]:
    """The loss of a batch, and parameters and state of Adam behind one step."""
    value, gradients = loss(p, x, labels, rng)
    p, state = ADAM.update(p, gradients, state, lr=rate)
    return value, p, state


def moved(x: Any, rng: np.random.Generator) -> Any:
    """The scans, moved by up to a point each way."""
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    a, b = rng.integers(3, size=2)
    return wide[:, :, a : a + 8, b : b + 8].copy()


def main() -> None:
    """Train and test."""
    parser = argparse.ArgumentParser(
        description="Train a convolutional network on handwritten digits in compiled steps."
    )
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--source", action="store_true", help="print the generated step")
    parser.add_argument("--tiny", action="store_true", help="two epochs of a narrow network on 240 scans")
    options = parser.parse_args()
    epochs = 2 if options.tiny else options.epochs

    digits = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits.data))[: 300 if options.tiny else None]
    x = (digits.data[order] / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = digits.target[order]
    held_out = len(x) // 5
    test_x, test_labels, x, labels = x[:held_out], labels[:held_out], x[held_out:], labels[held_out:]
    p = initial(rng, *((4, 8) if options.tiny else (16, 32)))
    state = ADAM.init(p)
    count = sum(v.size for v in p.values())
    print(f"{len(x):,} scans to train on, {len(test_x)} to test; a network of {count:,} parameters")
    if options.source:
        print(step.source(p, state, x[:64], labels[:64], 0.002, rng))

    start, steps = time.perf_counter(), 0
    with tqdm(range(epochs), desc="training", unit="epoch") as progress:
        for epoch in progress:
            rate = 0.002 * (1 + np.cos(np.pi * epoch / epochs))
            total, order = 0.0, rng.permutation(len(x))
            for rows in np.split(order, range(64, len(x), 64)):
                value, p, state = step(p, state, moved(x[rows], rng), labels[rows], float(rate), rng)
                total, steps = total + float(value) * len(rows), steps + 1
            progress.set_postfix(loss=f"{total / len(x):.4f}", refresh=False)
    seconds = time.perf_counter() - start

    accuracy = np.mean(np.argmax(network(p, test_x), axis=1) == test_labels)
    print(f"test accuracy: {accuracy:.1%} of {len(test_x)} scans")
    print(f"time: {seconds:.1f} s for {steps:,} steps, {1e3 * seconds / steps:.1f} ms each")


if __name__ == "__main__":
    main()
