"""Four paths of one function that share a matrix product: a call of any of them, over one that stays on its own path.

What a call must cost is one product, whatever the call before it took. Run: python benchmarks/paths.py [--tiny]. It also
prints what the assumptions of a function of four positional arrays cost a call.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

from timing import interleaved, is_tiny, per_call, report

import gradscribe as gs

Array = Any


def model(x: Array, w: Array) -> Array:
    """A product of two matrices, and four things to do with it."""
    h = x @ w
    level = h[0, 0]
    if level > 0:
        if level > 10:
            return np.sum(h)
        return np.max(h)
    if level < -10:
        return np.min(h)
    return h[-1, -1] * 2


def four(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Next to nothing, so that what is left is the call."""
    return a + b


def alternating() -> None:
    """The four paths in turn, and then each by itself."""
    n = 20 if is_tiny() else 500
    rng = np.random.default_rng(0)
    w = rng.normal(size=(n, n)) / n
    xs = []
    for level in (20.0, 5.0, -20.0, -5.0):
        x = rng.normal(size=(n, n))
        x[0] *= level / (x[0] @ w[:, 0])
        xs.append(x)
    compiled = gs.compile(model)
    for x in [x * k for k in (1.0, 1.001, 1.002) for x in xs]:
        assert compiled(x, w) == model(x, w)
    assert str(compiled.source(xs[0], w)).count("x @ w") == 1
    alone = []
    for x in xs:
        alone.append(gs.compile(model))
        for k in (1.0, 1.001, 1.002):
            alone[-1](x * k, w)
    in_turn, by_itself = itertools.cycle(xs), itertools.cycle(zip(alone, xs, strict=True))

    def one_alone() -> Any:
        function, x = next(by_itself)
        return function(x, w)

    repeats, rounds = (4, 2) if is_tiny() else (8, 60)
    times = interleaved(
        rounds,
        per_call(lambda: compiled(next(in_turn), w), repeats),
        per_call(one_alone, repeats),
        per_call(lambda: model(next(in_turn), w), repeats),
    )
    report("four paths", times[0], times[1], ("one function, in turn", "four functions"))
    report("four paths", times[0], times[2], ("one function, in turn", "eager"))


def overhead() -> None:
    """A compiled call of four positional arrays, over the bare generated function."""
    args = tuple(np.ones((4, 3)))
    compiled = gs.compile(four)
    for k in range(4):
        compiled(*[a * (k + 1) for a in args])
    bare = compiled._last.specialisation.function
    check = compiled._last.check
    repeats, rounds = (10, 2) if is_tiny() else (20_000, 25)
    a, b, c, d = args
    times = interleaved(
        rounds,
        per_call(lambda: compiled(a, b, c, d), repeats),
        per_call(lambda: bare(a, b, c, d), repeats),
        per_call(lambda: check(a, b, c, d), repeats),
        per_call(lambda: None, repeats),
    )
    print(f"four arrays: a compiled call over the bare function: {1e6 * (times[0].least - times[1].least):.2f} µs")
    print(f"four arrays: its assumptions alone: {1e6 * (times[2].least - times[3].least):.2f} µs")


if __name__ == "__main__":
    alternating()
    overhead()
