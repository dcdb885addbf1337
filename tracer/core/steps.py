"""Generators and coroutines in a mode: it holds while one of their steps runs, and not between the steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["ASYNC_GENERATOR", "COROUTINE", "GENERATOR", "Awaited", "kind_of", "later", "stepwise", "within"]

F = TypeVar("F", bound=Callable[..., Any])

GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200  # of `inspect` (CO_GENERATOR ...), which is slow to import


def kind_of(function: Any) -> int:
    """Whether calling `function` makes a generator, a coroutine or an asynchronous generator, or none of them (0)."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags & (GENERATOR | COROUTINE | ASYNC_GENERATOR)


def stepwise(steps: Any, held: Callable[[], Any]) -> Any:
    """Run a generator (or a coroutine) in a mode that holds from step to step, and not between them."""
    send, given = steps.send, None
    while True:
        try:
            with held():
                found = send(given)
        except StopIteration as stop:
            return stop.value
        try:
            given = yield found
            send = steps.send
        except GeneratorExit:
            with held():
                steps.close()
            raise
        except BaseException as error:
            send, given = steps.throw, error


class Awaited:
    """A coroutine under `stepwise`."""

    def __init__(self, steps: Any, held: Callable[[], Any]) -> None:
        self._steps, self._held = steps, held

    def __await__(self) -> Any:
        return stepwise(self._steps, self._held)


async def later(steps: Any, held: Callable[[], Any]) -> Any:
    """An asynchronous generator under `stepwise`."""
    step, given = steps.asend, None
    while True:
        try:
            found = await Awaited(step(given).__await__(), held)
        except StopAsyncIteration:
            return
        try:
            given = yield found
            step = steps.asend
        except GeneratorExit:
            await Awaited(steps.aclose().__await__(), held)
            raise
        except BaseException as error:
            step, given = steps.athrow, error


def within(function: F, held: Callable[[], Any]) -> F:
    """`function` with each of its calls, or of the steps of what it makes, in the mode that `held` gives."""
    kind = kind_of(function)

    def calling(*args: Any, **kwargs: Any) -> Any:
        with held():
            return function(*args, **kwargs)

    def generating(*args: Any, **kwargs: Any) -> Any:
        return (yield from stepwise(function(*args, **kwargs), held))

    async def awaiting(*args: Any, **kwargs: Any) -> Any:
        return await Awaited(function(*args, **kwargs), held)

    def generating_later(*args: Any, **kwargs: Any) -> Any:
        return later(function(*args, **kwargs), held)

    made = {GENERATOR: generating, COROUTINE: awaiting, ASYNC_GENERATOR: generating_later}.get(kind, calling)
    return functools.wraps(function)(made)  # type: ignore[return-value]
