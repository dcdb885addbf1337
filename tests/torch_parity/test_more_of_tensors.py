"""Names of PyTorch: complex views, output_nr, numpy() under no_grad, unsafe_split, gather, the older constructor, early stop."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

# Complex numbers as pairs of real ones


def test_view_as_real_and_its_gradient(torch: Any, numbers: Any) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    r = torch.view_as_real(z)
    assert r.tolist() == [[1.0, 2.0], [3.0, -1.0]]
    (r * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert z.grad.tolist() == [1 + 2j, 3 + 4j]
    assert torch.view_as_real(z).grad_fn.name() == "ViewAsRealBackward0"


def test_view_as_complex_and_its_gradient(torch: Any) -> None:
    r = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    z = torch.view_as_complex(r)
    assert z.tolist() == [1 + 2j, 3 - 1j]
    (z * z).abs().sum().backward()
    np.testing.assert_allclose(r.grad.tolist(), [[2.0, 4.0], [6.0, -2.0]])
    assert z.grad_fn.name() == "ViewAsComplexBackward0"


def test_both_pass_gradcheck(torch: Any) -> None:
    z = torch.tensor([[1 + 2j, 3 - 1j]], requires_grad=True)
    r = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(torch.view_as_real, (z,))
        assert check(torch.view_as_complex, (r,))
        assert check(lambda z: torch.view_as_real(z.transpose(0, 1) * z)[..., 0], (z,))


def test_both_are_views(torch: Any) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    r = torch.view_as_real(z)
    r[0, 0] = 9.0
    torch.view_as_complex(r)[1] = 1j
    assert z.tolist() == [9 + 2j, 1j]
    assert r._is_view()
    assert r._base is z
    assert r._version == z._version == 2
    number = torch.view_as_real(torch.tensor(1 + 2j))
    assert tuple(number.shape) == (2,)
    assert torch.view_as_complex(number).item() == 1 + 2j


def test_a_write_through_either_goes_on_in_the_graph_of_the_base(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    b = x * 1
    torch.view_as_complex(b).mul_(2j)
    assert b.tolist() == [[-4.0, 2.0], [2.0, 6.0]]
    (b * b).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [[8.0, 16.0], [24.0, -8.0]])
    y = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    c = y * 1
    torch.view_as_real(c).mul_(3)
    (c * c).abs().sum().backward()
    np.testing.assert_allclose(y.grad.tolist(), [18 + 36j, 54 - 18j])
    d = y * 1
    torch.view_as_real(d)[..., 1] = 0.0
    y.grad = None
    (d * d).abs().sum().backward()
    np.testing.assert_allclose(y.grad.tolist(), [2.0, 6.0], atol=1e-12)


def test_a_write_into_the_base_is_noticed(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    b = x * 1
    z = torch.view_as_complex(b)
    y = (z * z).abs().sum()
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_what_neither_takes(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="view_as_real is only supported for complex tensors"):
        torch.view_as_real(torch.tensor([1.0, 2.0]))
    for data in ([1 + 2j, 2], [[1, 2], [3, 4]]):
        with pytest.raises(RuntimeError, match="view_as_complex is only supported for"):
            torch.view_as_complex(torch.tensor(data))
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension of size 2"):
        torch.view_as_complex(torch.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension with stride 1"):
        torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, -1.0]]).T)


# output_nr


def test_output_nr(torch: Any) -> None:
    class Two(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

    x = torch.ones(4, requires_grad=True)
    assert [t.output_nr for t in (x, x * 2, *x.chunk(2), *x.split([1, 2, 1]), *Two.apply(x))] == [
        0,
        0,
        0,
        1,
        0,
        1,
        2,
        0,
        1,
    ]
    assert [t.output_nr for t in torch.ones(2)] == [0, 0]
    part = x.chunk(2)[1]
    edge = torch.autograd.graph.get_gradient_edge(part)
    assert (edge.node, edge.output_nr) == (part.grad_fn, part.output_nr)
    with pytest.raises(AttributeError):
        part.output_nr = 3


# numpy() under no_grad


def test_numpy_under_no_grad_is_the_memory(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert x.numpy().tolist() == [1.0, 1.0]
            assert y.numpy().tolist() == [2.0, 2.0]
            assert np.asarray(x[:1]).tolist() == [1.0]
    with torch.no_grad():
        x.numpy()[0] = 5.0
    assert x.tolist() == [5.0, 1.0]


def test_numpy_is_refused_where_gradients_are_recorded(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    message = r"Can't call numpy\(\) on Tensor that requires grad"
    with pytest.raises(RuntimeError, match=message):
        x.numpy()
    with torch.no_grad(), torch.enable_grad(), pytest.raises(RuntimeError, match=message):
        x.numpy()
    with torch.no_grad(), pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(x)
    assert x.numpy(force=True).tolist() == [1.0, 1.0]


# Parts that may be written


@pytest.mark.parametrize(
    "split",
    [lambda t: t.unsafe_split(1), lambda t: t.unsafe_split_with_sizes([1, 1]), lambda t: t.unsafe_chunk(2)],
    ids=["unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"],
)
@pytest.mark.parametrize("leaf", [True, False])
def test_unsafe_parts_may_be_written_in_place(torch: Any, split: Any, leaf: bool) -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    first, second = split(x if leaf else x * 1)
    assert not first._is_view()
    first.mul_(second)
    first[:1].mul_(2)
    (first + second).sum().backward()
    assert first.tolist() == [12.0]
    assert x.grad.tolist() == [6.0, 5.0]


def test_unsafe_parts_of_a_constant(torch: Any) -> None:
    x = torch.ones(2)
    first, second = x.unsafe_split(1)
    first.mul_(torch.tensor(3.0, requires_grad=True))
    assert (first.requires_grad, second.requires_grad, x.requires_grad, x._version) == (True, False, False, 0)


# gather


@pytest.mark.parametrize("sparse", [True, False])
def test_gather_takes_sparse_grad(torch: Any, sparse: bool) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    index = torch.tensor([[0, 0], [1, 0]])
    found = x.gather(1, index, sparse_grad=sparse)
    assert (
        found.tolist()
        == torch.gather(input=x, dim=1, index=index, sparse_grad=sparse).tolist()
        == [[1.0, 1.0], [4.0, 3.0]]
    )
    found.sum().backward()
    assert (x.grad.to_dense() if x.grad.is_sparse else x.grad).tolist() == [[2.0, 0.0], [1.0, 1.0]]


# The older constructor


@pytest.fixture
def single(torch: Any) -> Any:
    """The library with PyTorch's own default dtype."""
    if torch.__name__ == "torch":
        torch.set_default_dtype(torch.float32)
    return torch


