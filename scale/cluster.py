"""Which Dask cluster a function runs on: the client that was given, the one that is there, or one on this machine."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from ..transforms.optional import load
from .errors import LostSchedulerError

__all__ = ["check_alive", "client_of", "local_client"]

_lock = threading.Lock()
_local: Any = None


def client_of(client: Any, who: str) -> Any:
    """Return the client to use; where there is none a cluster is started on this machine, and a line says so."""
    distributed = load("distributed", who)
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            client = local_client(who)
    if not isinstance(client, distributed.Client):
        raise TypeError(f"{who}: client is a dask.distributed.Client, not {type(client).__name__}")
    if client.asynchronous:
        raise TypeError(f"{who} waits for its results, which an asynchronous client cannot: Client(asynchronous=False)")
    check_alive(client, who)
    return client


def local_client(who: str, workers: int | None = None) -> Any:
    """Return the client of a cluster on the loopback address of this machine, one single-threaded worker for each core."""
    global _local
    distributed = load("distributed", who)
    with _lock:
        if _local is None or _local.status != "running" or (workers is not None and workers != _workers_of(_local)):
            if _local is not None:
                _local.close()
            count = workers or _cores()
            cluster = distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            )
            _local = distributed.Client(cluster, set_as_default=False)
            print(
                f"{who}: no client was given, so a cluster was started on this machine: {count} workers, scheduler at "
                f"{cluster.scheduler_address}, which only programs on this machine can reach",
                file=sys.stderr,
            )
        return _local


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers_of(client: Any) -> int:
    return len(client.cluster.workers)


def check_alive(client: Any, who: str) -> None:
    """Raise where a client has lost its scheduler."""
    if client.status != "running":
        raise LostSchedulerError(
            f"{who}: the scheduler {_address(client)} is gone (the client is {client.status}). What was on the cluster is lost; "
            "connect a new client, and let gs.distributed.minimize go on from its checkpoint (resume=)."
        )


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "") or "")
