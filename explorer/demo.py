"""`python -m gradscribe demo`: on one screen a function, its gradient as source, the proof, and a training run."""

from __future__ import annotations

import linecache
import time
from typing import Any, TextIO

import numpy as np

from .digits import load_digits

__all__ = ["PROGRAM", "demo"]

# Shown, and run as it is shown: a program of the user's, so it imports gradscribe by its name.
PROGRAM = """\
import numpy as np, gradscribe as gs
@gs.value_and_grad(argnums=(0, 1))
def loss(w1, w2, x, y):
    h = np.tanh(x @ w1)
    z = h @ w2
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(y * z, axis=1))
"""
EPOCHS, BATCH, RATE = 30, 50, 0.005


def demo(out: TextIO) -> int:
    """Write the walk to `out`; the exit status is 1 if gradients disagree or the training fails."""
    show = _Screen(out)
    loss = _run_program()
    digits = load_digits()
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(64, 32)) / 8, rng.normal(size=(32, 10)) / 6]
    targets = np.eye(10)[digits.train_labels]
    first = (*weights, digits.train_images[:BATCH], targets[:BATCH])

    show.heading("A function of arrays, and the decorator that makes it a function of its gradient")
    show(PROGRAM)
    show.heading("print(loss.source(w1, w2, x, y))")
    show(loss.source(*first))
    show.heading("print(loss.compare(w1, w2, x, y))")
    comparison = loss.compare(*first)
    show(comparison)
    show.heading(f"Training with gs.compile(loss): {len(targets):,} scans of handwritten digits, Adam")
    start = time.perf_counter()
    accuracy = _train(loss.compile(), weights, digits, targets, show)
    seconds = time.perf_counter() - start
    show(
        f"{EPOCHS} epochs in {seconds:.2f} s; {accuracy:.1%} of {len(digits.test_labels)} unseen digits are read right"
    )
    return 0 if comparison.ok and accuracy > 0.9 else 1


def _run_program() -> Any:
    """The decorated function of PROGRAM, with its lines where tracebacks and the compiler look for them."""
    filename = "demo.py"
    linecache.cache[filename] = (len(PROGRAM), None, PROGRAM.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"__name__": "gradscribe_demo"}
    exec(compile(PROGRAM, filename, "exec"), space)
    return space["loss"]


def _train(gradient: Any, weights: list[Any], digits: Any, targets: Any, show: _Screen) -> float:
    """Train in place; the accuracy on the images kept for testing."""
    rng = np.random.default_rng(1)
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    step, accuracy = 0, 0.0
    for epoch in range(1, EPOCHS + 1):
        losses = []
        for rows in np.split(rng.permutation(len(targets)), len(targets) // BATCH):
            value, gradients = gradient(*weights, digits.train_images[rows], targets[rows])
            losses.append(value)
            step += 1
            for w, g, (m, v) in zip(weights, gradients, moments, strict=True):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                w -= RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        scores = np.tanh(digits.test_images @ weights[0]) @ weights[1]
        accuracy = float(np.mean(np.argmax(scores, axis=1) == digits.test_labels))
        done = "#" * round(24 * epoch / EPOCHS)
        show.progress(f"epoch {epoch:2d} [{done:<24}] loss {np.mean(losses):.4f}  test accuracy {accuracy:.1%}")
    show.progress(None)
    return accuracy


class _Screen:
    """The output of the walk: headings stand out on a terminal, progress stays on its line there."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.terminal = out.isatty()
        self._last = ""
        self._begun = False

    def __call__(self, text: Any) -> None:
        print(str(text).rstrip("\n"), file=self.out, flush=True)

    def heading(self, text: str) -> None:
        """A title over what follows."""
        line = f"=== {text}"
        if self._begun:
            self("")
        self._begun = True
        self(f"\033[1m{line}\033[0m" if self.terminal else line)

    def progress(self, text: str | None) -> None:
        """The state of a long run; None ends it."""
        if self.terminal:
            self.out.write("\n" if text is None else f"\r{text}")
            self.out.flush()
        elif text is None:
            self(self._last)
        self._last = text or ""
