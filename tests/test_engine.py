"""The eager engine: backward, gs.autograd, hooks, grad modes, memory."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradscribe as gs
import numpy as np
import pytest


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


# backward -----------------------------------------------------------------------------------------------------------


def test_backward_fills_the_leaves() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    c = gs.tensor([5.0, 6.0])
    y = (x * w * c).sum()
    assert y.backward() is None
    assert x.grad.tolist() == [15.0, 24.0]
    assert w.grad.tolist() == [5.0, 12.0]
    assert c.grad is None
    assert type(x.grad) is gs.Tensor
    assert not x.grad.requires_grad


def test_gradients_add_up_in_the_same_object() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first
    assert x.grad.tolist() == [4.0, 8.0]


def test_gradients_add_up_out_of_place_with_create_graph() -> None:
    x = leaf([1.0, 2.0])
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
        (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    with pytest.warns(UserWarning, match="create_graph"):
        (x**3).sum().backward(create_graph=True)
    assert x.grad is not first
    assert first.tolist() == [3.0, 12.0]
    assert x.grad.tolist() == [6.0, 24.0]


def test_create_graph_then_backward_again() -> None:
    x = leaf(3.0)
    (g,) = gs.autograd.grad(x**3, x, create_graph=True)
    (h,) = gs.autograd.grad(g, x, create_graph=True)
    (k,) = gs.autograd.grad(h, x)
    assert (g.item(), h.item(), k.item()) == (27.0, 18.0, 6.0)


def test_backward_with_a_gradient() -> None:
    for given in (gs.tensor([1.0, 10.0]), np.array([1.0, 10.0]), [1.0, 10.0]):
        x = leaf([1.0, 2.0])
        (x * x).backward(given)
        assert x.grad.tolist() == [2.0, 40.0]
    x = leaf([1.0, 2.0])
    (x * x).backward(gradient=gs.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]
    leaf([[2.0]]).backward()  # one element counts as a scalar


def test_retain_graph() -> None:
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_a_second_backward_is_fine_where_nothing_was_saved() -> None:
    x = leaf([1.0, 2.0])
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_backward_of_chosen_inputs() -> None:
    x, w = leaf(2.0), leaf(5.0)
    h = x * w
    y = h * h
    y.backward(inputs=[x], retain_graph=True)
    assert x.grad.item() == 2 * 10 * 5
    assert w.grad is None
    y.backward(inputs=h)
    assert h.grad.item() == 20.0
    y = w * 1
    y.backward(inputs=[x])  # unused: silently fine
    assert x.grad.item() == 100.0
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(inputs=[])


def test_one_leaf_used_often_and_a_diamond() -> None:
    x = leaf(3.0)
    a = x * 2
    b = a * x
    c = a + b
    (c * a + x).backward()
    # c*a + x = (2x + 2x²)·2x + x
    assert x.grad.item() == 8 * 3 + 12 * 9 + 1


def test_duplicate_roots_add_up() -> None:
    x = leaf(3.0)
    y = x * x
    gs.autograd.backward([y, y])
    assert x.grad.item() == 12.0


def test_backward_through_nothing_but_a_leaf() -> None:
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1.0


def test_broadcast_gradients_come_back_in_shape() -> None:
    x, row, one = leaf(np.ones((3, 2))), leaf([1.0, 2.0]), leaf(2.0)
    (x * row * one).sum().backward()
    assert x.grad.shape == (3, 2)
    assert row.grad.tolist() == [6.0, 6.0]
    assert one.grad.shape == ()
    assert one.grad.item() == 9.0
    e = leaf([1.0])
    (e * np.ones((0, 1))).sum().backward()
    assert e.grad.tolist() == [0.0]


def test_dtypes_come_back_too() -> None:
    x = leaf(np.array([1.0, 2.0], np.float32))
    (x * np.array([1.0, 3.0])).sum().backward()
    assert x.grad.dtype == np.float32


def test_complex_follows_pytorchs_convention() -> None:
    z = leaf([1 + 2j, 3 - 1j])
    (np.abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * z.detach().numpy())
    z = leaf(1 + 2j)
    (z * z).backward(gs.tensor(1 + 0j))
    np.testing.assert_allclose(z.grad.item(), np.conj(2 * (1 + 2j)))
    x = leaf(2.0)
    np.real(x * (3 + 4j)).backward()
    assert x.grad.item() == 3.0
    assert x.grad.dtype == np.float64


def test_in_reverse_creation_order_and_bit_for_bit() -> None:
    def once() -> bytes:
        r = np.random.default_rng(5)
        x = leaf(r.normal(size=50))
        parts = [np.sin(x * k) for k in range(1, 20)]
        total = parts[0]
        for p in parts[1:]:
            total = total + p * parts[3]
        total.sum().backward()
        return bytes(x.grad.numpy().tobytes())

    assert once() == once()


# gs.autograd ----------------------------------------------------------------------------------------------------------


def test_autograd_is_a_module_by_name() -> None:
    found = importlib.import_module("gradscribe.autograd")
    assert found.grad is gs.autograd.grad
    assert found.backward is gs.autograd.backward
    code = (
        "import gradscribe.autograd as ag\nfrom gradscribe.autograd import grad\nimport gradscribe as gs\n"
        "assert ag is gs.autograd and grad is gs.autograd.grad\nx = gs.tensor(3.0, requires_grad=True)\n"
        "print(grad(x * x, x)[0].item())"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "6.0", done.stderr


def test_autograd_grad() -> None:
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    y = (x * w).sum()
    gx, gw = gs.autograd.grad(y, [x, w])
    assert (gx.tolist(), gw.item()) == ([3.0, 3.0], 3.0)
    assert x.grad is None
    assert w.grad is None
    (only,) = gs.autograd.grad(outputs=(x * x, x), inputs=x, grad_outputs=(gs.tensor([1.0, 1.0]), gs.tensor([1.0, 0.0])))
    assert only.tolist() == [3.0, 4.0]
    h = x * w  # with respect to what is no leaf
    (gh,) = gs.autograd.grad((h * h).sum(), h)
    assert gh.tolist() == [6.0, 12.0]


def test_autograd_grad_of_an_unused_input() -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = x * x
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        gs.autograd.grad(y, [x, w], retain_graph=True)
    gx, gw = gs.autograd.grad(y, [x, w], allow_unused=True)
    assert gx.item() == 2.0
    assert gw is None


def test_autograd_grad_only_walks_where_it_must() -> None:
    ran: list[str] = []
    x, w = leaf(1.0), leaf(2.0)
    a, b = x * 2, w * 3
    b.register_hook(lambda g: ran.append("b"))
    a.register_hook(lambda g: ran.append("a"))
    gs.autograd.grad(a + b, x)
    assert ran == ["a"]


def test_autograd_backward() -> None:
    x = leaf([1.0, 2.0])
    gs.autograd.backward([(x * x).sum(), x], [None, gs.tensor([10.0, 20.0])])
    assert x.grad.tolist() == [12.0, 24.0]


def test_several_outputs_of_one_operation() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    t = leaf(a)
    w, v = np.linalg.eigh(t)
    assert w.grad_fn is v.grad_fn
    w.sum().backward(retain_graph=True)
    np.testing.assert_allclose(t.grad.numpy(), np.eye(2), atol=1e-12)
    (v[0, 0] ** 2 + w[1]).backward()
    x = leaf(np.arange(6.0))
    first, second, _ = np.split(x, 3)
    (first * second).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 0.0, 1.0, 0.0, 0.0]


# The graph --------------------------------------------------------------------------------------------------------------


def test_next_functions() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w + 1
    assert y.grad_fn.name() == "AddBackward0"
    (product, k), (nothing, zero) = y.grad_fn.next_functions
    assert (product.name(), k, nothing, zero) == ("MulBackward0", 0, None, 0)
    (at_x, _), (at_w, _) = product.next_functions
    assert at_x.name() == at_w.name() == "AccumulateGrad"
    assert at_x.variable is x
    assert at_w.variable is w
    assert at_x.next_functions == ()
    assert y.grad_fn is y.grad_fn
    assert (x * 2).grad_fn.next_functions[0][0] is at_x  # one for each leaf
    names = [f.name() for f, _ in np.concatenate([x * np.ones(1), w * np.ones(2)]).grad_fn.next_functions]
    assert names == ["MulBackward0", "MulBackward0"]
    assert repr(at_x) == "<AccumulateGrad>"


def test_a_constant_makes_no_node() -> None:
    c = gs.tensor([1.0, 2.0])
    y = np.sin(c * 2) @ c
    assert y.grad_fn is None
    assert not y.requires_grad
    assert y.is_leaf


# Hooks ------------------------------------------------------------------------------------------------------------------


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


# Grad modes -------------------------------------------------------------------------------------------------------------


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
        "Twice."
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
    import asyncio

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


# Memory -----------------------------------------------------------------------------------------------------------------


def test_a_long_chain_differentiates_and_is_freed_without_recursion() -> None:
    limit = sys.getrecursionlimit()
    with no_collector():
        x = leaf(1.0)
        y = x * 1.0
        middle = None
        for k in range(100_000):
            y = y + 1e-5
            if k == 50_000:
                middle = weakref.ref(y.grad_fn)
        assert middle is not None
        y.backward()
        assert x.grad.item() == 1.0
        assert middle() is not None
        last = weakref.ref(y.grad_fn)
        del y
        assert last() is None
        assert middle() is None
    assert sys.getrecursionlimit() == limit


def test_a_long_chain_that_is_never_differentiated_is_freed_too() -> None:
    with no_collector():
        y = leaf(np.ones(2)) * 1.0
        first = weakref.ref(y.grad_fn)
        for _ in range(100_000):
            y = np.sin(y)
        del y
        assert first() is None


def test_a_long_chain_of_second_order() -> None:
    with no_collector():
        x = leaf(1.0)
        y = x * x
        for _ in range(20_000):
            y = y * 1.0
        (g,) = gs.autograd.grad(y, x, create_graph=True)
        (h,) = gs.autograd.grad(g, x)
        assert (g.item(), h.item()) == (2.0, 2.0)
        refs = [weakref.ref(g.grad_fn), weakref.ref(y.grad_fn)]
        del y, g, h
        assert [r() for r in refs] == [None, None]


@pytest.mark.parametrize(
    "build",
    [
        lambda x: (x * x).sum(),
        lambda x: np.exp(x).sum(),
        lambda x: np.linalg.norm(x),
        lambda x: x[0] * x[1],
        lambda x: np.concatenate([x, x * 2]).mean(),
        lambda x: np.tanh(np.sqrt(x))[0],
        lambda x: np.split(x, 2)[0].sum(),
        lambda x: np.linalg.eigh(np.outer(x, x) + np.eye(2))[0].sum(),
        lambda x: np.stack(list(x)).prod(),
    ],
)
def test_no_reference_cycles(build: Any) -> None:
    with no_collector():
        x = leaf([1.0, 2.0])
        y = build(x)
        refs = [weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)]
        del x, y
        assert [r() for r in refs] == [None] * 3
        x = leaf([1.0, 2.0])
        y = build(x)
        y.retain_grad()
        y.register_hook(lambda g: g * 1)
        y.backward()
        refs = [weakref.ref(x), weakref.ref(y), weakref.ref(x.grad), weakref.ref(y.grad_fn)]
        del x, y
        assert [r() for r in refs] == [None] * 4
        x = leaf([1.0, 2.0])
        (g,) = gs.autograd.grad(build(x), x, create_graph=True)
        refs = [weakref.ref(x), weakref.ref(g)]
        del x, g
        assert [r() for r in refs] == [None] * 2


def test_backward_frees_what_was_saved() -> None:
    with no_collector():
        x = leaf(np.ones(10))
        h = x * 2
        held = weakref.ref(h.data)
        y = (h * h).sum()
        del h
        assert held() is not None  # saved for h * h
        y.backward()
        assert held() is None


def test_a_node_keeps_only_what_its_rule_names() -> None:
    with no_collector():
        x = leaf(np.ones(10))
        h = x * 2
        held = weakref.ref(h.data)
        y = np.exp(h + 1).sum()
        del h
        assert held() is None
        y.backward()


def test_a_leaf_that_is_gone_does_not_keep_its_graph_from_running() -> None:
    def build() -> Any:
        x = leaf(3.0)
        return x * x

    y = build()
    y.backward()
    (node, _), _ = y.grad_fn.next_functions
    assert node.variable.grad.item() == 6.0


def test_two_leaves_never_share_a_buffer() -> None:
    for build in (lambda a, b: (a + b).sum(), lambda a, b: np.concatenate([a, b]).sum(), lambda a, b: (a - -b) @ np.ones(3)):
        a, b = leaf(np.ones(3)), leaf(np.ones(3))
        build(a, b).backward()
        assert not np.shares_memory(a.grad.data, b.grad.data)
        a.grad.data[0] = 99.0
        assert b.grad.tolist() == [1.0, 1.0, 1.0]
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    seed = gs.tensor(np.ones(3))
    (a + b).backward(seed)
    assert not np.shares_memory(a.grad.data, seed.data)
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    ga, gb = gs.autograd.grad((a + b).sum(), [a, b])
    ga.data[...] = 99.0
    assert gb.tolist() == [1.0, 1.0, 1.0]
    (a + b).sum().backward(inputs=[a, b])
    assert not np.shares_memory(a.grad.data, b.grad.data)


def test_a_broadcast_gradient_owns_its_memory() -> None:
    x = leaf(np.ones((3, 2)))
    x.sum().backward()
    assert x.grad.data.flags.writeable
    assert x.grad.data.strides == (16, 8)
    (g,) = gs.autograd.grad(x.sum(), x)
    assert g.data.flags.writeable
    assert g.data.strides == (16, 8)


def test_the_gradient_is_no_view_of_what_was_saved() -> None:
    x, c = leaf(np.ones(3)), np.array([1.0, 2.0, 3.0])
    (x * c).sum().backward()
    x.grad.data[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]
    (g,) = gs.autograd.grad((x * c).sum(), x)
    g.data[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]
    t = leaf(np.ones(3))
    (g,) = gs.autograd.grad(t, t, gs.tensor(c))
    g.data[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]
