"""Batching of softmaxes, and of what class indices pick: the rows of all examples as rows of one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, batching, normalised
from .rules.softmaxes import add_picked, log_softmax, peak, picked, place_picked, softmax

__all__: list[str] = []

batching(softmax, log_softmax, peak)(normalised)


def _rows(x: Any) -> Any:
    """The first two axes as one."""
    return np.reshape(x, (np.shape(x)[0] * np.shape(x)[1], *np.shape(x)[2:]))


@batching(picked)
def pick(call: Call) -> Any:
    """One element of each row of each example."""
    index = call.spread("index")
    return np.reshape(call.run(x=_rows(call.spread("x")), index=_rows(index)), np.shape(index))


@batching(place_picked)
def place(call: Call) -> Any:
    """One element in each row of each example."""
    n, classes = call["shape"]
    v, index = call.spread("v"), call.spread("index")
    found = call.run(v=_rows(v), index=_rows(index), shape=(call.size * n, classes))
    return np.reshape(found, (call.size, n, classes))


@batching(add_picked)
def add(call: Call) -> Any:
    """One element more in each row of each example."""
    acc = call.spread("acc")
    found = call.run(acc=_rows(acc), v=_rows(call.spread("v")), index=_rows(call.spread("index")))
    return np.reshape(found, np.shape(acc))
