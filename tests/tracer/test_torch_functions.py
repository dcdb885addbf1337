"""PyTorch's functions under `gs.`: of arrays, of Tensors beside arrays and numbers, inside transforms, and where they are."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.tracer.tensors import torch_methods

from function_cases import ARRAYS, DIFFERENTIATED, calls, name_of

SETTLED = {"is_tensor"}  # answers that tell a Tensor from an array


def flat(found: Any) -> list[Any]:
    return [part for one in found for part in flat(one)] if isinstance(found, (tuple, list)) else [found]


class Arrays:
    """`t` in the calls of the table, where their constants are to be arrays."""

    def __getattr__(self, name: str) -> Any:
        return np.array if name == "tensor" else getattr(gs, name)


class Plain(np.ndarray):
    """An array with the three methods of Tensors that the table calls."""

    def detach(self) -> Any:
        return np.asarray(self)

    def contiguous(self) -> Any:
        return np.ascontiguousarray(self)


def tensors(call: str) -> list[Any]:
    values = {name: gs.tensor(array) for name, array in ARRAYS.items()}
    return flat(eval(f"t.{call}", {"t": gs, **values}))


@pytest.mark.parametrize("call", [c for c in calls() if ".detach" not in c and name_of(c) not in SETTLED])
def test_of_arrays_it_gives_arrays(call: str) -> None:
    with np.errstate(all="ignore"):
        found = flat(eval(f"t.{call}", {"t": Arrays(), **ARRAYS}))
        wanted = tensors(call)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert not isinstance(one, gs.Tensor)
        np.testing.assert_array_equal(one, other.numpy() if isinstance(other, gs.Tensor) else other)


@pytest.mark.parametrize("call", calls())
def test_inside_grad_the_gradient_is_that_of_bare_tensors(call: str) -> None:
    used = [
        name
        for name in DIFFERENTIATED
        if name in set(call.replace("(", " ").replace(",", " ").replace("[", " ").split())
    ]
    name = next((n for n in ("x", "w", "v") if n in used), "x")

    def total(value: Any) -> Any:
        values = {**{n: gs.tensor(a) for n, a in ARRAYS.items()}, name: value}
        found = [
            r for r in flat(eval(f"t.{call}", {"t": gs, **values})) if isinstance(r, gs.Tensor) and r.dtype.kind in "fc"
        ]
        return sum([np.real(np.sum(r * r)) for r in found], 0 * np.sum(value))

    leaf = gs.tensor(ARRAYS[name], requires_grad=True)
    with np.errstate(all="ignore"):
        (wanted,) = gs.autograd.grad(total(leaf), leaf)
        found = gs.grad(total)(ARRAYS[name])
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-12)


def model(w: Any, x: Any) -> Any:
    h = gs.relu(gs.matmul(x, w) - 1.0)
    p = gs.softmax(gs.cat([h, gs.exp(-h)], dim=1), dim=1)
    best = gs.max(p, dim=1, keepdim=True).values
    return gs.sum(gs.log(p) * best) + gs.norm(w) + gs.mean(gs.pow(w, 2), dim=0)[0]


def test_a_model_of_them_compiles_and_is_eager_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    eager = gs.grad(model)(w, x)
    compiled = gs.compile(gs.grad(model))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(w, x), eager)
    assert "np.matmul(" in (text := compiled.source(w, x)) or " @ " in text
    gs.check_grads(model, (w, x))


def test_under_vmap() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(5, 4, 3))
    each = np.stack([gs.grad(model)(w, one) for one in x])
    np.testing.assert_allclose(gs.vmap(gs.grad(model), in_axes=(None, 0))(w, x), each, rtol=1e-12)


def test_beside_a_tensor_a_number_is_weak_and_an_array_is_a_constant() -> None:
    t = gs.tensor(np.array([1.0, 2.0], np.float32), requires_grad=True)
    for made in (gs.pow(2.0, t), gs.add(2.0, t), gs.mul(2, t), gs.maximum(1.5, t), gs.sub(1.0, t), gs.div(1.0, t)):
        assert made.dtype == np.float32
        assert made.requires_grad
    a = np.array([3.0, 4.0])
    assert gs.dot(a, t).tolist() == 11.0
    assert gs.where(a > 3, a, t).tolist() == [1.0, 4.0]
    assert gs.add(a, t, alpha=2).tolist() == [5.0, 8.0]
    (g,) = gs.autograd.grad(gs.matmul(np.eye(2), t).sum() + gs.lerp(a, t, 0.5).sum(), t)
    assert g.tolist() == [1.5, 1.5]


def test_of_numbers() -> None:
    assert gs.exp(0.0) == 1.0
    assert gs.sum([1.0, 2.0]) == 3.0
    assert gs.max([1, 3, 2]) == 3


def test_a_spread_divides_by_one_less_as_pytorch_does_and_the_method_as_numpy() -> None:
    t = gs.tensor([1.0, 2.0, 4.0])
    assert gs.std(t).item() == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
    assert t.std().item() == pytest.approx(np.std([1.0, 2.0, 4.0]))
    deviation, mean = gs.std_mean(t, unbiased=False)
    assert deviation.item() == pytest.approx(t.std().item())
    assert mean.item() == pytest.approx(7 / 3)


def test_the_slope_of_a_deviation_of_equal_elements_is_zero() -> None:
    x = gs.tensor([2.0, 2.0], requires_grad=True)
    gs.std_mean(x, unbiased=False)[0].backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_max_of_a_matrix_with_two_rows_gives_values_and_indices() -> None:
    values, indices = gs.max(gs.tensor([[1.0, 3.0], [5.0, 4.0]]), 1)
    assert (values.tolist(), indices.tolist()) == ([3.0, 5.0], [1, 0])


def test_they_are_in_the_face_but_hide_nothing_of_pythons() -> None:
    names = (torch_methods.FUNCTIONS + torch_methods.OTHER_FUNCTIONS).split()
    assert len(set(names)) == len(names)
    assert set(names) <= set(dir(gs))
    for name in names:
        assert callable(getattr(gs, name))
        assert getattr(gs, name).__doc__
    assert not {n for n in gs.__all__ if hasattr(builtins, n)} - {"compile"}
    tried = {name_of(call) for call in calls()}
    assert len(tried) > 200


def test_what_is_not_there_says_where_it_is() -> None:
    with pytest.raises(AttributeError, match=r"np\.float32"):
        gs.float32  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'matmull'"):
        gs.matmull  # type: ignore[attr-defined]


FORMS: list[tuple[Any, Any]] = [
    (lambda t: t.sum(1, True), lambda a: a.sum(1, keepdims=True)),
    (lambda t: t.mean((0, 1), True), lambda a: a.mean(keepdims=True)),
    (lambda t: t.prod(0, False), lambda a: a.prod(0)),
    (lambda t: t.sum([0, 1]), lambda a: a.sum()),
    (lambda t: t.mean(dim=[1], keepdim=True), lambda a: a.mean(1, keepdims=True)),
    (lambda t: t.std(1, True), lambda a: a.std(1, ddof=1)),
    (lambda t: t.var(0, False, True), lambda a: a.var(0, keepdims=True)),
    (lambda t: t.std([0, 1], unbiased=True), lambda a: a.std(ddof=1)),
    (lambda t: t.var(True), lambda a: a.var(ddof=1)),
    (lambda t: t.max(1, True).values, lambda a: a.max(1, keepdims=True)),
    (lambda t: t.min(0, False).values, lambda a: a.min(0)),
]


@pytest.mark.parametrize(("torch_form", "numpy_form"), FORMS, ids=[str(k) for k in range(len(FORMS))])
def test_reductions_take_the_positions_of_pytorch(torch_form: Any, numpy_form: Any) -> None:
    x = np.array([[3.0, 1.0, 2.0], [0.5, 5.0, 4.0]])
    np.testing.assert_allclose(torch_form(gs.tensor(x)).numpy(), numpy_form(x), rtol=1e-15)
    f = gs.value_and_grad(lambda v: np.sum(torch_form(v) ** 2))
    eager, compiled = f(x), gs.compile(f, verify="first calls")(x)
    np.testing.assert_array_equal(compiled[1], eager[1])


def test_positions_of_extremes_and_truths() -> None:
    t = gs.tensor([[3.0, 1.0], [0.0, 5.0]])
    np.testing.assert_array_equal(t.argmax(1, True).numpy(), [[0], [1]])
    np.testing.assert_array_equal((t > 0).all(1, True).numpy(), [[True], [False]])
    np.testing.assert_array_equal((t > 0).any([0, 1]).numpy(), True)
    with pytest.raises(TypeError):
        t.sum(1, "True")


def test_a_tensor_of_one_number_is_formatted_as_that_number() -> None:
    loss = gs.tensor(2.5, requires_grad=True) * 1
    assert f"loss {loss}, {loss:.3f}, {gs.tensor(3)}" == "loss 2.5, 2.500, 3"
    assert f"{gs.tensor([1.0])}" == "tensor([1.])"


def test_a_tensor_is_made_on_the_cpu() -> None:
    assert gs.tensor([1.0, 2.0], device="cpu", requires_grad=True).device == "cpu"
    with pytest.raises(ValueError, match="lies on the device 'cpu', not on 'cuda'"):
        gs.tensor([1.0], device="cuda")


def test_randint_by_name() -> None:
    gs.manual_seed(0)
    named = gs.randint(high=3, size=(2, 3))
    gs.manual_seed(0)
    np.testing.assert_array_equal(named.numpy(), gs.randint(3, (2, 3)).numpy())
