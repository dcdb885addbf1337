"""Tensor as a user meets it: attributes, printing, operators, copies."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import leaf

A = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]])


# Making one ---------------------------------------------------------------------------------------


def test_default_dtype_is_numpys() -> None:
    assert gs.tensor([1.0, 2.0]).dtype == np.float64
    assert gs.tensor([1, 2]).dtype == np.int64
    assert gs.tensor(True).dtype == np.bool_
    assert gs.tensor([1, 2], dtype=np.float32).dtype == np.float32


def test_tensor_copies_its_data() -> None:
    a = np.zeros(3)
    t = gs.tensor(a)
    a[0] = 7.0
    assert t.tolist() == [0.0, 0.0, 0.0]
    assert isinstance(t, gs.Tensor)
    assert gs.Tensor([1.0]).tolist() == [1.0]


def test_objects_and_strings_are_refused() -> None:
    for bad in ([object()], "text", [[1.0], [2.0, 3.0]]):
        with pytest.raises((TypeError, ValueError)):
            gs.tensor(bad)


def test_attributes() -> None:
    t = leaf(A)
    assert (t.shape, t.ndim, t.size, t.dtype) == ((2, 3), 2, 6, np.float64)
    assert (t.itemsize, t.nbytes, t.strides) == (8, 48, (24, 8))
    assert isinstance(t.size, int)  # NumPy's meaning
    assert t.size() == (2, 3)  # and PyTorch's method
    assert t.flags.c_contiguous
    assert len(t) == 2
    assert t.is_leaf
    assert t.grad is None
    assert t.grad_fn is None
    assert type(t.data) is gs.Tensor
    y = t * 2
    assert not y.is_leaf
    assert y.requires_grad
    assert y.grad_fn.name() == "MulBackward0"


def test_requires_grad_can_be_switched() -> None:
    t = gs.tensor([1.0])
    t.requires_grad = True
    assert t.requires_grad
    assert t.requires_grad_(False) is t
    assert not t.requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        gs.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="floating point"):
        gs.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        (leaf([1.0]) * 2).requires_grad_(False)


def test_detach_shares_memory_and_leaves_the_graph() -> None:
    y = leaf(A) * 2
    d = y.detach()
    assert not d.requires_grad
    assert d.is_leaf
    assert np.shares_memory(d.numpy(), y.detach().numpy())
    s = leaf([1.0, 2.0]).sum()  # of a 0-d result too
    assert np.shares_memory(s.detach().numpy(), s.detach().numpy())


def test_numpy_needs_detach() -> None:
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        leaf([1.0]).numpy()
    assert type(gs.tensor([1.0]).numpy()) is np.ndarray
    assert type(gs.tensor(1.0).numpy()) is np.ndarray


def test_grad_can_only_be_a_tensor_of_the_same_shape() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="size"):
        x.grad = gs.tensor([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = gs.tensor([1.0, 2.0], dtype=np.float32)
    x.grad = gs.tensor([1.0, 2.0])
    x.grad = None
    assert x.grad is None


# Printing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (9.0809, "tensor(9.0809)"),
        (3.0, "tensor(3.)"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        ([1.5, 2.0], "tensor([1.5000, 2.0000])"),
        ([-1.0, 2.0, 0.0], "tensor([-1.,  2.,  0.])"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e5, 1.0], "tensor([1.0000e+05, 1.0000e+00])"),
        ([float("nan"), 1.0], "tensor([nan, 1.])"),
        ([float("inf"), -1.5], "tensor([    inf, -1.5000])"),
        ([], "tensor([])"),
        (np.zeros((0, 3)), "tensor([], size=(0, 3))"),
        ([1, 20, 300], "tensor([  1,  20, 300])"),
        ([True, False], "tensor([ True, False])"),
        ([1 + 2j, 0.5 - 1j], "tensor([1.0000+2.j, 0.5000-1.j])"),
        (np.array([1.5, 2.0], np.float32), "tensor([1.5000, 2.0000], dtype=float32)"),
        (A, "tensor([[ 0.5000, -1.2500,  2.0000],\n        [ 3.0000,  0.2500, -0.7500]])"),
        (np.ones((2, 1, 2)), "tensor([[[1., 1.]],\n\n        [[1., 1.]]])"),
        (np.ones(1001), "tensor([1., 1., 1.,  ..., 1., 1., 1.])"),
        (
            np.full((3, 1000), 0.5)[:, :2],
            "tensor([[0.5000, 0.5000],\n        [0.5000, 0.5000],\n        [0.5000, 0.5000]])",
        ),
    ],
)
def test_prints_as_pytorch_does(data: Any, text: str) -> None:
    assert repr(gs.tensor(data)) == text


def test_printing_names_the_graph() -> None:
    x = leaf([[4.04045]])
    assert repr(x * 2 + 1) == "tensor([[9.0809]], grad_fn=<AddBackward0>)"
    assert repr(x) == "tensor([[4.0404]], requires_grad=True)"
    assert repr(np.exp(x)) == "tensor([[56.8519]], grad_fn=<ExpBackward0>)"
    assert str(leaf(2.0)) == "tensor(2., requires_grad=True)"
    assert repr(leaf(2.0) / 3) == "tensor(0.6667, grad_fn=<DivBackward0>)"
    assert repr(leaf(2.0) ** 2) == "tensor(4., grad_fn=<PowBackward0>)"
    assert f"{leaf(2.0):.3f}" == "2.000"
    assert f"{leaf(2.0)}" == "2.0"  # as PyTorch has it


def test_a_long_line_puts_grad_fn_on_the_next() -> None:
    y = leaf(np.linspace(0, 1, 9)) * 1
    assert repr(y) == (
        "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000],\n"
        "       grad_fn=<MulBackward0>)"
    )


# Operators ----------------------------------------------------------------------------------------

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize(
    "other",
    [2.5, 2, np.float64(1.5), np.array([1.5, 0.5, 2.0]), np.array([[1], [2]]), np.float32(2.0), [1.0, 2.0, 3.0]],
    ids=["float", "int", "float64", "row", "int column", "float32", "list"],
)  # fmt: skip
def test_operators_and_their_reflections(op: Any, other: Any) -> None:
    a = np.abs(A)
    for found, expected in (
        (op(gs.tensor(a), other), op(a, np.asarray(other) if isinstance(other, list) else other)),
        (op(other, gs.tensor(a)), op(np.asarray(other) if isinstance(other, list) else other, a)),
        (op(gs.tensor(a), gs.tensor(other)), op(a, np.asarray(other))),
    ):
        assert type(found) is gs.Tensor
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


def test_operators_on_integers_and_masks() -> None:
    a, b = np.array([6, 3]), np.array([5, 1])
    for op in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift):
        np.testing.assert_array_equal(op(gs.tensor(a), b).numpy(), op(a, b))
        np.testing.assert_array_equal(op(b, gs.tensor(a)).numpy(), op(b, a))
    mask = gs.tensor([1.0, -1.0]) > 0
    assert (~mask).tolist() == [False, True]
    assert (mask & True).tolist() == [True, False]
    q, r = divmod(gs.tensor([7.0, 5.0]), 2)
    assert (q.tolist(), r.tolist()) == ([3.0, 2.0], [1.0, 1.0])
    q, r = divmod(7.0, gs.tensor([2.0, 5.0]))
    assert (q.tolist(), r.tolist()) == ([3.0, 1.0], [1.0, 2.0])


def test_matmul_both_ways() -> None:
    t = leaf(A)
    assert (t @ A.T).shape == (2, 2)
    assert (A.T @ t).shape == (3, 3)
    assert (t @ leaf(np.ones(3))).shape == (2,)
    assert (A.T @ t).requires_grad


def test_unary_operators() -> None:
    t = leaf(A)
    for found, expected in ((-t, -A), (+t, A), (abs(t), abs(A)), (round(t, 1), np.round(A, 1))):
        assert found.requires_grad
        np.testing.assert_array_equal(found.detach().numpy(), expected)


def test_comparisons_have_no_gradient_and_raise_nothing() -> None:
    t = leaf(A)
    mask = t > 1
    assert not mask.requires_grad
    assert mask.dtype == np.bool_
    assert (t == t).all()
    assert bool((t != t).any()) is False
    assert hash(t) == hash(t)
    assert len({t, t, leaf(A)}) == 2


def test_iteration_containment_and_unpacking() -> None:
    t = leaf(A)
    rows = list(t)
    assert [r.shape for r in rows] == [(3,), (3,)]
    assert all(r.requires_grad for r in rows)
    a, b = leaf([1.0, 2.0])
    assert (a * b).item() == 2.0
    assert 2.0 in t
    assert 9.0 not in t
    with pytest.raises(TypeError, match="0-d"):
        iter(leaf(1.0))
    with pytest.raises(TypeError, match="unsized"):
        len(leaf(1.0))


def test_truth_value() -> None:
    assert bool(leaf([2.0]))
    assert not gs.tensor(0.0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(leaf(A))


def test_an_unknown_operand_makes_no_object_array() -> None:
    t = leaf([1.0, 2.0])
    for bad in ("text", object(), None, {"a": 1}, np.array([object(), object()])):
        with pytest.raises(TypeError):
            t + bad
        with pytest.raises(TypeError):
            bad + t
    assert (t == None) is False  # noqa: E711
    assert t != "text"


def test_another_class_may_take_the_operation() -> None:
    class Unit:
        def __radd__(self, other: Any) -> str:
            return "taken"

    class Silent(Unit):
        __array_ufunc__ = None

    assert gs.tensor([1.0]) + Unit() == "taken"
    assert gs.tensor([1.0]) + Silent() == "taken"


@pytest.mark.parametrize("op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow])
def test_in_place_operators_on_a_leaf_say_what_to_do(op: Any) -> None:
    for t in (leaf([1.0, 2.0]), leaf(1.0)):
        with pytest.raises(RuntimeError, match=r"leaf Variable that requires grad.*`x .*= y`.*x.clone\(\)"):
            op(t, 2.0)


def test_other_writes_into_a_leaf_say_what_to_do() -> None:
    t = leaf([2.0, 1.0])
    for write in (
        lambda: operator.setitem(t, 0, 3.0),
        lambda: t.fill(0.0),
        lambda: t.sort(),
        lambda: np.add(t, 1.0, out=t),
        lambda: np.sum(t, out=t),
        lambda: np.add.at(t, 0, 1.0),
        lambda: np.copyto(t, 1.0),
        lambda: np.put(t, 0, 1.0),
        lambda: np.put_along_axis(t, np.array([0]), 1.0, 0),
    ):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    assert t.tolist() == [2.0, 1.0]


# Leaving and coming back --------------------------------------------------------------------------


def test_copies_and_pickles() -> None:
    x = leaf([1.0, 2.0])
    back = pickle.loads(pickle.dumps(x))
    assert back.requires_grad
    assert back.tolist() == [1.0, 2.0]
    deep = copy.deepcopy(x)
    assert deep.is_leaf
    assert deep.requires_grad
    assert not np.shares_memory(deep.detach().numpy(), x.detach().numpy())
    assert copy.copy(x).tolist() == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(x * 2)).is_leaf  # the graph stays behind
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(x * 2)


def test_dlpack_both_ways() -> None:
    t = gs.tensor(A)
    np.testing.assert_array_equal(np.from_dlpack(t), A)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.from_dlpack(leaf(A))


def test_dtypes_follow_nep_50() -> None:
    t = leaf(np.array([1.0, 2.0], np.float32))
    assert (t * 2.0).dtype == np.float32
    assert (2 * t).dtype == np.float32
    assert (t * np.float64(2)).dtype == np.float64
    assert (t * np.array([1.0, 2.0])).dtype == np.float64
    assert t.sum().dtype == np.float32
    assert (t.sum() * 2.0).dtype == np.float32
    assert np.exp(t).dtype == np.float32


def test_scalar_results_have_an_array() -> None:
    s = leaf([1.0, 2.0]).sum()
    assert type(s.detach().numpy()) is np.ndarray
    assert s.detach().numpy().shape == ()
    assert s.shape == ()
    assert s.ndim == 0
    assert type(s.item()) is float
    assert s.detach().numpy() is s.detach().numpy()


def test_an_element_of_a_bare_tensor_is_a_view() -> None:
    t = gs.tensor([1.0, 2.0])
    assert np.shares_memory(t[0].detach().numpy(), t.detach().numpy())
    assert t[0].shape == ()
    assert gs.tensor(A)[1, 2].item() == -0.75
    assert gs.tensor(A)[..., 0].shape == (2,)
    assert gs.tensor(A)[None].shape == (1, 2, 3)
    assert gs.tensor(A)[A > 0].shape == ((A > 0).sum(),)
    assert gs.tensor(A)[gs.tensor(A) > 0].shape == ((A > 0).sum(),)
    assert gs.tensor(A)[gs.tensor([0, 1]), gs.tensor([1, 2])].tolist() == [-1.25, -0.75]
    assert gs.tensor(A)[gs.tensor(1)].shape == (3,)
    assert [1, 2, 3][gs.tensor(1)] == 2


def test_more_of_pytorchs_forms() -> None:
    t = leaf(np.arange(24.0).reshape(2, 3, 4))
    assert t.flatten(1).shape == (2, 12)
    assert t.flatten(start_dim=0, end_dim=1).shape == (6, 4)
    assert [p.shape for p in t.split(2, dim=1)] == [(2, 2, 4), (2, 1, 4)]
    assert [p.shape for p in t.split([1, 3], dim=2)] == [(2, 3, 1), (2, 3, 3)]
    np.testing.assert_array_equal(t.flip(dims=(0,)).detach().numpy(), t.detach().numpy()[::-1])
    np.testing.assert_array_equal(t.roll(shifts=1, dims=2).detach().numpy(), np.roll(t.detach().numpy(), 1, 2))
    np.testing.assert_allclose(t.sigmoid().detach().numpy(), 1 / (1 + np.exp(-t.detach().numpy())))


def test_numpys_names_of_arguments() -> None:
    t = leaf(A)
    assert np.sum(a=t, axis=0).shape == (3,)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # before, it was called newshape
        assert np.reshape(t, shape=(6,)).shape == (6,)
    assert np.clip(a=t, a_min=0.0, a_max=1.0).shape == (2, 3)
    assert np.dot(a=t, b=t.T).shape == (2, 2)
    assert np.concatenate(arrays=[t, t]).shape == (4, 3)
    assert [w.tolist() for w in np.where(t > 1)] == [w.tolist() for w in np.where(A > 1)]
    np.testing.assert_array_equal(np.multiply.outer(t, np.ones(2)).detach().numpy(), np.multiply.outer(A, np.ones(2)))
    assert np.subtract.outer(np.ones(2), t).requires_grad
