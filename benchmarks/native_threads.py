"""What a second core gains: one native kernel called by two threads at once, over the same calls by one thread."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread for each call: the second core is the second call's
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from native import mixture, waves  # noqa: E402
from timing import Times, interleaved, is_tiny  # noqa: E402
from workloads import WORKLOADS, plain_loop  # noqa: E402

import gradscribe as gs  # noqa: E402

Array = Any


def at_once(call: Callable[[], object], threads: int, calls: int) -> Callable[[], float]:
    """A round of `calls` calls, shared by this many threads; it gives the seconds of all."""

    def repeated() -> None:
        for _ in range(calls // threads):
            call()

    def one_round() -> float:
        running = [threading.Thread(target=repeated) for _ in range(threads)]
        start = time.perf_counter()
        for one in running:
            one.start()
        for one in running:
            one.join()
        return time.perf_counter() - start

    return one_round


def run(what: str, function: Callable[..., Array], args: tuple[Any, ...], n: int, calls: int, rounds: int) -> None:
    """Print one thread's time over two threads', for each target."""
    both = gs.value_and_grad(function, argnums=tuple(range(n)))
    shown = []
    for target in ("native", "numpy"):
        compiled = gs.compile(both, target=target)
        given = args
        for _ in range(4):  # until what is left to check is checked
            compiled(*given)
            given = (given[0] * 1.0000001, *given[1:])
        one, two = interleaved(rounds, *[at_once(lambda c=compiled: c(*args), k, calls) for k in (1, 2)])  # type: ignore[misc]
        shown.append(f"{_milliseconds(one, calls):>12} ms {one.least / two.least:>7.2f}")
    print(f"{what:<28}{''.join(shown)}")


def _milliseconds(times: Times, calls: int) -> str:
    return f"{times.least / calls * 1e3:.3f}"


if __name__ == "__main__":
    tiny = is_tiny()
    n, rounds = (10, 2) if tiny else (10**6, 9)
    rng = np.random.default_rng(0)
    print(f"{'':<28}{'native':>12}    gain{'numpy':>15}    gain")
    for dtype in (np.float64, np.float32):
        run(
            f"elementwise, {n:,} {np.dtype(dtype)}",
            waves,
            (rng.normal(size=n).astype(dtype),),
            1,
            2 if tiny else 6,
            rounds,
        )
    given = np.zeros(5), rng.normal(size=(5, 3)), rng.normal(size=(500, 3))
    run("mixture", mixture, given, 2, 2 if tiny else 200, rounds)
    for name in (
        "logistic regression",
        "Runge-Kutta",
        "Kalman filter",
        "hidden Markov model",
        "bodies",
        "network, float32",
    ):
        work = WORKLOADS[name]
        args = work.arguments(np.random.default_rng(0), tiny)
        run(name, work.make(np, plain_loop), args, len(work.argnums), 2 if tiny else 20, rounds)