def test_the_older_constructor_makes_float32(single: Any) -> None:
    for data in ([0, 0, 0], [1.5, 2.0], [[1, 2], [3, 4]], (1, 2), [True, False], np.zeros(2), np.arange(3)):
        made = single.Tensor(data)
        assert str(made.dtype).endswith("float32")
        assert made.tolist() == np.array(data, float).tolist()
    assert tuple(single.Tensor().shape) == (0,)
    assert tuple(single.Tensor(3).shape) == (3,)
    assert tuple(single.Tensor(2, 3).shape) == (2, 3)
    assert str(single.Tensor(2, 3).dtype).endswith("float32")
    with pytest.raises(TypeError, match="data must be a sequence"):
        single.Tensor(2.5)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        single.Tensor([1 + 2j])
    x = single.Tensor([1, 2]).requires_grad_()
    (x * x).sum().backward()
    assert str(x.grad.dtype).endswith("float32")


# How far a checkpoint recomputes


def runs(torch: Any, **options: Any) -> list[str]:
    """What a checkpointed function did when it was called, and in backward."""
    place = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    done: list[str] = []

    def block(x: Any) -> Any:
        done.append("begin")
        y = x.exp().sin()
        done.append("end")
        return y + 1

    x = torch.ones(2, requires_grad=True)
    place.checkpoint(block, x, use_reentrant=False, **options).sum().backward()
    return done


def test_early_stop_is_set_for_a_block(torch: Any) -> None:
    place = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    early, late = ["begin", "end", "begin"], ["begin", "end", "begin", "end"]
    assert runs(torch) == early
    with place.set_checkpoint_early_stop(False):
        assert runs(torch) == late
        assert runs(torch, early_stop=True) == late
        with place.set_checkpoint_early_stop(True):
            assert runs(torch, early_stop=False) == early
        assert runs(torch) == late
    assert runs(torch) == early
    assert runs(torch, early_stop=False) == late


def test_what_counts_is_the_block_in_which_it_is_called(torch: Any) -> None:
    place = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    done: list[int] = []
    x = torch.ones(2, requires_grad=True)
    with place.set_checkpoint_early_stop(False):
        y = place.checkpoint(lambda a: (a.exp(), done.append(1))[0], x, use_reentrant=False)
    y.sum().backward()
    assert done == [1, 1]
    assert runs(torch) == ["begin", "end", "begin"]


# Undefined gradients


def function(torch: Any, backward: Any) -> Any:
    class Doubled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g)

    return Doubled.apply


def fails(g: Any) -> Any:
    if g is None:
        raise RuntimeError("no gradient")
    return g * 2


BEHIND = {
    "alone": lambda f: f,
    "a product": lambda f: lambda x: f(x) * 2,
    "a sum": lambda f: lambda x: f(x).sum(),
    "a view": lambda f: lambda x: f(x)[:1],
    "a chain": lambda f: lambda x: (f(x).exp() + 1).sin(),
    "in the middle": lambda f: lambda x: f(x * 2) * 2,
}


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("place", BEHIND.values(), ids=BEHIND)
def test_gradcheck_sends_undefined_gradients_through_other_operations(torch: Any, place: Any) -> None:
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    check = torch.autograd.gradcheck
    with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        check(place(function(torch, fails)), (x,))
    with pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero when all output grads"):
        check(place(function(torch, lambda g: torch.ones(2) if g is None else g * 2)), (x,))
    with pytest.raises(TypeError, match="unsupported operand type"):
        check(place(function(torch, lambda g: g * 2)), (x,))
    assert not check(place(function(torch, fails)), (x,), raise_exception=False)
    assert check(place(function(torch, fails)), (x,), check_undefined_grad=False)
    assert check(place(function(torch, lambda g: None if g is None else g * 2)), (x,))


def test_a_sum_to_a_size_that_does_not_broadcast(torch: Any) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    for size in ((2,), (3, 3), (1, 2, 3)):
        with pytest.raises(RuntimeError, match="is not expandable to size"):
            x.sum_to_size(*size)
    x.sum_to_size(1, 3).sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2
