"""`x.data = v`: other memory for a Tensor, which what has saved that Tensor reads, and a version counter that goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# What is computed of x, and its gradient at [5, 6] for a cotangent of ones.
FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "x * x": (lambda x, torch: x * x, [10.0, 12.0]),
    "x ** 2": (lambda x, torch: x**2, [10.0, 12.0]),
    "x ** 3": (lambda x, torch: x.pow(3), [75.0, 108.0]),
    "x * x * x": (lambda x, torch: x * x * x, [51.0, 76.0]),  # x * x, [1, 4], is saved, too
    "exp": (lambda x, torch: x.exp(), [2.718281828459045, 7.38905609893065]),  # the result is saved, and stays
    "2 * x": (lambda x, torch: 2 * x, [2.0, 2.0]),
    "x @ x": (lambda x, torch: x @ x, [10.0, 12.0]),
    "log": (lambda x, torch: x.log(), [0.2, 1 / 6]),
}


@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "computed"])
@pytest.mark.parametrize(("function", "gradient"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_saved_a_tensor_reads_its_new_data(torch: Any, function: Any, gradient: list[float], leaf: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x if leaf else x * 1
    y = function(z, torch).sum()
    z.data = torch.tensor([5.0, 6.0])
    y.backward()
    assert x.grad.tolist() == pytest.approx(gradient)


def test_also_after_the_tensor_is_gone(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    y = (z * z).sum()
    z.data = torch.tensor([5.0, 6.0])
    del z
    y.backward()
    assert x.grad.tolist() == [10.0, 12.0]


def test_twice(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.data = x.data + 4
    y.backward(retain_graph=True)
    x.data = torch.tensor([7.0, 8.0])
    y.backward()
    assert x.grad.tolist() == [10.0 + 14.0, 12.0 + 16.0]


def test_constants_too(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = (x * w).sum() + (m @ x).sum()
    w.data = torch.tensor([5.0, 6.0])
    m.data = m * 10
    y.backward()
    assert x.grad.tolist() == [5.0 + 40.0, 6.0 + 60.0]


def test_what_a_constant_was_detached_to_stays(torch: Any) -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    d = w.detach()
    y = (x * d).sum()
    w.data = torch.tensor([5.0, 6.0])
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_number(torch: Any) -> None:
    x = torch.tensor(1.0, requires_grad=True)
    y = x * x
    x.data = torch.tensor(5.0)
    y.backward()
    assert x.grad.item() == 10.0
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    z = w.sum()
    y = z * z
    z.data = torch.tensor(5.0)
    y.backward()
    assert w.grad.tolist() == [10.0, 10.0]


def test_of_two_derivatives(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    x.data = torch.tensor([5.0, 6.0])
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [75.0, 108.0]
    assert h.tolist() == [30.0, 36.0]


@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "computed"])
def test_a_function_of_the_users(torch: Any, leaf: bool) -> None:
    class Square(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x if leaf else x * 1
    y = Square.apply(z).sum()
    z.data = torch.tensor([5.0, 6.0])
    y.backward()
    assert x.grad.tolist() == [10.0, 12.0]


@pytest.mark.parametrize("pack", ["as it is", "a copy"])
def test_what_a_hook_packed(torch: Any, pack: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t if pack == "as it is" else t.clone(), lambda t: t):
        y = (x * x).sum()
    x.data = torch.tensor([5.0, 6.0])
    y.backward()
    assert x.grad.tolist() == ([10.0, 12.0] if pack == "as it is" else [2.0, 4.0])


def test_what_a_node_shows_of_it(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y, z = x * w, x * x
    x.data, w.data = torch.tensor([5.0, 6.0]), torch.tensor([7.0, 8.0])
    assert y.grad_fn._saved_other.tolist() == [7.0, 8.0]
    assert z.grad_fn._saved_self.tolist() == [5.0, 6.0]


def test_views_and_detached_tensors_stay_on_the_old_memory(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v, d = (x * 1)[:], x.detach()
    y = (v * v).sum() + (x * d).sum()
    x.data = torch.tensor([5.0, 6.0])
    assert d.tolist() == [1.0, 2.0]
    y.backward()
    assert x.grad.tolist() == [2.0 + 1.0, 4.0 + 2.0]


def test_the_version_goes_on_and_is_not_that_of_the_new_data(torch: Any) -> None:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 6.0])
    x.add_(1)
    w.add_(1)
    w.add_(1)
    x.data = w
    assert (x._version, w._version) == (1, 2)
    x.add_(1)
    assert (x._version, w._version) == (2, 2)
    w.add_(1)
    assert (x._version, w._version) == (2, 3)
    assert x.tolist() == w.tolist() == [9.0, 10.0]


@pytest.mark.parametrize("make", [lambda x: x[:], lambda x: x.detach()], ids=["view", "detach"])
def test_the_version_stays_shared_with_those_on_the_old_memory(torch: Any, make: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    v = make(x)
    x.add_(1)
    x.data = torch.tensor([5.0, 6.0])
    x.add_(1)
    assert (x._version, v._version) == (2, 2)
    v.add_(1)
    assert (x._version, v._version) == (3, 3)
    assert x[:]._version == v[:]._version == 3
    assert (x.tolist(), v.tolist()) == ([6.0, 7.0], [3.0, 4.0])


def test_a_write_after_it_is_noticed(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.data = torch.tensor([5.0, 6.0])
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("through", ["data", "source"])
def test_what_is_written_behind_it_is_read(torch: Any, through: str) -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([5.0, 6.0])
    y = (x * x).sum()
    x.data = w
    (x.data if through == "data" else w).add_(1)
    y.backward()
    assert x.grad.tolist() == [12.0, 14.0]


def test_data_of_another_shape_is_refused_in_backward(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.data = torch.tensor([5.0, 6.0, 7.0])
    with pytest.raises(RuntimeError):
        y.backward()
