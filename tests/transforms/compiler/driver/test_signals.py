"""Errors of signal handlers, such as that of an alarm: they end a call, and nothing of ours takes them for errors of the code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.linspace(0.1, 1.0, 5)
SENT = [0]

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGUSR1") or threading.current_thread() is not threading.main_thread(),
    reason="signals come to the main thread, and this system has none for users",
)


class TimeIsUpError(Exception):
    """What the handler raises."""


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    def raise_it(number: int, frame: Any) -> None:
        raise TimeIsUpError

    before = signal.signal(signal.SIGUSR1, raise_it)
    yield
    signal.signal(signal.SIGUSR1, before)


def send() -> float:
    """Send the signal, in the first run alone: one that runs the code again would see none."""
    SENT[0] += 1
    if SENT[0] == 1:
        signal.raise_signal(signal.SIGUSR1)
    return 0.0


def straight(x: Any) -> Any:
    return np.sum(np.exp(x)) + send()


def behind_a_loop(x: Any) -> Any:
    total = x[0]
    for _ in range(30):
        total = total + np.sin(total)
    return total + send()


def within_a_loop(x: Any) -> Any:
    total = x[0]
    for k in range(30):
        total = total + np.sin(total)
        if k == 20:
            total = total + send()
    return total


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("f", [straight, behind_a_loop, within_a_loop])
def test_an_error_of_a_handler_ends_a_first_call(f: Callable[[Any], Any]) -> None:
    SENT[0] = 0
    compiled = gs.compile(gs.grad(f))
    with pytest.raises(TimeIsUpError):
        compiled(X)
    assert SENT[0] == 1
    assert np.array_equal(compiled(X), gs.grad(f)(X))


def test_it_ends_the_compiler_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * np.exp(x))

    def interrupted(*args: Any) -> str:
        signal.raise_signal(signal.SIGUSR1)
        raise AssertionError("the handler raises")

    compiled = gs.compile(gs.grad(f), verify=True)
    with monkeypatch.context() as patch:
        patch.setattr("gradscribe.transforms.compiler.driver.specialise.emit", interrupted)
        patch.setenv("GRADSCRIBE_CACHE", "off")
        with pytest.raises(TimeIsUpError):
            compiled(X)
    assert np.array_equal(compiled(X), gs.grad(f)(X))
