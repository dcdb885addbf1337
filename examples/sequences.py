"""Sequences of any length: a recurrent network, the distance of two words, and the likelihood of a transcript.

    python sequences.py

One compiled gradient serves sequences of every length, since its loop stays a loop.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any
NEVER = -1e30  # the logarithm of a probability of nothing


def sigmoid(x: Array) -> Array:
    """From 0 to 1."""
    return 1.0 / (1.0 + np.exp(-x))


def lstm(p: dict[str, Array], xs: Array, target: Array) -> Array:
    """The squared error of what an LSTM (Hochreiter and Schmidhuber, 1997) says after reading the rows of `xs`."""
    h = c = np.zeros(len(p["out"]))
    for x in xs:
        i, f, o, g = np.split(p["w"] @ np.concatenate([x, h]) + p["b"], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return (p["out"] @ h - target) ** 2


def least(a: Array, b: Array, c: Array) -> Array:
    """The least of three."""
    return np.minimum(np.minimum(a, b), c)


def soft_least(a: Array, b: Array, c: Array) -> Array:
    """As `least`, but smooth: every way counts, the shorter the more."""
    return -0.1 * np.log(np.exp(-10.0 * a) + np.exp(-10.0 * b) + np.exp(-10.0 * c))


def edit_distance(swap: Array, gap: Array, one: Array, two: Array, least: Callable[..., Array] = least) -> Array:
    """What it costs to turn one word into the other: `swap[p, q]` for a letter p that becomes q, `gap` for one too many."""
    row = [gap * float(j) for j in range(len(two) + 1)]
    for i in range(len(one)):
        left = gap * float(i + 1)
        new = [left]
        for j in range(len(two)):
            left = least(row[j] + swap[one[i], two[j]], row[j + 1] + gap, left + gap)
            new.append(left)
        row = new
    return row[-1]


def edit_table(swap: Array, gap: Array, one: Array, two: Array) -> Array:
    """The same by filling in a table."""
    table = np.zeros((len(one) + 1, len(two) + 1))
    for i in range(len(one) + 1):
        for j in range(len(two) + 1):
            if i == 0 or j == 0:
                table[i, j] = gap * (i + j)
            else:
                change = table[i - 1, j - 1] + swap[one[i - 1], two[j - 1]]
                table[i, j] = min(change, table[i - 1, j] + gap, table[i, j - 1] + gap)
    return table[-1, -1]


def ctc(scores: Array, labels: Array) -> Array:
    """Minus the log likelihood of a transcript where nobody says when which label comes (Graves and others, 2006).

    `scores` has a row for each time and a column for each label, of which 0 means that there is none.
    """
    likely = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    spaced = np.zeros(2 * len(labels) + 1, dtype=int)
    spaced[1::2] = labels
    skips = np.concatenate([[False, False], (spaced[2:] != 0) & (spaced[2:] != spaced[:-2])])
    alpha = np.where(np.arange(len(spaced)) < 2, likely[0, spaced], NEVER)
    for t in range(1, len(scores)):
        shifted = np.concatenate([[NEVER], alpha[:-1]])
        skipped = np.where(skips, np.concatenate([[NEVER, NEVER], alpha[:-2]]), NEVER)
        alpha = np.logaddexp(np.logaddexp(alpha, shifted), skipped) + likely[t, spaced]
    return -np.logaddexp(alpha[-1], alpha[-2])


def main() -> None:
    """Train the network on sums of sequences, compare words, and score a transcript."""
    parser = argparse.ArgumentParser(description="Gradients through loops over sequences.")
    parser.add_argument("--tiny", action="store_true", help="fewer steps")
    tiny = parser.parse_args().tiny
    rng = np.random.default_rng(0)

    width = 4 if tiny else 12
    p = {"w": rng.normal(size=(4 * width, 2 + width)) / 4, "b": np.zeros(4 * width), "out": rng.normal(size=width) / 4}
    step = gs.compile(gs.value_and_grad(lstm))
    losses = []
    for _ in range(3 if tiny else 1500):
        xs = rng.normal(size=(rng.integers(1, 4 if tiny else 12), 2))
        loss, d_p = step(p, xs, np.sum(xs[:, 0]))
        losses.append(loss)
        p = {name: value - 0.03 * np.clip(d_p[name], -1.0, 1.0) for name, value in p.items()}
    n = max(1, len(losses) // 10)
    print(
        f"LSTM that adds up sequences: squared error {np.mean(losses[:n]):.3f} at first, {np.mean(losses[-n:]):.3f} at last"
    )

    swap = 1.0 - np.eye(26)
    one, two = (np.array([ord(letter) - ord("a") for letter in word]) for word in ("kitten", "sitting"))
    d_swap = gs.grad(edit_distance)(swap, 1.0, one, two)
    changed = [f"{chr(97 + p)} -> {chr(97 + q)}" for p, q in zip(*np.nonzero(d_swap * swap), strict=True)]
    print(
        f"kitten and sitting are {edit_distance(swap, 1.0, one, two):.0f} apart; letters that change: {', '.join(changed)}"
    )

    scores = rng.normal(size=(5 if tiny else 30, 4))
    labels = np.array([1, 2] if tiny else [1, 2, 2, 3])
    fall = gs.compile(gs.value_and_grad(ctc))
    for k in range(3 if tiny else 60):
        loss, d_scores = fall(scores, labels)
        scores = scores - d_scores
        if k % 20 == 0:
            print(f"CTC loss after {k:2d} steps: {loss:.3f}")


if __name__ == "__main__":
    main()
