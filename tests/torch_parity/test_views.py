"""Views: a write into one moves the graph of its base, and through it that of every other view."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

NO_GRAD_VIEW = "A view was created in no_grad mode and is being modified inplace"


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "x[1]": lambda x: x[1],
    "x[1:]": lambda x: x[1:],
    "x[:, 1]": lambda x: x[:, 1],
    "x[..., ::2]": lambda x: x[..., ::2],
    "x[None]": lambda x: x[None],
    "view": lambda x: x.view(-1),
    "view(6, 2)": lambda x: x.view(6, 2),
    "reshape": lambda x: x.reshape(2, 6),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(),
    "diagonal": lambda x: x.T[1:, :].T,
    "element": lambda x: x[1, 2],
    "slice of transpose of reshape": lambda x: x.reshape(2, 6).t()[1:4],
    "chain": lambda x: x[1:].T[2:].reshape(2, 2)[:, 1] if False else x[1:].T[2:][:, 1],
}


@pytest.mark.parametrize("name", list(VIEWS))
def test_a_write_through_a_view(torch: Any, numbers: Any, name: str) -> None:
    """Y = 2 a, its view times three: the gradient is 6 w where the view looks, 2 w elsewhere."""
    values = np.arange(12.0).reshape(3, 4) + 1
    weights = np.linspace(-1, 2, 12).reshape(3, 4)
    seen = np.zeros((3, 4))
    with torch.no_grad():
        marked = torch.tensor(seen.tolist())
        VIEWS[name](marked).add_(1)
        seen = numbers(marked)
    a = torch.tensor(values.tolist(), requires_grad=True)
    y = a * 2
    view = VIEWS[name](y)
    view.mul_(3)
    assert y.grad_fn.name().endswith("CopySlices")
    assert view.requires_grad
    np.testing.assert_array_equal(numbers(y), np.where(seen, 6, 2) * values)
    (y * torch.tensor(weights.tolist())).sum().backward(retain_graph=True)
    np.testing.assert_array_equal(numbers(a.grad), np.where(seen, 6, 2) * weights)
    a.grad = None
    (view * view).sum().backward()
    np.testing.assert_array_equal(numbers(a.grad), np.where(seen, 72 * values, 0))


@pytest.mark.parametrize("name", list(VIEWS))
def test_a_view_follows_a_write_into_its_base(torch: Any, numbers: Any, name: str) -> None:
    values = np.arange(12.0).reshape(3, 4) + 1
    a = torch.tensor(values.tolist(), requires_grad=True)
    y = a * 2
    view = VIEWS[name](y)
    y.mul_(a)
    (view * 5).sum().backward()
    b = torch.tensor(values.tolist(), requires_grad=True)
    (VIEWS[name](b * 2 * b) * 5).sum().backward()
    np.testing.assert_array_equal(numbers(a.grad), numbers(b.grad))
    assert a.grad.tolist() != np.zeros((3, 4)).tolist()


def test_overlapping_views(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = a * 1
    left, right = y[:3], y[1:]
    left.mul_(10)
    right.mul_(2)
    left.add_(right.clone())
    assert numbers(y).tolist() == [10.0 + 40.0, 40.0 + 60.0, 60.0 + 8.0, 8.0]
    (left.sum() + 100 * right.sum()).backward()
    # y0 = 10 a0 + 20 a1, y1 = 20 a1 + 20 a2, y2 = 20 a2 + 2 a3, y3 = 2 a3; weights 1, 101, 101, 100
    assert numbers(a.grad).tolist() == [10.0, 20.0 + 2020.0, 2020.0 + 2020.0, 202.0 + 200.0]


def test_a_plain_base_becomes_part_of_the_graph(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    w = leaf(torch, 5.0)
    other = x[1:]
    x[:2].mul_(w)
    assert x.requires_grad
    assert other.requires_grad
    (other * torch.tensor([10.0, 100.0])).sum().backward()
    assert numbers(w.grad).tolist() == [20.0]


def test_a_base_and_views_without_a_graph_stay_without(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    view = x[1:]
    view.add_(1)
    assert not x.requires_grad
    assert not view.requires_grad
    assert x.tolist() == [1.0, 3.0, 4.0]


def test_base_and_is_view(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    view = x[1:]
    assert view._is_view()
    assert view._base is x
    assert view[0]._base is x
    assert not x._is_view()
    assert x._base is None
    assert not (x * 2)._is_view()
    assert not x.clone()._is_view()


def test_views_made_under_no_grad(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    y = a * 1
    with torch.no_grad():
        view = y[0:1]
    with pytest.raises(RuntimeError, match=NO_GRAD_VIEW):
        view.mul_(2)
    with pytest.raises(RuntimeError, match="created in no_grad mode and is being modified inplace"):
        view[0] = a[1]
    assert numbers(y).tolist() == [1.0, 2.0]
    with torch.no_grad():
        view.mul_(2)
    assert numbers(y).tolist() == [2.0, 2.0]
    y.sum().backward()  # what happened under no_grad is no part of the graph
    assert numbers(a.grad).tolist() == [1.0, 1.0]


def test_a_view_made_under_no_grad_whose_base_was_written(torch: Any) -> None:
    y = leaf(torch, 1.0, 2.0) * 1
    with torch.no_grad():
        view = y[0:1]
    y.mul_(3)
    with pytest.raises(
        RuntimeError, match=r"(?s)A view was created in no_grad mode and its base or another view of its base"
    ):
        _ = (view * 2).grad_fn or view.grad_fn


def test_a_view_of_a_plain_tensor_made_under_no_grad(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        view = x[:1]
    view.add_(1)
    assert x.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=NO_GRAD_VIEW):
        view.mul_(leaf(torch, 3.0))


def test_one_of_several_views_is_not_written(torch: Any, numbers: Any) -> None:
    y = leaf(torch, 1.0, 2.0, 3.0, 4.0) * 1
    first, second = y.split(2)
    with pytest.raises(RuntimeError, match=r"Output 0 of Split\w* is a view and is being modified inplace"):
        first.mul_(2)
    with pytest.raises(RuntimeError, match=r"Output 1 of Split\w* is a view and is being modified inplace"):
        second.mul_(2)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        second[0].mul_(2)
    assert numbers(y).tolist() == [1.0, 2.0, 3.0, 4.0]
    with torch.no_grad():
        first.mul_(2)
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    x.split(2)[0].add_(1)
    assert x.tolist() == [2.0, 3.0, 3.0, 4.0]


def test_one_of_several_views_follows_its_base(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = a * 1
    first, second = y.split(2)
    y.mul_(5)
    assert first.tolist() == [5.0, 10.0]
    assert second.tolist() == [15.0, 20.0]


def test_a_view_keeps_its_base(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    base, view = weakref.ref(x), x[:1]
    del x
    assert base() is not None
    del view
    gc.collect()
    assert base() is None


def test_views_of_a_retained_tensor(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    y = a * 2
    view = y[0]
    view.retain_grad()
    y.mul_(3)
    (y.sum() + view).backward()
    assert view.grad.item() == 1.0
    assert numbers(a.grad).tolist() == [12.0, 6.0]


def test_a_view_of_a_number(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    s = (a * a).sum()
    view = s.view(1)
    view.mul_(3)
    assert s.item() == 15.0
    s.backward()
    assert numbers(a.grad).tolist() == [6.0, 12.0]


def test_double_backward_through_a_write_into_a_view(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 2.0, 3.0, 5.0)
    y = a * a
    y[1:].mul_(a[:2])
    # y = a0^2, a0 a1^2, a1 a2^2
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    assert numbers(g).tolist() == [4.0 + 9.0, 12.0 + 25.0, 30.0]
    (h,) = torch.autograd.grad((g * torch.tensor([1.0, 10.0, 100.0])).sum(), a)
    # g = 2 a0 + a1^2, 2 a0 a1 + a2^2, 2 a1 a2
    assert numbers(h).tolist() == [2.0 + 60.0, 6.0 + 40.0 + 1000.0, 100.0 + 600.0]


def test_a_recurrence_written_row_by_row(torch: Any, numbers: Any) -> None:
    a = leaf(torch, 0.5, 1.5)
    rows = torch.tensor([[0.0, 0.0]] * 4)
    rows[0] = a
    for k in range(1, 4):
        rows[k] = rows[k - 1].clone() * a + 1
    rows[3].sum().backward()
    # x3 = a^4 + a^2 + a + 1
    np.testing.assert_allclose(numbers(a.grad), [4 * v**3 + 2 * v + 1 for v in (0.5, 1.5)])


def test_many_views_of_one_base(torch: Any, numbers: Any) -> None:
    a = torch.tensor([1.0] * 200, requires_grad=True)
    y = a * 1
    views = [y[k] for k in range(200)]
    for k, view in enumerate(views):
        view.mul_(float(k))
    y.sum().backward()
    assert numbers(a.grad).tolist() == [float(k) for k in range(200)]


def test_real_and_imaginary_parts_are_views_in_memory(torch: Any) -> None:
    z = torch.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    z.imag[0] = 7.0
    assert z.tolist() == [10 + 7j, 30 + 4j]
    assert z._version == 2


# Programs by chance -------------------------------------------------------------------------------


def program(rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Steps that make views of a 4 x 6 array and write into them, the base, or each other."""
    steps: list[tuple[Any, ...]] = []
    views = [np.zeros((4, 6))]
    for _ in range(rng.integers(4, 12)):
        k = int(rng.integers(len(views)))
        x = views[k]
        if rng.random() < 0.5 and x.ndim and len(views) < 7:
            kind = rng.choice(["slice", "element", "new", "turn", "flat"])
            if kind == "slice":
                axis = int(rng.integers(x.ndim))
                low = int(rng.integers(x.shape[axis]))
                high = int(rng.integers(low + 1, x.shape[axis] + 1))
                index: Any = (*(slice(None),) * axis, slice(low, high, int(rng.integers(1, 3))))
            elif kind == "element":
                index = (int(rng.integers(x.shape[0])), ...)
            elif kind == "new":
                index = (None,)
            else:
                index = kind if kind == "turn" or x.flags.c_contiguous else (...,)
            steps.append(("view", k, index))
            views.append(x.T if index == "turn" else x.reshape(-1) if index == "flat" else x[index])
        else:
            op = rng.choice(["mul", "add", "sin", "fill", "from base", "square"])
            steps.append((op, k, float(rng.uniform(0.5, 1.5))))
    return steps


