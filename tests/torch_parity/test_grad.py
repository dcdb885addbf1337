"""grad: gradients as results, with nothing left behind."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


EYE = [[1.0, 0.0], [0.0, 1.0]]


def test_order_of_parameters(torch: Any) -> None:
    found = {k: p.default for k, p in inspect.signature(torch.autograd.grad).parameters.items()}
    assert [*found][:2] == ["outputs", "inputs"]
    assert [*found.items()][2:] == [
        ("grad_outputs", None), ("retain_graph", None), ("create_graph", False), ("only_inputs", True),
        ("allow_unused", None), ("is_grads_batched", False), ("materialize_grads", False),
    ]  # fmt: skip


def test_results(torch: Any, numbers: Any) -> None:
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    y = x * w
    found = torch.autograd.grad(y, [x, w, x, y], torch.tensor([10.0]))
    assert type(found) is tuple
    assert [numbers(g).tolist() for g in found] == [[30.0], [20.0], [30.0], [10.0]]
    assert x.grad is None
    assert not found[0].requires_grad
    assert [numbers(g).tolist() for g in torch.autograd.grad([x, x], [x], [x, x])] == [[4.0]]
    named = torch.autograd.grad(x.sum(), {"a": x, "b": w}, allow_unused=True)
    assert (numbers(named["a"]).tolist(), named["b"]) == ([1.0], None)


def test_create_graph_does_not_warn(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 3.0)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    assert [numbers(g).tolist() for g in (first, second, third)] == [[27.0], [18.0], [6.0]]


def test_errors(torch: Any) -> None:
    x, c = leaf(torch, 1.0), torch.tensor([1.0])
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(c, x)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(x * 2, c)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(x * 2, [])
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        torch.autograd.grad(x * 2, x, torch.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        torch.autograd.grad(x * 2, x, torch.tensor([1j]))
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.grad([x * 2, x * 2], x, [c])
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        torch.autograd.grad(x * 2, x, [3.0])
    with pytest.raises(TypeError, match="not iterable"):
        torch.autograd.grad(x * 2, 3.0)


def test_unused_inputs(torch: Any, numbers: Any) -> None:
    x, u = leaf(torch, 1.0), leaf(torch, 1.0, 2.0)
    for unset in ({}, {"allow_unused": False}):
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            torch.autograd.grad(x * 2, u, **unset)
    assert torch.autograd.grad(x * 2, u, allow_unused=True) == (None,)
    (zeros,) = torch.autograd.grad(x * 2, u, materialize_grads=True)
    assert numbers(zeros).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when"):
        torch.autograd.grad(x * 2, u, allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad([], x)


def test_only_inputs_is_deprecated(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 3.0)
    y = x * 2
    with pytest.warns((FutureWarning, DeprecationWarning), match="only_inputs argument is deprecated"):
        (g,) = torch.autograd.grad((y * y).sum(), y, only_inputs=False)
    assert numbers(g).tolist() == [12.0]
    assert (
        x.grad is None or torch.__name__ == "gradscribe"
    )  # PyTorch ignores it now, tests/tracer/autograd/test_older_api.py


def test_only_the_nodes_on_the_way_run(torch: Any) -> None:
    ran: list[str] = []
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    a, b = x * 2, w * 3
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    torch.autograd.grad((a * b).sum(), x)
    assert ran == ["a"]


def test_a_batch_of_gradients_is_the_loop(torch: Any, numbers: Any) -> None:
    x, u = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0, 3.0)
    rows = torch.tensor(EYE)
    y = x * x
    (g,) = torch.autograd.grad(y, x, rows, retain_graph=True, is_grads_batched=True)
    assert numbers(g).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    loop = [torch.autograd.grad(y, x, rows[k], retain_graph=True)[0].tolist() for k in range(2)]
    assert numbers(g).tolist() == loop
    g, nothing = torch.autograd.grad(y, (x, u), rows, None, False, True, True, True)
    assert nothing is None
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        torch.autograd.grad(y, x, rows, is_grads_batched=True)
    g, zeros = torch.autograd.grad(x * x, (x, u), rows, is_grads_batched=True, materialize_grads=True)
    assert numbers(zeros).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad(x * x, u, rows, is_grads_batched=True)


def test_a_batch_of_gradients_can_be_differentiated(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad(x**3, x, torch.tensor(EYE), create_graph=True, is_grads_batched=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    assert numbers(second).tolist() == [6.0, 12.0]


def test_batches_must_fit(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"a mismatch was detected: grad_output\[0\] has a shape of"):
        torch.autograd.grad(x * x, x, torch.tensor([[1.0, 2.0, 3.0]]), is_grads_batched=True)
    pair = (torch.tensor(EYE), torch.tensor([[1.0, 1.0]]))
    with pytest.raises(ValueError, match="to have the same size in the"):
        torch.autograd.grad((x * x, x * 2), x, pair, is_grads_batched=True)
    with pytest.raises(ValueError):
        torch.autograd.grad((x * x).sum(), x, is_grads_batched=True)


def test_no_warning_without_a_cause(torch: Any) -> None:
    x = leaf(torch, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.grad((x * x).sum(), x, create_graph=True)
