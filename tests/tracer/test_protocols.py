"""NumPy's protocols beside arrays of other classes, DLPack, `__array__`, copies, pickles, iteration and format strings."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([[1.0, 2.0], [3.0, 4.0]])


class Duck:
    """An array of another library, by NEP 13 and NEP 18."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ("ufunc", ufunc.__name__, method)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ("function", func.__name__)


class Refusing:
    """An operand that takes no part in ufuncs, and has operators of its own."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> str:
        return "left"

    def __radd__(self, other: Any) -> str:
        return "right"

    def __rmatmul__(self, other: Any) -> str:
        return "right @"

    def __gt__(self, other: Any) -> str:
        return "greater"

    def __eq__(self, other: object) -> Any:
        return "equal"

    __hash__ = None  # type: ignore[assignment]


class Units(np.ndarray):
    """A subclass of ndarray with a protocol of its own."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ("units", ufunc.__name__)


class Plain(np.ndarray):
    """A subclass of ndarray that changes nothing."""


def both() -> list[Any]:
    return [gs.tensor(X), gs.tensor(X, requires_grad=True)]


# Who defers to whom ---------------------------------------------------------------------------------


@pytest.mark.parametrize("t", both(), ids=["constant", "variable"])
def test_another_class_with_protocols_answers(t: Any) -> None:
    duck = Duck()
    for found in (np.add(t, duck), np.add(duck, t), t + duck, duck + t):  # type: ignore[operator]
        assert found == ("ufunc", "add", "__call__")
    assert np.multiply.outer(t, duck) == ("ufunc", "multiply", "outer")
    assert (t < duck) == ("ufunc", "less", "__call__")
    assert (t @ duck) == ("ufunc", "matmul", "__call__")
    assert np.concatenate([t, duck]) == ("function", "concatenate")  # type: ignore[comparison-overlap]
    assert np.where(duck, t, 0.0) == ("function", "where")  # type: ignore[comparison-overlap]
    units = X.view(Units)
    for found in (np.add(t, units), np.add(units, t), t + units, units + t):
        assert found == ("units", "add")


def test_a_class_without_ufuncs_has_its_own_operators() -> None:
    t, other = gs.tensor(X), Refusing()
    assert (t + other, other + t, t @ other, t < other, t == other) == (  # type: ignore[operator]
        "right", "left", "right @", "greater", "equal",
    )  # fmt: skip
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.add(t, other)


def test_subclasses_without_a_protocol_are_the_arrays_that_they_are() -> None:
    t = gs.tensor(X, requires_grad=True)
    for found in (t * X.view(Plain), X.view(Plain) * t, np.multiply(t, X.view(Plain)), np.multiply(X.view(Plain), t)):
        assert type(found) is gs.Tensor
        assert type(found.detach().numpy()) is np.ndarray
        np.testing.assert_array_equal(gs.autograd.grad(found.sum(), t)[0].numpy(), X)
    assert type(np.clip(t, X.view(Plain), 9.0)._value) is np.ndarray


