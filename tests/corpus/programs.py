"""What tests of the engine and the transforms share: leaves, no collector, a user's program against plain NumPy."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.transforms.compiler.frontend.functions import is_helper

X = np.array([0.5, -1.25, 2.0])


def leaf(data: Any, **options: Any) -> Any:
    return gs.tensor(data, requires_grad=True, **options)


@contextmanager
def no_collector() -> Iterator[None]:
    """Without the garbage collector, so that what is freed is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def runs_of(function: Callable[..., Any]) -> Iterator[list[int]]:
    """Count how often a function's own code is entered, rebuilt or not."""
    code = function.__code__  # type: ignore[attr-defined]
    count = [0]

    def place(c: Any) -> Any:
        """A rewritten function starts at its def, not at its decorator: only lambdas need their line to be told apart."""
        return (c.co_filename, c.co_name, c.co_firstlineno if c.co_name == "<lambda>" else 0)

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and place(frame.f_code) == place(code) and not is_helper(frame.f_code):
            count[0] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)


THREADS = 4


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Python switches threads as often as it can, so that what is not guarded is caught."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What `work(k)` gives in that many threads, which start together."""
    gate = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(k: int) -> None:
        gate.wait()
        try:
            results[k] = work(k)
        except BaseException as error:  # whatever it is, the test looks at it
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    return results


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def numeric(f: Callable[..., Any], *args: Any) -> Any:
    """Central differences in the first argument."""
    x = np.asarray(args[0], float)
    out = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * 1e-6
            out[k] += sign * f(moved if x.shape else moved[()], *args[1:]) / 2e-6
    return out


def check(f: Callable[..., Any], *args: Any) -> None:
    """The value is the plain function's, and the gradient that of finite differences."""
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    expected = f(*copied)
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    value, gradient = gs.value_and_grad(f)(*copied)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(gradient, numeric(f, *args), rtol=1e-6, atol=1e-8)
    gs.grad(lambda x: np.sum(gs.grad(f)(x, *args[1:]) ** 2))(
        args[0].copy() if isinstance(args[0], np.ndarray) else args[0]
    )
