"""Kernels that work for long: signals end them, other threads run meanwhile, and forks have kernels of their own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler

import gradscribe as gs
from gradscribe.transforms.compiler.driver import native

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer here")


def counted(n: Any, step: Any) -> Any:
    """A loop of as many trips as the caller says."""
    k = 0.0
    while k < n:
        k = k + step
    return k


def in_four(n: Any, step: Any) -> Any:
    """Loops in loops, of which each has few trips."""
    total = a = 0.0
    while a < n:
        b = 0.0
        while b < n:
            c = 0.0
            while c < n:
                d = 0.0
                while d < n:
                    d = d + step
                total = total + d
                c = c + step
            b = b + step
        a = a + step
    return total


def chained(x: Any, n: Any) -> Any:
    """Long trips."""
    k = 0.0
    while k < n:
        x = np.sin(x) + np.cos(x)
        k = k + 1.0
    return x


def native_of(f: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """A function that runs as C, after calls that leave nothing to check."""
    compiled = gs.compile(f, target="native")
    for args in [*calls, *calls, *calls]:
        compiled(*args)
    assert {one.runs for one in gs.explain(compiled).specialisations} == {"native, without a call of Python"}
    return compiled


@contextmanager
def interrupted(after: float, error: type[BaseException]) -> Iterator[list[float]]:
    """A signal whose handler raises; gives the time when it was handled."""
    handled: list[float] = []

    def stop(_: int, frame: Any) -> None:
        callback = frame is not None and (
            frame.f_code.co_filename == weakref.__file__ or frame.f_code.co_name == "<lambda>"
        )
        if not callback:  # which would swallow the error
            handled.append(time.perf_counter())
            raise error

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, after, 1.0)  # again, should a busy machine be elsewhere at the first
        yield handled
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@needs_compiler
@needs_timer
@pytest.mark.parametrize(
    ("f", "calls", "args"),
    [
        (counted, [(9.0, 1.0), (8.0, 1.0)], (1e300, 1.0)),
        (in_four, [(3.0, 1.0), (2.0, 1.0)], (4000.0, 1.0)),
        (gs.value_and_grad(counted, argnums=1), [(9.0, 1.0), (8.0, 1.0)], (1e300, 1.0)),
        (chained, [(np.ones(500_000), 3.0), (np.zeros(500_000), 2.0)], (np.ones(500_000), 1e9)),
    ],
)  # fmt: skip
def test_a_signal_ends_long_work_soon(f: Any, calls: list[tuple[Any, ...]], args: tuple[Any, ...]) -> None:
    compiled = native_of(f, *calls)
    start = time.perf_counter()
    with interrupted(0.1, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        compiled(*args)
    assert time.perf_counter() - start < 5.0  # about 0.15 s but on a busy machine


@needs_compiler
@needs_timer
def test_an_error_of_a_handler_is_raised_and_nothing_is_written() -> None:
    def f(x: Any, n: Any, step: Any) -> Any:
        k = 0.0
        while k < n:
            k = k + step
        x[0] = k
        return k

    x = np.zeros(3)
    compiled = native_of(f, (x, 3.0, 1.0), (x, 4.0, 1.0))
    before = x.copy()
    with interrupted(0.05, TimeoutError), pytest.raises(TimeoutError):
        compiled(x, 1e300, 1.0)
    np.testing.assert_array_equal(x, before)
    assert compiled(x, 5.0, 1.0) == 5.0
    assert x[0] == 5.0


@needs_compiler
def test_another_thread_runs_while_a_kernel_does() -> None:
    compiled = native_of(counted, (9.0, 1.0), (8.0, 1.0))
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(compiled(6e8, 1.0)))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
        time.sleep(0.001)
    assert results == [6e8]
    assert steps > 5  # about 500 but on a busy machine


@needs_compiler
def test_operands_outlive_the_containers_that_they_came_in() -> None:
    def f(p: dict[str, Any], n: Any) -> Any:
        first, k = np.sum(p["w"] * 2.0), 0.0
        while k < n:
            k = k + p["step"]
        return first + k + np.sum(p["w"])

    compiled = native_of(f, ({"w": np.ones(300_000), "step": 1.0}, 9.0), ({"w": np.zeros(300_000), "step": 1.0}, 8.0))
    operands = {"w": np.ones(300_000), "step": 1.0}
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(compiled(operands, 3e8)))
    thread.start()
    time.sleep(0.02)
    operands["w"] = np.zeros(300_000)
    thread.join()
    assert results == [3e8 + 900_000.0]


@needs_compiler
def test_threads_share_a_kernel() -> None:
    operands = [np.linspace(0.0, k, 200_000) for k in range(4)]
    compiled = native_of(gs.value_and_grad(lambda x: np.sum(np.sin(x) * x)), *[(x,) for x in operands])
    expected = [compiled(x) for x in operands]
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        for _ in range(5):
            found[k] = compiled(operands[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (value, slope), (expected_value, expected_slope) in zip(found, expected, strict=True):
        assert value == expected_value
        np.testing.assert_array_equal(slope, expected_slope)


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_runs_a_kernel_while_a_thread_of_its_parent_does() -> None:
    compiled = native_of(counted, (9.0, 1.0), (8.0, 1.0))
    thread = threading.Thread(target=lambda: compiled(3e8, 1.0))
    thread.start()
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(100)  # a child that waits for ever is no test that does
        os._exit(0 if compiled(2e6, 1.0) == 2e6 else 1)
    _, status = os.waitpid(child, 0)
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


@needs_compiler
def test_a_python_without_a_lock_runs_numpy_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.setattr(native, "_said", set())
    compiled = gs.compile(lambda x: np.sum(np.exp(x)), target="native")
    with pytest.warns(RuntimeWarning, match="threads of this Python run without a lock"):
        assert compiled(np.zeros(3)) == 3.0
    assert [one.runs for one in gs.explain(compiled).specialisations] == [
        "numpy: threads of this Python run without a lock, which kernels were not tried with"
    ]
