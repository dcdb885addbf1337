"""The tutorials of torch.autograd that users meet first, line by line, with all that they print: here, and on PyTorch itself.

`torch` is gradscribe, and `np` is NumPy; on PyTorch both are PyTorch. What is random is given, so that it can be compared.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

LINES: dict[str, Callable[[Any, Any], None]] = {}
PRINTED: dict[str, str] = {}
DRAW = np.random.default_rng(7)
W, B = DRAW.normal(size=(5, 3)).round(3), DRAW.normal(size=3).round(3)


def prints(text: str) -> Callable[[Callable[[Any, Any], None]], Callable[[Any, Any], None]]:
    """Register a tutorial with what it prints."""

    def register(lines: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        LINES[lines.__name__], PRINTED[lines.__name__] = lines, textwrap.dedent(text).strip() + "\n"
        return lines

    return register


def refused(run: Callable[[], Any], words: str) -> None:
    """Print the class and the well-known words of an error."""
    try:
        run()
    except RuntimeError as error:
        print("RuntimeError:", words if words in str(error) else error)


# --- the network of one layer ---------------------------------------------------------------------------------------


@prints("""
    Gradient function for z = <AddBackward0>
    Gradient function for loss = <BinaryCrossEntropyWithLogitsBackward0>
    tensor([-0.6500, -0.6000, -1.8880], grad_fn=<AddBackward0>) tensor(0.3328, grad_fn=<BinaryCrossEntropyWithLogitsBackward0>)
    tensor([[0.1143, 0.1181, 0.0438],
            [0.1143, 0.1181, 0.0438],
            [0.1143, 0.1181, 0.0438],
            [0.1143, 0.1181, 0.0438],
            [0.1143, 0.1181, 0.0438]])
    tensor([0.1143, 0.1181, 0.0438])
    True
    False
    False
""")
def one_layer(torch: Any, np: Any) -> None:
    x = torch.ones(5)  # input tensor
    y = torch.zeros(3)  # expected output
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    w.data.copy_(torch.tensor(W))
    b.data.copy_(torch.tensor(B))
    z = np.matmul(x, w) + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    print(f"Gradient function for z = {z.grad_fn}")
    print(f"Gradient function for loss = {loss.grad_fn}")
    print(z, loss)

    loss.backward()
    print(w.grad)
    print(b.grad)

    z = np.matmul(x, w) + b
    print(z.requires_grad)

    with torch.no_grad():
        z = np.matmul(x, w) + b
    print(z.requires_grad)

    z = np.matmul(x, w) + b
    z_det = z.detach()
    print(z_det.requires_grad)


@prints("""
    First call
    tensor([[4., 2., 2., 2., 2.],
            [2., 4., 2., 2., 2.],
            [2., 2., 4., 2., 2.],
            [2., 2., 2., 4., 2.]])

    Second call
    tensor([[8., 4., 4., 4., 4.],
            [4., 8., 4., 4., 4.],
            [4., 4., 8., 4., 4.],
            [4., 4., 4., 8., 4.]])

    Call after zeroing gradients
    tensor([[4., 2., 2., 2., 2.],
            [2., 4., 2., 2., 2.],
            [2., 2., 4., 2., 2.],
            [2., 2., 2., 4., 2.]])
""")
def backward_twice_into_a_matrix(torch: Any, np: Any) -> None:
    inp = torch.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"First call\n{inp.grad}")
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"\nSecond call\n{inp.grad}")
    inp.grad.zero_()
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"\nCall after zeroing gradients\n{inp.grad}")


# --- a function of a vector -----------------------------------------------------------------------------------------


@prints("""
    tensor([0., 1., 2., 3.])
    None
    tensor(28., grad_fn=<MulBackward0>)
    tensor([ 0.,  4.,  8., 12.])
    tensor([True, True, True, True])
    tensor([1., 1., 1., 1.])
    tensor([0., 2., 4., 6.])
