"""Writes in place: what they change, which of them are refused, and the gradient behind them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
LEAF = "leaf Variable that requires grad is being used in an in-place operation"


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


# What a write gives -------------------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "**=": operator.ipow,
    "%=": operator.imod,
}  # fmt: skip
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda y, b: y.add_(b),
    "add_ alpha": lambda y, b: y.add_(b, alpha=3),
    "sub_": lambda y, b: y.sub_(b),
    "sub_ alpha": lambda y, b: y.sub_(b, alpha=2),
    "mul_": lambda y, b: y.mul_(b),
    "mul_ number": lambda y, b: y.mul_(3.0),
    "div_": lambda y, b: y.div_(b),
    "pow_": lambda y, b: y.pow_(b),
    "pow_ number": lambda y, b: y.pow_(3),
    "neg_": lambda y, b: y.neg_(),
    "abs_": lambda y, b: y.abs_(),
    "exp_": lambda y, b: y.exp_(),
    "log_": lambda y, b: y.log_(),
    "sqrt_": lambda y, b: y.sqrt_(),
    "square_": lambda y, b: y.square_(),
    "reciprocal_": lambda y, b: y.reciprocal_(),
    "sin_": lambda y, b: y.sin_(),
    "cos_": lambda y, b: y.cos_(),
    "tanh_": lambda y, b: y.tanh_(),
    "sigmoid_": lambda y, b: y.sigmoid_(),
    "floor_": lambda y, b: y.floor_(),
    "ceil_": lambda y, b: y.ceil_(),
    "round_": lambda y, b: y.round_(),
    "zero_": lambda y, b: y.zero_(),
    "fill_": lambda y, b: y.fill_(7.0),
    "copy_": lambda y, b: y.copy_(b),
    "clamp_": lambda y, b: y.clamp_(1.2, 2.5),
    "clamp_ min": lambda y, b: y.clamp_(min=1.2),
    "clamp_ max": lambda y, b: y.clamp_(max=2.5),
    "clamp_min_": lambda y, b: y.clamp_min_(1.2),
    "clamp_max_": lambda y, b: y.clamp_max_(2.5),
    "lerp_": lambda y, b: y.lerp_(b, 0.25),
    "addcmul_": lambda y, b: y.addcmul_(b, b, value=2),
    "addcdiv_": lambda y, b: y.addcdiv_(b, b + 1, value=2),
}
EXPECTED: dict[str, Callable[[Any, Any], Any]] = {
    "+=": lambda y, b: y + b, "-=": lambda y, b: y - b, "*=": lambda y, b: y * b, "/=": lambda y, b: y / b,
    "**=": lambda y, b: y**b, "%=": lambda y, b: y % b,
    "add_": lambda y, b: y + b, "add_ alpha": lambda y, b: y + 3 * b, "sub_": lambda y, b: y - b,
    "sub_ alpha": lambda y, b: y - 2 * b, "mul_": lambda y, b: y * b, "mul_ number": lambda y, b: y * 3,
    "div_": lambda y, b: y / b, "pow_": lambda y, b: y**b, "pow_ number": lambda y, b: y**3,
    "neg_": lambda y, b: -y, "abs_": lambda y, b: np.abs(y), "exp_": lambda y, b: np.exp(y),
    "log_": lambda y, b: np.log(y), "sqrt_": lambda y, b: np.sqrt(y), "square_": lambda y, b: y * y,
    "reciprocal_": lambda y, b: 1 / y, "sin_": lambda y, b: np.sin(y), "cos_": lambda y, b: np.cos(y),
    "tanh_": lambda y, b: np.tanh(y), "sigmoid_": lambda y, b: 1 / (1 + np.exp(-y)),
    "floor_": lambda y, b: np.floor(y), "ceil_": lambda y, b: np.ceil(y), "round_": lambda y, b: np.round(y),
    "zero_": lambda y, b: 0 * y, "fill_": lambda y, b: 0 * y + 7, "copy_": lambda y, b: b + 0 * y,
    "clamp_": lambda y, b: np.clip(y, 1.2, 2.5), "clamp_ min": lambda y, b: np.maximum(y, 1.2),
    "clamp_ max": lambda y, b: np.minimum(y, 2.5), "clamp_min_": lambda y, b: np.maximum(y, 1.2),
    "clamp_max_": lambda y, b: np.minimum(y, 2.5), "lerp_": lambda y, b: y + 0.25 * (b - y),
    "addcmul_": lambda y, b: y + 2 * b * b, "addcdiv_": lambda y, b: y + 2 * b / (b + 1),
}  # fmt: skip
A = np.array([[0.7, 1.9, 2.2], [3.1, 0.4, 1.6]])
B = np.array([1.3, 0.9, 2.6])
WEIGHTS = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])


def differences(f: Callable[[Any], Any], at: Any) -> Any:
    """Central differences of a function of one array."""
    found = np.zeros_like(at)
    for k in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[k] = 1e-6
        found[k] = (f(at + step) - f(at - step)) / 2e-6
    return found


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_write_gives_the_value_and_the_gradient(torch: Any, numbers: Any, name: str) -> None:
    write = {**OPERATORS, **METHODS}[name]
    a = torch.tensor(A.tolist(), requires_grad=True)
    b = torch.tensor(B.tolist(), requires_grad=name != "%=")
    y = a * 1.0
    found = write(y, b)
    assert found is y
    assert y._version == 1
    assert y.requires_grad
    assert not y.is_leaf
    np.testing.assert_allclose(numbers(y), EXPECTED[name](A, B), rtol=1e-12)
    (y * torch.tensor(WEIGHTS.tolist())).sum().backward()
    np.testing.assert_allclose(
        numbers(a.grad), differences(lambda x: np.sum(EXPECTED[name](x, B) * WEIGHTS), A), rtol=1e-6, atol=1e-8
    )
    expected = differences(lambda x: np.sum(EXPECTED[name](A, x) * WEIGHTS), B)
    if b.requires_grad and b.grad is not None:
        np.testing.assert_allclose(numbers(b.grad), expected, rtol=1e-6, atol=1e-8)
    elif b.requires_grad:
        assert not expected.any()


@pytest.mark.parametrize("name", ["*=", "exp_", "mul_", "tanh_", "div_", "pow_", "log_", "sigmoid_"])
def test_the_second_derivative_behind_a_write(torch: Any, numbers: Any, name: str) -> None:
    write, expected = {**OPERATORS, **METHODS}[name], EXPECTED[name]

    def first(x: Any, b: Any) -> Any:
        return differences(lambda x: np.sum(expected(x, b) * WEIGHTS), x)

    a = torch.tensor(A.tolist(), requires_grad=True)
    b = torch.tensor(B.tolist(), requires_grad=True)
    y = a * 1.0
    write(y, b)
    (g,) = torch.autograd.grad((y * torch.tensor(WEIGHTS.tolist())).sum(), a, create_graph=True)
    if not g.requires_grad:
        pytest.fail("the gradient has no graph")
    h, k = torch.autograd.grad((g * g).sum(), [a, b], allow_unused=True)
    for t, found in ((0, h), (1, k)):
        at = (A, B)[t]
        step = differences(
            lambda x, t=t: np.sum(first(*((x, B) if t == 0 else (A, x))) ** 2),  # type: ignore[misc]
            at,
        )
        np.testing.assert_allclose(np.zeros_like(at) if found is None else numbers(found), step, rtol=1e-3, atol=1e-2)


def test_a_write_without_a_graph_only_moves_the_version(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    x += 1
    x[0] = 5.0
    x.mul_(2)
    assert numbers(x).tolist() == [10.0, 6.0]
    assert x._version == 3
    assert x.is_leaf
    assert x.grad_fn is None


def test_a_write_that_brings_a_graph_makes_a_plain_tensor_part_of_it(torch: Any, numbers: Any) -> None:
    w = leaf(torch, 2.0, 3.0)
    x = torch.tensor([1.0, 2.0])
    x.mul_(w)
    assert x.requires_grad
    assert not x.is_leaf
    assert x.grad_fn.name() == "MulBackward0"
    x.sum().backward()
    assert numbers(w.grad).tolist() == [1.0, 2.0]


def test_the_names_of_nodes(torch: Any) -> None:
    def written(write: Callable[[Any], Any]) -> str:
        y = leaf(torch, 1.0, 2.0) * 1
        write(y)
        name: str = y.grad_fn.name()
        return name.rpartition(":")[2]

    assert written(lambda y: y.add_(1)) == "AddBackward0"
    assert written(lambda y: y.exp_()) == "ExpBackward0"
    assert written(lambda y: y.zero_()) == "ZeroBackward0"
    assert written(lambda y: y.copy_(y * 2)) == "CopyBackwards"
    assert written(lambda y: operator.setitem(y, 0, 1.0)) == "CopySlices"
    assert written(lambda y: y[0].mul_(2.0)) == "CopySlices"


def test_an_element_assigned_to_a_plain_tensor(torch: Any, numbers: Any) -> None:
    y = leaf(torch, 3.0)
    x = torch.tensor([1.0, 2.0, 4.0])
    x[0] = y[0] * 2
    assert x.requires_grad
    assert x.grad_fn is not None
    assert x._version == 1
    (x * x).sum().backward()
    assert numbers(y.grad).tolist() == [24.0]


def test_what_is_assigned_broadcasts_and_its_gradient_is_summed(torch: Any, numbers: Any) -> None:
    v, a = leaf(torch, 2.0), leaf(torch, 1.0, 1.0, 1.0)
    x = a * 1
    x[1:] = v
    (x * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert numbers(v.grad).tolist() == [110.0]
    assert numbers(a.grad).tolist() == [1.0, 0.0, 0.0]


def test_of_several_writes_to_an_element_the_last_counts(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    x = a * 1
    x[0] = a[1] * 3
    x[0] = x[0].clone() * a[0]
    x.sum().backward()
    assert numbers(a.grad).tolist() == [6.0, 4.0]


def test_masks_and_lists_as_index(torch: Any, numbers: Any) -> None:
    a, v = leaf(torch, 1.0, 2.0, 3.0), leaf(torch, 5.0, 7.0)
    x = a * 1
    x[torch.tensor([True, False, True])] = v
    assert numbers(x).tolist() == [5.0, 2.0, 7.0]
    x[[1]] = 9.0
    (x * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert numbers(a.grad).tolist() == [0.0, 0.0, 0.0]
    assert numbers(v.grad).tolist() == [1.0, 100.0]


def test_a_gradient_flows_from_a_scalar_that_was_written(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    s = (x * x).sum()
    s.mul_(3)
    s += x[0]
    assert s._version == 2
    s.backward()
    assert numbers(x.grad).tolist() == [7.0, 12.0]


def test_hooks_stay_on_the_version_they_were_put_on(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("before", numbers(g).tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", numbers(g).tolist())))
    (y * 2).sum().backward()
    assert seen == [("after", [2.0, 2.0]), ("before", [10.0, 10.0])]


def test_a_retained_gradient_is_that_of_the_last_version(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    assert y.retains_grad
    y.sum().backward()
    assert numbers(y.grad).tolist() == [1.0, 1.0]
    assert numbers(x.grad).tolist() == [6.0, 6.0]


# What is refused ----------------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any], Any]] = {
    "+=": lambda x: operator.iadd(x, 1.0),
    "x[i]": lambda x: operator.setitem(x, 0, 1.0),
    "add_": lambda x: x.add_(1),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(1.0),
    "copy_": lambda x: x.copy_(x),
    "exp_": lambda x: x.exp_(),
    "view": lambda x: x[0:1].mul_(2),
    "view of a view": lambda x: x.view(2, 1)[0].mul_(2),
}


@pytest.mark.parametrize("name", list(WRITES))
def test_a_leaf_that_requires_grad_is_not_written(torch: Any, numbers: Any, name: str) -> None:
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match=LEAF):
        WRITES[name](x)
    assert numbers(x).tolist() == [1.0, 2.0]
    assert x._version == 0
    with torch.no_grad():
        WRITES[name](x)
    assert x._version == 1
    assert x.is_leaf
    assert x.requires_grad


def test_a_view_of_a_leaf_is_refused_by_that_name(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        x[0].mul_(2)
    with pytest.raises(
        RuntimeError, match=r"^a leaf Variable that requires grad is being used in an in-place operation"
    ):
        x.mul_(2)


def test_a_result_that_does_not_fit_is_refused(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x += torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    whole = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        whole += 1.5
    assert whole.tolist() == [1, 2]


def test_a_broadcast_tensor_is_not_written(torch: Any) -> None:
    x = torch.tensor([1.0]).expand(3)
    with pytest.raises(
        (RuntimeError, ValueError), match="more than one element of the written-to tensor refers to a single"
    ):
        x.add_(1)


# What was saved -----------------------------------------------------------------------------------

SAVERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "an operand": (lambda x: x * x, lambda h, y: h.add_(1)),
    "an operand, through a view": (lambda x: x * x, lambda h, y: h[0:1].add_(1)),
    "an operand, by index": (lambda x: x * x, lambda h, y: operator.setitem(h, 0, 1.0)),
    "an operand, through detach": (lambda x: x * x, lambda h, y: h.detach().add_(1)),
    "a result": (lambda x: x.exp(), lambda h, y: y.add_(1)),
    "a result, through a view": (lambda x: x.exp(), lambda h, y: y.view(-1)[1:].mul_(2)),
    "a result, through detach": (lambda x: x.sigmoid(), lambda h, y: y.detach().zero_()),
}


@pytest.mark.parametrize("name", list(SAVERS))
@pytest.mark.parametrize("mode", ["grad", "no_grad"])
def test_a_saved_value_that_was_written_is_an_error(torch: Any, name: str, mode: str) -> None:
    op, write = SAVERS[name]
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    y = op(h)
    with torch.set_grad_enabled(mode == "grad") if hasattr(torch, "set_grad_enabled") else torch.no_grad():
        write(h, y)
    with pytest.raises(RuntimeError, match=f"(?s){MODIFIED}.*is at version 1; expected version 0 instead"):
        y.sum().backward()


def test_the_error_counts_from_when_it_was_saved(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    h.add_(1)
    h.add_(1)
    y = h * h
    h.add_(1)
    with pytest.raises(RuntimeError, match=r"(?s)output 0 of Add.*is at version 3; expected version 2 instead"):
        y.sum().backward()


def test_what_saves_no_values_minds_no_write(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    y = (h + 1)[0] + h.sum() - h.view(2, 1)[1, 0] + torch.tensor([5.0]) * h[0]
    h.add_(10)
    h.zero_()
    y.sum().backward()
    assert numbers(x.grad).tolist() == [7.0, 0.0]


def test_a_write_that_uses_its_own_tensor_as_operand_is_noticed(torch: Any) -> None:
    h = leaf(torch, 1.0, 2.0) * 1
    h.mul_(h)
    with pytest.raises(RuntimeError, match=MODIFIED):
        h.sum().backward()


def test_what_a_write_saves_of_its_result_is_guarded_too(torch: Any) -> None:
    h = leaf(torch, 1.0, 2.0) * 1
    h.exp_()
    y = h.sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_leaf_written_under_no_grad_is_noticed(torch: Any) -> None:
    w = leaf(torch, 1.0, 2.0)
    y = (w * w).sum()
    with torch.no_grad():
        w -= 0.1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_scalar_that_was_saved_and_then_written(torch: Any) -> None:
    s = leaf(torch, 1.0, 2.0).sum()
    y = s * s
    s.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_write_in_between_two_backwards(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    y = (h * h).sum()
    y.backward(retain_graph=True)
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert numbers(x.grad).tolist() == [2.0, 4.0]


def test_a_constant_operand_is_guarded_too(torch: Any) -> None:
    x, c = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
    y = x * c
    c.zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


# Versions, detach and data ------------------------------------------------------------------------


def test_views_and_detach_share_one_counter(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    row, flat, apart = x[1:], x.view(2, 2), x.detach()
    assert [t._version for t in (x, row, flat, apart)] == [0] * 4
    row.add_(1)
    assert [t._version for t in (x, row, flat, apart)] == [1] * 4
    apart.mul_(2)
    flat[0].zero_()
    assert [t._version for t in (x, row, flat, apart, x[0], x.detach())] == [3] * 6
    assert x.clone()._version == 0
    assert (x + 1)._version == 0


def test_the_counter_moves_in_every_mode(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        x += 1
    assert x._version == 1
    with torch.inference_mode():
        x += 1
    assert x._version == 2


def test_detach_shares_memory(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x.detach()
    assert not y.requires_grad
    assert y.is_leaf
    y.add_(10)
    assert numbers(x).tolist() == [11.0, 12.0]
    assert x.requires_grad
    s = (x * 1).sum()
    s.detach().add_(1)
    assert s.item() == 24.0


def test_data_shares_memory_and_not_the_counter(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    d = x.data
    assert not d.requires_grad
    d.add_(1)
    d[0] = 7.0
    assert numbers(x).tolist() == [7.0, 3.0]
    assert (x._version, d._version) == (0, 2)
    view = d[1:]
    view.mul_(2)
    assert (x._version, d._version, view._version) == (0, 3, 3)
    assert x.data._version == 0


def test_a_write_through_data_is_not_noticed(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0, 3.0)
    out = a.sigmoid()
    out.data.zero_()
    out.sum().backward()
    assert numbers(a.grad).tolist() == [0.0, 0.0, 0.0]
    a = leaf(torch, 1.0, 2.0, 3.0)
    out = a.sigmoid()
    out.detach().zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        out.sum().backward()


def test_data_can_be_replaced(torch: Any, numbers: Any) -> None:
    w = leaf(torch, 1.0, 2.0)
    held = w.detach()
    w.data = torch.tensor([5.0, 6.0])
    assert numbers(w).tolist() == [5.0, 6.0]
    assert numbers(held).tolist() == [1.0, 2.0]
    assert w.requires_grad
    assert w.is_leaf
    (w * w).sum().backward()
    assert numbers(w.grad).tolist() == [10.0, 12.0]
    w.data -= 0.5 * w.grad
    assert numbers(w).tolist() == [0.0, 0.0]
    w.data = torch.tensor([1.0, 2.0, 3.0])
    w.grad = None
    w.sum().backward()
    assert numbers(w.grad).tolist() == [1.0, 1.0, 1.0]


def test_detach_in_place(torch: Any) -> None:
    y = leaf(torch, 1.0, 2.0) * 2
    view = y[:1]
    assert y.detach_() is y
    assert not y.requires_grad
    assert y.is_leaf
    assert view.requires_grad
    assert view.grad_fn is not None
    with pytest.raises(RuntimeError, match="view"):
        view.detach_()


def test_gradients_are_zeroed_and_accumulated_in_place(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    (x * x).sum().backward()
    g = x.grad
    before = g._version
    (x * x).sum().backward()
    assert x.grad is g
    assert g._version == before + 1
    assert numbers(g).tolist() == [4.0, 8.0]
    x.grad.zero_()
    assert numbers(x.grad).tolist() == [0.0, 0.0]


def test_a_training_loop(torch: Any, numbers: Any) -> None:
    w = leaf(torch, 5.0, -3.0)
    for _ in range(50):
        loss = ((w - torch.tensor([1.0, 2.0])) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.2 * w.grad
        w.grad.zero_()
    np.testing.assert_allclose(numbers(w), [1.0, 2.0], rtol=1e-9)
    assert w._version == 50
