"""What workers and schedulers do to a run when they die: kills survived, wrong results, and the errors that are due.

Each step's value and gradient are compared, bit for bit, with those of an undisturbed cluster. A kill is SIGKILL.
Run: python benchmarks/faults.py [--tiny]      (needs Dask: pip install "gradscribe[scale]")
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

sys.path.append(str(Path(__file__).parent))

from timing import is_tiny

import gradscribe as gs

W = np.array([0.3, -0.2])
X = np.random.default_rng(0).normal(size=(160, 2))
SHARDS = 16


def loss(w: Any, x: Any) -> Any:
    """A loss that takes 50 ms a shard, so that kills fall into it."""
    time.sleep(0.05)
    return np.sum(np.tanh(x @ w))


def slow_on_one(w: Any, x: Any) -> Any:
    """The same, ten times as slow on one worker."""
    import distributed

    time.sleep(0.2 if str(distributed.get_worker().name) == "1" else 0.02)
    return np.sum(np.tanh(x @ w))


def fails(w: Any, x: Any) -> Any:
    """An error on one shard."""
    if x[0, 0] == X[30, 0]:
        raise LookupError("row 30 is not wanted")
    return np.sum(np.tanh(x @ w))


class Workers:
    """A cluster whose workers are processes that are started again when they die."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        import distributed

        cluster = distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, silence_logs=60)
        self.address = stack.enter_context(cluster).scheduler_address
        self.client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        self.processes: dict[int, Any] = {}
        stack.callback(self.stop)
        self.scale(2)

    def scale(self, count: int) -> None:
        """Let there be so many."""
        for k in range(count):
            if k not in self.processes or self.processes[k].poll() is not None:
                options = ["--no-nanny", "--nthreads", "1", "--name", str(k), "--no-dashboard"]
                command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, *options]
                self.processes[k] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for k in [k for k in self.processes if k >= count]:
            self.processes.pop(k).kill()

    def wait(self, count: int = 2) -> None:
        """Wait until so many are there, neither more nor less."""
        while len(self.client.scheduler_info()["workers"]) != count:
            time.sleep(0.1)

    def kill(self) -> bool:
        """Kill one by chance, and start another; whether there was one."""
        process = random.choice(list(self.processes.values()))
        alive = process.poll() is None
        process.kill()
        process.wait()
        self.scale(len(self.processes))
        return alive

    def stop(self) -> None:
        """End all."""
        for process in self.processes.values():
            process.kill()
            process.wait()


class Row:
    """A row of the table."""

    all: ClassVar[list[Row]] = []

    def __init__(self, fault: str) -> None:
        self.fault, self.steps, self.kills, self.wrong, self.said = fault, 0, 0, 0, ""
        self.all.append(self)

    def __str__(self) -> str:
        return f"{self.fault:58} {self.steps:6} {self.kills:6} {self.wrong:6}  {self.said}"


def stepped(
    row: Row, workers: Workers, function: Any, data: Any, right: Any, steps: int, between: bool, during: bool
) -> Row:
    """Take steps while workers are killed, between or during them."""
    for _ in range(steps):
        workers.wait()
        if between:
            row.kills += workers.kill()
        timer = threading.Timer(random.uniform(0.0, 0.4), lambda: setattr(row, "kills", row.kills + workers.kill()))
        if during:
            timer.start()
        value, gradient = function(W, data)
        timer.join() if during else None
        row.steps += 1
        row.wrong += (float(value), gradient.tobytes()) != right
    return row


def raising(row: Row, call: Callable[[], Any], error: type[Exception], *words: str) -> Row:
    """Take a step that must raise, in these words."""
    began = time.perf_counter()
    try:
        call()
    except error as found:
        said = "\n".join([str(found), *getattr(found, "__notes__", ())])
        row.wrong += not all(word in said for word in words)
        row.said = f"{type(found).__name__} after {time.perf_counter() - began:.1f} s: {said.splitlines()[0][:90]}"
    else:
        row.wrong, row.said = 1, "raised nothing"
    row.steps = 1
    return row


@contextlib.contextmanager
def own_scheduler() -> Iterator[Any]:
    """A scheduler and a worker in processes of their own."""
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    cli = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [*cli, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet
    )
    worker = subprocess.Popen(
        [*cli, "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--no-nanny", "--no-dashboard"], **quiet
    )
    client = distributed.Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False)
    try:
        client.wait_for_workers(1)
        yield client, scheduler
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        with contextlib.suppress(Exception):
            client.close(timeout=1)


