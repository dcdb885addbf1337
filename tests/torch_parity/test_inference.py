"""Inference tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest


def made(torch: Any, *values: float) -> Any:
    with torch.inference_mode():
        return torch.tensor(list(values or (1.0, 2.0)))


def leaf(torch: Any) -> Any:
    return torch.tensor([3.0, 4.0], requires_grad=True)


def test_results_are_inference_tensors_without_grad(torch: Any) -> None:
    x = leaf(torch)
    with torch.inference_mode():
        for y in (x * 2, x.exp(), x.sum(), x.clone(), x * x, torch.tensor([1.0])):
            assert y.is_inference()
            assert not y.requires_grad
            assert y.is_leaf
            assert y.grad_fn is None
    assert not x.is_inference()


def test_no_version_counter(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = made(torch)._version


@pytest.mark.parametrize(
    "use",
    [lambda x, i: x * i, lambda x, i: i * x, lambda x, i: x / i, lambda x, i: i**x],
    ids=["x*i", "i*x", "x/i", "i**x"],
)
def test_they_cannot_be_saved(torch: Any, use: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        use(leaf(torch), made(torch))


def test_an_index_is_saved_too(torch: Any) -> None:
    with torch.inference_mode():
        i = torch.tensor([1, 0])
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        leaf(torch)[i]


def test_what_saves_nothing_works(torch: Any, numbers: Any) -> None:
    x, i = leaf(torch), made(torch)
    y = (x + i) - i
    assert y.requires_grad
    y.sum().backward()
    assert numbers(x.grad).tolist() == [1.0, 1.0]
    with torch.no_grad():
        assert not (x * i).is_inference()
    assert not (i * 2).is_inference()
    assert not (i * i).requires_grad


def test_a_clone_made_outside_is_normal(torch: Any, numbers: Any) -> None:
    x, c = leaf(torch), made(torch).clone()
    assert not c.is_inference()
    assert isinstance(c._version, int)
    (x * c).sum().backward()
    assert numbers(x.grad).tolist() == [1.0, 2.0]
    assert c.requires_grad_().requires_grad
    assert not copy.deepcopy(made(torch)).is_inference()


def test_they_are_written_inside_only(torch: Any, numbers: Any) -> None:
    i = made(torch)
    for write in (lambda: i.add_(1.0), lambda: i.__setitem__(0, 5.0), lambda: i[:1].mul_(2.0)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            write()
        with torch.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
            write()
    i = made(torch)  # PyTorch raises after the write; ours is untouched
    with torch.inference_mode():
        i.add_(1.0)
        i[0] = 7.0
        assert i.is_inference()
    assert numbers(i).tolist() == [7.0, 3.0]


def test_views_of_them_are_inference_tensors(torch: Any) -> None:
    i = made(torch)
    for view in (i[:1], i[0], i.reshape(2, 1), i.detach(), i.data, i.reshape(2, 1)[0]):
        assert view.is_inference()
    with torch.inference_mode():
        assert i[:1].is_inference()


def test_views_of_normal_tensors_are_normal(torch: Any) -> None:
    x = leaf(torch)
    y = x * 1.0
    with torch.inference_mode():
        view = y[:1]
        assert not view.is_inference()
        assert not x.detach().is_inference()
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        view.add_(1.0)


def test_normal_tensors_may_be_written_inside_and_stay_normal(torch: Any, numbers: Any) -> None:
    n, x = torch.tensor([1.0, 2.0]), leaf(torch)
    with torch.inference_mode():
        n.add_(1.0)
        x.add_(1.0)  # a leaf that requires grad, as under no_grad
    assert not n.is_inference()
    assert n._version == 1
    assert numbers(n).tolist() == [2.0, 3.0]
    assert numbers(x).tolist() == [4.0, 5.0]
    assert x.requires_grad


def test_a_write_inside_is_noticed_by_backward(torch: Any) -> None:
    x = leaf(torch)
    w = torch.tensor([1.0, 2.0])
    y = (x * w).sum()
    with torch.inference_mode():
        w.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_requires_grad_is_refused_outside(torch: Any) -> None:
    i = made(torch)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        i.requires_grad_()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        i.requires_grad = True
    assert not i.requires_grad_(False).requires_grad
    with torch.inference_mode():
        assert torch.tensor([1.0], requires_grad=True).requires_grad


def test_backward_inside(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = (x * x).sum()
    with torch.inference_mode():
        y.backward()
    assert numbers(x.grad).tolist() == [6.0, 8.0]
    with torch.inference_mode(), pytest.raises(RuntimeError, match="does not require grad"):
        (x * x).sum().backward()


def test_they_look_like_any_tensor(torch: Any) -> None:
    i = made(torch)
    assert repr(i) == repr(torch.tensor([1.0, 2.0]))
    assert isinstance(i, torch.Tensor)
    assert type(i).__name__ == "Tensor"