def test_a_matrix_multiplies_as_a_matrix_or_not_at_all() -> None:
    t = gs.tensor(X, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        m = np.matrix(X)
    np.testing.assert_array_equal((t * m).detach().numpy(), X @ X)
    (g,) = gs.autograd.grad((t * m).sum(), t)
    np.testing.assert_array_equal(g.numpy(), np.ones((2, 2)) @ X.T)
    np.testing.assert_array_equal((m @ t).detach().numpy(), X @ X)
    np.testing.assert_array_equal((t + m).detach().numpy(), X + X)
    np.testing.assert_array_equal(np.multiply(t, m).detach().numpy(), X * X)
    for call in (lambda: m * t, lambda: t**m):
        with pytest.raises(TypeError, match="unsupported operand"):
            call()


def test_masked_arrays_keep_their_mask_or_refuse() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    t = gs.tensor([3.0, 4.0])
    for found in (t + masked, masked + t, np.add(t, masked), np.add(masked, t)):
        assert isinstance(found, np.ma.MaskedArray)
    assert (t + masked).mask.tolist() == [False, True]
    r = gs.tensor([3.0, 4.0], requires_grad=True)
    for call in (lambda: r + masked, lambda: masked + r, lambda: np.add(r, masked), lambda: np.dot(masked, r)):
        with pytest.raises(gs.GradientLossError, match="would be lost"):
            call()


def test_pandas_counts_as_the_numbers_it_holds() -> None:
    pandas = pytest.importorskip("pandas")
    t = gs.tensor([3.0, 4.0], requires_grad=True)
    found = t * pandas.Series([1.0, 2.0])
    np.testing.assert_array_equal(gs.autograd.grad(found.sum(), t)[0].numpy(), [1.0, 2.0])


def test_mixed_operands_of_functions() -> None:
    t = gs.tensor([1.0, 2.0], requires_grad=True)
    for found in (
        np.concatenate([t, [3.0], (4.0,), np.ones(1)]), np.stack([t, [3.0, 4.0]]), np.where([True, False], t, 0),
        np.dot([1.0, 2.0], t), np.outer(t, [1, 2]), np.maximum([1.5, 1.5], t), np.interp(1.5, [1.0, 2.0], t),
        np.add.outer([1.0], t), np.add.reduce(t), np.einsum("i,i", t, [1.0, 2.0]),
    ):  # fmt: skip
        assert isinstance(found, gs.Tensor)
        assert found.requires_grad


# __array__, DLPack ----------------------------------------------------------------------------------


def test_array_raises_where_it_would_drop_a_gradient() -> None:
    t, r = both()
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert not np.shares_memory(np.array(t), t.numpy())
    assert np.asarray(t, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="a copy is needed"):
        np.array(t, np.float32, copy=False)
    for call in (
        lambda: np.asarray(r),
        lambda: X.copy().__setitem__(..., r),
        lambda: r.__dlpack__(),
        lambda: np.array([r]),
    ):
        with pytest.raises(gs.GradientLossError, match="would be lost"):
            call()
    np.testing.assert_array_equal(np.asarray(r.detach()), X)  # asked


def test_dlpack_shares_memory_both_ways() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.int32, torch.bool, torch.complex128):
        there = torch.ones(3).to(dtype)
        here = gs.from_dlpack(there)
        assert str(here.dtype) == str(dtype).removeprefix("torch.")
        assert here.numpy().__array_interface__["data"][0] == there.data_ptr()
        there[0] = 0
        assert here[0].item() == 0
        back = torch.from_dlpack(here)
        assert back.data_ptr() == there.data_ptr()
    t = gs.tensor(X, requires_grad=True)
    assert torch.from_dlpack(t.detach()).data_ptr() == t.detach().numpy().__array_interface__["data"][0]
    with pytest.raises(gs.GradientLossError):
        torch.from_dlpack(t)
    with pytest.raises(BufferError, match="require"):
        gs.from_dlpack(torch.ones(2, requires_grad=True))


def test_dlpack_of_numpy_and_of_tensors() -> None:
    a = np.ones(3)
    t = gs.from_dlpack(a)
    assert np.shares_memory(t.numpy(), a)
    assert np.shares_memory(np.from_dlpack(t), a)
    assert np.shares_memory(gs.from_dlpack(t).numpy(), a)
    assert not np.shares_memory(gs.from_dlpack(t, copy=True).numpy(), a)
    assert not np.shares_memory(gs.from_dlpack(a, copy=True).numpy(), a)
    with pytest.raises(ValueError, match="'cuda'"):
        gs.from_dlpack(a, device="cuda")
    assert t.to_device("cpu") is t
    with pytest.raises(ValueError, match="not on 'cuda'"):
        t.to_device("cuda")


# Copies, pickles ------------------------------------------------------------------------------------


