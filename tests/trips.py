"""Loops held against eager: one compiled function, called with different numbers of trips, in every derivative."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.transforms.compiler import compiled as machinery
from gradscribe.transforms.compiler.difference import difference

__all__ = ["DERIVATIVES", "captures", "held", "summed"]


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a scalar output: what comes out of it weighted and added up."""

    def scalar(*args: Any) -> Any:
        found = function(*args)
        return sum(
            np.sum(k * np.sin(leaf)) for k, leaf in enumerate(found if isinstance(found, tuple) else (found,), 1)
        )

    return scalar


# What is compiled of a function f(x, *constants).
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "gradient": lambda f: gs.value_and_grad(summed(f)),
    "second order": lambda f: gs.grad(lambda *args: np.sum(gs.grad(summed(f))(*args) ** 2)),
}


@contextlib.contextmanager
def captures() -> Iterator[list[Any]]:
    """A list that grows with every capture."""
    found: list[Any] = []
    original = machinery.Compiled._capture

    def counting(self: Any, *args: Any) -> Any:
        found.append(self)
        return original(self, *args)

    machinery.Compiled._capture = counting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        machinery.Compiled._capture = original  # type: ignore[method-assign]


def held(eager: Callable[..., Any], calls: Sequence[Callable[[], tuple[Any, ...]]], **options: Any) -> tuple[Any, int]:
    """Compile, and hold every call against eager, bit for bit, there and back: the compiled function, and its captures."""
    compiled = gs.compile(eager, verify="first calls", max_specialisations=100, **options)
    with captures() as found:
        for call in itertools.chain(calls, calls, reversed(calls)):
            problem = difference(compiled(*call()), eager(*call()))
            assert problem is None, f"{problem} for {call()}"
    return compiled, len(found)
