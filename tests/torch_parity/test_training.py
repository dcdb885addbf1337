"""Training loops and other programs that keep something between the steps: the same course in both libraries."""

from __future__ import annotations

import gc
import importlib.util
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe

DRAW = np.random.default_rng(3)
X = DRAW.uniform(-1, 1, (12, 3))
W = np.array([[1.5], [-2.0], [0.5]])
Y = X @ W + 0.3
LABELS = (Y[:, 0] > 0).astype(float)
HIDDEN, OUT = DRAW.uniform(-0.5, 0.5, (3, 5)), DRAW.uniform(-0.5, 0.5, (5, 1))

Course = Callable[[Any], list[Any]]
COURSES: dict[str, Course] = {}


def course(program: Course) -> Course:
    """Register a program that gives what is to be compared: Tensors and numbers."""
    COURSES[program.__name__] = program
    return program


def data(torch: Any) -> tuple[Any, Any]:
    return torch.tensor(X), torch.tensor(Y)


def parameters(torch: Any, *shapes: tuple[int, ...]) -> list[Any]:
    draw = np.random.default_rng(5)
    return [torch.tensor(draw.uniform(-0.5, 0.5, shape), requires_grad=True) for shape in shapes]


def squared_error(x: Any, y: Any, w: Any, b: Any) -> Any:
    return ((x @ w + b - y) ** 2).mean()


# --- loops ----------------------------------------------------------------------------------------------------------


@course
def gradient_descent(torch: Any) -> list[Any]:
    x, y = data(torch)
    w, b = parameters(torch, (3, 1), (1,))
    losses = []
    for _ in range(60):
        loss = squared_error(x, y, w, b)
        loss.backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
            b -= 0.5 * b.grad
            w.grad.zero_()
            b.grad.zero_()
        losses.append(loss.item())
    assert losses[-1] < 1e-2 < losses[0]
    assert w.is_leaf
    assert w.requires_grad
    assert w._version == 60
    return [w, b, *losses]


@course
def gradients_set_to_none(torch: Any) -> list[Any]:
    x, y = data(torch)
    w, b = parameters(torch, (3, 1), (1,))
    for _ in range(10):
        squared_error(x, y, w, b).backward()
        for p in (w, b):
            p.data -= 0.3 * p.grad
            p.grad = None
    assert w.grad is None
    return [w, b]


@course
def parameters_made_anew(torch: Any) -> list[Any]:
    x, y = data(torch)
    w, b = parameters(torch, (3, 1), (1,))
    for _ in range(10):
        slope_w, slope_b = torch.autograd.grad(squared_error(x, y, w, b), (w, b))
        w = (w - 0.3 * slope_w).detach().requires_grad_()
        b = (b - 0.3 * slope_b).detach().requires_grad_()
    return [w, b]


@course
def momentum_and_weight_decay(torch: Any) -> list[Any]:
    x, y = data(torch)
    ps = parameters(torch, (3, 1), (1,))
    speeds = [p.detach() * 0 for p in ps]
    for _ in range(20):
        loss = squared_error(x, y, *ps) + 0.01 * sum((p * p).sum() for p in ps)
        loss.backward()
        with torch.no_grad():
            for p, v in zip(ps, speeds, strict=True):
                v.mul_(0.9).add_(p.grad)
                p.sub_(v * 0.05)
                p.grad.zero_()
    return [*ps, *speeds]


@course
def adam_by_hand(torch: Any) -> list[Any]:
    x, y = data(torch)
    ps = parameters(torch, (3, 5), (5,), (5, 1), (1,))
    first, second = [p.detach() * 0 for p in ps], [p.detach() * 0 for p in ps]
    for step in range(1, 31):
        w1, b1, w2, b2 = ps
        (((x @ w1 + b1).tanh() @ w2 + b2 - y) ** 2).mean().backward()
        with torch.no_grad():
            for p, m, v in zip(ps, first, second, strict=True):
                m.mul_(0.9).add_(0.1 * p.grad)
                v.mul_(0.999).add_(0.001 * p.grad * p.grad)
                p -= 0.05 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
                p.grad = None
    return [*ps, *first, *second]


@course
def logistic_regression(torch: Any) -> list[Any]:
    x, labels = torch.tensor(X), torch.tensor(LABELS)
    w, b = parameters(torch, (3,), ())
    for _ in range(200):
        p = (x @ w + b).sigmoid()
        loss = -(labels * p.log() + (1 - labels) * (1 - p).log()).mean()
        loss.backward()
        with torch.no_grad():
            for t in (w, b):
                t -= 2 * t.grad
                t.grad.zero_()
    with torch.no_grad():
        assert (x @ w + b > 0).tolist() == (labels > 0.5).tolist()
    return [w, b, loss]


