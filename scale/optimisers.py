"""SGD and Adam on the leaves of a tree, as functions of state: what a checkpoint holds is all that they know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["OPTIMISERS", "Optimiser"]


class Optimiser:
    """An optimiser: the names of its moments, its settings with their defaults, what they are below, and one step of it."""

    def __init__(
        self, moments: tuple[str, ...], settings: dict[str, float], below: dict[str, float], step: Callable[..., Any]
    ) -> None:
        self.moments, self.settings, self.below, self.step = moments, settings, below, step

    def begin(self, leaves: list[Any]) -> dict[str, list[Any]]:
        """Return the moments before the first step."""
        return {name: [_zeros(name, leaf) for leaf in leaves] for name in self.moments}

    def move(
        self, leaves: list[Any], gradient: list[Any], moments: dict[str, list[Any]], lr: float, count: int,
        settings: dict[str, float],
    ) -> tuple[list[Any], dict[str, list[Any]]]:  # fmt: skip
        """Return parameters and moments after step `count`, counted from 1; nothing is written to."""
        moved: list[Any] = []
        after: dict[str, list[Any]] = {name: [] for name in self.moments}
        for k, (leaf, slope) in enumerate(zip(leaves, gradient, strict=True)):
            if slope is None:
                new, parts = leaf, tuple(moments[name][k] for name in self.moments)
            else:
                new, parts = self.step(leaf, slope, *[moments[name][k] for name in self.moments], lr, count, settings)
            moved.append(new)
            for name, part in zip(self.moments, parts, strict=True):
                after[name].append(part)
        return moved, after


def _zeros(name: str, leaf: Any) -> Any:
    if leaf is None:
        return None
    zeros = np.zeros_like(np.asarray(leaf))
    return np.real(zeros) if name == "v" else zeros  # squares of complex numbers are real


def _like(leaf: Any, new: Any) -> Any:
    """Return new numbers of the leaf's type; a Python float stays one."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return np.asarray(new, leaf.dtype)[()] if isinstance(leaf, np.generic) else np.asarray(new, leaf.dtype)
    return type(leaf)(new)


def _sgd(leaf: Any, slope: Any, velocity: Any, lr: float, count: int, settings: dict[str, float]) -> Any:
    velocity = settings["momentum"] * velocity + slope
    return _like(leaf, leaf - lr * velocity), (np.asarray(velocity),)


def _adam(leaf: Any, slope: Any, m: Any, v: Any, lr: float, count: int, settings: dict[str, float]) -> Any:
    b1, b2 = settings["beta1"], settings["beta2"]
    m = b1 * m + (1.0 - b1) * slope
    v = b2 * v + (1.0 - b2) * np.real(slope * np.conj(slope))
    scaled = m / (1.0 - b1**count) / (np.sqrt(v / (1.0 - b2**count)) + settings["eps"])
    return _like(leaf, leaf - lr * scaled), (np.asarray(m), np.asarray(v))


OPTIMISERS = {
    "sgd": Optimiser(("velocity",), {"momentum": 0.0}, {"momentum": np.inf}, _sgd),
    "adam": Optimiser(
        ("m", "v"), {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}, {"beta1": 1.0, "beta2": 1.0, "eps": np.inf}, _adam
    ),
}
