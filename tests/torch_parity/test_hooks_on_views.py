"""Hooks and retained gradients of Tensors that are then written in place: through themselves, a view, or their base."""

from __future__ import annotations

from typing import Any

import pytest


def start(torch: Any) -> tuple[Any, Any]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, x * 1


def double(t: Any) -> None:
    t.mul_(2)


def replace_first(t: Any) -> None:
    t[0] = 7.0


def copy_into(t: Any) -> None:
    t.copy_(t.detach() * 2)


@pytest.mark.parametrize("write", [double, replace_first, copy_into])
def test_a_view_retains_the_gradient_of_what_it_is_after_the_write(torch: Any, write: Any) -> None:
    _, b = start(torch)
    v = b[:]
    v.retain_grad()
    write(v)
    assert v.retains_grad
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("write", [double, replace_first])
def test_a_tensor_that_is_no_view_retains_the_gradient_after_the_write(torch: Any, write: Any) -> None:
    _, b = start(torch)
    b.retain_grad()
    write(b)
    (b * 3).sum().backward()
    assert b.grad.tolist() == [3.0, 3.0]


def test_of_several_writes_the_last_counts(torch: Any) -> None:
    x, b = start(torch)
    v = b[:]
    v.retain_grad()
    v.mul_(2)
    v.retain_grad()
    v.mul_(3)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [18.0, 18.0]


def test_what_read_the_view_before_the_write_adds_nothing_to_what_it_retains(torch: Any) -> None:
    x, b = start(torch)
    v = b[:]
    v.retain_grad()
    early = (v * 5).sum()
    v.mul_(2)
    ((v * 3).sum() + early).backward()
    assert v.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [11.0, 11.0]


def test_a_view_that_is_not_read_after_the_write_retains_nothing(torch: Any) -> None:
    x, b = start(torch)
    v, w = b[:1], b[:]
    v.retain_grad()
    w.retain_grad()
    v.mul_(2)
    (w * 3).sum().backward()
    assert v.grad is None
    assert w.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [6.0, 3.0]


@pytest.mark.parametrize("inner", [True, False])
def test_views_of_views_retain_what_is_read(torch: Any, inner: bool) -> None:
    _, b = start(torch)
    v = b[:]
    w = v[:1]
    w.retain_grad()
    v.retain_grad()
    written, read = (w, v) if inner else (v, w)
    written.mul_(2)
    (read * 3).sum().backward()
    assert written.grad is None
    assert read.grad.tolist() == ([3.0, 3.0] if inner else [3.0])


def test_of_a_base_without_a_graph(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.zeros(2)
    v = b[:]
    v.add_(x)
    v.retain_grad()
    b.retain_grad()
    v.mul_(2)
    (b * 3).sum().backward()
    assert v.grad is None
    assert b.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_of_a_view_set_before_the_write_are_not_called(torch: Any) -> None:
    x, b = start(torch)
    v = b[:]
    seen: list[Any] = []
    v.register_hook(lambda g: seen.append(("before", g.tolist())))
    v.register_hook(lambda g: g * 100)
    v.mul_(2)
    v.register_hook(lambda g: seen.append(("after", g.tolist())))
    (v * 3).sum().backward()
    assert seen == [("after", [3.0, 3.0])]
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_of_a_view_are_called_for_what_read_it_before_the_write(torch: Any) -> None:
    _, b = start(torch)
    v = b[:]
    seen: list[Any] = []
    v.register_hook(lambda g: seen.append(g.tolist()))
    early = (v * 5).sum()
    v.mul_(2)
    ((v * 3).sum() + early).backward()
    assert seen == [[5.0, 5.0]]


@pytest.mark.parametrize("through_view", [True, False])
def test_hooks_of_a_tensor_that_is_no_view_see_the_gradient_of_the_old_value(torch: Any, through_view: bool) -> None:
    x, b = start(torch)
    seen: list[Any] = []
    b.register_hook(lambda g: seen.append(g.tolist()))
    b.register_hook(lambda g: g * 10)
    (b[:] if through_view else b).mul_(2)
    (b * 3).sum().backward()
    assert seen == [[6.0, 6.0]]
    assert x.grad.tolist() == [60.0, 60.0]


def test_a_write_under_no_grad_leaves_hooks_where_they_are(torch: Any) -> None:
    x, b = start(torch)
    v = b[:]
    v.retain_grad()
    with torch.no_grad():
        v.mul_(2)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_transposed_view(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    v = (x * 1).T
    v.retain_grad()
    v[0] *= 2
    (v * 3).sum().backward()
    assert v.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert x.grad.tolist() == [[6.0, 3.0], [6.0, 3.0]]


def test_autograd_grad_fills_what_a_view_retains(torch: Any) -> None:
    x, b = start(torch)
    v = b[:]
    v.retain_grad()
    v.mul_(2)
    (g,) = torch.autograd.grad((v * 3).sum(), x)
    assert v.grad.tolist() == [3.0, 3.0]
    assert g.tolist() == [6.0, 6.0]


def test_a_function_that_writes_into_a_view(torch: Any) -> None:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            ctx.mark_dirty(v)
            return v.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x, b = start(torch)
    v = b[:]
    seen: list[Any] = []
    v.retain_grad()
    v.register_hook(lambda g: seen.append(g.tolist()))
    Double.apply(v)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0]
    assert seen == []
    assert x.grad.tolist() == [6.0, 6.0]