@course
def newtons_method(torch: Any) -> list[Any]:
    p = torch.tensor([-1.2, 1.0])
    hessian = torch.autograd.functional.hessian
    for _ in range(8):
        p = p.detach().requires_grad_()

        def valley(p: Any) -> Any:
            return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

        (slope,) = torch.autograd.grad(valley(p), p)
        (a, b), (c, d) = hessian(valley, p)
        step = [(d * slope[0] - b * slope[1]) / (a * d - b * c), (a * slope[1] - c * slope[0]) / (a * d - b * c)]
        p = p.detach() - torch.tensor([s.item() for s in step])
    np.testing.assert_allclose(p.tolist(), [1.0, 1.0], atol=1e-9)
    return [p]


@course
def clipped_gradients(torch: Any) -> list[Any]:
    x, y = data(torch)
    ps = parameters(torch, (3, 1), (1,))
    for _ in range(8):
        (squared_error(x, y, *ps) * 50).backward()
        norm = sum((p.grad**2).sum() for p in ps).sqrt()
        with torch.no_grad():
            for p in ps:
                p.grad.mul_(min(1.0, 0.5 / norm.item()))
                p.add_(p.grad * -0.5)
                p.grad.zero_()
    return ps


# --- what is summed, frozen, shared ---------------------------------------------------------------------------------


@course
def accumulation_over_batches(torch: Any) -> list[Any]:
    x, y = data(torch)
    w, b = parameters(torch, (3, 1), (1,))
    grads = []
    for start in range(0, 12, 4):
        (squared_error(x[start : start + 4], y[start : start + 4], w, b) / 3).backward()
        grads.append(w.grad)
    assert grads[0] is grads[2]
    whole, _ = torch.autograd.grad(squared_error(x, y, w, b), (w, b))
    np.testing.assert_allclose(w.grad.tolist(), whole.tolist(), rtol=1e-12)
    return [w.grad, b.grad]


@course
def frozen_layers(torch: Any) -> list[Any]:
    x, y = data(torch)
    w1, w2 = torch.tensor(HIDDEN, requires_grad=True), torch.tensor(OUT, requires_grad=True)
    w1.requires_grad_(False)
    for k in range(6):
        if k == 3:
            w1.requires_grad = True
            w2.requires_grad_(False)
        (((x @ w1).tanh() @ w2 - y) ** 2).mean().backward()
        assert (w1.grad is None) == (k < 3)
        with torch.no_grad():
            for w in (w1, w2):
                if w.requires_grad:
                    w -= 0.1 * w.grad
                    w.grad.zero_()
    return [w1, w2]


@course
def two_losses_of_one_trunk(torch: Any) -> list[Any]:
    x, y = data(torch)
    w, head, other = parameters(torch, (3, 4), (4, 1), (4, 1))
    trunk = (x @ w).tanh()
    a, b = ((trunk @ head - y) ** 2).mean(), (trunk @ other).exp().mean()
    a.backward(retain_graph=True)
    before = w.grad.clone()
    assert other.grad is None
    b.backward()
    grads = [p.grad.clone() for p in (w, head, other)]
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        a.backward()
    return [before, *grads]


@course
def a_graph_used_again(torch: Any) -> list[Any]:
    (w,) = parameters(torch, (3, 1))
    y = (torch.tensor(X) @ w).sin()
    rows = []
    for k in range(3):
        (row,) = torch.autograd.grad(y[k, 0], w, retain_graph=True)
        rows.append(row)
    y.backward(torch.tensor(Y), retain_graph=True)
    once = w.grad.clone()
    y.backward(torch.tensor(Y))
    np.testing.assert_allclose(w.grad.tolist(), (2 * once).tolist(), rtol=1e-12)
    return [*rows, once]


@course
def one_weight_in_two_places(torch: Any) -> list[Any]:
    (w,) = parameters(torch, (3, 3))
    code = (torch.tensor(X) @ w).tanh()
    ((code @ w.T - torch.tensor(X)) ** 2).mean().backward()
    return [w.grad]


@course
def gradients_in_the_middle(torch: Any) -> list[Any]:
    w1, w2 = parameters(torch, (3, 4), (4, 1))
    hidden = torch.tensor(X) @ w1
    hidden.retain_grad()
    seen = []
    active = hidden.tanh()
    active.register_hook(lambda g: seen.append(g.clone()))
    (active @ w2).sum().backward()
    assert len(seen) == 1
    return [hidden.grad, seen[0], w1.grad]


