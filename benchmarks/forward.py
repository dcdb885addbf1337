"""What forward mode costs: `gs.jvp`, eager and compiled, over the function itself in NumPy; and what the cheaper Jacobian saves.

Times are of the processor (`time.process_time`, one thread), so that what else runs on the machine counts for less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from compiled import classifier, elementwise, network, rosenbrock  # noqa: E402
from timing import interleaved, is_tiny, report  # noqa: E402

import gradscribe as gs  # noqa: E402


def per_call(call: Callable[[], object], repeats: int) -> Callable[[], float]:
    """A round of `repeats` calls; it gives the seconds that the processor spent on one."""

    def one_round() -> float:
        start = time.process_time()
        for _ in range(repeats):
            call()
        return (time.process_time() - start) / repeats

    return one_round


def moved(what: str, function: Callable[..., Any], args: tuple[Any, ...], repeats: int = 1) -> None:
    """The time of `gs.jvp` along the first argument, eager and compiled, over that of the function."""
    first, *rest = args
    of_first = lambda x: function(x, *rest)

    def along(x: Any, v: Any) -> Any:
        return gs.jvp(of_first, (x,), (v,))

    compiled = gs.compile(along)
    np.testing.assert_allclose(compiled(first, first)[1], along(first, first)[1])
    rounds, repeats = (2, 1) if is_tiny() else (60, repeats)
    alone = per_call(lambda: function(*args), repeats)
    for how, call in (("gs.jvp", along), ("gs.jvp, compiled", compiled)):
        ours, theirs = interleaved(rounds, per_call(lambda call=call: call(first, first), repeats), alone)
        report(what, ours, theirs, (how, "the function"))


def networks() -> None:
    """Three layers on a batch of 128."""
    p, x, y = network(*(((7, 5, 4, 3), 6) if is_tiny() else ((784, 256, 128, 10), 128)), np.float64)
    moved("forward mode of a network", classifier, (p, x, y))


def chain() -> None:
    """Fifteen operations on a million numbers."""
    x, y = np.random.default_rng(0).uniform(0.5, 1.0, (2, 10 if is_tiny() else 1_000_000))
    moved("forward mode of fifteen operations", elementwise, (x, y))


def valley() -> None:
    """Rosenbrock's function in many dimensions, and in few: there eager mode costs what tracing does."""
    for n, repeats in ((7, 1),) if is_tiny() else ((1_000_000, 1), (1000, 100)):
        x = np.random.default_rng(0).normal(size=n)
        moved(f"forward mode of Rosenbrock, n = {n}", rosenbrock, (x,), repeats)


def jacobians() -> None:
    """A function of few arguments with many results: its Jacobian by columns, as gs.jacobian takes it, and by rows."""
    n = 20 if is_tiny() else 2000
    t = np.linspace(0, 1, n)

    def curve(p: Any) -> Any:
        return p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t + p[3])

    p, rounds = np.array([1.0, 0.5, 6.0, 0.1]), 2 if is_tiny() else 20
    ours, theirs = interleaved(rounds, *[per_call(lambda f=f: f(p), 1) for f in (gs.jacobian(curve), gs.jacrev(curve))])
    report(f"Jacobian of {n} results in 4 arguments", ours, theirs, ("gs.jacobian (columns)", "gs.jacrev (rows)"))


WORKLOADS: dict[str, Callable[[], None]] = {
    "network": networks, "elementwise": chain, "rosenbrock": valley, "jacobian": jacobians,
}  # fmt: skip

if __name__ == "__main__":  # each in a process of its own, as in compiled.py
    asked = [name for name in sys.argv[1:] if name in WORKLOADS]
    if asked or is_tiny():
        for name in asked or WORKLOADS:
            WORKLOADS[name]()
    else:
        for name in WORKLOADS:
            subprocess.run([sys.executable, __file__, name], check=True)
