"""How an optimisation went: a record of each iteration, and a plot of it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..transforms.optional import load

__all__ = ["History", "drawn"]


class History:
    """What each iteration came to, x0 first: `fun`, `gradient` (its largest entry), `evaluations` and `seconds` so far."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._rows: list[tuple[float, float, int, float]] = []
        self.x: list[Any] = []  # with `keep_x`

    def add(self, value: float, slope: float, evaluations: int) -> None:
        """Add an iteration."""
        self._rows.append((value, slope, evaluations, time.perf_counter() - self._began))

    def _column(self, k: int, dtype: Any = float) -> Any:
        return np.array([row[k] for row in self._rows], dtype)

    @property
    def fun(self) -> Any:
        """The value after each iteration."""
        return self._column(0)

    @property
    def gradient(self) -> Any:
        """The largest entry of the gradient, without its sign; nan for methods that take none."""
        return self._column(1)

    @property
    def evaluations(self) -> Any:
        """How often the function had run by then."""
        return self._column(2, int)

    @property
    def seconds(self) -> Any:
        """The time since the start."""
        return self._column(3)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        shown = f": fun from {self._rows[0][0]:.6g} to {self._rows[-1][0]:.6g}" if self._rows else ""
        return f"<History of {max(len(self) - 1, 0)} iterations{shown}>"


def drawn(history: History, ax: Any, title: str) -> Any:
    """Draw the values, and beside them the gradients, over the iterations; return the axes drawn on."""
    if ax is None:
        pyplot = load("matplotlib.pyplot", "result.plot()")
        _, ax = pyplot.subplots(layout="constrained")
    values, slopes = history.fun, history.gradient
    steps = np.arange(len(history))
    positive = np.isfinite(values).all() and (values > 0).all()
    ax.plot(steps, values, color="C0", label="value")
    ax.set_yscale("log" if positive else "linear")
    ax.set_xlabel("iteration")
    ax.set_ylabel("value", color="C0")
    ax.set_title(title)
    if np.isfinite(slopes).any():
        beside = ax.twinx()
        beside.plot(steps, slopes, color="C1", linestyle="--", label="largest entry of the gradient")
        beside.set_yscale("log")
        beside.set_ylabel("largest entry of the gradient", color="C1")
    return ax
