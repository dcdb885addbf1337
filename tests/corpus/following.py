"""A compiled function beside the plain one, through changes of state: results, errors and bits must stay the same."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.transforms.compiler.driver import compiled as machinery
from gradscribe.transforms.compiler.driver.specialise import difference

__all__ = ["Follows", "Setup", "follows", "stays_compiled", "x"]

Setup = Callable[[], object]


def x(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values or (0.5, -1.25, 2.0), dtype=float)


class Follows:
    """What a compiled function was seen to do: how many texts it has, how many captures, what it warned of."""

    def __init__(self, compiled: Any, warned: list[str], captures: int) -> None:
        self.compiled = compiled
        self.warned = warned
        self.captures = captures
        self.texts = len(compiled._texts)


def follows(
    function: Callable[..., Any],
    *calls: tuple[Setup | None, tuple[Any, ...]],
    transform: Callable[[Any], Any] = gs.value_and_grad,
) -> Follows:
    """Call the compiled and the plain function with the same state and arguments; results, errors and bits must agree.

    The arguments are made anew for each (as copies), and every call is made once more with other numbers of the same
    signature, so that the compiler's own second check is behind it when state changes.
    """
    plain = transform(function)
    compiled = gs.compile(plain, verify="first calls")
    captures = 0
    original = machinery.Compiled._capture

    def counting(self: Any, *args: Any) -> Any:
        nonlocal captures
        captures += 1
        return original(self, *args)

    machinery.Compiled._capture = counting  # type: ignore[method-assign]
    warned: list[str] = []
    try:
        for setup, args in calls:
            for _ in range(3):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    if setup is not None:
                        setup()
                    expected = _outcome(plain, args)
                    seen = len(caught)
                    if setup is not None:
                        setup()
                    found = _outcome(compiled, args)
                warned += [str(w.message) for w in caught[seen:] if issubclass(w.category, gs.EagerWarning)]
                if isinstance(expected, Exception):
                    assert type(found) is type(expected), (found, expected)
                else:
                    assert not isinstance(found, Exception), found
                    assert difference(found, expected) is None, (difference(found, expected), found, expected)
    finally:
        machinery.Compiled._capture = original  # type: ignore[method-assign]
    assert len(warned) <= 1, warned
    return Follows(compiled, warned, captures)


def _outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        return function(*copy.deepcopy(args) if not any(map(callable, args)) else args)
    except Exception as error:
        return error


def stays_compiled(found: Follows) -> None:
    assert not found.warned, found.warned
