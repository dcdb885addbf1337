"""backward: what it asks for, where the gradients go, and what it frees."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_order_of_parameters(torch: Any) -> None:
    method, function = inspect.signature(torch.Tensor.backward), inspect.signature(torch.autograd.backward)
    ours = inspect.Parameter.KEYWORD_ONLY  # older names that PyTorch dropped
    found = [name for name, p in method.parameters.items() if p.kind is not ours]
    assert found == ["self", "gradient", "retain_graph", "create_graph", "inputs"]
    assert {k: p.default for k, p in function.parameters.items() if k != "tensors" and p.kind is not ours} == {
        "grad_tensors": None, "retain_graph": None, "create_graph": False, "grad_variables": None, "inputs": None,
    }  # fmt: skip
    assert next(iter(function.parameters)) == "tensors"


def test_without_a_graph(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        torch.tensor(1.0).backward()
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        torch.autograd.backward([leaf(torch, 1.0), torch.tensor(1.0)])


def test_an_implicit_gradient_needs_a_real_scalar(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (leaf(torch, 1.0, 2.0) * 2).backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.backward(leaf(torch, 1.0, 2.0) * 2, [None])
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        torch.tensor(1j, requires_grad=True).backward()


def test_gradients_must_fit(torch: Any) -> None:
    x = leaf(torch, 1.0)
    shape = r"Mismatch in shape: grad_output\[0\] has a shape of .* and output\[0\] has a shape of "
    with pytest.raises(RuntimeError, match=shape):
        (x * 2).backward(torch.tensor([1.0, 1.0]))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        (x * 2).backward(torch.tensor([1j]))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        torch.tensor([1j], requires_grad=True).backward(torch.tensor([1.0]))
    with pytest.raises(TypeError):
        (x * 2).backward(3.0)
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        torch.autograd.backward([x * 2], [3.0])
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([x * 2, x * 3], [torch.tensor([1.0])])
    with pytest.raises(TypeError, match="not iterable"):
        torch.autograd.backward(3.0)
    (x * 2).backward(torch.tensor([1]))
    assert x.grad.dtype == x.dtype


def test_grad_variables(torch: Any, numbers: Any) -> None:
    x, g = leaf(torch, 1.0), torch.tensor([5.0])
    with pytest.warns((FutureWarning, DeprecationWarning), match="grad_variables"):
        torch.autograd.backward(x * 2, grad_variables=g)
    assert numbers(x.grad).tolist() == [10.0]
    with (
        pytest.warns((FutureWarning, DeprecationWarning), match="grad_variables"),
        pytest.raises(RuntimeError, match="arguments both passed"),
    ):
        torch.autograd.backward(x * 2, g, grad_variables=g)


def test_a_second_time(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert numbers(x.grad).tolist() == [12.0]
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        torch.autograd.grad(y, x)
    z = (leaf(torch, 1.0) + 1).sum()
    z.backward()
    z.backward()  # nothing was saved


def test_only_what_ran_is_freed(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    v = y.sum()
    torch.autograd.grad(v, y)
    v.backward()
    assert numbers(x.grad).tolist() == [2.0, 4.0]


def test_create_graph_adds_out_of_place_and_warns(torch: Any, numbers: Any) -> None:
    every_time = getattr(torch, "set_warn_always", bool)  # PyTorch warns once in a process by itself
    every_time(True)
    x = leaf(torch, 3.0)
    y = (x * x).sum()
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
        y.backward(None, True, True)
    first = x.grad
    assert first.requires_grad
    with pytest.warns(UserWarning, match="create_graph=True"):
        y.backward(create_graph=True)
    every_time(False)
    assert x.grad is not first
    assert numbers(first).tolist() == [6.0]
    assert numbers(x.grad).tolist() == [12.0]
    (second,) = torch.autograd.grad(x.grad, x)
    assert numbers(second).tolist() == [4.0]
    x.grad = None


def test_inputs(torch: Any, numbers: Any) -> None:
    x, w, u = leaf(torch, 2.0), leaf(torch, 3.0), leaf(torch, 1.0)
    y = x * w
    y.sum().backward(inputs=[x, x], retain_graph=True)
    assert (numbers(x.grad).tolist(), w.grad) == ([3.0], None)
    first = x.grad
    y.sum().backward(inputs=x, retain_graph=True)
    assert x.grad is first
    assert numbers(first).tolist() == [6.0]
    y.sum().backward(inputs=(u,), retain_graph=True)
    assert u.grad is None  # unused, and no error
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(inputs=[])
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        y.backward(inputs=[torch.tensor([1.0])])
    y.sum().backward(inputs={"w": w})
    assert numbers(w.grad).tolist() == [2.0]


def test_inputs_that_are_no_leaves(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 2.0)
    y = x * x
    z = (y * 3).sum()
    z.backward(inputs=[y], retain_graph=True)
    assert x.grad is None
    assert y.retains_grad
    assert numbers(y.grad).tolist() == [3.0]
    z.backward(inputs=[y])
    assert numbers(y.grad).tolist() == [6.0]


def test_roots_add_up(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0)
    y, one = x * 2, torch.tensor([1.0])
    torch.autograd.backward([y, y, x], [one, one, one])
    assert numbers(x.grad).tolist() == [5.0]
    torch.autograd.backward([])


def test_no_two_leaves_share_a_gradient(torch: Any, numbers: Any) -> None:
    a, b, seed = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0), torch.tensor([1.0, 1.0])
    (a + b).backward(seed)
    c = leaf(torch, 1.0)
    one = torch.tensor([1.0])
    c.backward(one)
    a.grad.mul_(100)
    c.grad.mul_(100)
    assert numbers(b.grad).tolist() == [1.0, 1.0]
    assert numbers(seed).tolist() == [1.0, 1.0]
    assert numbers(one).tolist() == [1.0]
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    m.sum().backward()  # a broadcast gradient gets memory of its own
    m.grad[0, 0] = 9.0
    assert numbers(m.grad).tolist() == [[9.0, 1.0], [1.0, 1.0]]


def test_empty_shapes(torch: Any, numbers: Any) -> None:
    x = torch.tensor([[], []], requires_grad=True)
    w = torch.tensor([[1.0], [2.0]], requires_grad=True)
    (x * w).sum().backward()
    assert tuple(x.grad.shape) == (2, 0)
    assert numbers(w.grad).tolist() == [[0.0], [0.0]]


def test_undefined_gradients_travel_as_none(torch: Any) -> None:
    seen: list[Any] = []

    class Two(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append((g is None, h is None))
            return None

    x = leaf(torch, 1.0)
    Two.apply(x * 1)[0].sum().backward()
    assert seen == [(False, True)]
    assert x.grad is None


def test_reentrant(torch: Any, numbers: Any) -> None:
    modes: list[bool] = []

    class Inner(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            with torch.enable_grad():
                z = leaf(torch, 3.0)
                (z * z).sum().backward()
            modes.append(torch.is_grad_enabled())
            return g * z.grad

    x = leaf(torch, 1.0)
    Inner.apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [6.0]
    assert modes == [False, False]
    assert torch.is_grad_enabled()


def test_exceptions_come_out_unchanged(torch: Any) -> None:
    class Mine(Exception):
        pass

    def hook(g: Any) -> None:
        raise Mine("mine")

    y = leaf(torch, 1.0) * 2
    y.register_hook(hook)
    with pytest.raises(Mine, match="mine"):
        y.sum().backward()
    assert torch.is_grad_enabled()


def test_a_node_can_be_called(torch: Any, numbers: Any) -> None:
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    g = torch.tensor([10.0])
    d_x, d_w = (x * w).grad_fn(g)
    assert (numbers(d_x).tolist(), numbers(d_w).tolist()) == ([30.0], [20.0])
    assert d_x.requires_grad
    d_x, nothing = (x * torch.tensor([3.0])).grad_fn(g)
    assert nothing is None
    twice = (x * x).grad_fn
    assert [numbers(t).tolist() for t in twice(g)] == [[20.0], [20.0]]
    for wrong in ((), (g, g)):
        with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(wrong)} instead"):
            twice(*wrong)
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        twice(3.0)
    end = twice.next_functions[0][0]
    assert end(g) == ()
    assert numbers(x.grad).tolist() == [10.0]
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.grad_fn(g)


def test_deep_graphs_run_and_go_without_recursion(torch: Any, numbers: Any) -> None:
    gc.disable()
    try:
        x = leaf(torch, 1.0)
        y = x
        for _ in range(100_000):
            y = y + 1
        y.sum().backward()
        assert numbers(x.grad).tolist() == [1.0]
        gone = weakref.ref(y)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_runs_repeat_bit_for_bit(torch: Any) -> None:
    def run() -> Any:
        x = leaf(torch, 0.1, 0.7, 1e9)
        y = sum(((x * k).sin() / (x + k) for k in range(1, 20)), x * 0)
        (y * y).sum().backward()
        return x.grad.tolist()

    assert run() == run()


def test_multithreading_can_be_named(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0)
    with torch.autograd.set_multithreading_enabled(False) as nothing:
        (x * 2).sum().backward()
    assert nothing is None
    assert numbers(x.grad).tolist() == [2.0]
