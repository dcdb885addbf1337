"""Loops that stay loops: a recurrent network over its backpropagation through time by hand, and what trip counts cost.

Run: python benchmarks/loops.py [--tiny]. It prints the compiled gradient of an RNN of 100 steps over the same in NumPy by
hand, the lines of its source, the time to capture loops of 10 to 100,000 steps and the length of their sources, and a
`while` of a million trips, compiled over eager.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["GRADSCRIBE_CACHE"] = "off"  # or the captures below would be read from it
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import interleaved, is_tiny, per_call, report  # noqa: E402

import gradscribe as gs  # noqa: E402
from gradscribe.tracer.core.thread_state import capturing  # noqa: E402
from gradscribe.transforms.compiler.driver.specialise import Made  # noqa: E402

Array = Any


def rnn(wx: Array, wh: Array, b: Array, xs: Array, target: Array) -> Array:
    """The squared error of the last state of a tanh network."""
    h = np.zeros_like(target)
    for x in xs:
        h = np.tanh(x @ wx + h @ wh + b)
    return np.sum((h - target) ** 2)


def rnn_by_hand(wx: Array, wh: Array, b: Array, xs: Array, target: Array) -> tuple[Array, tuple[Array, ...]]:
    """Value and gradient of `rnn`: backpropagation through time."""
    hs = [np.zeros_like(target)]
    for x in xs:
        hs.append(np.tanh(x @ wx + hs[-1] @ wh + b))
    r = hs[-1] - target
    d_wx, d_wh, d_b = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    d_h = 2.0 * r
    for t in range(len(xs) - 1, -1, -1):
        d_z = d_h * (1.0 - hs[t + 1] ** 2)
        d_b += d_z.sum(axis=0)
        d_wh += hs[t].T @ d_z
        d_wx += xs[t].T @ d_z
        d_h = d_z @ wh.T
    return np.sum(r**2), (d_wx, d_wh, d_b)


def rnn_all_at_once(wx: Array, wh: Array, b: Array, xs: Array, target: Array) -> tuple[Array, tuple[Array, ...]]:
    """The same by one who takes what does not depend on the state out of the loops, as one product for all steps."""
    n = len(xs)
    hs = np.empty((n + 1, *target.shape))
    hs[0] = 0.0
    given = xs @ wx + b
    for t in range(n):
        np.tanh(given[t] + hs[t] @ wh, out=hs[t + 1])
    r = hs[-1] - target
    d_z = 1.0 - hs[1:] ** 2
    d_h = 2.0 * r
    for t in range(n - 1, -1, -1):
        d_z[t] *= d_h
        d_h = d_z[t] @ wh.T
    flat = d_z.reshape(-1, len(wh))
    return np.sum(r**2), (xs.reshape(-1, len(wx)).T @ flat, hs[:-1].reshape(-1, len(wh)).T @ flat, flat.sum(axis=0))


def cheap(x: Array, n: int) -> Array:
    """A loop with little in it."""
    for _ in range(n):
        x = np.sin(x) + 0.5
    return x


def fall(x: Array, step: Array) -> Array:
    """A loop that ends by what it computes."""
    while x > 0.0:
        x = x - step * (2.0 - x)
    return x


def lines(source: Any) -> int:
    """The length of a source."""
    return len(str(source).splitlines())


def recurrent() -> None:
    """The RNN: the time of its gradient, whether its bits are those of the one by hand, and its length."""
    steps, width, batch = (5, 4, 2) if is_tiny() else (100, 64, 16)
    rng = np.random.default_rng(0)
    args = (
        rng.normal(size=(width, width)) / np.sqrt(width),
        rng.normal(size=(width, width)) / np.sqrt(width),
        rng.normal(size=width) / 10,
        rng.normal(size=(steps, batch, width)),
        rng.normal(size=(batch, width)),
    )
    compiled = gs.compile(gs.value_and_grad(rnn, argnums=(0, 1, 2)))
    for xs in (args[3], args[3][1:], args[3]):
        value, gradients = compiled(*args[:3], xs, args[4])
        expected, by_hand = rnn_by_hand(*args[:3], xs, args[4])
        assert np.allclose(value, expected)
        assert all(map(np.allclose, gradients, by_hand))
        assert all(map(np.allclose, gradients, rnn_all_at_once(*args[:3], xs, args[4])[1]))
    same = value == expected and all(map(np.array_equal, gradients, by_hand))
    print(f"rnn: {steps} steps, {width} wide, batch {batch}: {lines(compiled.source(*args))} lines of source; ", end="")
    print(f"bit for bit what is written by hand: {'yes' if same else 'no'}")
    times = [1e3 * capture(gs.value_and_grad(rnn, argnums=(0, 1, 2)), *args)[0] for _ in range(2 if is_tiny() else 10)]
    print(f"rnn: captured in min {min(times):.1f} ms, median {statistics.median(times):.1f} ms")
    repeats, rounds = (1, 2) if is_tiny() else (3, 60)
    ours, theirs, others = interleaved(
        rounds,
        per_call(lambda: compiled(*args), repeats),
        per_call(lambda: rnn_by_hand(*args), repeats),
        per_call(lambda: rnn_all_at_once(*args), repeats),
    )
    report("rnn", ours, theirs, ("compiled", "by hand, step by step"))
    report("rnn", ours, others, ("compiled", "by hand, all at once"))


def capture(eager: Any, *args: Any) -> tuple[float, str]:
    """Seconds from a gradient to its source: without the plain run that gives the result, and the check."""
    others = []

    def timed(run: Any) -> Any:
        def wrapper(*args: Any) -> Any:
            start = time.perf_counter()
            found = run(*args)
            if not capturing():
                others.append(time.perf_counter() - start)
            return found

        return wrapper

    eager._run = timed(eager._run)
    compiled = gs.compile(eager)
    check, Made.first_check = Made.first_check, timed(Made.first_check)  # type: ignore[method-assign]
    start = time.perf_counter()
    compiled(*args)
    seconds = time.perf_counter() - start - sum(others)
    Made.first_check = check  # type: ignore[method-assign]
    assert len(others) == 2
    return seconds, compiled.source(*args)


def captures() -> None:
    """What a capture costs, and how long the source is, by the number of steps."""

    def gradient() -> Any:
        return gs.grad(lambda x, n: np.sum(cheap(x, n)))

    x = np.array([0.1, 0.2])
    capture(gradient(), x, 10)  # which loads what a compiler needs
    for n in (10, 20) if is_tiny() else (10, 100, 1_000, 10_000, 100_000):
        found = [capture(gradient(), x, n) for _ in range(1 if is_tiny() else 5)]
        times = [1e3 * seconds for seconds, _ in found]
        print(
            f"capture of {n:>7,} steps: min {min(times):5.1f} ms, median {statistics.median(times):5.1f} ms; "
            f"{lines(found[0][1])} lines of source"
        )


def a_million() -> None:
    """A loop that its values end after a million trips; of its gradient eager makes a tenth, for its graph takes memory."""
    trips = 50 if is_tiny() else 10**6
    for what, eager, count in (("while", fall, trips), ("gradient of while", gs.grad(fall, argnums=1), trips // 10)):
        compiled = gs.compile(eager)
        compiled(1.0, 0.1)
        step = np.log(2.0) / count
        assert compiled(1.0, step) == eager(1.0, step)
        ours, theirs = interleaved(
            1 if is_tiny() else 3,
            per_call(lambda: compiled(1.0, step), 1),  # noqa: B023  # called at once
            per_call(lambda: eager(1.0, step), 1),  # noqa: B023
        )
        report(f"{what}, {count:,} trips", ours, theirs, ("compiled", "eager"))


if __name__ == "__main__":
    if is_tiny():
        warnings.simplefilter("error", gs.EagerWarning)
    recurrent()
    captures()
    a_million()
