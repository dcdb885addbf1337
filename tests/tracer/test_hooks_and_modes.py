"""Hooks on tensors and nodes, retained gradients, and the grad modes."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import leaf

# Hooks --------------------------------------------------------------------------------------------


def test_hooks_see_and_replace_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    seen: list[Any] = []
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0], [2.0, 2.0]]
    assert x.grad.tolist() == [6.0, 6.0]
    handle.remove()
    handle.remove()
    y.sum().backward()
    assert len(seen) == 3


def test_a_handle_is_a_context_manager_and_hooks_may_remove_each_other() -> None:
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 10):
        (x * 2).backward()
    (x * 2).backward()
    assert x.grad.item() == 22.0
    x = leaf(1.0)
    ran = []
    first = x.register_hook(lambda g: (ran.append(1), first.remove(), second.remove())[0])
    second = x.register_hook(lambda g: ran.append(2))
    (x * 2).backward()
    (x * 2).backward()
    assert ran in ([1], [1, 2])


def test_hook_of_a_leaf_runs_in_grad_too() -> None:
    x = leaf(2.0)
    x.register_hook(lambda g: g * 100)
    (g,) = gs.autograd.grad(x * x, x)
    assert g.item() == 400.0


def test_a_hook_that_raises_comes_out_unchanged() -> None:
    class Mine(Exception):
        pass

    def hook(g: Any) -> None:
        raise Mine("from the hook")

    x = leaf(2.0)
    y = x * x
    y.register_hook(hook)
    with pytest.raises(Mine, match="from the hook"):
        y.backward()
    assert gs.is_grad_enabled()


def test_hook_needs_a_graph() -> None:
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        gs.tensor(1.0).register_hook(lambda g: g)


def test_retain_grad() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    assert not x.retains_grad
    x.retain_grad()  # of a leaf: nothing happens
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="retain_grad"):
        gs.tensor(1.0).retain_grad()


def test_reading_grad_of_a_non_leaf_warns() -> None:
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


# Grad modes ---------------------------------------------------------------------------------------


def test_no_grad_as_context_and_decorator() -> None:
    x = leaf(2.0)
    with gs.no_grad():
        assert not gs.is_grad_enabled()
        assert not (x * 2).requires_grad
        with gs.enable_grad():
            assert (x * 2).requires_grad
        assert not gs.is_grad_enabled()

    @gs.no_grad()
    def with_parentheses(x: Any) -> Any:
        """Twice."""
        return x * 2

    @gs.no_grad
    def bare(x: Any) -> Any:
        return x * 2

    @gs.enable_grad
    def on(x: Any) -> Any:
        return x * 2

    assert not with_parentheses(x).requires_grad
    assert with_parentheses.__doc__ == "Twice."
    assert not bare(x).requires_grad
    with gs.no_grad():
        assert on(x).requires_grad
    assert gs.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), gs.no_grad():
        1 / 0
    assert gs.is_grad_enabled()
    mode = gs.no_grad()
    with mode, mode:
        assert not gs.is_grad_enabled()
    assert gs.is_grad_enabled()


def test_no_grad_on_generators() -> None:
    x = leaf(2.0)

    @gs.no_grad()
    def values() -> Iterator[Any]:
        for k in range(2):
            yield gs.is_grad_enabled(), (x * k).requires_grad

    found = []
    for item in values():
        assert gs.is_grad_enabled()
        found.append(item)
    assert found == [(False, False), (False, False)]


def test_no_grad_on_coroutines() -> None:

    @gs.no_grad()
    async def ask() -> bool:
        before = gs.is_grad_enabled()
        await asyncio.sleep(0)
        return before or gs.is_grad_enabled()

    assert asyncio.run(ask()) is False


def test_grad_mode_belongs_to_the_thread() -> None:
    found: list[bool] = []
    with gs.no_grad():
        thread = threading.Thread(target=lambda: found.append(gs.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


def test_threads_differentiate_side_by_side() -> None:
    errors: list[str] = []

    def work(k: int) -> None:
        for _ in range(30):
            x = leaf(np.full(4, float(k)))
            y = x
            for _ in range(10):
                y = y * 1.1 + np.sin(y)
            (g,) = gs.autograd.grad(y.sum(), x)
            if not np.array_equal(g.numpy(), np.full(4, g.numpy()[0])):
                errors.append(f"thread {k}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_create_graph_is_off_inside_backward_and_mode_is_restored() -> None:
    modes: list[bool] = []
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: modes.append(gs.is_grad_enabled()))
    y.backward(retain_graph=True)
    gs.autograd.grad(y, x, create_graph=True)
    assert modes == [False, True]
    assert gs.is_grad_enabled()


def test_reentrant_backward() -> None:
    x = leaf(2.0)
    inner = leaf(3.0)

    def hook(g: Any) -> Any:
        with gs.enable_grad():
            (inner * inner).backward()
        return g * inner.grad.item()

    y = x * x
    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 4.0 * 6.0
    assert inner.grad.item() == 6.0


def test_warnings_of_numpy_in_forward_are_the_users_and_backward_is_quiet() -> None:
    x = leaf([0.0, 1.0])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        y = np.log(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.sum().backward()
    assert x.grad.tolist() == [np.inf, 1.0]


def test_a_coroutine_holds_the_mode_between_its_awaits_only() -> None:
    seen: list[bool] = []

    @gs.no_grad()
    async def quiet() -> None:
        for _ in range(3):
            seen.append(gs.is_grad_enabled())
            await asyncio.sleep(0)

    async def watch() -> None:
        for _ in range(3):
            assert gs.is_grad_enabled()
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(quiet(), watch())

    asyncio.run(both())
    assert seen == [False, False, False]


def test_an_asynchronous_generator_holds_the_mode_from_step_to_step() -> None:
    seen: list[Any] = []

    @gs.inference_mode()
    async def steps() -> Any:
        try:
            got = yield gs.is_inference_mode_enabled()
            await asyncio.sleep(0)
            seen.append((got, gs.is_inference_mode_enabled()))
            try:
                yield gs.is_inference_mode_enabled()
            except KeyError:
                yield "thrown", gs.is_inference_mode_enabled()
            yield 0
        finally:
            seen.append(("closed", gs.is_inference_mode_enabled()))

    async def drive() -> None:
        g = steps()
        assert await g.asend(None) is True
        assert not gs.is_inference_mode_enabled()
        assert await g.asend("sent") is True
        assert await g.athrow(KeyError("k")) == ("thrown", True)
        assert not gs.is_inference_mode_enabled()
        await g.aclose()
        assert [x async for x in gs.no_grad(_two)()] == [False, False]

    async def _two() -> Any:
        yield gs.is_grad_enabled()
        yield gs.is_grad_enabled()

    asyncio.run(drive())
    assert seen == [("sent", True), ("closed", True)]
    assert not gs.is_inference_mode_enabled()


def test_a_decorated_function_runs_in_several_threads_at_once() -> None:
    inside = threading.Barrier(2)

    @gs.no_grad()
    def wait() -> bool:
        inside.wait(10)
        return gs.is_grad_enabled()

    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append((wait(), gs.is_grad_enabled()))) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [(False, True)] * 2


def test_anomaly_mode_names_both_lines_of_a_write() -> None:
    with gs.autograd.set_detect_anomaly(True):
        x, w = leaf([1.0, 2.0]), gs.tensor([3.0, 4.0])
        y = (x * w).sum()
        w.add_(1.0)
    with pytest.raises(RuntimeError, match=r"saved it at \S+\.py:\d+, and .* changed it at \S+\.py:\d+"):
        y.backward()


def test_anomaly_mode_shows_the_users_frames_only() -> None:
    x = leaf([0.0])
    with (
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0") as seen,
        pytest.raises(RuntimeError, match="nan values"),
        gs.autograd.set_detect_anomaly(True),
    ):
        (np.sqrt(x) * 0.0).sum().backward()
    text = str(seen[0].message)
    assert text.rstrip().endswith("(np.sqrt(x) * 0.0).sum().backward()")
    assert "dispatch.py" not in text
    assert "interop.py" not in text


def test_an_inference_tensor_in_a_function_that_is_differentiated() -> None:
    with gs.inference_mode():
        w = gs.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        gs.autograd.grad((leaf([1.0, 1.0]) * w).sum(), leaf([1.0]))


def test_a_refused_write_leaves_an_inference_tensor_as_it_was() -> None:
    with gs.inference_mode():
        w = gs.tensor([1.0, 2.0])
    for write in (lambda: w.add_(1.0), lambda: w.zero_(), lambda: w[:1].mul_(2.0), lambda: np.add(w, 1.0, out=w)):
        with pytest.raises(RuntimeError, match="outside InferenceMode"):
            write()
    assert w.tolist() == [1.0, 2.0]
