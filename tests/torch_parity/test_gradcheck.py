"""gradcheck and gradgradcheck find the same faults on both libraries."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

BOTH = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit", "ignore:Backwards compatibility")


@pytest.fixture
def error(torch):
    """GradcheckError."""
    return torch.autograd.GradcheckError if torch.__name__ == "gradscribe" else _torch_error()


def _torch_error():
    return importlib.import_module("torch.autograd.gradcheck").GradcheckError


def scaled(torch, factor):
    """A square with a backward that is wrong by `factor`."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x * (2 * factor)

    return Square.apply


@pytest.fixture
def x(torch):
    return torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)


@pytest.fixture
def z(torch):
    return torch.tensor([1 + 2j, -0.5 + 1j], requires_grad=True)


# --- what is right passes -------------------------------------------------------------------------------------------


@BOTH
def test_a_right_gradient_passes(torch, x, fast_mode):
    assert torch.autograd.gradcheck(lambda x: (x * x).sum(), x, fast_mode=fast_mode) is True
    assert torch.autograd.gradcheck(lambda x: x**3 + x.exp(), (x,), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda x: x**3 + x.exp(), (x,), fast_mode=fast_mode) is True


@BOTH
def test_several_inputs_and_outputs(torch, x, fast_mode):
    y, c = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([4.0, 5.0])

    def f(c, x, k, y):
        return x * c * k, (x * y).sum(), y[0] * c

    assert torch.autograd.gradcheck(f, (c, x, 2.0, y), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(f, (c, x, 2.0, y), fast_mode=fast_mode)
    assert torch.autograd.gradcheck(lambda x: [x * 2, x], x, fast_mode=fast_mode)
    assert torch.autograd.gradcheck(lambda x: (x * 2, x.detach() * 3), x, fast_mode=fast_mode)


@BOTH
def test_empty_outputs(torch, x, fast_mode):
    assert torch.autograd.gradcheck(lambda x: x[:0], x, fast_mode=fast_mode)


@BOTH
def test_complex(torch, x, z, fast_mode):
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for f in (lambda z: z * z, lambda z: z.conj() * z, lambda z: z.abs() ** 2, lambda z: z.real, lambda z: z.exp()):
        assert check(f, z, fast_mode=fast_mode)
        assert twice(f, z, fast_mode=fast_mode)
    assert check(lambda x: x * (1 + 2j), x, fast_mode=fast_mode)
    assert check(lambda x, z: (x[0] * z, x.sum()), (x, z), fast_mode=fast_mode)


@BOTH
def test_a_function_of_the_users(torch, x, fast_mode):
    assert torch.autograd.gradcheck(scaled(torch, 1.0), x, fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(scaled(torch, 1.0), x, fast_mode=fast_mode)


def test_a_closure_over_the_input(torch, x):
    assert torch.autograd.gradcheck(lambda _: x * x, x)


def test_an_input_that_is_no_leaf(torch, x):
    assert torch.autograd.gradcheck(lambda y: y * y, x * 2)


# --- planted faults -------------------------------------------------------------------------------------------------


@BOTH
def test_a_factor_is_found(torch, x, error, fast_mode):
    with pytest.raises(error, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(scaled(torch, 1.01), x, fast_mode=fast_mode)
    assert torch.autograd.gradcheck(scaled(torch, 1.01), x, fast_mode=fast_mode, raise_exception=False) is False


@BOTH
def test_a_factor_of_a_thousandth_is_found_with_a_tighter_rtol(torch, x, error, fast_mode):
    assert torch.autograd.gradcheck(scaled(torch, 1.0005), x, fast_mode=fast_mode)
    with pytest.raises(error, match="Jacobian mismatch"):
        torch.autograd.gradcheck(scaled(torch, 1.0005), x, rtol=1e-5, fast_mode=fast_mode)


@BOTH
def test_the_numbers_of_output_and_input(torch, x, error, fast_mode):
    f, y = scaled(torch, 2.0), torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(error, match="Jacobian mismatch for output 1 with respect to input 1"):
        torch.autograd.gradcheck(lambda x, y: (x * y, f(y)), (x, y), fast_mode=fast_mode)


@BOTH
def test_a_dropped_conjugate_is_found(torch, z, error, fast_mode):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * 2 * z

    with pytest.raises(error, match="part of complex outputs only, Jacobian mismatch for output 0"):
        torch.autograd.gradcheck(Product.apply, z, fast_mode=fast_mode)


@BOTH
def test_a_wrong_second_derivative_is_found(torch, x, error, fast_mode):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x.detach()

    assert torch.autograd.gradcheck(Cube.apply, x, fast_mode=fast_mode)
    with pytest.raises(error, match="Jacobian mismatch"):
        torch.autograd.gradgradcheck(Cube.apply, x, fast_mode=fast_mode)
    assert not torch.autograd.gradgradcheck(Cube.apply, x, fast_mode=fast_mode, raise_exception=False)


@BOTH
def test_a_backward_that_differs_from_run_to_run(torch, x, error, fast_mode):
    runs = []

    class Drifting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            runs.append(1)
            return g * (2 + 1e-7 * len(runs))

    with pytest.raises(error, match="Backward is not reentrant"):
        torch.autograd.gradcheck(Drifting.apply, x, fast_mode=fast_mode)
    assert torch.autograd.gradcheck(Drifting.apply, x, fast_mode=fast_mode, nondet_tol=1e-4)


@BOTH
def test_no_output_requires_grad(torch, x, error, fast_mode):
    with pytest.raises(error, match="Numerical gradient for function expected to be zero"):
        torch.autograd.gradcheck(lambda x: x.detach() * 2, x, fast_mode=fast_mode)


@BOTH
def test_half_of_the_dependence_is_detached(torch, x, error, fast_mode):
    with pytest.raises(error, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda x: x * x.detach(), x, fast_mode=fast_mode)


def test_a_backward_that_ignores_its_cotangent(torch, error):
    class Ignoring(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 0 + 1

    x = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(error, match="backward not multiplied by grad_output"):
        torch.autograd.gradcheck(Ignoring.apply, x)


def undefined(torch, handled, two):
    """A Function that gets None for an output that is not used; an error of type RuntimeError where not `handled`."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return (x * 2, x * 3) if two else x * 2

        @staticmethod
        def backward(ctx, *grads):
            total = None
            for g, k in zip(grads, (2, 3)):  # noqa: B905
                if g is None:
                    if not handled:
                        raise RuntimeError("None came")
                else:
                    total = g * k if total is None else total + g * k
            return total

    return Doubled.apply


@pytest.mark.parametrize("two", [False, True])
def test_undefined_gradients_taken_as_zeros(torch, x, two):
    assert torch.autograd.gradcheck(undefined(torch, True, two), x)


def test_undefined_gradients_that_raise(torch, x, error):
    with pytest.raises(error, match="Expected backward function to handle undefined output grads") as caught:
        torch.autograd.gradcheck(undefined(torch, False, False), x)
    assert "None came" in str(caught.value.__cause__)
    assert torch.autograd.gradcheck(undefined(torch, False, False), x, check_undefined_grad=False)


# --- what is refused ------------------------------------------------------------------------------------------------


def test_no_input_requires_grad(torch, x):
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        torch.autograd.gradcheck(lambda x: x * 2, x.detach())


def test_single_precision_warns(torch):
    x = torch.tensor([1.0, 2.0], dtype=getattr(torch, "float32", "float32"), requires_grad=True)
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double precision floating point"):
        torch.autograd.gradcheck(lambda c, x: x * x, (2.0, x), eps=1e-2, atol=1e-2, rtol=1e-2)


CONTRADICTIONS = [
    {"check_backward_ad": False},
    {"check_batched_forward_grad": True},
    {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
]


@pytest.mark.parametrize("options", CONTRADICTIONS)
def test_options_that_contradict(torch, x, options):
    with pytest.raises(AssertionError):
        torch.autograd.gradcheck(lambda x: x * 2, x, **options)


def test_a_shape_that_depends_on_the_values(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(AssertionError, match="the same shape"):
        torch.autograd.gradcheck(lambda x: x if x[0].item() > 1 else x[:1], x)


@BOTH
def test_an_exception_of_the_users_passes(torch, x, fast_mode):
    with pytest.raises(ZeroDivisionError, match="mine"):
        torch.autograd.gradcheck(_raising(1), x, fast_mode=fast_mode, raise_exception=False)
    with pytest.raises(ZeroDivisionError, match="mine"):
        torch.autograd.gradcheck(_raising(2), x, fast_mode=fast_mode, raise_exception=False)


def _raising(at):
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == at:
            raise ZeroDivisionError("mine")
        return x * x

    return f


# --- options --------------------------------------------------------------------------------------------------------


def test_batched_gradients(torch, x, z):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, about the scripts that it compiles for this
        assert torch.autograd.gradcheck(lambda x: (x * x, x.sum()), x, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(lambda z: z * z, z, check_batched_grad=True)


def test_grad_outputs_that_are_given(torch, x):
    ones = torch.tensor(np.ones((2, 2)).tolist(), requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: x**3, x, ones)
    twos = torch.tensor(np.full((2, 2), 2.0).tolist(), requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: (x**3, x * 2), (x,), (ones, twos))
    assert torch.autograd.gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


def test_dtypes_of_gradients(torch, x):
    assert torch.autograd.gradcheck(lambda x: x * 2, x, check_grad_dtypes=True)


def test_the_inputs_are_as_before(torch, x, numbers):
    before = numbers(x)
    torch.autograd.gradcheck(lambda x: x.exp(), x)
    torch.autograd.gradcheck(lambda x: x.exp(), x, fast_mode=True)
    assert (numbers(x) == before).all()
    assert x.grad is None


def test_the_error_is_a_runtime_error(error):
    assert issubclass(error, RuntimeError)