def without_a_scheduler(how: str) -> Row:
    """The scheduler dies, or stands still, at step 3 of 6; the run goes on from its checkpoint on another."""
    row = Row(f"scheduler {'killed' if how == 'SIGKILL' else 'stopped'}, resumed on another")
    told: dict[str, Any] = {"lr": 0.1, "shards": 4, "compile": False}
    with tempfile.TemporaryDirectory() as folder:
        with own_scheduler() as (client, scheduler):
            whole = gs.distributed.minimize(loss, W, X, steps=6, client=client, **told)

            def gone(step: Any) -> None:
                if step.step == 3:
                    scheduler.send_signal(getattr(signal, how))

            def call() -> Any:
                return gs.distributed.minimize(
                    loss, W, X, steps=6, client=client, save_to=folder, save_every=1, callback=gone, **told
                )

            row = raising(row, call, gs.distributed.LostSchedulerError, "resume=")
        with own_scheduler() as (client, _):
            found = gs.distributed.minimize(loss, W, X, steps=6, client=client, resume=folder, **told)
    row.steps, row.kills = 6, 1
    row.wrong += found.params.tobytes() != whole.params.tobytes()
    return row


def main() -> None:
    """Print the table, one row a fault."""
    if importlib.util.find_spec("distributed") is None:
        print("Dask is not installed: pip install 'gradscribe[scale]'")
        return
    import dask.array as da

    random.seed(0)
    logging.disable(logging.CRITICAL)  # Dask's own words about what is killed here
    warnings.filterwarnings("ignore", "Mismatched versions")  # of a client and a scheduler of one environment, too
    tiny = is_tiny()
    steps = 1 if tiny else 12
    options: dict[str, Any] = {"shards": SHARDS, "compile": False}
    print(f"{'fault':58} {'steps':>6} {'kills':>6} {'wrong':>6}")
    with contextlib.ExitStack() as stack:
        workers = Workers(stack)
        client = workers.client
        workers.wait()
        function = gs.distributed.value_and_grad(loss, client, **options)
        value, gradient = function(W, X)
        right = float(value), gradient.tobytes()
        tasks = da.from_array(X, chunks=(10, 2)) * 1.0
        cases = [
            ("a worker killed between steps, arrays of the client", X, True, False),
            ("a worker killed during each step, arrays of the client", X, False, True),
            ("a worker killed between and during, a dask.array", tasks, True, True),
            ("a worker killed during each step, a persisted dask.array", client.persist(tasks), False, True),
        ]
        for name, data, between, during in cases[: 2 if tiny else 4]:
            print(stepped(Row(name), workers, function, data, right, steps, between, during), flush=True)
        row = Row("a worker that joins during a step")
        for _ in range(steps):
            workers.scale(1)
            workers.wait(1)
            workers.scale(2)
            value, gradient = function(W, X)
            row.steps += 1
            row.wrong += (float(value), gradient.tobytes()) != right
        print(row, flush=True)
        slow = gs.distributed.value_and_grad(slow_on_one, client, **options)
        print(stepped(Row("a worker ten times as slow"), workers, slow, X, right, steps, False, False), flush=True)
        bad = X.copy()
        bad[77] = np.nan
        words = ("shard 7 (rows 70 to 79)", "row 77.")
        print(raising(Row("NaN on one shard"), lambda: function(W, bad), FloatingPointError, *words), flush=True)
        broken = gs.distributed.value_and_grad(fails, client, **options)
        words = ("shard 3 (rows 30 to 39)", "raise LookupError")
        print(
            raising(Row("an error of the function on one shard"), lambda: broken(W, X), LookupError, *words), flush=True
        )
        futures = client.scatter([X, X], hash=False, workers=[min(client.scheduler_info()["workers"])])
        function(W, futures)
        for process in workers.processes.values():
            process.kill()
        workers.scale(2)
        row = Row("a scattered future lost with its worker")
        print(raising(row, lambda: function(W, futures), gs.distributed.LostShardError, "shard 0"), flush=True)
    for how in ("SIGKILL",) if tiny else ("SIGKILL", "SIGSTOP"):
        print(without_a_scheduler(how), flush=True)
    total = Row("all")
    total.steps, total.kills, total.wrong = (
        sum(getattr(r, name) for r in Row.all) for name in ("steps", "kills", "wrong")
    )
    print(total)
    sys.exit(total.wrong > 0)


if __name__ == "__main__":
    main()
