"""Steps on a Dask cluster of this machine: two workers beside one, a step beside its parts, and what tasks and bytes cost.

Logistic regression on 2e6 rows of 50 numbers; each worker is one process with one thread. `no-op` is the same graph with
the same bytes, whose function computes nothing; `slowest shards` is what the compiled gradient itself takes on the worker
that has the most to do, while the others work too. Rounds are interleaved: a time is the fastest round, in brackets the one
in the middle. The cores should be idle.
Run: python benchmarks/distributed_steps.py [--tiny]      (needs Dask: pip install "gradscribe[scale]")
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

from timing import Times, interleaved, is_tiny

import gradscribe as gs

SHARDS = 8


def loss(w: Any, x: Any, y: Any) -> Any:
    """The negative log likelihood of labels that are 1 or -1."""
    return np.sum(np.log1p(np.exp(-y * (x @ w))))


def nothing(w: Any, x: Any, y: Any) -> Any:
    """The same arguments and results, and no work."""
    return np.sum(w)


def alone(w: Any, *pairs: Any) -> float:
    """The seconds that the compiled gradient takes for some shards, on a worker."""
    compiled = gs.compile(gs.value_and_grad(loss))
    for x, y in (pairs[0], pairs[0], pairs[-1]):
        compiled(w, x, y)
    start = time.perf_counter()
    for x, y in pairs:
        compiled(w, x, y)
    return time.perf_counter() - start


class Workers:
    """A cluster with so many workers, its data, and the functions to time."""

    def __init__(self, stack: contextlib.ExitStack, count: int, rows: int) -> None:
        import dask.array as da
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        stack.enter_context(cluster)
        self.client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        each = rows // SHARDS
        x = da.random.default_rng(0).normal(size=(rows, 50), chunks=(each, 50))
        y = da.where(da.random.default_rng(1).random(rows, chunks=each) < 0.5, -1.0, 1.0)
        addresses = sorted(self.client.scheduler_info()["workers"])
        self.data = []
        for array in (x, y):  # neighbours on one worker, as gs.distributed.shard has them
            blocks = list(np.ravel(array.to_delayed()))
            self.data.append(
                [self.client.compute(b, workers=[addresses[k * count // SHARDS]]) for k, b in enumerate(blocks)]
            )
        self.client.gather([self.client.submit(np.shape, f) for column in self.data for f in column])  # wait for them
        self.pairs = [
            list(zip(*self.data, strict=True))[k * SHARDS // count : (k + 1) * SHARDS // count] for k in range(count)
        ]
        self.addresses, self.w = addresses, np.linspace(-0.1, 0.1, 50)
        self.step = self.timed(gs.distributed.value_and_grad(loss, self.client))
        self.no_op = self.timed(gs.distributed.value_and_grad(nothing, self.client))

    def timed(self, function: Any) -> Any:
        """A round of one step."""

        def one_round() -> float:
            start = time.perf_counter()
            function(self.w, *self.data)
            return time.perf_counter() - start

        one_round()
        return one_round

    def slowest(self) -> float:
        """The seconds of the compiled gradients alone on the worker that takes longest."""
        tasks = [
            self.client.submit(alone, self.w, *pairs, workers=[where], pure=False)
            for pairs, where in zip(self.pairs, self.addresses, strict=True)
        ]
        return max(self.client.gather(tasks))


def shown(times: Times) -> str:
    """The fastest and the middle round in ms."""
    return f"{times.least * 1e3:9.1f} ({times.median * 1e3:.1f})"


def overheads(workers: int, counts: tuple[int, ...], rounds: int) -> None:
    """Print what a step of many shards costs beyond their compute, in time and processor time; the slope is that of a shard."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        found = []
        for count in counts:
            data = gs.distributed.shard(np.ones((count, 1)), client=client, shards=count)
            function = gs.distributed.value_and_grad(lambda w, x: np.sum(w), client)
            for _ in range(3):
                function(np.ones(50), data)
            seconds = []
            here, there = time.process_time(), sum(client.run(time.process_time).values())
            for _ in range(rounds):
                start = time.perf_counter()
                function(np.ones(50), data)
                seconds.append(time.perf_counter() - start)
            here = (time.process_time() - here) / rounds
            there = (sum(client.run(time.process_time).values()) - there) / rounds
            found.append((Times(seconds).least, here, there))
            print(
                f"  {workers} workers, {count:4} shards: {shown(Times(seconds))} ms; processor time {here * 1e3:.1f} ms of "
                f"client and scheduler, {there * 1e3:.1f} ms of the workers"
            )
        slopes = [(b - a) / (counts[-1] - counts[0]) * 1e3 for a, b in zip(found[0], found[-1], strict=True)]
        print("  each shard: {:.2f} ms; {:.2f} ms of client and scheduler, {:.2f} ms of the workers".format(*slopes))


def main() -> None:
    """Print the times."""
    if importlib.util.find_spec("distributed") is None:
        print("Dask is not installed: pip install 'gradscribe[scale]'")
        return
    tiny = is_tiny()
    rows, rounds = (8_000, 1) if tiny else (2_000_000, 15)
    with contextlib.ExitStack() as stack:
        one, two = Workers(stack, 1, rows), Workers(stack, 2, rows)
        timed = interleaved(rounds, one.step, two.step, one.no_op, two.no_op, one.slowest, two.slowest)
        names = ["step, 1 worker", "step, 2 workers", "no-op, 1 worker", "no-op, 2 workers", "slowest shards, 1 worker"]
        print(f"ms, {rows} rows of 50 in {SHARDS} shards: fastest round (middle)")
        for name, times in zip([*names, "slowest shards, 2 workers"], timed, strict=True):
            print(f"  {name:28} {shown(times)}")
        step1, step2, no_op1, no_op2, alone1, alone2 = timed
        for how in ("least", "median"):
            s1, s2, n1, n2, a1, a2 = (getattr(t, how) for t in (step1, step2, no_op1, no_op2, alone1, alone2))
            print(
                f"{how}: two workers are {s1 / s2:.2f} times as fast as one; step / (slowest shards + 1.2 no-op): "
                f"{s1 / (a1 + 1.2 * n1):.2f} with one, {s2 / (a2 + 1.2 * n2):.2f} with two"
            )
    print("what shards of one row cost: fastest round (middle)")
    for workers in (2,) if tiny else (1, 2, 4):
        overheads(workers, (8, 64) if tiny else (8, 64, 256), rounds=1 if tiny else 10)


if __name__ == "__main__":
    main()
