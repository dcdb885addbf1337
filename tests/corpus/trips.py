"""Loops held against eager: one compiled function, called with different numbers of trips, in every derivative."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.transforms.compiler.driver.compiled import Compiled
from gradscribe.transforms.difference import NO_SIGNS, difference

__all__ = ["DERIVATIVES", "asserting", "bits", "captures", "held", "outcome", "summed"]


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a call gives, or what it raises; an EagerWarning, where warnings are errors, is no outcome."""
    try:
        return function(*args, **kwargs)
    except gs.EagerWarning:
        raise
    except Exception as error:
        return error


def bits(value: Any) -> Any:
    """Types and bits of a result, to be compared."""
    if isinstance(value, (tuple, list)):
        return type(value), [bits(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a scalar output: what comes out of it weighted and added up."""

    def scalar(*args: Any) -> Any:
        found = function(*args)
        return sum(
            np.sum(k * np.sin(leaf)) for k, leaf in enumerate(found if isinstance(found, tuple) else (found,), 1)
        )

    return scalar


def asserting(x: Any) -> Any:
    """A loop with an assertion behind it, here because pytest rewrites those of its own modules."""
    y = x
    while np.sum(np.abs(y)) < 9.0:
        y = y * 2.0
    assert np.sum(y) > 0.0, "the sum is negative"
    return np.sum(y * y)


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
    original = Compiled._capture

    def counting(self: Any, *args: Any) -> Any:
        found.append(self)
        return original(self, *args)

    Compiled._capture = counting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Compiled._capture = original  # type: ignore[method-assign]


def held(
    eager: Callable[..., Any], calls: Sequence[Callable[[], tuple[Any, ...]]], exact: bool | None = True
) -> tuple[int, int]:
    """Compile, and hold every call against eager, there and back: how many sources it has, and how many captures it took.

    Bit for bit where `exact` says so, but for the signs of zeros where it is None, else to rounding.
    """
    compiled = gs.compile(eager, verify="first calls", max_specialisations=100)
    with captures() as found:
        for call in (*calls, *reversed(calls)):
            one, other = compiled(*call()), eager(*call())
            problem = unlike(one, other) if exact is False else difference(one, other, 0.0 if exact else NO_SIGNS)
            assert not problem, f"{problem} for {call()}"
    return len(gs.explain(compiled).specialisations), len(found)


def unlike(one: Any, other: Any) -> str | None:
    """Where two trees of arrays differ by more than rounding."""
    if isinstance(other, tuple):
        return next(filter(None, map(unlike, one, other)), None)
    close = np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-10, atol=1e-13)
    return None if close else f"{one} is not {other}"
