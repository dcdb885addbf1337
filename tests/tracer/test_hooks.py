"""Hooks where gradscribe has something of its own: arrays, transforms, reference cycles, nodes of several results."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import leaf


def test_a_hook_may_give_an_array() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.register_hook(lambda g: g.numpy() * 2)
    y.grad_fn.register_prehook(lambda go: (go[0].numpy() + 1,))
    y.sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]
    x = leaf(2.0)
    x.register_hook(lambda g: np.float64(7.0))
    (x * x).backward()
    assert x.grad.item() == 7.0


def test_a_program_without_hooks_makes_nothing_for_them() -> None:
    x = leaf([1.0, 2.0])
    y = np.split(x * x, 2)[1].sum()
    y.backward()
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0], x._node):
        assert node.extra is None


def test_hooks_make_no_reference_cycle() -> None:
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = x * x
        a, b = np.split(y, 2)
        for t in (y, a):
            t.register_hook(lambda g: g)
            t.retain_grad()
            t.grad_fn.register_prehook(lambda go: go)
            t.grad_fn.register_hook(lambda gi, go: gi)
        gs.autograd.graph.register_multi_grad_hook([x, a, b], lambda grads: None)
        with gs.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            z = np.exp(a)
        (z + b).sum().backward()
        dead = [weakref.ref(o) for o in (x, y, a, z, x._node, y._node, a.grad_fn, z._node)]
        del x, y, a, b, t, z
        assert [ref() for ref in dead] == [None] * len(dead)
    finally:
        gc.enable()


def test_hooks_inside_transforms() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g * 10)
        y.grad_fn.register_hook(lambda gi, go: seen.append(len(gi)))
        return np.sum(y)

    assert gs.grad(f)(np.array([1.0, 2.0])).tolist() == [20.0, 40.0]
    assert seen == [2]


def test_a_node_with_hooks_sums_as_one_without() -> None:
    def total(hooked: bool) -> list[float]:
        x = leaf([1.0, 2.0, 3.0])
        y = x * 2
        parts = [y[k] * (k + 1) for k in (0, 1, 2, 1)]
        for part in parts if hooked else []:
            part.grad_fn.next_functions[0][0].register_hook(lambda gi, go: (gi[0] * 1,))
        sum(parts).backward()
        found: list[float] = x.grad.tolist()
        return found

    assert total(True) == total(False) == [2.0, 8.0, 6.0]


def test_several_hooked_results_in_double_backward() -> None:
    a = leaf(np.diag([1.0, 2.0, 4.0]) + 0.1)
    w, v = np.linalg.eigh(a + a.T)
    w.register_hook(lambda g: g * 1.0)
    (g,) = gs.autograd.grad((w**2).sum() + (v[0] ** 2).sum(), a, create_graph=True)
    (gg,) = gs.autograd.grad((g * g).sum(), a)
    # the first sum is that of the squares of a + a.T, the second is one
    assert np.allclose(g.numpy() if not g.requires_grad else g.detach().numpy(), 4 * (a + a.T).detach().numpy())
    assert np.allclose(gg.numpy(), 128 * (a + a.T).detach().numpy() / 2)


def test_a_hook_over_a_leaf_in_grad() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    seen: list[Any] = []
    gs.autograd.graph.register_multi_grad_hook([x, y], lambda grads: seen.append([g.tolist() for g in grads]))
    gs.autograd.grad(y.sum(), x)
    assert seen == [[[2.0, 2.0], [1.0, 1.0]]]


def test_a_freed_node_says_so_to_hooks_too() -> None:
    x = leaf([1.0, 2.0])
    with gs.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * x).sum()
    y.backward()
    with pytest.raises(gs.AutogradError, match="Specify retain_graph=True"):
        y.backward()
