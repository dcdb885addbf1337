"""A leaf and its views: what requires grad when the leaf does, and which writes are refused then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda b, torch: b.add_(5),
    "iadd": lambda b, torch: b.__iadd__(5),
    "setitem": lambda b, torch: b.__setitem__(0, 5.0),
    "zero_": lambda b, torch: b.zero_(),
    "fill_": lambda b, torch: b.fill_(1.0),
    "copy_": lambda b, torch: b.copy_(torch.ones(2)),
    "uniform_": lambda b, torch: b.uniform_(),
    "a tensor that requires grad": lambda b, torch: b.add_(torch.ones(2, requires_grad=True)),
    "a view of it": lambda b, torch: b[:].mul_(2),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_into_an_earlier_view_of_a_leaf_is_refused(torch: Any, write: Any) -> None:
    a = torch.zeros(2)
    b = a[:]
    a.requires_grad = True
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        write(b, torch)
    assert a.tolist() == [0.0, 0.0]


def test_an_earlier_view_requires_grad_with_its_base(torch: Any) -> None:
    a = torch.zeros(2)
    b = a[:]
    c = b[:1]
    d = a.detach()
    a.requires_grad_()
    assert [t.requires_grad for t in (b, c, d)] == [True, True, False]
    assert b.is_leaf
    assert b.grad_fn is None
    assert (b * 2).requires_grad
    d.add_(1)
    a.requires_grad_(False)
    assert [t.requires_grad for t in (b, c)] == [False, False]
    b.add_(1)
    assert a.tolist() == [2.0, 2.0]


def test_an_earlier_view_takes_no_gradient_before_it_is_asked_to(torch: Any) -> None:
    a = torch.zeros(2)
    b = a[:]
    a.requires_grad_()
    seen: list[Any] = []
    b.register_hook(seen.append)
    (b * 3 + a * 2).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]
    assert b.grad is None
    assert seen == []
    assert (b * 3).grad_fn.next_functions[0] == (None, 0)
    with pytest.raises(RuntimeError):
        torch.autograd.grad((b * 3).sum(), b)
    b.requires_grad_()
    (b * 3).sum().backward()
    assert b.grad.tolist() == [3.0, 3.0]
    a.requires_grad_(False)
    assert b.requires_grad


def test_a_write_into_an_earlier_view_under_no_grad(torch: Any) -> None:
    a = torch.zeros(2)
    b = a[:]
    a.requires_grad = True
    with torch.no_grad():
        b.add_(5)
    assert a.tolist() == [5.0, 5.0]


def test_a_view_that_requires_grad_by_itself_leaves_its_base_free(torch: Any) -> None:
    a = torch.zeros(2)
    b, c = a[:], a[:]
    b.requires_grad_()
    a.add_(1)
    c.add_(1)
    assert [t.requires_grad for t in (a, b, c)] == [False, True, False]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        b.add_(1)


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_view_made_under_no_grad_requires_grad_with_its_base(torch: Any, mode: str, leaf: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x if leaf else x * 1
    with getattr(torch, mode)():
        views = [y[:], y[0], y.reshape(1, 2), y.view(2), *y.unbind(), y[:][:1]]
    assert [(v.requires_grad, v.is_leaf, v.is_inference()) for v in views] == [(True, True, False)] * len(views)
    assert not y.detach().requires_grad
    z = (views[0] * 2).sum()
    assert z.requires_grad
    z.backward()
    assert x.grad is None


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_copy_made_under_no_grad_requires_none(torch: Any, mode: str) -> None:
    x = torch.ones(2, requires_grad=True)
    with getattr(torch, mode)():
        made = [x * 1, x.clone(), x.detach(), x.detach()[:], (x * 1)[:]]
    assert not any(t.requires_grad for t in made)


def test_a_view_made_in_inference_mode_requires_grad_after_its_base_was_written(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    with torch.inference_mode():
        v = y[:]
    y.add_(1)
    assert v.requires_grad
    with pytest.raises(
        RuntimeError, match="A view was created in inference mode and its base or another view of its base"
    ):
        v.grad_fn


@pytest.mark.parametrize(
    ("mode", "outside"), [("no_grad", "with grad mode enabled"), ("inference_mode", "in normal mode")]
)
def test_a_view_made_under_no_grad_is_not_written_outside(torch: Any, mode: str, outside: str) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    with getattr(torch, mode)():
        v = y[:]
    with pytest.raises(
        RuntimeError, match=f"A view was created in {mode.replace('inference_mode', 'inference')}.*{outside}"
    ):
        v.add_(1)


def test_a_view_of_an_inference_tensor_is_an_inference_tensor_without_a_graph(torch: Any) -> None:
    with torch.inference_mode():
        plain = torch.ones(2)
        asked = torch.ones(2, requires_grad=True)
        inner = plain[:]
    for t in (plain, asked, inner):
        v = t[:]
        assert v.is_inference()
        assert v.is_leaf
        assert not v.requires_grad
        assert not v._is_view()
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            v.add_(1)
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
            v.requires_grad_()


def test_a_function_that_gives_a_view_of_its_input(torch: Any) -> None:
    class Part(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, several: bool) -> Any:
            return (x[:1], x[1:]) if several else x[:]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return torch.ones(2), None

    x = torch.ones(2, requires_grad=True)
    base = x * 1
    made = "Output 0 of Part is a view and is being modified inplace. This view was created inside a custom Function"
    with pytest.raises(RuntimeError, match=made):
        Part.apply(base, False).add_(1)
    with pytest.raises(RuntimeError, match=made):
        Part.apply(x, False).add_(1)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        Part.apply(base, False)[:1].add_(1)
    one_of_two = "Output 0 of Part is a view and is being modified inplace. This view is the output of a function that"
    with pytest.raises(RuntimeError, match=one_of_two):
        Part.apply(base, True)[0].add_(1)
    v = Part.apply(base, False)
    base.add_(1)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        (v * 2).sum().backward()
    with torch.no_grad():
        w = Part.apply(base, False)
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode"
    ):
        w.add_(1)
