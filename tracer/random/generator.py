"""gradscribe's own generator of random numbers: dropout, the samplers and `gs.rand` draw from it."""

from __future__ import annotations

import sys
from typing import Any

from ...unpatched import np
from ..core.listening import own_generator
from ..core.thread_state import refuse

__all__ = ["current", "generator", "manual_seed"]

_made: list[np.random.Generator] = []  # one, from the first use on: numpy.random takes its time to load


def generator(given: Any = None) -> Any:
    """The generator to draw from: `given`, or gradscribe's own. `gs.default_generator` is the same.

    In a function that is being captured it is the capture's handle, so that each draw is a call of the graph and compiled
    code goes on in the same stream. Ask for it at each draw, and keep it nowhere.

    >>> import gradscribe as gs
    >>> gs.manual_seed(0) is gs.default_generator
    True
    """
    if given is not None:
        return given
    return own_generator(current, sys.modules[__name__])


def current() -> np.random.Generator:
    """The generator itself, also while capturing."""
    if not _made:
        _made.append(np.random.default_rng())
    return _made[0]


def manual_seed(seed: int) -> np.random.Generator:
    """Start gradscribe's generator anew from a seed, and give it.

    The numbers are those of `np.random.default_rng(seed)`.

    >>> import gradscribe as gs
    >>> first = gs.manual_seed(1).normal()
    >>> gs.manual_seed(1).normal() == first
    True
    """
    refuse("calls manual_seed, which starts gradscribe's generator anew")
    own = current()
    own.bit_generator.state = np.random.default_rng(seed).bit_generator.state
    return own


def __getattr__(name: str) -> Any:
    if name == "default_generator":  # where a capture reads it
        return current()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
