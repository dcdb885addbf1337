"""Functions of large arrays, and the peak of memory that a call takes: what tests of buffers and tiles share."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradscribe.transforms.compiler.schedule import tiles


def chain(x: Any, y: Any) -> Any:
    a = x * 1.5
    b = np.exp(-a)
    c = b + y
    d = np.sqrt(c * c + 1.0)
    e = np.tanh(d - 0.5)
    f = e * a
    g = np.log1p(f * f)
    h = g / (d + 2.0)
    return h - y


def peak(f: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def lines(source: str) -> str:
    """The statements, without notes."""
    return "\n".join(line.partition("#")[0].rstrip() for line in source.splitlines() if line.partition("#")[0].strip())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of four elements, for chains of two calls."""
    for name, value in (("LARGE", 0), ("LENGTH", 4), ("LANES", 2), ("LONG", 2)):
        monkeypatch.setattr(tiles, name, value)
    monkeypatch.setattr(tiles, "_most_at_once", lambda calls, whole: len(whole) + 2)


A = np.arange(20.0) - 3
