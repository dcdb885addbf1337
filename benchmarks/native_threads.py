"""What a second core gains: threads that share the loops of one native kernel, and two threads that call one at once."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread for each product: the second core is the second thread's
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("GRADSCRIBE_THREADS", "2")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import Times, interleaved, is_tiny  # noqa: E402
from workloads import WORKLOADS, mixture, plain_loop, waves  # noqa: E402

import gradscribe as gs  # noqa: E402
from gradscribe.transforms.compiler.native.threads import resize  # noqa: E402

Array = Any


def at_once(call: Callable[[], object], threads: int, calls: int) -> Callable[[], float]:
    """A round of `calls` calls, shared by this many threads; it gives the seconds of all."""

    def repeated() -> None:
        for _ in range(calls // threads):
            call()

    def one_round() -> float:
        resize(1)
        running = [threading.Thread(target=repeated) for _ in range(threads)]
        start = time.perf_counter()
        for one in running:
            one.start()
        for one in running:
            one.join()
        return time.perf_counter() - start

    return one_round


def within(call: Callable[[], object], threads: int, calls: int) -> Callable[[], float]:
    """A round of calls whose loops are shared by this many threads; it gives the seconds of the fastest, times `calls`."""

    def one_round() -> float:
        resize(threads)
        call()  # which starts them
        seconds = []
        for _ in range(calls):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return min(seconds) * calls

    return one_round


def run(what: str, function: Callable[..., Array], args: tuple[Any, ...], n: int, calls: int, rounds: int) -> None:
    """Print one thread's time, and that over two threads', within a call and of calls at once."""
    both = gs.value_and_grad(function, argnums=tuple(range(n)))
    compiled = gs.compile(both, target="native")
    given = args
    for _ in range(4):  # until what is left to check is checked
        compiled(*given)
        given = (given[0] * 1.0000001, *given[1:])
    one, shared, one_caller, two_callers = interleaved(
        rounds, *[made(lambda: compiled(*args), k, calls) for made in (within, at_once) for k in (1, 2)]
    )
    gains = one.least / shared.least, one_caller.least / two_callers.least
    print(
        f"{what:<28}{_milliseconds(one, calls):>12} {_milliseconds(shared, calls):>12}{gains[0]:>8.2f}{gains[1]:>12.2f}"
    )


def _milliseconds(times: Times, calls: int) -> str:
    return f"{times.least / calls * 1e3:.3f}"


if __name__ == "__main__":
    tiny = is_tiny()
    n, rounds = (10, 2) if tiny else (10**6, 15)
    rng = np.random.default_rng(0)
    print(f"{'milliseconds, fastest':<28}{'one thread':>12} {'two':>12}{'gain':>8}{'two callers':>12}")
    for dtype in (np.float64, np.float32):
        run(
            f"elementwise, {n:,} {np.dtype(dtype)}",
            waves(np, plain_loop),
            (rng.normal(size=n).astype(dtype),),
            1,
            2 if tiny else 6,
            rounds,
        )
    given = np.zeros(5), rng.normal(size=(5, 3))
    for size in (500,) if tiny else (500, 20_000):
        points = (*given, rng.normal(size=(size, 3)))
        run(f"mixture, {size:,} points", mixture(np, plain_loop), points, 2, 2 if tiny else 20, rounds)
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
    if not tiny:
        logistic = WORKLOADS["logistic regression"].make(np, plain_loop)
        m = 300_000
        args = rng.normal(size=20), rng.normal(size=(m, 20)), (rng.uniform(size=m) < 0.5) * 1.0
        run(f"logistic regression, {m:,} rows", logistic, args, 1, 6, rounds)