@course
def a_reversed_gradient(torch: Any) -> list[Any]:
    """Domain adaptation: what a hook returns goes on instead of the gradient."""
    w, head, critic = parameters(torch, (3, 4), (4, 1), (4, 1))
    features = (torch.tensor(X) @ w).tanh()
    against = features * 1
    against.register_hook(lambda g: -0.5 * g)
    ((features @ head).pow(2).mean() + (against @ critic).sigmoid().mean()).backward()
    return [w.grad, head.grad, critic.grad]


# --- where the graph ends -------------------------------------------------------------------------------------------


@course
def detached_in_the_middle(torch: Any) -> list[Any]:
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = x * x
    (y.detach() * x + y).sum().backward()
    assert x.grad.tolist() == [0.25 + 1.0, 4.0 + 4.0]
    return [x.grad]


@course
def an_island_of_no_grad(torch: Any) -> list[Any]:
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    y = w.exp()
    with torch.no_grad():
        weights = y / y.sum()
        assert not weights.requires_grad
        assert weights.is_leaf
        with torch.enable_grad():
            inner = (w * 3).sum()
    (weights * y).sum().backward()
    np.testing.assert_allclose(w.grad.tolist(), (weights * y).tolist(), rtol=1e-12)
    inner.backward()
    return [w.grad, weights]


@course
def truncated_backpropagation(torch: Any) -> list[Any]:
    """Through time, in pieces of four steps."""
    w, u = parameters(torch, (3, 4), (4, 4))
    h, grads = torch.tensor(np.zeros(4)), []
    for start in range(0, 12, 4):
        h = h.detach()
        loss = 0.0
        for k in range(start, start + 4):
            h = (torch.tensor(X[k]) @ w + h @ u).tanh()
            loss = loss + (h * h).sum()
        loss.backward()
        grads.append(u.grad.clone())
        with torch.no_grad():
            for p in (w, u):
                p -= 0.05 * p.grad
                p.grad.zero_()
    return [w, u, h, *grads]


@course
def a_target_that_follows(torch: Any) -> list[Any]:
    x, _ = data(torch)
    (w,) = parameters(torch, (3, 1))
    target = w.detach().clone()
    for _ in range(10):
        goal = 0.5 * (x @ target).tanh() + 1
        ((x @ w - goal) ** 2).mean().backward()
        assert not target.requires_grad
        with torch.no_grad():
            w -= 0.2 * w.grad
            w.grad = None
            target.mul_(0.9).add_(0.1 * w)
    return [w, target]


@course
def adversaries(torch: Any) -> list[Any]:
    generator, critic = parameters(torch, (3, 2), (2, 1))
    real = torch.tensor(X[:, :2] + 1)
    for k in range(6):
        fake = torch.tensor(X) @ generator
        if k % 2:
            score = (fake @ critic).sigmoid()
            (slope,) = torch.autograd.grad(-score.log().mean(), generator)
            with torch.no_grad():
                generator -= 0.5 * slope
        else:
            loss = -(real @ critic).sigmoid().log().mean() - (1 - (fake.detach() @ critic).sigmoid()).log().mean()
            loss.backward(inputs=[critic])
            with torch.no_grad():
                critic -= 0.5 * critic.grad
                critic.grad.zero_()
        assert generator.grad is None
    return [generator, critic]


@course
def an_adversarial_example(torch: Any) -> list[Any]:
    (w,) = parameters(torch, (3,))
    x = torch.tensor(X[0], requires_grad=True)
    for _ in range(3):
        (x * w).sigmoid().log().sum().backward()
        with torch.no_grad():
            x += 0.1 * (x.grad > 0) - 0.1 * (x.grad < 0)
            x.clamp_(-0.8, 0.8)
            x.grad = None
        w.grad.zero_()
    return [x, w.grad]


# --- gradients of gradients -----------------------------------------------------------------------------------------


@course
def a_penalty_on_gradients(torch: Any) -> list[Any]:
    x = torch.tensor(X, requires_grad=True)
    w1, w2 = parameters(torch, (3, 4), (4, 1))
    for _ in range(5):
        score = ((x @ w1).tanh() @ w2).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        (score / 12 + ((slope.pow(2).sum(dim=1)).sqrt() - 1).pow(2).mean()).backward(inputs=[w1, w2])
        assert x.grad is None
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.1 * w.grad
                w.grad.zero_()
    return [w1, w2]


