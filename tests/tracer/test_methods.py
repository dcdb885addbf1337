"""Tensor's methods and NumPy's functions: every spelling of an operation, and PyTorch's words beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from scipy import special

import gradscribe as gs
from gradscribe.runtime import registry

from programs import leaf

A = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]])


# Methods ------------------------------------------------------------------------------------------

METHODS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("sum", (), {}), ("sum", (0,), {}), ("sum", (), {"axis": 1, "keepdims": True}), ("mean", (1,), {}),
    ("max", (), {}), ("max", (0,), {}), ("min", (1,), {}), ("prod", (0,), {}), ("var", (), {}),
    ("var", (0,), {"ddof": 1}), ("std", (), {}), ("std", (0,), {}), ("cumsum", (1,), {}), ("cumprod", (0,), {}),
    ("argmax", (), {}), ("argmin", (1,), {}), ("argsort", (), {}), ("all", (), {}), ("any", (0,), {}),
    ("clip", (0.0, 1.0), {}), ("round", (1,), {}), ("reshape", (3, 2), {}), ("reshape", ((3, 2),), {}),
    ("reshape", (-1,), {"order": "F"}), ("ravel", (), {}), ("flatten", (), {}), ("flatten", ("F",), {}),
    ("transpose", (), {}), ("transpose", (1, 0), {}), ("transpose", ((1, 0),), {}), ("swapaxes", (0, 1), {}),
    ("squeeze", (), {}), ("repeat", (2,), {}), ("repeat", (2, 1), {}), ("take", ([0, 2], 1), {}), ("trace", (), {}),
    ("diagonal", (), {}), ("dot", (A.T,), {}), ("copy", (), {}), ("astype", (np.float32,), {}),
    ("astype", ("float64",), {}), ("conj", (), {}), ("conjugate", (), {}), ("nonzero", (), {}), ("tolist", (), {}),
    ("item", (3,), {}), ("item", (1, 2), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), METHODS, ids=lambda v: str(v)[:30])
def test_methods_mean_what_ndarrays_mean(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    expected = getattr(A, name)(*args, **kwargs)
    found = getattr(leaf(A), name)(*args, **kwargs)
    if isinstance(expected, (list, float)) and not isinstance(expected, np.generic):
        assert found == expected
        return
    for f, e in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        assert type(f) is gs.Tensor
        assert f.dtype == e.dtype
        assert f.shape == np.shape(e)
        np.testing.assert_array_equal(f.detach().numpy(), e)


def test_no_attribute_of_ndarray_has_another_meaning() -> None:
    for name in ("T", "mT", "real", "imag", "shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides"):
        found, expected = getattr(leaf(A), name), getattr(A, name)
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found.detach().numpy(), expected)
        else:
            assert found == expected
    assert [float(v.item()) for v in leaf(A).flat] == list(A.flat)


def every_third(x: Any) -> Any:
    y = np.outer(x, x)
    y.flat[::3] = x[:1]
    y.flat[1] = 5.0
    y.flat[[2, 5]] = [x[1], x[2]]
    z = y.flat[3:]
    z += 1.0
    return np.sum(y * y) + np.sum(z) + y.flat[4] * next(y.flat) + len(y.flat)


def test_flat_is_read_and_written_by_one_index() -> None:
    x = np.array([0.7, -0.3, 0.9])
    value, slope = gs.value_and_grad(every_third)(x)
    assert value == every_third(x)
    assert gs.compare(gs.grad(every_third), x).ok
    compiled = gs.compile(gs.grad(every_third), verify="first calls")
    for k in range(3):
        np.testing.assert_array_equal(compiled(x + 0.1 * k), gs.grad(every_third)(x + 0.1 * k))
    t = leaf(A)
    np.testing.assert_array_equal(t.flat[1:4].detach().numpy(), A.flat[1:4])
    assert slope.shape == (3,)

    def assigned(x: Any) -> Any:
        w = np.zeros((2, 3))
        w.flat = x
        return np.sum(w * np.arange(6.0).reshape(2, 3))

    np.testing.assert_array_equal(gs.grad(assigned)(x), [3.0, 5.0, 7.0])


def test_sort_in_numpy_is_in_place_and_so_is_ours() -> None:
    def f(x: Any) -> Any:
        assert x.sort() is None
        return (x * np.array([1.0, 10.0, 100.0])).sum()

    np.testing.assert_array_equal(gs.grad(f)(np.array([3.0, 1.0, 2.0])), [100.0, 1.0, 10.0])


def test_pytorchs_keyword_names_and_forms() -> None:
    t = leaf(A)
    np.testing.assert_array_equal(t.sum(dim=1).detach().numpy(), A.sum(1))
    np.testing.assert_array_equal(t.sum(dim=0, keepdim=True).detach().numpy(), A.sum(0, keepdims=True))
    np.testing.assert_array_equal(t.mean(dim=(0, 1)).detach().numpy(), A.mean())
    np.testing.assert_array_equal(t.var(dim=0, unbiased=True).detach().numpy(), A.var(0, ddof=1))
    np.testing.assert_array_equal(t.var(dim=0, correction=1).detach().numpy(), A.var(0, ddof=1))
    np.testing.assert_array_equal(t.amax(dim=1).detach().numpy(), A.max(1))
    np.testing.assert_array_equal(t.cumsum(dim=0).detach().numpy(), A.cumsum(0))
    np.testing.assert_array_equal(t.argmax(dim=1).detach().numpy(), A.argmax(1))
    assert t.unsqueeze(0).shape == (1, 2, 3)
    assert t.unsqueeze(dim=-1).shape == (2, 3, 1)
    assert t.unsqueeze(1).squeeze(dim=1).shape == (2, 3)
    assert t.permute(1, 0).shape == (3, 2)
    assert t.permute((1, 0)).shape == (3, 2)
    assert t.permute(dims=(1, 0)).shape == (3, 2)
    assert t.view(3, 2).shape == (3, 2)
    assert t.view(-1).shape == (6,)
    assert t.view((6, 1)).shape == (6, 1)
    assert t.reshape(shape=(6,)).shape == (6,)
    assert t.t().shape == (3, 2)
    assert gs.tensor(np.zeros((2, 3, 4))).transpose(0, 2).shape == (4, 3, 2)
    assert gs.tensor(np.zeros((2, 3, 4))).transpose(dim0=0, dim1=1).shape == (3, 2, 4)
    assert t.expand(4, 2, 3).shape == (4, 2, 3)
    assert t.unsqueeze(0).expand(4, -1, -1).shape == (4, 2, 3)
    assert t.dim() == 2
    assert t.numel() == 6
    assert t.clone().requires_grad
    np.testing.assert_array_equal(t.clip(min=0.0, max=1.0).detach().numpy(), A.clip(0, 1))
    np.testing.assert_array_equal(t.clamp(min=0.0).detach().numpy(), A.clip(0))
    np.testing.assert_array_equal(
        t.add(1).mul(2).sub(t).div(2).pow(2).neg().abs().detach().numpy(), np.abs(-((((A + 1) * 2 - A) / 2) ** 2))
    )
    np.testing.assert_array_equal(t.matmul(A.T).detach().numpy(), A @ A.T)
    np.testing.assert_allclose(
        t.sin().exp().tanh().sigmoid().detach().numpy(), 1 / (1 + np.exp(-np.tanh(np.exp(np.sin(A)))))
    )
    np.testing.assert_array_equal(t.where(A > 0, 0.0).detach().numpy(), np.where(A > 0, A, 0.0))


def test_pytorchs_size_and_std_give_way_to_numpys() -> None:
    assert leaf(A).size == 6
    assert leaf(A).std().item() == A.std()  # PyTorch would divide by n - 1
    assert leaf(A).max(0).shape == (3,)  # PyTorch would return a pair


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(TypeError, match="sum"):
        leaf(A).sum(nonsense=1)
    with pytest.raises(AttributeError, match="nonsense"):
        leaf(A).nonsense


# NumPy's functions --------------------------------------------------------------------------------


def test_every_spelling_reaches_the_same_operation() -> None:
    t, u = leaf(A), leaf(A)
    assert np.sin(t).grad_fn.name() == t.sin().grad_fn.name() == "SinBackward0"
    assert (t @ u.T).grad_fn.name() == np.matmul(t, u.T).grad_fn.name() == t.matmul(u.T).grad_fn.name()
    assert np.concatenate([t, u]).grad_fn.name() == "ConcatenateBackward0"
    assert np.add(t, 1).grad_fn.name() == (t + 1).grad_fn.name() == (1 + t).grad_fn.name() == t.add(1).grad_fn.name()
    assert np.sum(t).grad_fn.name() == t.sum().grad_fn.name() == np.add.reduce(t, axis=None).grad_fn.name()


def test_scipys_ufuncs() -> None:
    special = pytest.importorskip("scipy.special")
    x = leaf([0.5, -0.5])
    y = special.expit(x)
    assert y.grad_fn.name() == "ExpitBackward0"
    y.sum().backward()
    e = special.expit(np.array([0.5, -0.5]))
    np.testing.assert_allclose(x.grad.numpy(), e * (1 - e), rtol=1e-15)


def test_tensors_in_keyword_arguments() -> None:
    x = leaf([0.5, 2.0, 3.0])
    s = np.sum(x, where=x > 1)
    s.backward()
    assert (s.item(), x.grad.tolist()) == (5.0, [0.0, 1.0, 1.0])
    x = leaf([0.5, 2.0, 3.0])
    y = np.multiply(x, x, where=x > 1, out=None)
    y[1:].sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]
    m = np.mean(x, where=gs.tensor([True, False, True]))
    assert m.item() == 1.75
    lo = leaf(1.0)
    np.clip(x, a_min=lo, a_max=None).sum().backward()
    assert lo.grad.item() == 1.0
    w = leaf([1.0, 2.0, 3.0])
    np.full(3, 1.0) @ np.where(x > 1, x, w)


def test_where_on_arrays_with_a_tensor_mask() -> None:
    mask = leaf([0.5, 2.0]) > 1
    found = np.sum(np.array([1.0, 10.0]), where=mask)
    assert float(np.asarray(found)) == 10.0


def test_ufunc_words() -> None:
    x = leaf([1.0, 2.0])
    assert np.add(x, 1, dtype=np.float32).dtype == np.float32
    assert np.sqrt(x, dtype=np.float64).requires_grad
    np.add(x, 1, dtype=np.float32).sum().backward()
    assert x.grad.dtype == np.float64
    assert np.multiply.reduce(x).item() == 2.0
    assert np.add.accumulate(x).tolist() == [1.0, 3.0]
    assert np.maximum.reduce(leaf(A), axis=1).tolist() == [2.0, 3.0]


def test_a_function_without_rule_names_itself_and_the_recipe() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(gs.NoRuleError, match=r"scipy\.special\.zetac has no gradient rule"):
        special.zetac(x)
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.mathieu_a"):
        special.mathieu_a(2, x)
    fraction, whole = np.modf(gs.tensor([1.5]))  # nothing is lost here
    assert (fraction.tolist(), whole.tolist()) == ([0.5], [1.0])


def test_the_recipe_of_that_message_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_function", dict(registry._by_function))
    x = leaf([1.0, 2.0])
    with pytest.raises(gs.NoRuleError) as caught:
        special.zetac(x)
    recipe = [line.strip() for line in str(caught.value).splitlines() if line.startswith("    ")]
    assert len(recipe) == 2
    exec("\n".join(recipe).replace("g * ...", "g * 0.25"), {"np": np, "gs": gs, "scipy": scipy})
    special.zetac(x).sum().backward()
    assert x.grad.tolist() == [0.25, 0.25]
    np.testing.assert_array_equal(gs.grad(lambda v: special.zetac(v).sum())(np.array([1.0, 2.0])), [0.25, 0.25])


def reversing(x: Any) -> Any:
    return x * 1.0


def test_a_rule_for_a_function_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_function", dict(registry._by_function))
    gs.op(reversing, "x", gs.Kind.linear)
    gs.rule(reversing, x=lambda g: -g)  # not what its body says: the rule holds
    with pytest.raises(TypeError, match="no argument is named `z`"):
        gs.rule(reversing, z=lambda g: g)
    assert reversing(2.0) == 2.0
    x = np.array([1.0, 2.0])
    for f in (lambda x: np.sum(reversing(x) * x), lambda x: sum(map(reversing, x)) + np.sum(x * x)):
        value, _ = gs.value_and_grad(f)(x)
        assert value == f(x)
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(reversing(x)))(x), [-1.0, -1.0])
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(reversing(x * x) ** 2))(x), -4 * x**3)
    assert gs.grad(reversing)(3.0) == -1.0


def test_nothing_becomes_an_object_array() -> None:
    x = leaf([1.0, 2.0])
    for call in (
        lambda: np.array([x, x], dtype=object),
        lambda: np.add([x, x], x),
        lambda: x + [x, x],
        lambda: np.asarray([x]),
        lambda: np.array([leaf(1.0), leaf(2.0)]),
        lambda: np.stack([x, object()]),
    ):
        try:
            found = call()
        except (TypeError, RuntimeError, ValueError):
            continue
        assert found.dtype != object
        assert not isinstance(found, np.ndarray)


def test_questions_that_numpy_asks_by_protocol() -> None:
    x = leaf(A)
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x) == 6
    assert np.size(x, 1) == 3
    assert np.result_type(x, np.float32) == np.float64
    assert np.iscomplexobj(x) is False
    assert np.isrealobj(x) is True
    assert np.allclose(x, A) is True
    assert np.array_equal(x, A) is True
    assert np.isscalar(x) is False
    assert np.shares_memory(x, x) is True
    np.testing.assert_array_equal(gs.tensor(A), A)
    np.testing.assert_allclose(gs.tensor(A), A)
