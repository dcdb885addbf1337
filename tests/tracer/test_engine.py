"""The eager engine: backward, gs.autograd, the graph, and what it keeps in memory."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import leaf

# backward -----------------------------------------------------------------------------------------


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
    for given in (gs.tensor([1.0, 10.0]), np.array([1.0, 10.0])):
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


# gs.autograd --------------------------------------------------------------------------------------


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
    (only,) = gs.autograd.grad(
        outputs=(x * x, x), inputs=x, grad_outputs=(gs.tensor([1.0, 1.0]), gs.tensor([1.0, 0.0]))
    )
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


# The graph ----------------------------------------------------------------------------------------


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
    with gs.no_grad():
        assert (gs.tensor([1.0, 2.0]).sum() * [1.0, 2.0]).tolist() == [3.0, 6.0]
    lists = gs.compile(
        gs.grad(lambda v: np.dot([v[0], v[1]], [1.0, 2.0]) * np.sum(v * [1.0, 2.0])), verify="first calls"
    )
    np.testing.assert_array_equal(lists(np.array([1.0, 2.0])), [10.0, 20.0])


def _views_and_sums(x: Any) -> Any:
    y = x[1:] * x[:-1] + x[0] + x[[0, 2, 0]].sum()
    return np.sum(y**2) + np.sum(0.5 * np.square(x[::2])) - np.max(x)


def _several_results(x: Any) -> Any:
    m = np.outer(x, x) + np.eye(len(x)) * (1.0 + x[0])
    sign, logdet = np.linalg.slogdet(m)
    first, second = np.split(np.concatenate([x, x * 2.0, m[0]]), [4])
    return logdet * sign + np.sum(first) * np.sum(second * second)


def _broadcast_and_repeated(x: Any) -> Any:
    table = x[:, None] * np.ones((3, len(x), 2)) + np.stack([x, x, x]).reshape(3, -1, 1)
    return np.sum(table * table) + np.sum(np.where(x > 0.5, x, x * x) @ np.diag(x)) + x @ x + float(2) * x[1]


def _many_edges(x: Any) -> Any:
    return np.sum(np.stack([x, x, 2.0 * x, x, x * x, x])) + np.sum(np.rint(x) * x)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("f", [_views_and_sums, _several_results, _broadcast_and_repeated, _many_edges])
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_plain_run_gives_the_bits_of_the_watched_one(f: Any, create_graph: bool) -> None:
    values = np.array([0.3, 1.7, -0.4, 0.9])

    def gradient() -> Any:
        x = gs.tensor(values, requires_grad=True)
        (g,) = gs.autograd.grad(f(x), x, create_graph=create_graph)
        if not create_graph:
            return (np.asarray(g),)
        (h,) = gs.autograd.grad(np.sum(g * values), x)
        return np.asarray(g.detach()), np.asarray(h)

    plain = gradient()
    with gs.autograd.detect_anomaly():
        watched = gradient()
    assert all(np.array_equal(a, b) and a.strides == b.strides for a, b in zip(plain, watched, strict=True))


def test_a_run_from_plain_nodes_comes_to_hooks_and_to_what_lies_between() -> None:
    x = gs.tensor([1.0, 2.0], requires_grad=True)
    h = np.exp(x)
    h.register_hook(lambda g: 2.0 * g)
    y = np.sum(h[1:] * h[:-1]) + np.sum(x)
    of_h, of_x = gs.autograd.grad(y, [h, x], retain_graph=True)
    e = np.exp([1.0, 2.0])
    assert np.allclose(np.asarray(of_h), e[::-1])
    assert np.allclose(np.asarray(of_x), 2.0 * e[::-1] * e + 1.0)
    y.backward()
    assert np.allclose(np.asarray(x.grad), 2.0 * e[::-1] * e + 1.0)


def test_an_inner_gradient_ends_at_its_own_argument() -> None:
    def inner(x: Any, y: Any) -> Any:
        return gs.grad(lambda v: np.sum(v * v * y) + np.sum(x * v))(x)  # which reads the outer x, too

    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert np.allclose(inner(x, y), 2.0 * x * y + x)
    both = gs.grad(lambda x, y: np.sum(inner(x, y) ** 2), argnums=(0, 1))(x, y)
    assert np.allclose(both[0], 2.0 * (2.0 * x * y + x) * (2.0 * y + 1.0))
    assert np.allclose(both[1], 2.0 * (2.0 * x * y + x) * 2.0 * x)