def run(steps: list[tuple[Any, ...]], y: Any, w: Any) -> list[Any]:
    """Run a program on a base (an array, or a tensor), and give it with all its views."""
    seen = [y]
    plain = isinstance(y, np.ndarray)
    for kind, k, what in steps:
        x = seen[k]
        if kind == "view":
            if what == "turn":
                seen.append(x.T if plain else x.permute(*range(x.dim())[::-1]))
            elif what == "flat":
                seen.append(x.reshape(-1) if plain else x.view(-1))
            else:
                seen.append(x[what])
        elif kind == "mul":
            x *= w.sum() * what
        elif kind == "add":
            x += w[0] * what
        elif kind == "sin":
            x[...] = np.sin(x * what) if plain else (x * what).sin()
        elif kind == "fill":
            x[...] = what
        elif kind == "square":
            x[...] = (x.copy() if plain else x.clone()) ** 2 * 0.5
        else:
            x[...] = y[0, 0] * what + x
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_a_program_by_chance(torch: Any, numbers: Any, seed: int) -> None:
    """Against NumPy, whose views do the same, and its central differences."""
    rng = np.random.default_rng(seed)
    steps = program(rng)
    start, w0 = rng.uniform(0.2, 1.2, (4, 6)), rng.uniform(0.2, 0.9, 2)
    weights = [rng.uniform(-1, 1, 24) for _ in range(9)]

    def plain(x: Any, w: Any) -> float:
        views = run(steps, x.copy(), w)
        return float(sum(np.sum(np.ravel(v) * c[: v.size]) for v, c in zip(views, weights, strict=False)))

    a = torch.tensor(start.tolist(), requires_grad=True)
    w = torch.tensor(w0.tolist(), requires_grad=True)
    y = a * 1

    views = run(steps, y, w)
    total = None
    for v, c in zip(views, weights, strict=False):
        term = (v.reshape(-1) * torch.tensor(c[: v.numel()].tolist())).sum()
        total = term if total is None else total + term
    np.testing.assert_allclose(total.item(), plain(start, w0), rtol=1e-10)
    total.backward()
    for t, at, f in ((a, start, lambda x: plain(x, w0)), (w, w0, lambda x: plain(start, x))):
        expected = np.zeros_like(at)
        for k in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[k] = 1e-6
            expected[k] = (f(at + step) - f(at - step)) / 2e-6
        found = np.zeros_like(at) if t.grad is None else numbers(t.grad)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
