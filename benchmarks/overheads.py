"""What gradscribe itself takes: a call of `gs.grad`, single operations over NumPy's calls, arrays and guards from outside.

    python benchmarks/overheads.py

An operation's row is a gradient through it, less that of the identity, beside the NumPy calls that it needs forward and
backward. A row from outside is a compiled call beside the same loop by hand.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from timing import interleaved, is_tiny, per_call  # noqa: E402

import gradscribe as gs  # noqa: E402

ROUNDS, REPEATS = (2, 1) if is_tiny() else (400, 20)
X, M, V = np.arange(1.0, 11.0), np.ones((4, 5)), np.ones(10)


def placed(index: Any) -> Any:
    """Zeros with ones at an index: what indexing gives back."""
    out = np.zeros(10)
    out[index] = 1.0
    return out


OPERATIONS: list[tuple[str, Callable[[Any], Any], Any, Callable[[], Any]]] = [
    ("np.sum(x)", lambda x: np.sum(x), X, lambda: (np.add.reduce(X), np.full(10, 1.0))),
    ("x.sum()", lambda x: x.sum(), X, lambda: (np.add.reduce(X), np.full(10, 1.0))),
    ("np.mean(x)", lambda x: np.mean(x), X, lambda: (np.add.reduce(X) / 10, np.full(10, 0.1))),
    ("np.linalg.norm(x)", lambda x: np.linalg.norm(x), X, lambda: (np.linalg.norm(X), X / 3.0)),
    ("x[1]", lambda x: x[1], X, lambda: (X[1], placed(1))),
    ("x[1:].sum()", lambda x: x[1:].sum(), X, lambda: (np.add.reduce(X[1:]), np.full(9, 1.0), placed(slice(1, None)))),
    ("x.T.sum()", lambda x: x.T.sum(), M, lambda: (np.add.reduce(M.T, None), np.full((5, 4), 1.0).T)),
    ("x @ x", lambda x: x @ x, X, lambda: (X @ X, X * 1.0 + X * 1.0)),
]


def chain(x: Any) -> Any:
    """Three hundred operations on one number."""
    for _ in range(100):
        x = np.sin(x) * 1.01 + 0.1
    return x


def rosenbrock(x: Any) -> Any:
    """A sum over shifted slices."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


class Layer:
    """One layer of a model whose parameters are attributes."""

    def __init__(self) -> None:
        self.w, self.b, self.scale, self.on = np.ones(3), np.zeros(3), 1.5, True


def model(layers: list[Layer]) -> Callable[[Any], Any]:
    """A function of an array that reads all of its layers."""

    def loss(x: Any) -> Any:
        for layer in layers:
            if layer.on:
                x = np.tanh(x * layer.w + layer.b) * layer.scale
        return np.sum(x)

    return loss


def least(*calls: Callable[[], Any], repeats: int = REPEATS) -> list[float]:
    """The microseconds of each call, of the fastest of interleaved rounds."""
    return [times.least * 1e6 for times in interleaved(ROUNDS, *[per_call(call, repeats) for call in calls])]


def compiled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A compiled gradient past its checks."""
    made = gs.compile(gs.grad(function))
    for k in range(3):
        made(np.ones(3) + k)
    return made


def report(what: str, ours: float, theirs: float, beside: str) -> None:
    """Print one row."""
    print(f"{what:<34} {ours:9.2f} µs   {beside} {theirs:9.2f} µs   over it {ours - theirs:9.2f} µs")


def from_outside(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A compiled call that reads `n` arrays from a list, and the same by hand."""
    arrays, x = [np.ones(3) * k for k in range(n)], np.ones(3)

    def f(x: Any) -> Any:
        total = x
        for a in arrays:
            total = total + a * x
        return np.sum(total)

    def by_hand() -> Any:
        total = x
        for a in arrays:
            total = total + a * x
        d_x = np.ones(3)
        for a in reversed(arrays):
            d_x = d_x + a
        return d_x

    call = compiled(f)
    return lambda: call(x), by_hand


def floats(n: int) -> Callable[[], Any]:
    """A compiled call that reads a list of floats."""
    numbers, x = [float(k) for k in range(n)], np.ones(3)

    def f(x: Any) -> Any:
        total = 0.0
        for number in numbers:
            total = total + number
        return np.sum(x) * total

    call = compiled(f)
    return lambda: call(x)


if __name__ == "__main__":
    identity = gs.grad(lambda x: x)
    (alone,) = least(lambda: identity(0.5))
    print(f"{'gs.grad(identity)':<34} {alone:9.2f} µs")
    for name, function, x, bare in OPERATIONS:
        gradient = gs.grad(function)
        whole, numpy = least(lambda gradient=gradient, x=x: gradient(x), bare)
        report(name, whole - alone, numpy, "NumPy")
    long, second, first = gs.grad(chain), gs.hvp(rosenbrock), gs.grad(rosenbrock)
    (scalars,) = least(lambda: long(0.5), repeats=1)
    print(f"{'an operation of a scalar chain':<34} {(scalars - alone) / 300:9.2f} µs")
    hvp, gradient_alone = least(lambda: second(X, V), lambda: first(X), repeats=2)
    report("Hessian-vector product", hvp, gradient_alone, "gradient")
    for n in (2, 5) if is_tiny() else (10, 100, 300, 900):
        ours, by_hand = least(*from_outside(n), repeats=1)
        report(f"{n} arrays from outside", ours, by_hand, "by hand")
    layers = compiled(model([Layer() for _ in range(2 if is_tiny() else 100)]))
    check = layers._last.check
    (guards,) = least(lambda: check(np.ones(3)), repeats=1)
    print(f"{'guards of a model of 100 layers':<34} {guards:9.2f} µs")
    (listed,) = least(floats(3 if is_tiny() else 900), repeats=1)
    print(f"{'a list of 900 floats':<34} {listed:9.2f} µs")
