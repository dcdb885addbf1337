"""Several threads, and backward inside backward: exact sums, a grad mode for each thread, errors unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from programs import THREADS, at_once, frequent_switches


@pytest.fixture(autouse=True)
def _threads_interrupt_each_other() -> Iterator[None]:
    with frequent_switches():
        yield


def errors_of(work: Callable[[int], None], count: int = THREADS) -> list[BaseException]:
    """Run `work(k)` in that many threads at once; the errors that came out of them."""
    return [found for found in at_once(work, count) if isinstance(found, BaseException)]


@pytest.mark.parametrize("shape", [(), (3,), (50, 40)])
def test_backward_from_several_threads_gives_the_exact_sum(torch: Any, numbers: Any, shape: tuple[int, ...]) -> None:
    x = torch.tensor(np.ones(shape).tolist(), requires_grad=True)
    times = 50

    def work(k: int) -> None:
        for _ in range(times):
            (x * (k + 1.0) + x * 2.0).sum().backward()

    assert errors_of(work) == []
    expected = times * sum(k + 1.0 + 2.0 for k in range(THREADS))
    np.testing.assert_array_equal(numbers(x.grad), np.full(shape, expected))


def test_the_first_gradients_of_leaves_meet(torch: Any, numbers: Any) -> None:
    for _ in range(20):
        leaves = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(100)]
        outputs = [sum([(x * (k + 1.0)).sum() for x in leaves], torch.tensor(0.0)) for k in range(THREADS)]
        assert errors_of(lambda k, outputs=outputs: outputs[k].backward()) == []  # type: ignore[misc]
        np.testing.assert_array_equal([numbers(x.grad) for x in leaves], np.full((100, 2), 10.0))


def test_large_gradients_meet(torch: Any, numbers: Any) -> None:
    x = torch.tensor(np.ones((300, 500)).tolist(), requires_grad=True)

    def work(k: int) -> None:
        for _ in range(10):
            (x * (k + 1.0)).sum().backward()

    assert errors_of(work) == []
    np.testing.assert_array_equal(numbers(x.grad), np.full((300, 500), 100.0))


def test_backward_with_inputs_from_several_threads(torch: Any, numbers: Any) -> None:
    leaves = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(100)]

    def work(k: int) -> None:
        for _ in range(5):
            sum([(x * (k + 1.0)).sum() for x in leaves], torch.tensor(0.0)).backward(inputs=leaves)

    assert errors_of(work) == []
    np.testing.assert_array_equal([numbers(x.grad) for x in leaves], np.full((100, 2), 50.0))


def test_graphs_that_share_their_beginning(torch: Any, numbers: Any) -> None:
    for _ in range(30):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        shared = x * 3.0  # saves nothing that the other thread's backward would free
        outputs = [(shared + float(k)).sum() for k in range(THREADS)]
        assert errors_of(lambda k, outputs=outputs: outputs[k].backward(retain_graph=True)) == []  # type: ignore[misc]
        np.testing.assert_array_equal(numbers(x.grad), [12.0, 12.0])


def test_the_same_graph_with_retain_graph(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x * x).sum()
    times = 50

    def work(k: int) -> None:
        for _ in range(times):
            y.backward(retain_graph=True)

    assert errors_of(work) == []
    np.testing.assert_array_equal(numbers(x.grad), times * THREADS * 3.0 * np.array([1.0, 4.0, 9.0]))


def test_autograd_grad_in_several_threads(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x * x).sum()
    found: list[Any] = []

    def work(k: int) -> None:
        for _ in range(20):
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), x, retain_graph=True)
            found.append((numbers(g).tolist(), numbers(h).tolist()))

    assert errors_of(work) == []
    assert found == [([3.0, 12.0, 27.0], [6.0, 12.0, 18.0])] * (20 * THREADS)
    assert x.grad is None


def test_the_same_graph_without_retain_graph_is_an_error_or_right(torch: Any, numbers: Any) -> None:
    for _ in range(60):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x
        for _ in range(9):
            y = y * y
        total = y.sum()
        errors = errors_of(lambda _, total=total: total.backward(), 2)  # type: ignore[misc]
        assert len(errors) < 2
        for error in errors:
            assert isinstance(error, RuntimeError)
            assert "retain_graph=True" in str(error)
        one = 2.0**9 * np.array([1.0, 2.0]) ** (2.0**9 - 1)
        np.testing.assert_array_equal(numbers(x.grad), one * (2 - len(errors)))


def test_leaf_hooks_run_once_for_each_backward(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(numbers(g).item()))
    assert errors_of(lambda k: [(x * (k + 1.0)).sum().backward() for _ in range(20)]) == []  # type: ignore[arg-type,return-value]
    assert sorted(seen) == sorted([k + 1.0 for k in range(THREADS)] * 20)


def test_grad_mode_belongs_to_a_thread(torch: Any) -> None:
    seen: dict[int, Any] = {}

    def work(k: int) -> None:
        found = [torch.is_grad_enabled()]
        for _ in range(200):
            if k % 2:
                with torch.no_grad():
                    found.append(not torch.is_grad_enabled())
                    found.append(not (x * 2).requires_grad)
            else:
                found.append(torch.is_grad_enabled())
                found.append((x * 2).requires_grad)
        seen[k] = all(found)

    x = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad():
        assert errors_of(work) == []  # a new thread begins with grad mode on
        assert not torch.is_grad_enabled()
    assert seen == dict.fromkeys(range(THREADS), True)


def test_inference_mode_belongs_to_a_thread(torch: Any) -> None:
    seen = []
    with torch.inference_mode():
        assert errors_of(lambda _: seen.append(torch.is_inference_mode_enabled()), 1) == []
        assert torch.is_inference_mode_enabled()
    assert seen == [False]


def test_backward_inside_a_hook(torch: Any, numbers: Any) -> None:
    x = torch.tensor([2.0], requires_grad=True)
    w = torch.tensor([3.0], requires_grad=True)
    modes = []

    def hook(g: Any) -> None:
        modes.append(torch.is_grad_enabled())
        with torch.enable_grad():
            (w * w).sum().backward()
        modes.append(torch.is_grad_enabled())

    y = x * x
    y.register_hook(hook)
    y.sum().backward()
    assert (numbers(x.grad).item(), numbers(w.grad).item()) == (4.0, 6.0)
    assert modes == [False, False]
    assert torch.is_grad_enabled()


def test_backward_inside_a_hook_reaches_the_same_leaf(torch: Any, numbers: Any) -> None:
    x = torch.tensor([2.0], requires_grad=True)

    def hook(g: Any) -> None:
        with torch.enable_grad():
            (x * 10.0).sum().backward()

    y = x * x
    y.register_hook(hook)
    y.sum().backward()
    assert numbers(x.grad).item() == 14.0


@pytest.mark.parametrize("threads", [1, 2])
def test_backward_inside_a_functions_backward(torch: Any, numbers: Any, threads: int) -> None:
    class Inner(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_(True)
                ctx.y = (ctx.x * ctx.x).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.y.backward()
            return ctx.x.grad * g

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    assert errors_of(lambda _: [(Inner.apply(x) * 5.0).backward() for _ in range(10)], threads) == []  # type: ignore[arg-type,return-value]
    np.testing.assert_array_equal(numbers(x.grad), 10 * threads * np.array([20.0, 30.0]))


def test_deep_reentrancy(torch: Any, numbers: Any) -> None:
    class Deep(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, level: int) -> Any:
            ctx.level = level
            return x + 0.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.level:
                with torch.enable_grad():
                    inner = torch.tensor([1.0], requires_grad=True)
                    Deep.apply(inner, ctx.level - 1).sum().backward()
                return g + inner.grad, None
            return g, None

    x = torch.tensor([1.0], requires_grad=True)
    Deep.apply(x, 100).sum().backward()
    assert numbers(x.grad).item() == 101.0


def test_deep_reentrancy_by_hooks(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)

    def go(level: int) -> None:
        y = x * 1.0
        if level:
            y.register_hook(lambda g: within(level - 1))
        y.sum().backward()

    def within(level: int) -> None:
        with torch.enable_grad():
            go(level)

    go(100)
    assert numbers(x.grad).item() == 101.0


class Mine(Exception):
    """No error of the library."""


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_inside_come_out_unchanged(torch: Any, threads: int) -> None:
    x = torch.tensor([1.0], requires_grad=True)

    def fails(g: Any) -> None:
        raise Mine("mine")

    def hook(g: Any) -> None:
        with torch.enable_grad():
            y = x * 2.0
            y.register_hook(fails)
            y.sum().backward()

    def work(_: int) -> None:
        y = x * x
        y.register_hook(hook)
        try:
            y.sum().backward()
        finally:
            modes.append(torch.is_grad_enabled())

    modes: list[bool] = []
    errors = errors_of(work, threads)
    assert [(type(e), e.args) for e in errors] == [(Mine, ("mine",))] * threads
    assert modes == [True] * threads
    (x * 3.0).sum().backward()  # nothing is left locked
    assert x.grad is not None


def test_an_error_in_a_post_accumulate_hook_leaves_nothing_locked(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)

    def fails(leaf: Any) -> None:
        raise Mine("mine")

    handle = x.register_post_accumulate_grad_hook(fails)
    with pytest.raises(Mine, match="mine"):
        (x * 2.0).sum().backward()
    handle.remove()
    assert errors_of(lambda _: (x * 2.0).sum().backward(), 2) == []
    assert numbers(x.grad).item() == 6.0


def test_backward_inside_a_post_accumulate_hook(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([1.0], requires_grad=True)

    def hook(leaf: Any) -> None:
        with torch.enable_grad():
            (w * 5.0).sum().backward()
            if len(runs) < 3:
                runs.append(1)
                (x * 2.0).sum().backward()  # the leaf that is being added to

    runs: list[int] = []
    x.register_post_accumulate_grad_hook(hook)
    (x * 2.0).sum().backward()
    assert (numbers(x.grad).item(), numbers(w.grad).item()) == (8.0, 20.0)
