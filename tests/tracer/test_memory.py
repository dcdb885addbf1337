"""Memory: long chains, no reference cycles, what a node keeps, who owns a gradient."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import leaf, no_collector

# Memory -------------------------------------------------------------------------------------------


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
        held = weakref.ref(h.detach().numpy())
        y = (h * h).sum()
        del h
        assert held() is not None  # saved for h * h
        y.backward()
        assert held() is None


def test_a_node_keeps_only_what_its_rule_names() -> None:
    with no_collector():
        x = leaf(np.ones(10))
        h = x * 2
        held = weakref.ref(h.detach().numpy())
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
    for build in (
        lambda a, b: (a + b).sum(),
        lambda a, b: np.concatenate([a, b]).sum(),
        lambda a, b: (a - -b) @ np.ones(3),
    ):
        a, b = leaf(np.ones(3)), leaf(np.ones(3))
        build(a, b).backward()
        assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())
        a.grad.numpy()[0] = 99.0
        assert b.grad.tolist() == [1.0, 1.0, 1.0]
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    seed = gs.tensor(np.ones(3))
    (a + b).backward(seed)
    assert not np.shares_memory(a.grad.numpy(), seed.detach().numpy())
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    ga, gb = gs.autograd.grad((a + b).sum(), [a, b])
    ga.detach().numpy()[...] = 99.0
    assert gb.tolist() == [1.0, 1.0, 1.0]
    (a + b).sum().backward(inputs=[a, b])
    assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())


def test_a_broadcast_gradient_owns_its_memory() -> None:
    x = leaf(np.ones((3, 2)))
    x.sum().backward()
    assert x.grad.numpy().flags.writeable
    assert x.grad.numpy().strides == (16, 8)
    (g,) = gs.autograd.grad(x.sum(), x)
    assert g.detach().numpy().flags.writeable
    assert g.detach().numpy().strides == (16, 8)


def test_the_gradient_is_no_view_of_what_was_saved() -> None:
    x, c = leaf(np.ones(3)), np.array([1.0, 2.0, 3.0])
    (x * c).sum().backward()
    x.grad.numpy()[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]
    (g,) = gs.autograd.grad((x * c).sum(), x)
    g.detach().numpy()[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]
    t = leaf(np.ones(3))
    (g,) = gs.autograd.grad(t, t, gs.tensor(c))
    g.detach().numpy()[0] = 99.0
    assert c.tolist() == [1.0, 2.0, 3.0]


def test_lists_beside_a_tensor_are_arrays_to_the_rules() -> None:
    x = leaf([1.0, 2.0])
    np.dot(x, [3.0, 4.0]).backward()
    assert x.grad.tolist() == [3.0, 4.0]
    x = leaf([1.0, 2.0])
    (
        np.outer([1.0, 2.0], x).sum()
        + np.where([True, False], x, [5.0, 6.0]).sum()
        + np.matmul(x, [[1.0], [2.0]]).sum()
    ).backward()
    assert x.grad.tolist() == [5.0, 5.0]
