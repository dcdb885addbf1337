"""Classes of a user, and a check that compiled functions follow eager ones while their instances change."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradscribe as gs

from following import Follows, Setup, follows, stays_compiled, x

__all__ = ["A", "Base", "Derived", "compiled_through", "put", "scale"]

A = np.array([0.5, -1.25, 2.0])
SCALE: Any = 2.0


def scale(value: Any) -> Setup:
    """Bind the global that the methods read."""
    return lambda: globals().update(SCALE=value)


class Base:
    factor: Any = 3.0

    def __init__(self, w: Any = None, k: Any = 2.0) -> None:
        self.w = x(1, 2, 3) if w is None else w
        self.k = k

    def scaled(self, a: Any) -> Any:
        return np.sin(a) * self.w * SCALE

    def loss(self, a: Any) -> Any:
        return np.sum(self.scaled(a)) * self.k * self.factor

    def __call__(self, a: Any) -> Any:
        return self.loss(a) * 2


class Derived(Base):
    def scaled(self, a: Any) -> Any:
        return super().scaled(a) + self.offset

    @property
    def offset(self) -> Any:
        return self.w * self.k

    @staticmethod
    def squared(a: Any) -> Any:
        return a * a * SCALE


def put(holder: Any, **values: Any) -> Setup:
    def setup() -> None:
        for name, value in values.items():
            setattr(holder, name, value)

    return setup


def compiled_through(function: Any, *setups: Setup | None, args: tuple[Any, ...] = (A,)) -> Follows:
    """`function` follows eager through the changes, as a value and as a gradient, and is compiled all the while."""
    for transform in (lambda f: f, gs.value_and_grad):
        found = follows(function, *[(setup, args) for setup in (*setups, setups[0])], transform=transform)
        stays_compiled(found)
    return found
