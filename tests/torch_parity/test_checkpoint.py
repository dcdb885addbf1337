"""Checkpoint recomputes in backward what it did not save: `gs.checkpoint`, and `torch.utils.checkpoint.checkpoint` itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


def _leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_the_gradient_is_that_of_the_plain_function(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x, w = _leaf(torch, 0.5, 1.5), _leaf(torch, 2.0, 3.0)

    def f(a: Any, b: Any) -> Any:
        return (a.sin() * b).exp()

    checkpoint(f, x, w).sum().backward()
    found = numbers(x.grad), numbers(w.grad)
    x.grad = w.grad = None
    f(x, w).sum().backward()
    np.testing.assert_array_equal(found, (numbers(x.grad), numbers(w.grad)))


def test_it_runs_once_forward_and_once_in_backward(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a.sin().sin().sin()

    y = checkpoint(f, x)
    assert len(runs) == 1
    y.sum().backward()
    assert len(runs) == 2


def test_tensors_may_stand_in_lists_tuples_dicts_and_keywords_beside_anything_else(
    torch: Any, numbers: Any, checkpoint: Any
) -> None:
    a, b, c, d = (_leaf(torch, v) for v in (2.0, 3.0, 5.0, 7.0))

    def f(pair: Any, named: Any, factor: Any, text: str, *, last: Any) -> Any:
        assert text == "text"
        return pair[0] * pair[1] * named["c"][0] * factor * last

    checkpoint(f, [a, b], {"c": (c,)}, 10.0, "text", last=d).sum().backward()
    assert [numbers(t.grad).item() for t in (a, b, c, d)] == [1050.0, 700.0, 420.0, 300.0]


def test_several_outputs_of_any_kind(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)

    def f(a: Any) -> Any:
        return a.sin(), {"two": a.cos()}, "text", a.detach()

    one, more, text, constant = checkpoint(f, x)
    assert text == "text"
    assert not constant.requires_grad
    (one * more["two"]).sum().backward()
    np.testing.assert_allclose(numbers(x.grad), np.cos(1.0), rtol=1e-14)


def test_outputs_used_apart_recompute_for_each_backward(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a.sin(), a.cos()

    one, two = checkpoint(f, x)
    one.sum().backward()
    two.sum().backward()
    assert len(runs) == 3
    np.testing.assert_allclose(numbers(x.grad), np.cos(0.5) - np.sin(0.5), rtol=1e-14)


def test_gradients_flow_to_closed_over_tensors(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x, w = _leaf(torch, 2.0), _leaf(torch, 3.0)
    checkpoint(lambda a: a * w, x).sum().backward()
    assert (numbers(x.grad).item(), numbers(w.grad).item()) == (3.0, 2.0)
    w.grad = None
    checkpoint(lambda a: (a * w).sin(), torch.tensor([0.0])).sum().backward()  # no argument requires grad
    assert numbers(w.grad).item() == 0.0


def test_intermediate_arguments_and_results(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    y = checkpoint(lambda a: a.sin().sin(), x * 2).exp()
    y.sum().backward()
    s = np.sin(np.sin(1.0))
    np.testing.assert_allclose(numbers(x.grad), np.exp(s) * np.cos(np.sin(1.0)) * np.cos(1.0) * 2, rtol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_nested(torch: Any, numbers: Any, checkpoint: Any, depth: int) -> None:
    x = _leaf(torch, 0.5)

    def f(a: Any, level: int) -> Any:
        a = a.sin()
        if level:
            a = checkpoint(f, a * 1.5, level - 1)
        return a.exp().sin()

    def plain(a: Any, level: int) -> Any:
        a = a.sin()
        if level:
            a = plain(a * 1.5, level - 1)
        return a.exp().sin()

    checkpoint(f, x, depth).sum().backward()
    found, x.grad = numbers(x.grad), None
    plain(x, depth).sum().backward()
    np.testing.assert_array_equal(found, numbers(x.grad))


def test_a_second_backward_needs_retain_graph_and_recomputes(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a.sin().sin()

    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(runs) == 3
    np.testing.assert_allclose(numbers(x.grad), 2 * np.cos(np.sin(0.5)) * np.cos(0.5), rtol=1e-14)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_autograd_grad_and_only_what_is_asked_for(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x, w = _leaf(torch, 2.0), _leaf(torch, 3.0)
    y = checkpoint(lambda a, b: (a * b).sin(), x, w)
    (g,) = torch.autograd.grad(y.sum(), w)
    np.testing.assert_allclose(numbers(g), 2 * np.cos(6.0), rtol=1e-14)
    assert x.grad is None
    assert w.grad is None


def test_double_backward(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    y = checkpoint(lambda a: a.sin() * a, x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(numbers(h), 2 * np.cos(0.5) - 0.5 * np.sin(0.5), rtol=1e-14)


def test_a_gradient_inside_the_function(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)

    def f(a: Any) -> Any:
        y = a.sin() * a
        (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
        return g * y

    checkpoint(f, x).sum().backward()
    found, x.grad = numbers(x.grad), None
    f(x).sum().backward()
    np.testing.assert_array_equal(found, numbers(x.grad))


@pytest.mark.parametrize("early_stop", [True, False])
def test_early_stop(torch: Any, checkpoint: Any, early_stop: bool) -> None:
    x = _leaf(torch, 0.5)
    ended = []

    def f(a: Any) -> Any:
        y = a.sin()
        ended.append(1)
        return y

    checkpoint(f, x, early_stop=early_stop).sum().backward()
    assert len(ended) == (1 if early_stop else 2)


def test_without_grad_mode_it_simply_runs(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    with torch.no_grad():
        y = checkpoint(lambda a: a.sin(), x)
    assert not y.requires_grad
    np.testing.assert_allclose(numbers(y), np.sin(0.5))


def test_grad_mode_inside_is_that_of_the_function(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 2.0)

    def f(a: Any) -> Any:
        with torch.no_grad():
            c = a.exp() * a
        return a * a * c

    y = checkpoint(f, x).sum()
    with torch.no_grad():
        y.backward()
    np.testing.assert_allclose(numbers(x.grad), 4 * np.exp(2.0) * 2, rtol=1e-14)


def test_errors_of_the_function_come_out_unchanged(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        if len(runs) == runs_that_fail:
            raise KeyError("mine")
        return a.sin()

    runs_that_fail = 1
    with pytest.raises(KeyError, match="mine"):
        checkpoint(f, x)
    runs_that_fail = 3
    y = checkpoint(f, x).sum()
    with pytest.raises(KeyError, match="mine"):
        y.backward()


def test_contexts_of_ones_own(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    order = []

    @contextlib.contextmanager
    def around(name: str) -> Iterator[None]:
        order.append(f"{name} begins")
        yield
        order.append(f"{name} ends")

    def f(a: Any) -> Any:
        order.append("f")
        return a.sin()

    y = checkpoint(f, x, context_fn=lambda: (around("forward"), around("recomputation")), early_stop=False)
    y.sum().backward()
    assert order == [
        "forward begins", "f", "forward ends", "recomputation begins", "f", "recomputation ends"
    ]  # fmt: skip


def test_hooks_on_tensors_inside_see_their_gradients_once(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    seen = []

    def f(a: Any) -> Any:
        b = a.sin()
        b.register_hook(lambda g: seen.append(numbers(g).item()))
        return b * b

    checkpoint(f, x).sum().backward()
    np.testing.assert_allclose(seen, [2 * np.sin(0.5)])


def test_saved_tensors_hooks_inside_and_around(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    packed = []

    def pack(t: Any) -> Any:
        packed.append(1)
        return t

    def f(a: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            b = a.sin()
        return b.sin()

    checkpoint(f, x).sum().backward()
    assert len(packed) == 2  # once in the function, once in its recomputation
    found, x.grad = numbers(x.grad), None
    packed.clear()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = checkpoint(lambda a: a.sin().sin(), x)
    assert len(packed) == 1  # the argument
    y.sum().backward()
    np.testing.assert_array_equal(found, numbers(x.grad))


def test_a_function_that_has_nothing_to_save(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a + 1

    checkpoint(f, x).sum().backward()
    assert numbers(x.grad).item() == 1.0
    assert len(runs) == 1