def test_copies() -> None:
    t, r = both()
    for made in (copy.copy(t), copy.deepcopy(t), t.copy()):
        np.testing.assert_array_equal(made.numpy(), X)
        assert not np.shares_memory(made.numpy(), t.numpy())
    (copy.copy(r) ** 2).sum().backward()  # a copy is part of the graph
    np.testing.assert_array_equal(r.grad.numpy(), 2 * X)
    again = copy.deepcopy(r)
    assert again.is_leaf
    assert again.requires_grad
    np.testing.assert_array_equal(again.grad.numpy(), 2 * X)
    with pytest.raises(gs.AutogradError, match="Only leaf Tensors"):
        copy.deepcopy(r * 2)
    both_in_one = copy.deepcopy({"a": r, "b": [r]})
    assert both_in_one["a"] is both_in_one["b"][0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    for t in (*both(), gs.tensor(2.5), gs.tensor([1 + 2j]), gs.tensor([], dtype=np.float32)):
        made = pickle.loads(pickle.dumps(t, protocol))
        assert (made.requires_grad, made.dtype, made.shape) == (t.requires_grad, t.dtype, t.shape)
        np.testing.assert_array_equal(made.detach().numpy(), t.detach().numpy())


# Sequences, numbers and text --------------------------------------------------------------------------


@pytest.mark.parametrize("t", both(), ids=["constant", "variable"])
def test_sequences(t: Any) -> None:
    first, second = t
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    assert len(t) == 2
    assert [row.tolist() for row in reversed(t)] == [[3.0, 4.0], [1.0, 2.0]]
    assert 2.0 in t
    assert 7 not in t
    assert [(k, v.tolist()) for k, v in zip("ab", t, strict=True)] == [("a", [1.0, 2.0]), ("b", [3.0, 4.0])]
    (a, b), *rest = t
    assert (a.item(), b.item(), len(rest)) == (1.0, 2.0, 1)
    assert max(first).item() == 2.0
    assert sum(first).item() == 3.0
    if t.requires_grad:
        (first[1] * b * second.sum()).backward()
        np.testing.assert_array_equal(t.grad.numpy(), [[0.0, 28.0], [4.0, 4.0]])
    for empty in (len, list, iter):
        with pytest.raises(TypeError):
            empty(gs.tensor(1.0))


def test_numbers() -> None:
    t = gs.tensor(2.7)
    assert (int(t), float(t), complex(t), bool(t), round(t)) == (2, 2.7, 2.7 + 0j, True, 3)
    assert (math.floor(t), math.ceil(t), math.trunc(t), math.sqrt(gs.tensor(4.0))) == (2, 3, 2, 2.0)
    assert "abc"[gs.tensor(1)] == "b"
    assert list(range(gs.tensor(3))) == [0, 1, 2]
    assert round(t, 1).item() == 2.7
    with pytest.raises(TypeError):
        "abc"[gs.tensor(1.0)]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(gs.tensor(X))
    with pytest.raises(TypeError):
        float(gs.tensor(X))


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (3.14159, ".2f"),
        (3.14159, ">12.3e"),
        (7, "d"),
        (7, "04x"),
        (1 + 2j, ".1f"),
        (True, ""),
        (2.5, "%"),
        (1e6, ",.0f"),
    ],
)
def test_format_strings(value: Any, spec: str) -> None:
    expected = format(np.asarray(value)[()], spec)
    assert format(gs.tensor(value), spec) == expected or not spec
    if isinstance(value, float):
        assert f"{gs.tensor(value, requires_grad=True):{spec}}" == expected
        assert "%.3f" % gs.tensor(value) == "%.3f" % value  # noqa: UP031


def test_format_strings_of_arrays() -> None:
    assert f"{gs.tensor([1.0, 2.0])}" == "tensor([1., 2.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{gs.tensor(X):.2f}"
    with pytest.raises(ValueError, match="Unknown format code"):
        f"{gs.tensor(2.5):d}"
