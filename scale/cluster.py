"""Which Dask cluster a function runs on: the client that was given, the one that is there, or one on this machine."""

from __future__ import annotations

import ast
import atexit
import os
import sys
import threading
import weakref
from typing import Any

from ..transforms.optional import load
from .errors import LostSchedulerError

__all__ = ["check_alive", "client_of", "local_client"]

_VERSION = """
def version():
    try:
        import gradscribe
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
    return gradscribe.__version__
"""
_checked: weakref.WeakSet[Any] = weakref.WeakSet()  # clients
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
    if client not in _checked:
        _check_versions(client, who)
        _checked.add(client)
    return client


def _check_versions(client: Any, who: str) -> None:
    """Raise where scheduler or workers lack gradscribe, or have another version: they would die of what they are sent."""
    space: dict[str, Any] = {"__name__": "__main__"}  # so that the function is sent as a whole
    exec(_VERSION, space)
    here = space["version"]()
    found = {
        "the scheduler": client.run_on_scheduler(space["version"]),
        **client.run(space["version"], on_error="ignore"),
    }
    others: dict[str, list[str]] = {}
    for place, there in found.items():
        if isinstance(there, str) and there != here:
            others.setdefault(there, []).append(place)
    if others:
        listed = "; ".join([f"{', '.join(places)}: {there}" for there, places in others.items()])
        raise ImportError(
            f"{who}: scheduler and workers need gradscribe {here}, which is here. {listed}", name="gradscribe"
        )


def local_client(who: str, workers: int | None = None, memory_limit: str = "auto") -> Any:
    """Return the client of a cluster on the loopback address of this machine, one single-threaded worker for each core.

    It stays for all calls of this process, until another number of workers is asked for.
    """
    global _local
    distributed = load("distributed", who)
    with _lock:
        if _local is None or _local.status != "running" or (workers is not None and workers != _workers_of(_local)):
            _check_script(who)
            if _local is not None:
                _end_local()
            count = workers or _cores()
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # of its pages of text; 8787 may be in use
                memory_limit=memory_limit,
            )
            _local = distributed.Client(cluster, set_as_default=False)
            atexit.register(_end_local)  # before the interpreter takes apart what a cluster needs to end
            print(
                f"{who}: no client was given, so a cluster was started on this machine: {count} workers, scheduler at "
                f"{cluster.scheduler_address}, which only programs on this machine can reach",
                file=sys.stderr,
            )
        return _local


def _check_script(who: str) -> None:
    """Raise where the script that runs would run again, from its first line, in each process that is started."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    frame: Any = sys._getframe(1)
    while frame is not None and not (
        frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
    ):
        frame = frame.f_back
    if file is None or frame is None or frame.f_code.co_filename != file:  # a notebook, a console, a thread
        return
    try:
        with open(file, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, ValueError, SyntaxError):
        return
    for statement in tree.body:
        if statement.lineno <= frame.f_lineno <= (statement.end_lineno or 0) and "__name__" not in ast.dump(statement):
            raise RuntimeError(
                f"{who} starts processes, and each runs {file} from its first line on: put line {frame.f_lineno} under "
                '`if __name__ == "__main__":`, or pass a client.'
            )


def _end_local() -> None:
    """End the cluster that was started here, if one was."""
    global _local
    client, _local = _local, None
    atexit.unregister(_end_local)
    if client is not None:
        cluster = client.cluster
        client.close()
        cluster.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers_of(client: Any) -> int:
    return len(client.cluster.workers)


def check_alive(client: Any, who: str) -> None:
    """Raise where a client has lost its scheduler."""
    if client.status == "closed" and not _address(client):
        raise LostSchedulerError(
            f"{who}: the client is closed: make another, or pass none for a cluster on this machine."
        )
    if client.status != "running":
        raise LostSchedulerError(
            f"{who}: the scheduler {_address(client)} is gone (the client is {client.status}). What was on the cluster is lost; "
            "connect a new client, and let gs.distributed.minimize go on from its checkpoint (resume=)."
        )


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "") or "")
