"""Small programs as tutorials write them: their gradients against differences, and each library against the other."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe

Program = Callable[..., Any]
PROGRAMS: dict[str, tuple[Program, tuple[np.ndarray, ...]]] = {}


def on(
    *shapes: tuple[int, ...], low: float = -1.0, high: float = 1.0, kind: type = float
) -> Callable[[Program], Program]:
    """Register a program, which takes the library and a tensor of each of these shapes and gives one real element."""

    def register(program: Program) -> Program:
        draw = np.random.default_rng(len(PROGRAMS))
        inputs = [draw.uniform(low, high, shape) for shape in shapes]
        if kind is complex:
            inputs = [x + 1j * draw.uniform(low, high, x.shape) for x in inputs]
        PROGRAMS[program.__name__] = program, tuple(inputs)
        return program

    return register


def stacked(torch: Any, tensors: list[Any]) -> Any:
    return np.stack(tensors) if torch.__name__ == "gradscribe" else torch.stack(tensors)


# --- arithmetic and control flow ------------------------------------------------------------------------------------


@on((5,))
def polynomial(torch: Any, x: Any) -> Any:
    return (3 * x**3 - 2 * x + 1).sum()


@on((3, 4), (4,))
def shared_subexpressions(torch: Any, x: Any, y: Any) -> Any:
    a = x * y
    b = a.sin()
    c = a * b + b
    return (c * c + a / (1 + b * b) - c).sum()


@on((4,), low=0.5, high=2.0)
def scalars_on_either_side(torch: Any, x: Any) -> Any:
    return (2 - x).sum() + (1 / x).sum() + (2.0**x).sum() + (x**-1.5).sum() + (5 - -x).sum() + (+x / 4).sum()


@on((3,), (3,), low=0.5, high=2.0)
def powers_of_tensors(torch: Any, x: Any, y: Any) -> Any:
    return (x**y + y**x).sum()


@on((6,))
def branches_on_data(torch: Any, x: Any) -> Any:
    s = x.sum()
    for k in range(6):
        if x[k] > 0:
            s = s * (1 + x[k])
        elif s.item() > 1:
            s = s - x[k] ** 2
        else:
            s = (s + x[k]).tanh()
    return s


@on((), low=2.0, high=3.0)
def newtons_square_root(torch: Any, a: Any) -> Any:
    y, steps = a, 0
    while abs((y * y - a).item()) > 1e-13 and steps < 50:
        y, steps = (y + a / y) / 2, steps + 1
    return y * a


@on((3,))
def recursion(torch: Any, x: Any) -> Any:
    def chebyshev(n: int) -> Any:
        if n < 2:
            return x if n else x * 0 + 1
        return 2 * x * chebyshev(n - 1) - chebyshev(n - 2)

    return sum(chebyshev(n).sum() / (n + 1) for n in range(7))


@on((4, 3))
def python_over_tensors(torch: Any, x: Any) -> Any:
    rows = [row * (k + 1) for k, row in enumerate(x)]
    first, *rest = rows
    total = sum((a * b).sum() for a, b in zip(rows, rest, strict=False))
    return max(total, first.sum()) + min(rows[0][0], rows[1][1]) * len(x)


@on((2,))
def a_long_loop(torch: Any, x: Any) -> Any:
    y = x
    for _ in range(300):
        y = y + 0.01 * (y.sin() - x * y)
    return (y * y).sum()


@on((), (), (), low=0.1)
def runge_kutta(torch: Any, a: Any, b: Any, y: Any) -> Any:
    def slope(t: float, y: Any) -> Any:
        return a * math.cos(t) - b * y * y

    h, t = 0.1, 0.0
    for _ in range(8):
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        y, t = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
    return y


# --- shapes ---------------------------------------------------------------------------------------------------------


@on((3, 1), (1, 4), (4,), ())
def broadcasting(torch: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a * b + c - d * a).sin().sum() * d


@on((2, 1, 3), (4, 1), low=0.5, high=2.0)
def broadcasting_new_axes(torch: Any, a: Any, b: Any) -> Any:
    return ((a / b) ** 2 - b * a[0]).mean()


@on((4, 6))
def slices(torch: Any, x: Any) -> Any:
    return (x[1:, ::2] * x[:-1, 1::2]).sum() + (x[..., -1] * x[0, 0]).sum() + (x[2, 3:] * x[:, None, 3:][1:2]).sum()


@on((5, 2))
def finite_elements(torch: Any, x: Any) -> Any:
    steps = x[1:] - x[:-1]
    return ((steps**2).sum(dim=1) + 1).sqrt().sum() + (x[2:] - 2 * x[1:-1] + x[:-2]).pow(2).sum()


@on((4, 3))
def indices_that_repeat(torch: Any, w: Any) -> Any:
    words = torch.tensor([0, 2, 2, 1, 0])
    found = w[words]
    return (found * found).sum() + (w[[3, 3, 0]] * w[[0, 1, 3], [2, 2, 1]][:, None]).sum()


@on((5, 3))
def masks(torch: Any, x: Any) -> Any:
    return (x[x > 0] ** 2).sum() + x[x[:, 0] < 0.3].sin().sum()


@on((2, 3, 4))
def axes_move(torch: Any, x: Any) -> Any:
    a = x.permute(2, 0, 1).reshape(4, 6).T
    b = x.transpose(0, 2).reshape(-1)[:6].unsqueeze(1)
    return (a * b).sin().sum() + (x.reshape(6, 4) * a).sum() + x.flatten()[3] * x.view(-1)[4]


@on((3, 1), (3,))
def expanded(torch: Any, x: Any, y: Any) -> Any:
    return (x.expand(3, 4) * 2).sin().sum() + (y.expand(5, 3) * x.T).exp().mean()


@on((3, 4))
def rolled_and_flipped(torch: Any, x: Any) -> Any:
    rolled, flipped = x.roll(1, 0), x.flip((1,))
    return (x * rolled).sum() + (rolled * flipped).sin().sum()


@on((4, 4), (4,))
def diagonals(torch: Any, a: Any, b: Any) -> Any:
    return a.diagonal().prod() + a.trace() * b[0] + (a.diagonal() * b).sum()


# --- reductions -----------------------------------------------------------------------------------------------------


@on((2, 3, 4))
def reductions(torch: Any, x: Any) -> Any:
    a = x.sum(dim=1, keepdim=True) * x
    return a.mean(dim=(0, 2)).sin().sum() + x.mean(dim=-1).pow(2).sum() + a.sum(dim=0).prod(dim=0).sum()


@on((4, 5))
def extremes(torch: Any, x: Any) -> Any:
    return (x - x.amax(dim=1, keepdim=True)).exp().sum() + (x.amin(dim=0) * x[0]).sum() + x.max() * x.min()


@on((3, 5))
def running_sums(torch: Any, x: Any) -> Any:
    return (x.cumsum(1) * x).sum() + (x + 2).cumprod(0).log().sum()


@on((4, 6), (6,), (6,))
def layer_norm(torch: Any, x: Any, gain: Any, bias: Any) -> Any:
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return (((x - mean) / (variance + 1e-5).sqrt() * gain + bias) ** 3).mean()


@on((4,), (4,))
def cosine_similarity(torch: Any, a: Any, b: Any) -> Any:
    return (a * b).sum() / ((a * a).sum().sqrt() * (b * b).sum().sqrt())


@on((8,), (), ())
def gaussian_likelihood(torch: Any, data: Any, mean: Any, log_scale: Any) -> Any:
    z = (data - mean) / log_scale.exp()
    return (0.5 * z * z + log_scale + 0.5 * math.log(2 * math.pi)).sum()


# --- linear algebra -------------------------------------------------------------------------------------------------


@on((2, 3), (3, 4), (4,), (2,))
def products_of_matrices(torch: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    return (a @ b @ x).sin().sum() + y @ a @ b @ x + (y @ a).exp().sum() + (x.outer(y) @ a).sum()


@on((2, 3, 4), (2, 4, 2), (4, 3))
def batches_of_matrices(torch: Any, a: Any, b: Any, c: Any) -> Any:
    return (a @ b).sin().sum() + (a @ c).matmul(a).tanh().sum() + (c.T @ b).mean()


@on((4, 4))
def gram_schmidt(torch: Any, a: Any) -> Any:
    basis: list[Any] = []
    for k in range(4):
        v = a[:, k]
        for q in basis:
            v = v - (q * v).sum() * q
        basis.append(v / (v * v).sum().sqrt())
    return (stacked(torch, basis) * a).sin().sum()


@on((4, 4), low=0.0)
def determinant_by_elimination(torch: Any, a: Any) -> Any:
    found = 1.0
    a = a.clone()
    for k in range(4):
        pivot = a[k, k] + 2
        found = found * pivot
        a = a[:, :] - (a[:, k] / pivot)[:, None] * a[k][None, :]
    return found


@on((3, 3))
def power_iteration(torch: Any, a: Any) -> Any:
    m = a @ a.T
    v = m.sum(dim=1)
    for _ in range(5):
        v = m @ v
        v = v / (v @ v).sqrt()
    return v @ m @ v


@on((3, 3))
def exponential_of_a_matrix(torch: Any, a: Any) -> Any:
    term = found = torch.tensor(np.eye(3))
    for k in range(1, 12):
        term = term @ a / k
        found = found + term
    return (found * found.T).sum()


# --- networks by hand -----------------------------------------------------------------------------------------------


@on((5, 3), (3, 4))
def softmax_cross_entropy(torch: Any, x: Any, w: Any) -> Any:
    labels = [0, 3, 1, 1, 2]
    scores = x @ w
    scores = scores - scores.amax(dim=1, keepdim=True).detach()
    logs = scores - scores.exp().sum(dim=1, keepdim=True).log()
    return -logs[[0, 1, 2, 3, 4], labels].mean()


@on((6,), (6,))
def binary_cross_entropy(torch: Any, x: Any, w: Any) -> Any:
    targets = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    p = (x * w).sigmoid()
    return -(targets * p.log() + (1 - targets) * (1 - p).log()).mean()


@on((6, 2), (2, 5), (5,), (5, 1), (1,))
def perceptron(torch: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = (x @ w1 + b1).tanh()
    return ((hidden @ w2 + b2 - x[:, :1] * x[:, 1:]) ** 2).mean()


@on((7, 2), (2, 4), (4, 4), (4,))
def recurrent_network(torch: Any, xs: Any, w: Any, u: Any, b: Any) -> Any:
    h, states = b * 0, []
    for x in xs:
        h = (x @ w + h @ u + b).tanh()
        states.append(h)
    return (stacked(torch, states)[1:] * 2 - xs[1:, :1]).pow(2).mean() + h.sum()


@on((4, 3), (3, 8), (2, 8), (8,))
def long_short_term_memory(torch: Any, xs: Any, w: Any, u: Any, b: Any) -> Any:
    h = c = torch.tensor([0.1, -0.2])
    for x in xs:
        forget, admit, out, new = (x @ w + h @ u + b).split(2)
        c = forget.sigmoid() * c + admit.sigmoid() * new.tanh()
        h = out.sigmoid() * c.tanh()
    return (h * h).sum() + c.sum()


@on((5, 4), (4, 4), (4, 4), (4, 4))
def attention(torch: Any, x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    scores = (x @ wq) @ (x @ wk).T / 2
    mask = torch.tensor(np.triu(np.full((5, 5), -30.0), 1))
    weights = (scores + mask).exp()
    return (weights / weights.sum(dim=-1, keepdim=True) @ (x @ wv)).sin().sum()


@on((2, 10), (3,))
def convolution(torch: Any, x: Any, kernel: Any) -> Any:
    found = sum(x[:, k : x.shape[1] - 2 + k] * kernel[k] for k in range(3))
    return (found.reshape(2, 4, 2).amax(dim=2) ** 2).sum()


@on((10,))
def kinks(torch: Any, x: Any) -> Any:
    relu = x.clamp(min=0)
    leaky = x.where(x > 0.2, x * 0.1)
    return (relu * 3 + leaky * x + x.abs() + x.clamp(-0.5, 0.5) ** 2 + x.sign() + x.floor()).sum()


# --- writes in place ------------------------------------------------------------------------------------------------


@on((4,), ())
def a_recurrence_written_in_place(torch: Any, x: Any, a: Any) -> Any:
    y = x * 1
    for k in range(1, 4):
        y[k] = y[k].clone() + a * y[k - 1].clone()
    return (y * y).sum()


@on((3, 3), (3,))
def rows_written_in_place(torch: Any, a: Any, b: Any) -> Any:
    out = torch.tensor(np.zeros((3, 3)))
    for k in range(3):
        out[k] = a[k] * b[k]
        out[:, k] += b
    out[1:, 1:].mul_(2).add_(a[:2, :2])
    return out.sin().sum()


@on((5,))
def accumulated_in_place(torch: Any, x: Any) -> Any:
    s = x.sum() * 0
    for k in range(5):
        s += x[k] * x[(k + 1) % 5]
    y = x.exp() + 1
    y *= 2
    y -= x
    y[y > 2] = 0
    return s * y.sum()


# --- gradients inside -----------------------------------------------------------------------------------------------


@on((4, 3), (3,))
def gradient_penalty(torch: Any, x: Any, w: Any) -> Any:
    score = ((x @ w).tanh() + (x * x).sum(dim=1)).sum()
    (slope,) = torch.autograd.grad(score, x, create_graph=True)
    return score + (((slope * slope).sum(dim=1) + 1e-3).sqrt() - 1).pow(2).mean()


@on((3, 2), (2,), ())
def learning_to_learn(torch: Any, x: Any, w: Any, rate: Any) -> Any:
    """The loss after two steps of descent, differentiable by where they began and by how long they were."""
    target = torch.tensor([1.0, -1.0, 0.5])
    for _ in range(2):
        loss = ((x @ w).sin() - target).pow(2).mean()
        (slope,) = torch.autograd.grad(loss, w, create_graph=True)
        w = w - rate * slope
    return ((x @ w).sin() - target).pow(2).mean()


@on((3,))
def trace_of_a_hessian(torch: Any, x: Any) -> Any:
    y = (x * x * x).sum() * x.sin().sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return sum(torch.autograd.grad(slope[k], x, create_graph=True)[0][k] for k in range(3))


@on((), ())
def derivatives_of_every_order(torch: Any, x: Any, a: Any) -> Any:
    y = (a * x).sin() * x
    total = y
    for _ in range(4):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        total = total + y
    return total


@on((3,), ())
def heat_equation_residual(torch: Any, w: Any, t: Any) -> Any:
    """A network that is told what its derivatives should be."""
    x = torch.tensor([0.3], requires_grad=True)
    u = (w * x + t).tanh().sum() * w[0]
    (ut,) = torch.autograd.grad(u, t, create_graph=True)
    (ux,) = torch.autograd.grad(u, x, create_graph=True)
    (uxx,) = torch.autograd.grad(ux.sum(), x, create_graph=True)
    return (ut - uxx).pow(2).sum()


# --- complex --------------------------------------------------------------------------------------------------------


@on((3,), (3,), kind=complex)
def complex_arithmetic(torch: Any, z: Any, w: Any) -> Any:
    y = z * w.conj() + (1 + 2j) * z / (w + 3)
    return (y * y.conj()).real.sum() + y.imag.sum() + (y * y).real.prod()


@on((3,), kind=complex)
def modulus_and_exponential(torch: Any, z: Any) -> Any:
    return z.abs().sum() + (z.exp() * z.sin()).abs().log().sum() + (z**3).real.sum()


@on((2, 3), (3, 2), kind=complex)
def complex_matrices(torch: Any, a: Any, b: Any) -> Any:
    return ((a @ b @ a).abs() ** 2).sum() + (b.T.conj() @ a.T).imag.sum()


@on((4,))
def complex_in_the_middle(torch: Any, x: Any) -> Any:
    z = (x * 1j).exp() * (1 + x)
    return ((z.sum() * z.conj()).real * x).sum() + z.imag.pow(2).sum() + z.abs().sum()


# --- the checks -----------------------------------------------------------------------------------------------------


def leaves(torch: Any, inputs: tuple[np.ndarray, ...]) -> list[Any]:
    return [torch.tensor(x, requires_grad=True) for x in inputs]


def array(t: Any) -> np.ndarray:
    return np.array(t.detach().tolist()).reshape(tuple(t.shape))


def run(torch: Any, name: str) -> Iterator[np.ndarray]:
    """The value, then the gradients, then what second derivatives along the gradients there are."""
    program, inputs = PROGRAMS[name]
    xs = leaves(torch, inputs)
    program(torch, *xs).backward()
    gradients = [array(x.grad) for x in xs]
    xs = leaves(torch, inputs)
    y = program(torch, *xs)
    yield array(y)
    yield from gradients
    slopes = torch.autograd.grad(y, xs, create_graph=True)
    for slope, g in zip(slopes, gradients, strict=True):
        np.testing.assert_array_equal(array(slope), g)
    norm = sum((g * g.conj()).real.sum() if "complex" in str(g.dtype) else (g * g).sum() for g in slopes)
    if norm.requires_grad:
        for second, x in zip(torch.autograd.grad(norm, xs, allow_unused=True), xs, strict=True):
            yield np.zeros(x.shape) if second is None else array(second)


def by_differences(torch: Any, program: Program, inputs: tuple[np.ndarray, ...], k: int, h: float = 1e-6) -> np.ndarray:
    """The gradient with respect to input `k`; for a complex one d/dx + i d/dy, as both libraries have it."""

    def value(step: Any) -> Any:
        moved = [x + step if j == k else x for j, x in enumerate(inputs)]
        return program(torch, *leaves(torch, tuple(moved))).item()

    found = np.zeros_like(inputs[k])
    for place in np.ndindex(found.shape):
        for direction in (1, 1j) if found.dtype.kind == "c" else (1,):
            step = np.zeros_like(found)
            step[place] = h * direction
            found[place] += direction * (value(step) - value(-step)) / (2 * h)
    return found


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_gradients_against_differences(torch: Any, name: str) -> None:
    program, inputs = PROGRAMS[name]
    xs = leaves(torch, inputs)
    y = program(torch, *xs)
    assert y.requires_grad
    assert list(y.shape) == []
    y.backward()
    for k, x in enumerate(xs):
        np.testing.assert_allclose(array(x.grad), by_differences(torch, program, inputs, k), rtol=1e-5, atol=1e-7)
        assert x.grad.dtype == x.dtype
        assert x.grad.shape == x.shape


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("torch", ["torch"], indirect=True)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_both_libraries_agree(torch: Any, name: str) -> None:
    """Values, gradients and gradients of the gradients' square, to the last digits."""
    for ours, theirs in zip(run(gradscribe, name), run(torch, name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_runs_repeat_bit_for_bit(torch: Any, name: str) -> None:
    for first, second in zip(run(torch, name), run(torch, name), strict=True):
        np.testing.assert_array_equal(first, second)