""")
def twice_the_dot_product(torch: Any, np: Any) -> None:
    x = torch.arange(4.0)
    print(x)
    x.requires_grad_(True)  # or torch.arange(4.0, requires_grad=True)
    print(x.grad)  # None by default
    y = 2 * np.dot(x, x)
    print(y)
    y.backward()
    print(x.grad)
    print(x.grad == 4 * x)

    x.grad.zero_()  # reset the gradient
    y = x.sum()
    y.backward()
    print(x.grad)

    x.grad.zero_()
    y = x * x
    y.backward(gradient=torch.ones(len(y)))  # quicker: y.sum().backward()
    print(x.grad)


@prints("""
    tensor([True, True, True, True])
    tensor([True, True, True, True])
""")
def detached_computation(torch: Any, np: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * x
    u = y.detach()
    z = u * x
    z.sum().backward()
    print(x.grad == u)

    x.grad.zero_()
    y.sum().backward()
    print(x.grad == 2 * x)


@prints("""
    tensor(1228.8000, grad_fn=<MulBackward0>) tensor(True)
    tensor(-143360., grad_fn=<MulBackward0>) tensor(True)
    tensor([614.4000, 614.4000, 614.4000], grad_fn=<MulBackward0>) tensor([True, True, True])
    tensor([-71680., -71680., -71680.], grad_fn=<MulBackward0>) tensor([True, True, True])
""")
def python_control_flow(torch: Any, np: Any) -> None:
    def f(a: Any) -> Any:
        b = a * 2
        while b.norm() < 1000:
            b = b * 2
        if b.sum() > 0:
            c = b
        else:
            c = 100 * b
        return c

    for size in ((), (3,)):
        for value in (0.3, -0.7):
            a = torch.randn(size=size, requires_grad=True)
            a.data.fill_(value)
            d = f(a)
            d.backward(torch.ones_like(d))
            print(d, a.grad == d / a)


# --- tensors, functions and the vector-Jacobian product -------------------------------------------------------------


@prints("""
    tensor([[1., 1.],
            [1., 1.]], requires_grad=True)
    tensor([[3., 3.],
            [3., 3.]], grad_fn=<AddBackward0>)
    <AddBackward0>
    tensor([[27., 27.],
            [27., 27.]], grad_fn=<MulBackward0>) tensor(27., grad_fn=<MeanBackward0>)
    tensor([[4.5000, 4.5000],
            [4.5000, 4.5000]])
    False
    True
    <SumBackward0>
""")
def the_blitz(torch: Any, np: Any) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    print(x)
    y = x + 2
    print(y)
    print(y.grad_fn)
    z = y * y * 3
    out = z.mean()
    print(z, out)
    out.backward()
    print(x.grad)

    a = torch.tensor([[0.5, -1.25], [2.0, 1.5]])
    a = (a * 3) / (a - 1)
    print(a.requires_grad)
    a.requires_grad_(True)
    print(a.requires_grad)
    b = (a * a).sum()
    print(b.grad_fn)


@prints("""
    tensor([  256., -1536.,   768.], grad_fn=<MulBackward0>)
    tensor([1.0240e+02, 1.0240e+03, 1.0240e-01])
    True
    True
    False
    False
    tensor(True)
""")
def vector_jacobian_product(torch: Any, np: Any) -> None:
    x = torch.randn(3, requires_grad=True)
    x.data.copy_(torch.tensor([0.25, -1.5, 0.75]))
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    print(y)
    v = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(v)
    print(x.grad)

    print(x.requires_grad)
    print((x**2).requires_grad)
    with torch.no_grad():
        print((x**2).requires_grad)

    y = x.detach()
    print(y.requires_grad)
    print(x.eq(y).all())


@prints("""
    tensor([-12.,  65.], grad_fn=<SubBackward0>)
    RuntimeError: grad can be implicitly created only for scalar outputs
    tensor([True, True])
    tensor([True, True])
