"""Softmaxes and losses as they stand, and written the other way: as a rule, or as a composition of NumPy's functions.

What is faster, eagerly and compiled, is what gs.functional does; the reasons stand beside the rules and the compositions.
Times are of one value_and_grad. Run: python benchmarks/losses.py [--tiny]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

from timing import interleaved, is_tiny, per_call

import gradscribe as gs
import gradscribe.functional as F
from gradscribe.runtime.rules import activations as rules
from gradscribe.runtime.rules.softmaxes import picked

Array = Any


def top(x: Array) -> Array:
    """The maximum of each row, as a constant."""
    return np.max(gs.stop_gradient(x), axis=1, keepdims=True)


def softmax(x: Array, w: Array) -> Array:
    """A composition."""
    e = np.exp(x - top(x))
    return np.sum(w * (e / np.sum(e, axis=1, keepdims=True)))


def log_softmax(x: Array, w: Array) -> Array:
    """A composition."""
    z = x - top(x)
    return np.sum(w * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))))


def cross_entropy(x: Array, t: Array) -> Array:
    """By the rule of log_softmax."""
    return -np.mean(picked(F.log_softmax(x, 1), t))


def with_logits(x: Array, y: Array) -> Array:
    """A composition."""
    return np.mean((1 - y) * x + rules.softplus(-x))


def relu(x: Array, w: Array) -> Array:
    """A composition."""
    return np.sum(w * np.where(x > 0, x, 0))


def softplus(x: Array, w: Array) -> Array:
    """A composition."""
    return np.sum(w * np.logaddexp(x, 0))


THE_OTHER_WAY = {
    "softmax, a rule": (lambda x, w: np.sum(w * F.softmax(x, 1)), softmax),
    "log_softmax, a rule": (lambda x, w: np.sum(w * F.log_softmax(x, 1)), log_softmax),
    "cross_entropy, a composition": (lambda x, t: F.cross_entropy(x, t), cross_entropy),
    "BCE with logits, a rule": (lambda x, y: F.binary_cross_entropy_with_logits(x, y), with_logits),
    "relu, a rule": (lambda x, w: np.sum(w * F.relu(x)), relu),
    "softplus, a rule": (lambda x, w: np.sum(w * rules.softplus(x)), softplus),
}


def main() -> None:
    """A table for each size."""
    rng = np.random.default_rng(0)
    for n, classes in ((32, 10),) if is_tiny() else ((32, 10), (256, 100), (512, 1000)):
        x = rng.normal(size=(n, classes))
        print(f"{n} x {classes}, µs: eager, eager the other way, compiled, compiled the other way")
        for name, (f, g) in THE_OTHER_WAY.items():
            y = rng.integers(0, classes, n) if "cross" in name else rng.uniform(size=(n, classes))
            forms = [gs.value_and_grad(f), gs.value_and_grad(g)]
            forms += [gs.compile(form) for form in forms]
            for form in forms:
                for k in (1.0, 1.5, 2.0):
                    form(k * x, y)
            rounds, repeats = (2, 1) if is_tiny() else (100, max(1, 20_000 // x.size))
            times = interleaved(rounds, *[per_call(lambda h=h, x=x, y=y: h(x, y), repeats) for h in forms])  # type: ignore[misc]
            print(f"  {name:30}", *[f"{1e6 * t.least:10.1f}" for t in times])


if __name__ == "__main__":
    main()
