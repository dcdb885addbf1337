"""Workers that die, come late or are slow, lost futures, schedulers that are gone: the right bits, or an error that says what."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("dask")]  # warnings are Dask's own


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w))


def slow_loss(w: Any, x: Any) -> Any:
    time.sleep(0.2)
    return np.sum(np.tanh(x @ w))


def slow_on_one(w: Any, x: Any) -> Any:
    time.sleep(0.3 if distributed.get_worker().name == 1 else 0.03)
    return np.sum(np.tanh(x @ w))


W = np.array([0.3, -0.2])
X = np.random.default_rng(0).normal(size=(80, 2))


def expected(shards: int) -> Any:
    """Value and gradient with the bits of these shards, without a cluster: each by itself, added in order by eights."""
    parts = [gs.value_and_grad(loss)(W, part) for part in np.array_split(X, shards)]
    while len(parts) > 1:
        groups = [parts[k : k + 8] for k in range(0, len(parts), 8)]
        parts = [(sum([p[0] for p in g[1:]], g[0][0]), sum([p[1] for p in g[1:]], g[0][1])) for g in groups]
    return parts[0]


def same(found: Any, shards: int) -> None:
    value, gradient = expected(shards)
    assert (found[0], found[1].tobytes()) == (value, gradient.tobytes())


@pytest.fixture
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as made:
        yield made


def kill_worker(client: Any, *numbers: int) -> None:
    pids = client.run(os.getpid)
    for k in numbers or (0,):
        os.kill(pids[sorted(pids)[k % len(pids)]], signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_worker_that_is_killed_between_and_during_steps(client: Any) -> None:
    quick = gs.distributed.value_and_grad(loss, client, shards=10)
    same(quick(W, X), 10)
    kill_worker(client)
    same(quick(W, X), 10)  # arrays of the client's are sent again
    slow = gs.distributed.value_and_grad(slow_loss, client, shards=10, compile=False)
    threading.Timer(0.5, kill_worker, [client, 1]).start()
    same(slow(W, X), 10)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_worker_that_is_killed_while_it_has_tasks_of_a_lazy_array(client: Any) -> None:
    lazy = da.from_array(X, chunks=(8, 2)) * 1.0
    slow = gs.distributed.value_and_grad(slow_loss, client, compile=False)
    threading.Timer(0.5, kill_worker, [client, 0]).start()
    same(slow(W, lazy), 10)  # tasks are run again


@pytest.mark.slow
def test_a_persisted_array_is_made_again(client: Any) -> None:
    lazy = client.persist(da.from_array(X, chunks=(8, 2)) * 1.0)
    function = gs.distributed.value_and_grad(loss, client)
    same(function(W, lazy), 10)
    for _ in range(3):
        kill_worker(client)
        same(function(W, lazy), 10)
        time.sleep(1.0)  # until all is made again, or the scheduler blames a task for it


@pytest.mark.slow
def test_handles_are_sent_again_and_a_changed_array_raises(client: Any) -> None:
    x = X.copy()
    handle = gs.distributed.shard(x, client=client, shards=10)
    function = gs.distributed.value_and_grad(loss, client)
    same(function(W, handle), 10)
    kill_worker(client)
    same(function(W, handle), 10)
    x[:] = 0.0
    kill_worker(client, *range(len(client.scheduler_info()["workers"])))
    time.sleep(1.0)
    with pytest.raises(gs.distributed.LostShardError, match=r"shard \d+ \(rows .*written to since"):
        function(W, handle)


@pytest.mark.slow
def test_a_lost_future_of_the_users_raises_and_names_the_shard(client: Any) -> None:
    parts = np.array_split(X, 4)
    workers = sorted(client.scheduler_info()["workers"])
    futures = [client.scatter(part, workers=[workers[k % 2]], hash=False) for k, part in enumerate(parts)]
    function = gs.distributed.value_and_grad(slow_loss, client, compile=False)
    same(function(W, futures), 4)
    threading.Timer(0.1, kill_worker, [client, 1]).start()
    with pytest.raises(gs.distributed.LostShardError, match=r"shard [13] is lost: the future"):
        function(W, futures)
    with pytest.raises(gs.distributed.LostShardError, match=r"shard [13] is lost: the future"):
        function(W, futures)


@pytest.mark.slow
def test_a_worker_that_joins_late_and_one_that_is_slow(client: Any) -> None:
    client.cluster.scale(1)
    function = gs.distributed.value_and_grad(slow_loss, client, shards=10, compile=False)
    same(function(W, X), 10)
    threading.Timer(0.3, client.cluster.scale, [2]).start()
    same(function(W, X), 10)
    client.wait_for_workers(2)
    slow = gs.distributed.value_and_grad(slow_on_one, client, shards=20, compile=False)
    same(slow(W, X), 20)
    same(slow(W, X), 20)


def dies(w: Any, x: Any) -> Any:
    if x[0, 0] == X[24, 0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.sum(x @ w)


@pytest.mark.slow
def test_a_shard_that_kills_its_workers_is_named(client: Any) -> None:
    lazy = da.from_array(X, chunks=(8, 2)) * 1.0
    behind = r"( or shard \d+ \(rows \d+ to \d+\))*"  # those that waited on each of the same workers
    with pytest.raises(gs.distributed.LostWorkersError, match=rf"shard 3 \(rows 24 to 31\){behind} died"):
        gs.distributed.value_and_grad(dies, client, compile=False)(W, lazy)


# --- the scheduler ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def processes(**environment: str) -> Iterator[Any]:
    """A scheduler and a worker in processes of their own: the client, and the scheduler's process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [*command, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        **quiet,
    )
    place = f"tcp://127.0.0.1:{port}"
    worker = subprocess.Popen(
        [*command, "distributed.cli.dask_worker", place, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
        env={**os.environ, **environment},
        **quiet,
    )
    client = distributed.Client(place, timeout=60, set_as_default=False)
    try:
        client.wait_for_workers(1, timeout=60)
        yield client, scheduler
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        with contextlib.suppress(Exception):
            client.close(timeout=1)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_a_scheduler_an_error_comes_soon_and_the_run_goes_on_elsewhere(how: str, tmp_path: Path) -> None:
    told: dict[str, Any] = {"lr": 0.1, "shards": 3, "compile": False}
    with processes() as (client, scheduler):
        whole = gs.distributed.minimize(loss, W, X, steps=6, client=client, **told)

        def gone(step: Any) -> None:
            if step.step == 3:
                scheduler.send_signal(getattr(signal, how))
                gone.began = time.monotonic()  # type: ignore[attr-defined]

        with pytest.raises(gs.distributed.LostSchedulerError, match="resume="):
            gs.distributed.minimize(
                loss, W, X, steps=6, client=client, save_to=tmp_path, save_every=1, callback=gone, **told
            )
        assert time.monotonic() - gone.began < 30  # type: ignore[attr-defined]
    with processes() as (client, _):
        found = gs.distributed.minimize(loss, W, X, steps=6, client=client, resume=tmp_path, **told)
    assert found.params.tobytes() == whole.params.tobytes()
    np.testing.assert_array_equal(found.history.value, whole.history.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_workers_without_gradscribe_or_with_another_version_are_named(tmp_path: Path) -> None:
    (tmp_path / "gradscribe.py").write_text("raise ModuleNotFoundError('there is none')")
    with processes(PYTHONPATH=str(tmp_path)) as (client, _):
        with pytest.raises(ImportError, match=r"need gradscribe \S+, which is here. tcp://\S+: ModuleNotFoundError"):
            gs.distributed.value_and_grad(loss, client)(W, X)
        with pytest.raises(ImportError, match="ModuleNotFoundError"):
            gs.distributed.shard(X, client=client)
    (tmp_path / "gradscribe.py").write_text("__version__ = '0.0.1'")
    with processes(PYTHONPATH=str(tmp_path)) as (client, _), pytest.raises(ImportError, match=r"tcp://\S+: 0\.0\.1"):
        gs.distributed.minimize(loss, W, X, lr=0.1, steps=1, client=client)


KILLED = """
import os, signal, sys
import numpy as np
import gradscribe as gs
from distributed import Client

def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)

def kill(step):
    if step.step == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        found = gs.distributed.minimize(loss, np.ones(2), np.arange(20.0).reshape(10, 2) / 20, lr=0.1, steps=9, client=client,
                                        save_to=sys.argv[1], save_every=2, resume=True, shards=3, callback=kill)
        print(found.params.tobytes().hex())
"""


@pytest.mark.slow
def test_a_run_whose_own_process_is_killed_goes_on_bit_for_bit(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(KILLED)

    def run(folder: str, kill_at: int) -> Any:
        return subprocess.run(
            [sys.executable, str(script), str(tmp_path / folder), str(kill_at)],
            capture_output=True,
            text=True,
            timeout=120,
        )

    whole = run("whole", -1)
    assert whole.returncode == 0, whole.stderr
    assert run("killed", 5).returncode == -signal.SIGKILL
    assert run("killed", 7).returncode == -signal.SIGKILL
    assert run("killed", -1).stdout == whole.stdout
