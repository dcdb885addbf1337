"""What holds for the running thread: grad mode, the recorder, how deep transforms are nested."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

__all__ = [
    "LOCAL",
    "Recorder",
    "enable_grad",
    "grad_mode",
    "is_grad_enabled",
    "no_grad",
    "recording",
    "refresh",
    "transforming",
]

F = TypeVar("F", bound=Callable[..., Any])


class Recorder(Protocol):
    """What `apply` and the exits tell while a function is captured (the compiler implements it)."""

    def call(self, op: Any, bound: tuple[Any, ...], results: tuple[Any, ...]) -> Any: ...
    def backward_begins(self) -> Any: ...
    def backward(self, node: Any, g: Any) -> None: ...
    def backward_ends(self, before: Any) -> None: ...
    def leave(self, tensor: Any, how: str) -> None: ...
    def fail(self, reason: str) -> None: ...
    def shape(self, tensor: Any) -> tuple[int, ...]: ...


class _Local(threading.local):
    slow = False  # not the plain case: `refresh` says which
    grad = True
    recorder: Recorder | None = None
    inference = False  # results are inference tensors
    anomaly: Any = None  # anomaly mode, where it is on
    packing: tuple[Any, ...] = ()  # the saved-tensor hooks in force, the innermost last
    depth = 0  # transforms running: inside one, code means what NumPy makes it mean
    differentiating = 0  # those of them that take a gradient
    arguments: tuple[Any, ...] = ()  # the Tensors that stand for arrays of the caller of a transform
    written: list[Any]  # those of them that the function wrote into

    def __init__(self) -> None:
        self.written = []


LOCAL = _Local()


def refresh() -> None:
    """Set `LOCAL.slow` after a change of any mode: whether `apply1` and `apply2` must hand over to `apply`."""
    LOCAL.slow = (
        not LOCAL.grad
        or LOCAL.recorder is not None
        or LOCAL.inference
        or LOCAL.anomaly is not None
        or bool(LOCAL.packing)
    )


def is_grad_enabled() -> bool:
    """Whether operations are recorded for backward in this thread."""
    return LOCAL.grad


@contextlib.contextmanager
def grad_mode(enabled: bool) -> Iterator[None]:
    """Switch grad mode for a block."""
    before = LOCAL.grad
    LOCAL.grad = enabled
    refresh()
    try:
        yield
    finally:
        LOCAL.grad = before
        refresh()


@contextlib.contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Let `recorder` see every operation of a block (None: nobody does)."""
    before = LOCAL.recorder
    LOCAL.recorder = recorder
    refresh()
    try:
        yield
    finally:
        LOCAL.recorder = before
        refresh()


@contextlib.contextmanager
def transforming(arguments: list[Any], gradient: bool) -> Iterator[None]:
    """Inside a transform: NumPy's meaning of scalars and in-place writes holds, and grad mode is on.

    `arguments` are Tensors that stand for arrays of the caller; what the block writes into them is written back.
    """
    before = LOCAL.arguments, LOCAL.written
    LOCAL.arguments, LOCAL.written = (*before[0], *arguments), []
    LOCAL.depth += 1
    LOCAL.differentiating += gradient
    try:
        with grad_mode(True):
            yield
    finally:
        LOCAL.depth -= 1
        LOCAL.differentiating -= gradient
        written, (LOCAL.arguments, LOCAL.written) = LOCAL.written, before
        for tensor in written:
            tensor._caller[...] = tensor._value


class _GradMode:
    """A grad mode as context manager and decorator, with or without parentheses."""

    enabled = True

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        return made(function)

    def __init__(self) -> None:
        self._stack: list[Any] = []

    def __enter__(self) -> None:
        mode = grad_mode(self.enabled)
        self._stack.append(mode)
        mode.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._stack.pop().__exit__(*exc)

    def __call__(self, function: F) -> F:
        enabled = self.enabled
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)

        def within(*args: Any, **kwargs: Any) -> Any:
            with grad_mode(enabled):
                return function(*args, **kwargs)

        def generating(*args: Any, **kwargs: Any) -> Any:
            return (yield from _stepwise(function(*args, **kwargs), enabled))

        async def awaiting(*args: Any, **kwargs: Any) -> Any:
            return await _Awaited(function(*args, **kwargs), enabled)

        made = generating if flags & _GENERATOR else awaiting if flags & _COROUTINE else within
        return functools.wraps(function)(made)  # type: ignore[return-value]


_GENERATOR, _COROUTINE = 0x20, 0x80  # CO_GENERATOR, CO_COROUTINE of `inspect`, which is slow to import


def _stepwise(steps: Any, enabled: bool) -> Any:
    """Run a generator (or a coroutine) in a grad mode that holds from step to step, and not between them."""
    send, given = steps.send, None
    while True:
        try:
            with grad_mode(enabled):
                found = send(given)
        except StopIteration as stop:
            return stop.value
        try:
            given = yield found
            send = steps.send
        except GeneratorExit:
            with grad_mode(enabled):
                steps.close()
            raise
        except BaseException as error:
            send, given = steps.throw, error


class _Awaited:
    """A coroutine under `_stepwise`."""

    def __init__(self, steps: Any, enabled: bool) -> None:
        self._steps, self._enabled = steps, enabled

    def __await__(self) -> Any:
        return _stepwise(self._steps, self._enabled)


class no_grad(_GradMode):  # torch's name
    """Nothing done inside is recorded for backward.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False


class enable_grad(_GradMode):  # torch's name
    """Operations inside are recorded for backward, also within `no_grad`."""

    enabled = True