@course
def learned_rates(torch: Any) -> list[Any]:
    """The rate of a step descends too, by the gradient through the step."""
    x, y = data(torch)
    start = torch.tensor(np.zeros((3, 1)))
    rate = torch.tensor(0.01, requires_grad=True)
    for _ in range(5):
        w = start.clone().requires_grad_()
        for _ in range(3):
            (slope,) = torch.autograd.grad(squared_error(x, y, w, 0.0), w, create_graph=True)
            w = w - rate * slope
        squared_error(x, y, w, 0.0).backward()
        with torch.no_grad():
            rate -= 0.02 * rate.grad
            rate.grad = None
    return [rate]


@course
def conjugate_gradients(torch: Any) -> list[Any]:
    """The step of Newton's method by Hessian-vector products alone."""
    x, y = data(torch)
    w = torch.tensor(np.zeros((3, 1)), requires_grad=True)
    (g,) = torch.autograd.grad(squared_error(x, y, w, 0.0), w, create_graph=True)
    step, residual = g.detach() * 0, -g.detach()
    direction = residual.clone()
    for _ in range(3):
        (curved,) = torch.autograd.grad(g, w, direction, retain_graph=True)
        size = (residual * residual).sum() / (direction * curved).sum()
        step, new = step + size * direction, residual - size * curved
        direction = new + (new * new).sum() / (residual * residual).sum() * direction
        residual = new
    exact = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(step.tolist(), exact, rtol=1e-6)
    return [step]


# --- complex --------------------------------------------------------------------------------------------------------


@course
def descent_in_the_complex_plane(torch: Any) -> list[Any]:
    z = torch.tensor([0.5 + 0.1j, -1 - 1j], requires_grad=True)
    for _ in range(80):
        loss = ((z * z + 1).abs() ** 2).sum()
        loss.backward()
        with torch.no_grad():
            z -= 0.05 * z.grad
            z.grad.zero_()
    np.testing.assert_allclose(loss.item(), 0, atol=1e-4)
    return [z, loss]


# --- the checks -----------------------------------------------------------------------------------------------------


def as_array(t: Any) -> np.ndarray:
    return np.asarray(t.detach().tolist() if hasattr(t, "detach") else t)


@pytest.mark.parametrize("name", list(COURSES))
def test_a_course(torch: Any, name: str) -> None:
    """What the program asserts holds, in both libraries, and no number of it is lost on the way."""
    for t in COURSES[name](torch):
        assert np.isfinite(as_array(t)).all()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("torch", ["torch"], indirect=True)
@pytest.mark.parametrize("name", list(COURSES))
def test_both_libraries_take_the_same_course(torch: Any, name: str) -> None:
    for ours, theirs in zip(COURSES[name](gradscribe), COURSES[name](torch), strict=True):
        np.testing.assert_allclose(as_array(ours), as_array(theirs), rtol=1e-8, atol=1e-12)


def test_a_loop_leaves_nothing_behind(torch: Any) -> None:
    """Each step's graph is gone before the next one is built, without the garbage collector."""
    gc.disable()
    try:
        (w,) = parameters(torch, (3, 1))
        alive: list[Any] = []
        for _ in range(3):
            loss = (torch.tensor(X) @ w).tanh().sum()
            alive.append(weakref.ref(loss.grad_fn if torch.__name__ == "gradscribe" else loss))
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad.zero_()
            del loss
            assert alive[-1]() is None
    finally:
        gc.enable()


def test_a_step_without_no_grad(torch: Any) -> None:
    (w,) = parameters(torch, (3, 1))
    (torch.tensor(X) @ w).sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w -= 0.1 * w.grad


def test_a_step_between_forward_and_backward(torch: Any) -> None:
    (w,) = parameters(torch, (3, 1))
    loss = (w * w).sum()
    with torch.no_grad():
        w -= 0.1
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        loss.backward()


def test_a_step_that_forgot_the_graph(torch: Any) -> None:
    """`w = w - ...` under no_grad makes a constant, whose loss has no gradient."""
    (w,) = parameters(torch, (3, 1))
    (torch.tensor(X) @ w).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
    assert w.grad is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        (torch.tensor(X) @ w).sum().backward()


def test_a_hidden_state_that_was_not_detached(torch: Any) -> None:
    (u,) = parameters(torch, (4, 4))
    h = torch.tensor(np.ones(4))
    h = (h @ u).tanh()
    (h * h).sum().backward()
    h = (h @ u).tanh()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        (h * h).sum().backward()
