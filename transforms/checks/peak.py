"""The peak of the memory that a call takes, as tracemalloc sees it: arrays by NumPy, and Python's own objects."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

__all__ = ["peak_memory", "shown"]


def peak_memory(call: Callable[[], object]) -> int:
    """The bytes that `call()` takes at its peak, above what there is before; its result is among them.

    >>> import numpy as np
    >>> 8e6 <= peak_memory(lambda: np.zeros(10**6)) < 8.1e6
    True
    """
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        peak = tracemalloc.get_traced_memory()[1] - before
        del result
        return max(peak, 0)
    finally:
        if not traced:
            tracemalloc.stop()


def shown(size: int) -> str:
    """`24 MB`, of a thousand thousand bytes each.

    >>> shown(24_300_000), shown(1_234), shown(7)
    ('24.3 MB', '1.23 kB', '7 bytes')
    """
    for unit, bytes_of_it in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.3g} {unit}"
    return f"{size} bytes"