""")
def an_aggregated_error(torch: Any, np: Any) -> None:
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    Q = 3 * a**3 - b**2
    print(Q)
    refused(Q.backward, "grad can be implicitly created only for scalar outputs")
    external_grad = torch.tensor([1.0, 1.0])
    Q.backward(gradient=external_grad)
    print(9 * a**2 == a.grad)
    print(-2 * b == b.grad)


@prints("""
    tensor([  4.,  32., 108.], grad_fn=<MulBackward0>)
    tensor([ 12.,  48., 108.], grad_fn=<MulBackward0>)
    tensor([24., 48., 72.]) False
    3.0
    tensor(36.)
""")
def gradients_of_gradients(torch: Any, np: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x**4).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    print(first)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    print(second)
    (third,) = torch.autograd.grad(second.sum(), x)
    print(third, third.requires_grad)

    x = torch.tensor(1.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).backward(create_graph=True)
    print(x.grad.item())
    penalty = x.grad**2
    x.grad = None
    penalty.backward()
    print(x.grad)


# --- what needs a gradient ------------------------------------------------------------------------------------------


@prints("""
    Does `a` require gradients? : False
    Does `b` require gradients?: True
    True False True None <AddBackward0>
    RuntimeError: does not require grad and does not have a grad_fn
""")
def requires_grad_spreads(torch: Any, np: Any) -> None:
    x = torch.rand(5, 5)
    y = torch.rand(5, 5)
    z = torch.rand((5, 5), requires_grad=True)

    a = x + y
    print(f"Does `a` require gradients? : {a.requires_grad}")
    b = x + z
    print(f"Does `b` require gradients?: {b.requires_grad}")
    print(a.is_leaf, b.is_leaf, z.is_leaf, a.grad_fn, b.grad_fn)
    refused(a.sum().backward, "does not require grad and does not have a grad_fn")


@prints("""
    tensor(1.3077, grad_fn=<MseLossBackward0>)
    tensor(0.6782, grad_fn=<MseLossBackward0>)
    tensor([[ 0.5000, -0.5000],
            [ 0.2500,  1.0000]]) None
    tensor([[ 1.2996],
            [-0.6439]], requires_grad=True)
    tensor([[-0.6474,  0.1380],
            [-1.2947,  0.2760]])
""")
def frozen_parameters(torch: Any, np: Any) -> None:
    x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0]])
    features = torch.tensor([[0.5, -0.5], [0.25, 1.0]], requires_grad=True)
    head = torch.tensor([[1.0], [-1.0]], requires_grad=True)

    for parameter in [features]:  # freeze all the parameters of the network but for its head
        parameter.requires_grad = False

    optimizer = torch.optim.SGD([head], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(np.tanh(x @ features) @ head, y)
        loss.backward()
        optimizer.step()
        print(loss)
    print(features, features.grad)
    print(head)

    features.requires_grad_()  # and thaw them
    torch.nn.functional.mse_loss(np.tanh(x @ features) @ head, y).backward()
    print(features.grad)


@prints("""
    tensor([[1.2500]]) tensor(7.5625, grad_fn=<MseLossBackward0>)
    <MseLossBackward0>
    tensor([[-11.]]) tensor([-5.5000])
    tensor([[1.6000]], requires_grad=True) tensor([0.8000], requires_grad=True) tensor([[0.]])
    tensor(0., grad_fn=<MseLossBackward0>)
""")
def one_by_one_linear_model(torch: Any, np: Any) -> None:
    weight = torch.tensor([[0.5]], requires_grad=True)
    bias = torch.tensor([0.25], requires_grad=True)
    criterion = torch.nn.MSELoss()
    x, target = torch.tensor([[2.0]]), torch.tensor([[4.0]])

    output = torch.nn.functional.linear(x, weight, bias)
    loss = criterion(output, target)
    print(output.data, loss)
    print(loss.grad_fn)
    loss.backward()
    print(weight.grad, bias.grad)

    with torch.no_grad():
        for parameter in (weight, bias):
            parameter -= 0.1 * parameter.grad
            parameter.grad.zero_()
    print(weight, bias, weight.grad)
    print(criterion(torch.nn.functional.linear(x, weight, bias), target))


# --- hooks, detach and .data ----------------------------------------------------------------------------------------


@prints("""
    tensor([2., 4., 6.])
    tensor([3., 6., 9.])
