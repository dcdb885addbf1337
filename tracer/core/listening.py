"""Listening: what the tracer tells the recorder of a capture, and asks it, where one may run."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .recorder import Recorder
from .thread_state import LOCAL

__all__ = [
    "behind_effects", "called", "captured_scope", "catches", "control_flow", "drew", "in_backward", "in_loop",
    "in_user_code", "new_generator", "of_sizes", "own_generator", "printed", "quieted", "shape_of", "undecided",
]  # fmt: skip


_NOTHING = nullcontext()


def in_backward() -> AbstractContextManager[None]:
    """Let the calls of a block belong to the backward section."""
    return _NOTHING if LOCAL.recorder is None else _backward(LOCAL.recorder)


@contextmanager
def _backward(recorder: Recorder) -> Iterator[None]:
    before = recorder.backward_begins()
    try:
        yield
    finally:
        recorder.backward_ends(before)


def in_user_code() -> AbstractContextManager[None]:
    """Let the lines and names of a block be those of a derivative that the user wrote."""
    return _NOTHING if LOCAL.recorder is None else _user_code(LOCAL.recorder)


@contextmanager
def _user_code(recorder: Recorder) -> Iterator[None]:
    before = recorder.user_code(True)
    try:
        yield
    finally:
        recorder.user_code(before)


def called(op: Any, bound: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    """Tell the recorder, if there is one, of a call that `apply` did not make."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.call(op, bound, results)


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Return the shape of a Tensor as captured code sees it."""
    assert LOCAL.recorder is not None
    return LOCAL.recorder.shape(tensor)


def of_sizes(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return what `fn`, a function of numbers, gives of sizes, traced; NotImplemented where none is among `args`."""
    return NotImplemented if LOCAL.recorder is None else LOCAL.recorder.of_sizes(fn, args)


def printed(*values: Any, **options: Any) -> None:
    """Print as the user's code does: a capture prints what stands in Tensors, and writes it down."""
    (print if LOCAL.recorder is None else LOCAL.recorder.printed)(*values, **options)


def quieted(by: int) -> None:
    """Tell the recorder, if there is one, that the user's code turns NumPy's warnings off (1), or on again (-1)."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.quieted(by)


def drew(
    owner: Any, fn: Callable[..., Any], code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Draw by `fn`, a method of the generator `owner` behind a module, called by `code`."""
    return fn(*args, **kwargs) if LOCAL.recorder is None else LOCAL.recorder.drew(owner, fn, code, args, kwargs)


def new_generator(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a generator that `make`, np.random.default_rng, gives."""
    return (make if LOCAL.recorder is None else LOCAL.recorder.new_generator)(*args, **kwargs)


def own_generator(current: Callable[[], Any], home: types.ModuleType) -> Any:
    """Return gradscribe's own generator, which `current` gives and `home` calls `default_generator`."""
    return current() if LOCAL.recorder is None else LOCAL.recorder.own_generator(home)


def catches() -> bool:
    """Return whether a capture runs, of code that may go on after an error."""
    return LOCAL.recorder is not None and LOCAL.recorder.catches()


def in_loop() -> bool:
    """Return whether a capture runs, and in it a loop that is being kept."""
    return LOCAL.recorder is not None and LOCAL.recorder.in_loop()


def undecided(tensor: Any) -> bool:
    """Return whether nothing can be decided by `tensor`, since each trip of a loop that is being kept changes it."""
    return LOCAL.recorder is not None and LOCAL.recorder.undecided(tensor)


def behind_effects(tensor: Any) -> bool:
    """Return whether the captured code drew or printed before it came to `tensor`: a decision by that comes too late."""
    return LOCAL.recorder is not None and LOCAL.recorder.behind_effects(tensor)


def captured_scope() -> Any:
    """Return the scope that captured code is rebuilt over, or None where no capture runs."""
    return None if LOCAL.recorder is None else LOCAL.recorder.code_scope()


def control_flow() -> Any:
    """Return what keeps the loops and branches of captured code; None where Python runs them."""
    return None if LOCAL.recorder is None else LOCAL.recorder.control_flow()
