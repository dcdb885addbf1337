"""gs.to_torch and gs.to_jax: values and gradients in the other library, of any order, in trees, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def cubes(p: Any, k: Any = 1.0) -> Any:
    return {
        "sum": np.sum(p["w"] ** 3 * p["b"]) * k,
        "rows": np.outer(p["w"], p["w"])[::-1],
        "note": "text",
        "count": len(p["w"]),
    }


def energy(x: Any, n: Any = 2) -> Any:
    return np.sum(np.sin(x) ** n)


@pytest.mark.parity
@pytest.mark.parametrize("compiled", [False, True])
def test_a_function_of_tensors_has_pytorchs_gradients_to_any_order(compiled: bool) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    f = gs.to_torch(gs.compile(energy) if compiled else energy)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    expected = torch.sin(2 * x)
    torch.testing.assert_close(first, expected)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    torch.testing.assert_close(second, 2 * torch.cos(2 * x))
    (third,) = torch.autograd.grad(second.sum(), x)
    torch.testing.assert_close(third, -4 * torch.sin(2 * x))
    assert torch.autograd.gradcheck(f, (x, 3))
    assert torch.autograd.gradgradcheck(f, (x, 3))
    assert f.__name__ == "energy"
    assert not f(x.detach()).requires_grad


@pytest.mark.parity
def test_tensors_stand_in_trees_of_arguments_and_results() -> None:
    torch = pytest.importorskip("torch")
    w, b = [torch.tensor(v, requires_grad=True) for v in ([1.0, 2.0], 3.0)]
    found = gs.to_torch(cubes)({"w": w, "b": b}, k=2.0)
    assert (found["note"], found["count"].item()) == ("text", 2)
    assert found["sum"].dtype == torch.float32
    (found["sum"] + found["rows"].sum()).backward()
    assert w.grad.tolist() == [18.0 + 6.0, 72.0 + 6.0]
    assert b.grad.item() == 18.0
    module = torch.nn.Linear(2, 2, dtype=torch.float64)
    gs.to_torch(energy)(module(torch.ones(2, dtype=torch.float64))).backward()
    assert module.weight.grad.abs().sum() > 0


@pytest.mark.parity
def test_complex_tensors_follow_pytorch() -> None:
    torch = pytest.importorskip("torch")
    z = torch.tensor([1.0 + 2.0j, 0.5 - 1.0j], dtype=torch.complex128, requires_grad=True)
    (found,) = torch.autograd.grad(gs.to_torch(lambda z: np.sum(np.abs(z * z) ** 2))(z), z)
    (expected,) = torch.autograd.grad((z * z).abs().square().sum(), z)
    torch.testing.assert_close(found, expected)


@pytest.mark.parity
@pytest.mark.parametrize("compiled", [False, True])
def test_a_function_of_jax_arrays_has_jaxs_gradients_under_its_transforms(compiled: bool) -> None:
    jax = pytest.importorskip("jax")
    f = gs.to_jax(gs.compile(energy) if compiled else energy)
    x = jax.numpy.array([0.5, 1.5])
    close = lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5)
    close(f(x), jax.numpy.sum(jax.numpy.sin(x) ** 2))
    close(jax.grad(f)(x), jax.numpy.sin(2 * x))
    close(jax.jit(jax.grad(f))(x), jax.numpy.sin(2 * x))
    close(jax.grad(lambda x: jax.numpy.sum(jax.grad(f)(x)))(x), 2 * jax.numpy.cos(2 * x))
    close(jax.vmap(jax.grad(f))(jax.numpy.stack([x, 2 * x])), jax.numpy.sin(2 * jax.numpy.stack([x, 2 * x])))
    close(jax.grad(lambda x: f(x, 3))(x), 3 * jax.numpy.sin(x) ** 2 * jax.numpy.cos(x))  # beside an integer
    assert jax.grad(f)(x).dtype == np.float32


@pytest.mark.parity
def test_jax_arrays_stand_in_trees_and_complex_ones_follow_jax() -> None:
    jax = pytest.importorskip("jax")
    f = gs.to_jax(lambda p: {"loss": np.sum(p["w"] ** 3 * p["b"]), "rows": np.outer(p["w"], p["w"])})
    p = {"w": jax.numpy.array([1.0, 2.0]), "b": jax.numpy.array(3.0)}
    found = jax.grad(lambda p: f(p)["loss"] + f(p)["rows"].sum())(p)
    assert found["w"].tolist() == [9.0 + 6.0, 36.0 + 6.0]
    assert found["b"] == 9.0
    z = jax.numpy.array([1.0 + 2.0j, 0.5 - 1.0j])
    ours = jax.grad(gs.to_jax(lambda z: np.sum(np.abs(z * z) ** 2)))(z)
    theirs = jax.grad(lambda z: jax.numpy.sum(jax.numpy.abs(z * z) ** 2))(z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
