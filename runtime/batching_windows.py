"""Batching of windows: the batch axis stands before the axes that they slide over, and behind those of the window."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, batching

__all__: list[str] = []

_HERE = "gradscribe.runtime.rules.windows"  # loaded by who needs it


@batching(f"{_HERE}.windows")
def read(call: Call) -> Any:
    """The batch axis goes to the front again."""
    return np.moveaxis(call.run(), len(call["front"]), 0) if call.only("x") else NotImplemented


@batching(f"{_HERE}.folded")
def folded(call: Call) -> Any:
    """The batch axis goes behind those of the window."""
    if not call.only("g"):
        return NotImplemented
    return call.run(g=np.moveaxis(call["g"], 0, len(call["front"])), shape=(call.size, *call["shape"]))


@batching(f"{_HERE}.max_windows")
def greatest(call: Call) -> Any:
    """As it is."""
    return call.run() if call.only("x") else NotImplemented


@batching(f"{_HERE}.first_hits")
def hits(call: Call) -> Any:
    """The batch axis goes to the front again."""
    return np.moveaxis(call.run(x=call.spread("x"), top=call.spread("top")), len(call["front"]), 0)
