"""Recursive functions: over a tree, whose shape is Python's, and over numbers, which decide how deep it goes.

    python recursion.py

A recursion over nested tuples is written out in the compiled gradient, one text for each shape of tree. Where numbers
decide, the text holds for the depth that it saw, and another depth is captured when it comes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any
Tree = Any


def encode(tree: Tree, w: Array, words: Array) -> Array:
    """The meaning of a nested tuple of words, of two at a time (Socher and others, 2011)."""
    if not isinstance(tree, tuple):
        return words[tree]
    left, right = tree
    return np.tanh(w @ np.concatenate([encode(left, w, words), encode(right, w, words)]))


def sentiment(w: Array, words: Array, tree: Tree) -> Array:
    """One number for a sentence."""
    return np.sum(encode(tree, w, words))


def mean(a: Array, b: Array) -> Array:
    """The arithmetic-geometric mean of Gauss."""
    if abs(a - b) < 1e-9:
        return 0.5 * (a + b)
    return mean(0.5 * (a + b), np.sqrt(a * b))


def period(angle: Array) -> Array:
    """How long a pendulum of one metre swings from `angle` and back, in seconds."""
    return 2.0 * np.pi * np.sqrt(1.0 / 9.81) / mean(1.0, np.cos(angle / 2.0))


def logarithm(x: Array) -> Array:
    """By square roots, until x is near 1: the larger x, the deeper."""
    if x > 1.1:
        return 2.0 * logarithm(np.sqrt(x))
    y = (x - 1.0) / (x + 1.0)
    return 2.0 * y * (1.0 + y**2 / 3.0 + y**4 / 5.0 + y**6 / 7.0 + y**8 / 9.0)


def main() -> None:
    """Differentiate all three."""
    parser = argparse.ArgumentParser(description="Gradients through recursion.")
    parser.add_argument("--tiny", action="store_true", help="fewer values")
    tiny = parser.parse_args().tiny
    rng = np.random.default_rng(0)

    words = rng.normal(size=(6, 3))
    w = rng.normal(size=(3, 6)) / 2
    slope = gs.compile(gs.grad(sentiment))
    for tree in ((0, 1), ((0, 1), 2), ((0, (3, 4)), (1, (2, 5)))):
        print(f"{tree}: {sentiment(w, words, tree):.4f}, gradient of norm {np.linalg.norm(slope(w, words, tree)):.4f}")
    print(gs.source(slope, w, words, ((0, 1), 2)))

    swing = gs.compile(gs.value_and_grad(period))
    for degrees in (10,) if tiny else (10, 45, 90, 170):
        seconds, more = swing(np.radians(degrees))
        print(
            f"a pendulum that starts at {degrees:3d}° takes {seconds:.5f} s, and {more * np.pi / 180:.5f} s more a degree"
        )

    log = gs.compile(gs.value_and_grad(logarithm))
    for x in (1.5,) if tiny else (1.5, 10.0, 1e6):
        value, inverse = log(x)
        print(f"log {x:g} = {value:.9f} (NumPy: {np.log(x):.9f}), and its slope {inverse:.3e} (exact: {1 / x:.3e})")


if __name__ == "__main__":
    main()