""")
def a_hook_that_doubles_the_gradient(torch: Any, np: Any) -> None:
    v = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    h = v.register_hook(lambda grad: grad * 2)  # double the gradient
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    print(v.grad)
    h.remove()  # removes the hook
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    print(v.grad)


@prints("""
    tensor([0., 0., 0.], grad_fn=<SigmoidBackward0>)
    tensor([0., 0., 0.])
""")
def the_data_of_a_tensor(torch: Any, np: Any) -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = a.sigmoid()
    c = out.data
    c.zero_()
    print(out)  # out was modified by c.zero_()
    out.sum().backward()
    print(a.grad)  # the result is very, very wrong, because out changed


@prints("""
    tensor([0.7311, 0.8808, 0.9526], grad_fn=<SigmoidBackward0>)
    tensor([0.7311, 0.8808, 0.9526])
    tensor([0., 0., 0.])
    tensor([0., 0., 0.], grad_fn=<SigmoidBackward0>)
    RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation
""")
def detach_of_a_tensor(torch: Any, np: Any) -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = a.sigmoid()
    print(out)
    c = out.detach()
    print(c)
    c.zero_()
    print(c)
    print(out)  # modified by c.zero_()
    words = "one of the variables needed for gradient computation has been modified by an inplace operation"
    refused(out.sum().backward, words)  # requires the original value of out, but that was overwritten


@prints("""
    True True
    False True False
    tensor([5., 2., 3.], requires_grad=True)
""")
def detach_shares_memory(torch: Any, np: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.detach()
    print(x.data_ptr() == y.data_ptr(), x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())
    z = x.clone()
    print(x.data_ptr() == z.data_ptr(), z.requires_grad, y.requires_grad)
    y[0] = 5.0
    print(x)


# --- a sine by a polynomial of third order --------------------------------------------------------------------------


@prints("""
    49 117.062172
    99 94.520573
    149 77.077824
    199 62.890789
    Result: y = 0.226236 + 0.121303 x + -0.038666 x^2 + 0.010547 x^3
""")
def a_polynomial_by_autograd(torch: Any, np: Any) -> None:
    x = torch.linspace(-math.pi, math.pi, 200)
    y = np.sin(x)
    a = torch.randn((), requires_grad=True)
    b = torch.randn((), requires_grad=True)
    c = torch.randn((), requires_grad=True)
    d = torch.randn((), requires_grad=True)
    for parameter, value in zip((a, b, c, d), (0.5, -0.25, 1.0, 0.125), strict=True):
        parameter.data.fill_(value)
    learning_rate = 1e-5
    for t in range(200):
        # Forward pass: compute predicted y using operations on Tensors.
        y_pred = a + b * x + c * x**2 + d * x**3

        # Compute and print loss using operations on Tensors.
        loss = (y_pred - y).pow(2).sum()
        if t % 50 == 49:
            print(t, f"{loss.item():.6f}")

        # Use autograd to compute the backward pass.
        loss.backward()

        # Manually update weights using gradient descent.
        with torch.no_grad():
            a -= learning_rate * a.grad
            b -= learning_rate * b.grad
            c -= learning_rate * c.grad
            d -= learning_rate * d.grad

            # Manually zero the gradients after updating weights.
            a.grad = None
            b.grad = None
            c.grad = None
            d.grad = None
    print(f"Result: y = {a.item():.6f} + {b.item():.6f} x + {c.item():.6f} x^2 + {d.item():.6f} x^3")


@prints("""
    49 26.074873
    99 21.397749
    149 17.727875
    199 14.737515
    <AddBackward0> LegendrePolynomial3Backward
    Result: y = 0.001683 + -1.389069 * P3(0.000016 + 0.247960 x)
