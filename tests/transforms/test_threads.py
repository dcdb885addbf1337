"""Transforms, compiled functions and checkpoints in several threads: what each shares, and what it does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import THREADS, at_once, frequent_switches, leaf


@pytest.fixture(autouse=True)
def _threads_interrupt_each_other() -> Iterator[None]:
    with frequent_switches():
        yield


def helper(x: Any, k: Any) -> Any:
    return np.sin(x) * k


def loss(x: Any, k: Any) -> Any:
    return np.sum(helper(x, k) ** 2)


X = np.array([0.5, -1.25, 2.0])


def test_a_gradient_function_in_several_threads() -> None:
    expected = [gs.grad(loss)(X, k + 1.0) for k in range(THREADS)]
    for _ in range(20):
        shared = gs.grad(loss)
        found = at_once(lambda k, shared=shared: shared(X, k + 1.0))  # type: ignore[misc]
        np.testing.assert_array_equal(found, expected)


def test_a_compiled_function_in_several_threads_from_its_first_call_on() -> None:
    expected = [gs.grad(loss)(X, k + 1.0) for k in range(THREADS)]
    for _ in range(5):
        shared = gs.compile(gs.grad(loss), verify="first calls")
        found = at_once(lambda k, shared=shared: [shared(X, k + 1.0) for _ in range(5)])  # type: ignore[misc]
        for k in range(THREADS):
            np.testing.assert_array_equal(found[k], [expected[k]] * 5)


def test_a_transform_in_one_thread_does_not_show_in_another() -> None:
    """A bare Tensor keeps its own meaning while another thread is inside a transform."""
    inside, done = threading.Event(), threading.Event()

    def slow(x: Any) -> Any:
        inside.set()
        done.wait(30)
        return np.sum(x * x)

    def work(k: int) -> Any:
        if k:
            return gs.grad(slow)(X)
        inside.wait(30)
        x = leaf(2.0)
        try:
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                x += 1.0
        finally:
            done.set()
        return None

    found = at_once(work, 2)
    assert found[0] is None
    np.testing.assert_array_equal(found[1], 2 * X)


def test_checkpoints_share_nothing_between_threads() -> None:
    runs: list[int] = []

    def f(a: Any) -> Any:
        runs.append(1)
        return np.sin(np.sin(a))

    x = leaf(X)
    y = gs.checkpoint(f, x).sum()
    found = at_once(lambda _: [gs.autograd.grad(y, x, retain_graph=True)[0].tolist() for _ in range(10)])
    expected = (np.cos(np.sin(X)) * np.cos(X)).tolist()
    assert found == [[expected] * 10] * THREADS
    assert len(runs) == 1 + 10 * THREADS  # each backward has a recomputation of its own


def test_one_checkpoint_for_each_thread_and_one_leaf() -> None:
    x = leaf(np.ones(3))

    def work(k: int) -> None:
        for _ in range(20):
            gs.checkpoint(lambda a: a * a * (k + 1.0), x).sum().backward()

    assert at_once(work) == [None] * THREADS
    np.testing.assert_array_equal(x.grad.tolist(), [20 * 2.0 * 10] * 3)


def test_gradients_of_retained_tensors_add_up_exactly() -> None:
    for _ in range(10):
        x = leaf(np.ones(3))
        retained = [x * 2.0 for _ in range(100)]
        for y in retained:
            y.retain_grad()
        total = sum((y.sum() for y in retained), gs.tensor(0.0))
        assert at_once(lambda _, total=total: total.backward(retain_graph=True)) == [None] * THREADS  # type: ignore[misc]
        np.testing.assert_array_equal([y.grad.tolist() for y in retained], np.full((100, 3), float(THREADS)))


def test_with_create_graph_the_sum_is_exact_too() -> None:
    x = leaf(np.ones(3))

    def work(k: int) -> None:
        for _ in range(20):
            gs.autograd.backward((x * (k + 1.0)).sum(), create_graph=True)

    with pytest.warns(UserWarning, match="create_graph=True"):
        assert at_once(work) == [None] * THREADS
    np.testing.assert_array_equal(x.grad.tolist(), [20.0 * 10] * 3)
    x.grad = None
