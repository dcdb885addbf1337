"""What tests of a table of functions of one array share: which cases are slow, a number of a result, and its slopes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pytest


def slow(names: Iterable[str], short: Collection[str]) -> list[Any]:
    """The names as parameters: those that are not `short` are slow tests."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.slow) for name in names]


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The sum of what a function gives, each element with another weight."""

    def g(x: Any) -> Any:
        found = f(x)
        return np.sum(np.reshape(np.cos(np.arange(np.size(found)) + 1.0), np.shape(found)) * found)

    return g


def slopes(f: Callable[[Any], Any], x: Any, h: float = 1e-4) -> Any:
    """The gradient of a function that gives a number, by central differences of fourth order."""
    found = np.zeros(np.shape(x))
    for k in np.ndindex(np.shape(x)):
        e = np.zeros(np.shape(x))
        e[k] = h
        found[k] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return found