""")
def a_function_of_ones_own(torch: Any, np: Any) -> None:
    class LegendrePolynomial3(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, input: Any) -> Any:
            ctx.save_for_backward(input)
            return 0.5 * (5 * input**3 - 3 * input)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            (input,) = ctx.saved_tensors
            return grad_output * 1.5 * (5 * input**2 - 1)

    x = torch.linspace(-math.pi, math.pi, 200)
    y = np.sin(x)
    a = torch.full((), 0.1, requires_grad=True)
    b = torch.full((), -1.0, requires_grad=True)
    c = torch.full((), 0.2, requires_grad=True)
    d = torch.full((), 0.3, requires_grad=True)
    optimizer = torch.optim.SGD([a, b, c, d], lr=5e-5)
    P3 = LegendrePolynomial3.apply
    for t in range(200):
        y_pred = a + b * P3(c + d * x)
        loss = (y_pred - y).pow(2).sum()
        if t % 50 == 49:
            print(t, f"{loss.item():.6f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(y_pred.grad_fn, P3(c + d * x).grad_fn.name())
    print(f"Result: y = {a.item():.6f} + {b.item():.6f} * P3({c.item():.6f} + {d.item():.6f} x)")


# --- the tests ------------------------------------------------------------------------------------------------------


def printed(lines: Callable[[Any, Any], None], torch: Any, np: Any) -> str:
    """What a tutorial prints, without addresses."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        lines(torch, np)
    return re.sub(r" object at 0x[0-9a-f]+", "", out.getvalue())


@pytest.fixture
def pytorch() -> Iterator[Any]:
    """PyTorch, which makes float64 by default meanwhile, as NumPy does."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield torch
    torch.set_default_dtype(before)


@pytest.mark.parametrize("name", LINES)
def test_a_tutorial_prints_what_it_says(name: str) -> None:
    assert printed(LINES[name], gs, np) == PRINTED[name]


@pytest.fixture(params=["gradscribe", pytest.param("torch", marks=pytest.mark.parity)])
def torch(request: pytest.FixtureRequest) -> Any:
    """The library under test."""
    return gs if request.param == "gradscribe" else request.getfixturevalue("pytorch")


def test_a_loss_bears_the_name_of_the_whole(torch: Any) -> None:
    functional = torch.nn.functional
    x = torch.tensor([[0.25, 0.5], [0.75, 0.125]], requires_grad=True)
    target, classes = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0, 1])
    for reduction in ("mean", "sum", "none"):
        names = [
            getattr(functional, name)(x, target, reduction=reduction).grad_fn.name()
            for name in (
                "mse_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"
            )
        ]  # fmt: skip
        assert names == [
            "MseLossBackward0", "HuberLossBackward0", "SmoothL1LossBackward0", "BinaryCrossEntropyBackward0",
            "BinaryCrossEntropyWithLogitsBackward0",
        ]  # fmt: skip
        for loss in (functional.nll_loss, functional.cross_entropy):
            assert loss(x, classes, reduction=reduction).grad_fn.name() == "NllLossBackward0"


def test_the_control_flow_stays_a_loop_when_it_is_compiled() -> None:
    def f(a: Any) -> Any:
        b = a * 2
        while np.linalg.norm(b) < 1000:
            b = b * 2
        if np.sum(b) > 0:
            c = b
        else:
            c = 100 * b
        return np.sum(c)

    compiled = gs.compile(gs.value_and_grad(f), verify="first calls")
    for value in (0.3, -0.7, 2000.0, 1e-3, -0.9):
        a = np.array([value, value / 2, value])
        d, slope = compiled(a)
        assert d == f(a)
        np.testing.assert_allclose(slope, d / np.sum(a), rtol=1e-12)
    text = compiled.source(np.array([0.3, 0.15, 0.3]))
    assert re.sub(r"#.*", "", text).count("while ") == 1


@pytest.mark.parity
@pytest.mark.parametrize("name", LINES)
def test_pytorch_prints_the_same(name: str, pytorch: Any) -> None:
    assert printed(LINES[name], pytorch, pytorch) == PRINTED[name]
