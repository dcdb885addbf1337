"""Graph and leaves: what requires a gradient, who made it, and where the gradient lies."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_requires_grad_travels_with_floats_only(torch: Any) -> None:
    x, c = leaf(torch, 1.0, 2.0), torch.tensor([1.0, 2.0])
    assert (x * c).requires_grad
    assert (c * x).requires_grad
    assert not (c * c).requires_grad
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad
    assert x.argmax().is_leaf


def test_only_floats_and_complex_numbers_may_require_grad(torch: Any) -> None:
    assert torch.tensor([1j], requires_grad=True).requires_grad
    whole = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="floating point"):
        whole.requires_grad_()
    with pytest.raises(RuntimeError, match="floating point"):
        whole.requires_grad = True
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([True]).requires_grad_()
    assert whole.requires_grad_(False) is whole


def test_requires_grad_takes_a_bool(torch: Any) -> None:
    x = torch.tensor([1.0])
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    with pytest.raises(TypeError, match="must be bool"):
        x.requires_grad_("yes")
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = "yes"


def test_requires_grad_of_a_result_stays(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False


def test_leaves(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    assert (x.is_leaf, x.grad_fn) == (True, None)
    assert not y.is_leaf
    assert torch.tensor([1.0]).is_leaf
    assert (torch.tensor([1.0]) * 2).is_leaf
    with torch.no_grad():
        z = x * 2
    assert (z.is_leaf, z.requires_grad, z.grad_fn, z.grad) == (True, False, None, None)
    d = y.detach()
    assert (d.is_leaf, d.requires_grad, d.grad_fn) == (True, False, None)
    for name in ("is_leaf", "grad_fn"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_nodes_and_their_edges(torch: Any) -> None:
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    y = x * torch.tensor([3.0])
    node = y.grad_fn
    assert node.name() == "MulBackward0"
    assert node is y.grad_fn
    (end, at), constant = node.next_functions
    assert (type(end).__name__, at, constant) == ("AccumulateGrad", 0, (None, 0))
    assert end.variable is x
    assert node.next_functions[0][0] is end
    assert (x * w).grad_fn.next_functions[0][0] is end
    z = y + w
    assert z.grad_fn.next_functions[0] == (node, 0)
    assert "AccumulateGrad" in end.name()
    assert end.next_functions == ()


def test_gradients_add_up_and_may_be_set_and_cleared(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    assert x.grad is None
    x.sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad is first
    assert numbers(first).tolist() == [4.0, 4.0]
    x.grad.zero_()
    assert x.grad is first
    x.sum().backward()
    assert numbers(first).tolist() == [1.0, 1.0]
    x.grad = None
    assert x.grad is None
    x.grad = torch.tensor([5.0, 6.0])
    x.sum().backward()
    assert numbers(x.grad).tolist() == [6.0, 7.0]
    del x.grad
    assert x.grad is None
    del x.grad


def test_what_grad_may_be_set_to(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    for wrong in (0, [1.0, 2.0], "g"):
        with pytest.raises(TypeError, match="expected to be a Tensor or None"):
            x.grad = wrong
    for wrong in ([1.0], [[1.0], [2.0]], [1, 2], [1j, 2j]):
        with pytest.raises(RuntimeError):
            x.grad = torch.tensor(wrong)
    for own in (x, x * 2):
        with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
            own.grad = own
    assert x.grad is None


def test_constants_and_results_hold_a_grad_that_is_set(torch: Any, numbers: Any) -> None:
    for t in (torch.tensor([1.0]), leaf(torch, 1.0) * 2):
        given = torch.tensor([7.0])
        t.grad = given
        assert t.grad is given


def test_grad_outlives_requires_grad(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0)
    x.sum().backward()
    kept = x.grad
    x.requires_grad_(False)
    assert x.grad is kept
    x.requires_grad_()
    assert x.grad is kept
    x.sum().backward()
    assert numbers(x.grad).tolist() == [2.0]
    c = torch.tensor([1.0])
    c.grad = torch.tensor([4.0])
    c.requires_grad_().sum().backward()
    assert numbers(c.grad).tolist() == [5.0]


def test_reading_grad_of_a_result_warns(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    with pytest.warns(UserWarning, match="attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            _ = y.grad
    assert len(seen) == 1
    y.retain_grad()
    assert y.grad is None


def test_retain_grad(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    x.retain_grad()
    assert not x.retains_grad
    (y * 3).sum().backward()
    assert numbers(y.grad).tolist() == [3.0, 3.0]
    y.grad.mul_(100)
    assert numbers(x.grad).tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.tensor([1.0]).retain_grad()


def test_numpy(torch: Any) -> None:
    x = leaf(torch, 1.0)
    for t in (x, x * 2):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach"):
            t.numpy()
    assert x.detach().numpy().tolist() == [1.0]


def test_text(torch: Any) -> None:
    class Func(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(torch, 1.0)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x.clone()) == "tensor([1.], grad_fn=<CloneBackward0>)"
    assert repr(Func.apply(x)) == "tensor([2.], grad_fn=<FuncBackward>)"
    assert repr(x.detach()) == "tensor([1.])"


def test_copies_of_leaves(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    x.sum().backward()
    deep = copy.deepcopy([x, x])[0]
    assert deep.is_leaf
    assert deep.requires_grad
    assert deep.grad is not x.grad
    deep.grad.zero_()
    assert numbers(x.grad).tolist() == [1.0, 1.0]
    back = pickle.loads(pickle.dumps(x))
    assert (back.is_leaf, back.requires_grad, back.grad) == (True, True, None)
    assert not copy.deepcopy(torch.tensor([1.0])).requires_grad
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        copy.deepcopy(x * 2)
