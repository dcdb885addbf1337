"""Threads of loops: how many there are, and the pool of the process, which kernels share and which ends before a fork."""

from __future__ import annotations

import ctypes
import functools
import os
import threading

__all__ = ["resize", "shared", "size"]

MOST = 256
_pools: list[ctypes.CDLL] = []  # that of the first kernel that was loaded
_lock = threading.Lock()


def size() -> int:
    """How many threads share a loop: GRADSCRIBE_THREADS, or OMP_NUM_THREADS, or as many as the process has processors."""
    for name in ("GRADSCRIBE_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(name, "").split(",")[0].strip()
        if asked.isdecimal() and int(asked):
            return min(int(asked), MOST)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


def shared(library: ctypes.CDLL) -> int | None:
    """The place of the function that shares loops; None where one thread runs them all. A library may bring the pool."""
    pool = _pool(library)
    return None if pool is None else ctypes.cast(pool.pool_shares, ctypes.c_void_p).value


def resize(threads: int) -> None:
    """Let loops of kernels that have been loaded run on so many threads, if there were several at first."""
    for pool in _pools:
        pool.pool_holds(ctypes.c_int64(threads - 1))
        pool.pool_goes_on()


def _pool(library: ctypes.CDLL) -> ctypes.CDLL | None:
    with _lock:
        if not _pools and size() > 1 and hasattr(library, "pool_shares"):
            library.pool_holds(ctypes.c_int64(size() - 1))
            library.pool_goes_on()
            hold = functools.partial(library.pool_holds, ctypes.c_int64(-1))
            os.register_at_fork(before=hold, after_in_parent=library.pool_goes_on, after_in_child=library.pool_goes_on)
            _pools.append(library)
        return _pools[0] if _pools else None
