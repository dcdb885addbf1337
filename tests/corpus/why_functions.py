"""Small functions whose gradient is None, zero, NaN or infinite for a known reason, and healthy ones, for test_why.py.

The line at fault bears the comment `# here`; where there are several, all of them do.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import gradscribe as gs

X = np.array([1.0, 2.0, 3.0])
Z = np.array([0.0, 1.0, 4.0])
NEGATIVE = np.array([-1.0, -2.0, -3.0])
M = np.arange(6.0).reshape(2, 3)


class Case(NamedTuple):
    """A function, its arguments, and what gs.why is to say of the argument at fault."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    state: str
    op: str
    variable: str | None
    argument: str


FAULTY: list[Case] = []
HEALTHY: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def faulty(state: str, op: str, variable: str | None, *args: Any, argument: str = "x") -> Callable[[Any], Any]:
    """Decorator: put a function into the table of faulty ones."""

    def register(function: Any) -> Any:
        FAULTY.append(Case(function, args, state, op, variable, argument))
        return function

    return register


def healthy(*args: Any) -> Callable[[Any], Any]:
    """Decorator: put a function into the table of healthy ones."""

    def register(function: Any) -> Any:
        HEALTHY.append((function, args))
        return function

    return register


# The path is cut --------------------------------------------------------------------------------------


@faulty("None", "detach", "y", X)
def detached(x):
    y = np.exp(x)
    z = y.detach()  # here
    return np.sum(z * 2.0)


@faulty("None", "data", "y", X)
def data(x):
    y = x * 2.0
    return np.sum(y.data * 3.0)  # here


@faulty("None", "stop_gradient", "x", X)
def stopped(x):
    y = gs.stop_gradient(x)  # here
    return np.sum(y**2)


@faulty("None", "no_grad", "x", X)
def under_no_grad(x):
    with gs.no_grad():
        y = x * 2.0  # here
    return np.sum(y)


@faulty("None", "inference_mode", "x", X)
def under_inference_mode(x):
    with gs.inference_mode():
        y = np.sin(x)  # here
    return np.sum(y)


@gs.no_grad()
def normalised(v):
    return v / np.max(v)  # here


@faulty("None", "no_grad", "v", X)
def no_grad_as_a_decorator(x):
    return np.sum(normalised(x))


@faulty("None", "no_grad", "x", X)
def grad_disabled(x):
    with gs.set_grad_enabled(False):
        y = np.tanh(x)  # here
    return np.mean(y)


@faulty("None", "astype", "x", X)
def cast_to_integers(x):
    k = x.astype(int)  # here
    return np.sum(k * 0.5)


@faulty("None", "np.greater", "x", X)
def compared(x):
    mask = x > 1.5  # here
    return np.sum(mask * 2.0)


@faulty("None", "np.less_equal", "x", X)
def accuracy(x):
    right = np.less_equal(x, 2.0)  # here
    return np.mean(right)


@faulty("None", "np.argmax", "x", X)
def position(x):
    k = np.argmax(x)  # here
    return k * 1.0


@faulty("None", "np.argsort", "x", X)
def ranks(x):
    order = np.argsort(x)  # here
    return np.sum(order * np.array([1.0, 2.0, 3.0]))


@faulty("None", "np.searchsorted", "x", X)
def binned(x):
    return np.sum(np.searchsorted(np.array([0.5, 1.5, 2.5]), x) * 1.0)  # here


@faulty("None", "np.floor_divide", "x", X)
def whole_part(x):
    return np.sum(x // 2.0)  # here


@faulty("None", "np.count_nonzero", None, X)
def counted(x):
    n = np.count_nonzero(x)  # here
    return n * 1.0


@faulty("None", "int", "x[0]", X)
def whole(x):
    k = int(x[0])  # here
    return k * 2.0


@faulty("None", "tensor", "x", X)
def new_leaf(x):
    x = gs.tensor(x, requires_grad=True)  # here
    return np.sum(x * x)


@faulty("None", "detach", "x * 0.1", X)
def leaf_after_a_multiplication(x):
    w = (x * 0.1).detach().requires_grad_()  # here
    return np.sum(w * w)


@faulty("None", "unused", "w", X, X, argument="w")
def never_read(x, w):  # here
    return np.sum(x * x)


@faulty("None", "unused", "w", X, X, argument="w")
def read_for_its_size(x, w):
    return np.sum(x * x) / w.size  # here


@faulty("None", "branch", "w", X, X, argument="w")
def branch_not_taken(x, w):
    if x[0] > 10.0:
        return np.sum(x * w)  # here
    return np.sum(x)


@faulty("None", "branch", "w", X, X, argument="w")
def other_side_of_a_conditional(x, w):
    y = np.sum(w) if x[0] > 10.0 else np.sum(x)  # here
    return y


@faulty("None", "bool", "w", X, 2.0, argument="w")
def only_decides(x, w):
    if w > 1.0:  # here
        return np.sum(x)
    return np.sum(-x)


@faulty("None", "np.multiply", "y", X, X, argument="w")
def result_not_used(x, w):
    y = x * w  # here
    y = np.exp(x)
    return np.sum(y)


def helper(v):
    scaled = v * 2.0
    return scaled.detach()  # here


@faulty("None", "detach", "scaled", X)
def in_a_helper(x):
    return np.sum(helper(x) * 3.0)


class Model:
    scale = 2.0

    def hidden(self, v):
        h = np.tanh(v * self.scale)
        return np.round(h)  # here

    def loss(self, x):
        return np.sum(self.hidden(x) ** 2)


FAULTY.append(Case(Model().loss, (X,), "zero", "np.round", "h", "x"))


@faulty("None", "detach", "h", X)
def in_a_loop(x):
    h = x
    for _ in range(3):
        h = np.tanh(h)
        h = h.detach()  # here
    return np.sum(h)


@faulty("None", "stop_gradient", "p['b']", {"w": X, "b": Z}, argument="p['b']")
def in_a_dict(p):
    return np.sum(p["w"] * X) + np.sum(gs.stop_gradient(p["b"]))  # here


@faulty("None", "unused", "p['b']", {"w": X, "b": Z}, argument="p['b']")
def unused_entry_of_a_dict(p):  # here
    return np.sum(p["w"] ** 2)


@faulty("None", "detach", "layers[1]", [X, Z], argument="layers[1]")
def in_a_list(layers):
    return np.sum(layers[0] * layers[1].detach())  # here


@faulty("None", "no_grad", "x", X)
def two_cuts_at_once(x):
    with gs.no_grad():
        a = x * 2.0  # here
    b = gs.stop_gradient(x)  # here
    return np.sum(a + b)


class Blind(gs.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return None


@faulty("None", "BlindBackward", "x", X)
def none_of_a_function(x):
    return np.sum(Blind.apply(x))  # here


@gs.custom_vjp
def straight(x):
    return np.round(x)


straight.defvjp(lambda x: (np.round(x), None), lambda kept, g: (g * 0.0,))


@faulty("zero", "straightBackward", "x", X)
def zeros_of_a_custom_vjp(x):
    return np.sum(straight(x))  # here


# The cotangent becomes zero ---------------------------------------------------------------------------


@faulty("zero", "np.maximum", "z", NEGATIVE)
def dead_relu(x):
    z = 2.0 * x
    h = np.maximum(z, 0.0)  # here
    return np.sum(h)


@faulty("zero", "np.minimum", "x", X)
def capped(x):
    return np.mean(np.minimum(x, 0.5))  # here


@faulty("zero", "np.clip", "y", X)
def clipped(x):
    y = x + 10.0
    return np.sum(np.clip(y, -1.0, 1.0))  # here


@faulty("zero", "np.clip", "x", X)
def clipped_by_a_method(x):
    return x.clip(5.0, 6.0).sum()  # here


@faulty("zero", "np.multiply", "x", X)
def times_zero(x):
    mask = np.zeros(3)
    return np.sum(x * mask)  # here


@faulty("zero", "np.matmul", "x", X)
def zero_weights(x):
    w = np.zeros((3, 2))
    return np.sum(np.tanh(x @ w))  # here


@faulty("zero", "np.max", None, 1.0)
def another_is_the_largest(x):
    values = np.stack([x, 5.0 * np.ones(()), 2.0 * x])
    return np.max(values)  # here


@faulty("zero", "np.where", "x * 2.0", X)
def mask_all_false(x):
    return np.sum(np.where(x > 100.0, x * 2.0, 0.0))  # here


@faulty("zero", "x[i]", "x", X)
def empty_selection(x):
    chosen = x[x > 100.0]  # here
    return np.sum(chosen)


@faulty("zero", "np.round", "x", X)
def rounded(x):
    return np.sum(np.round(x) ** 2)  # here


@faulty("zero", "np.sign", "x", X)
def only_signs(x):
    return np.sum(np.sign(x) * 2.0)  # here


@faulty("zero", "np.floor", "x / 2.0", X)
def floored(x):
    return np.sum(np.floor(x / 2.0))  # here


@faulty("zero", "np.exp", "-1000.0 * x", X)
def underflow(x):
    return np.sum(np.exp(-1000.0 * x))  # here


@faulty("zero", "np.tanh", "x", 100.0 * X)
def saturated_tanh(x):
    return np.sum(np.tanh(x))  # here


@faulty("zero", "scipy.special.expit", "logits", X)
def saturated_sigmoid(x):
    logits = 1000.0 * x
    return np.mean((scipy.special.expit(logits) - 1.0) + 1.0)  # here


def softmax(v):
    e = np.exp(v - np.max(v))  # here
    return e / np.sum(e)


@faulty("zero", "np.power", "x", np.zeros(3))
def powers_at_zero(x):
    return np.sum(x**3)  # here


@faulty("zero", "np.absolute", "x", np.zeros(3))
def absolute_at_zero(x):
    return np.sum(np.abs(x))  # here


@faulty("zero", "x[i] = v", "y", X)
def overwritten(x):
    y = x * 2.0
    y[:] = 0.0  # here
    return np.sum(y)


@faulty("zero", "x[i] = v", "x", X)
def argument_overwritten(x):
    x = x.copy()
    x[...] = 1.0  # here
    return np.sum(x * x)


@faulty("zero", "np.subtract", "x", X)
def cancels(x):
    return np.sum(x - x)  # here


@faulty("zero", "np.add", "b", 2.0, argument="b")
def cancels_over_a_broadcast(b):
    return np.sum((X + b) * np.array([1.0, -2.0, 1.0]))  # here


@faulty("zero", "np.multiply", "h", X)
def zero_factor_in_a_helper_loop(x):
    h = x
    for k in range(3):
        h = h * (k - 1.0)  # here
    return np.sum(h)


@faulty("zero", "np.maximum", "v", X, -X, argument="w")
def one_of_two_arguments(x, w):
    def relu(v):
        return np.maximum(v, 0.0)  # here

    return np.sum(x) + np.sum(relu(w))


@faulty("zero", "np.maximum", "a", NEGATIVE)
def two_dead_paths(x):
    a = x - 1.0
    b = x * 3.0
    u = np.maximum(a, 0.0)  # here
    v = np.clip(b, 0.0, 1.0)  # here
    return np.sum(u) + np.sum(v)


@faulty("zero", "np.maximum", "x", NEGATIVE)
def dead_and_detached(x):
    u = np.maximum(x, 0.0)  # here
    v = x.detach()  # here
    return np.sum(u + v)


@faulty("zero", "np.std", "x", np.ones(3))
def spread_of_equals(x):
    return np.std(x)  # here


@faulty("zero", "np.prod", "x", np.zeros(3))
def product_of_zeros(x):
    return np.prod(x)  # here


@faulty("zero", "np.median", None, np.array([1.0, 2.0]), np.array([4.0]), argument="w")
def not_the_median(x, w):
    return np.median(np.concatenate([x, w]))  # here


@faulty("zero", "np.maximum", "u", -2.0)
def through_a_nested_gradient(x):
    def potential(u):
        return np.maximum(u, 0.0) ** 2  # here

    return gs.grad(potential)(x)


@faulty("zero", "np.maximum", "r", NEGATIVE)
def under_vmap(x):
    def one(r):
        return np.maximum(r, 0.0)  # here

    return np.sum(gs.vmap(one)(x))


@faulty("zero", "np.multiply", "x", X)
def masked_by_where_of_a_ufunc(x):
    return np.sum(np.multiply(x, 2.0, out=np.zeros(3), where=np.array([False, False, False])))  # here


# NaN and infinities -----------------------------------------------------------------------------------


@faulty("inf", "np.log", "x", Z)
def log_of_zero(x):
    return np.sum(np.log(x))  # here


@faulty("NaN", "np.log", "x", Z)
def log_of_zero_left_out(x):
    y = np.log(x)  # here
    return np.sum(np.where(x > 0.0, y, 0.0))


@faulty("NaN", "np.divide", "n", np.zeros(2))
def zero_over_zero(x):
    n = np.sqrt(np.sum(x * x) + 0.0 * x[0])
    return np.sum(x / n)  # here


@faulty("NaN", "np.divide", "Z", X)
def quotient_left_out(x):
    return np.sum(np.where(Z != 0.0, (x - 1.0) / Z, 0.0))  # here


@faulty("inf", "np.sqrt", "x", Z)
def sqrt_at_zero(x):
    return np.sum(np.sqrt(x))  # here


@faulty("NaN", "np.sqrt", "d", np.zeros(3))
def distance_at_zero(x):
    d = np.sum(x * x)
    return np.sqrt(d)  # here


@faulty("NaN", "np.sqrt", "x", NEGATIVE)
def sqrt_of_negative(x):
    return np.sum(np.sqrt(x))  # here


@faulty("NaN", "np.log", "x", NEGATIVE, argument="the result")
def log_of_negative(x):
    return np.sum(np.log(x))  # here


@faulty("inf", "np.exp", "x", 1000.0 * X)
def overflow(x):
    return np.sum(np.exp(x))  # here


@faulty("NaN", "np.exp", "x", 1000.0 * X)
def softmax_without_shift(x):
    e = np.exp(x)  # here
    p = e / np.sum(e)  # here
    return np.sum(p * X)


@faulty("NaN", "np.subtract", None, X)
def inf_minus_inf(x):
    masked = x + np.array([-np.inf, -np.inf, -np.inf])
    shifted = masked - np.max(masked)  # here
    return np.sum(np.exp(shifted))


@faulty("inf", "np.power", "x", Z)
def root_by_a_power(x):
    return np.sum(x**0.5)  # here


@faulty("NaN", "np.power", "x", NEGATIVE)
def fractional_power_of_negative(x):
    return np.sum(x**1.5)  # here


@faulty("inf", "np.arcsin", "x", np.array([0.0, 1.0]))
def edge_of_arcsin(x):
    return np.sum(np.arcsin(x))  # here


@faulty("NaN", "np.arccos", "c", X)
def outside_of_arccos(x):
    c = x / 2.0
    return np.sum(np.arccos(c))  # here


@faulty("NaN", "argument", "x", np.array([1.0, np.nan]))
def argument_holds_nan(x):
    return np.sum(x * x)


@faulty("NaN", "np.multiply", None, X)
def constant_holds_nan(x):
    weights = np.array([1.0, np.nan, 1.0])
    return np.sum(x * weights)  # here


@faulty("NaN", "np.mean", "chosen", X)
def mean_of_nothing(x):
    chosen = x[x > 100.0]
    return np.mean(chosen) + np.sum(x) * np.mean(chosen)  # here


def entropy(q):
    return -np.sum(q * np.log(q))  # here


@faulty("NaN", "np.log", "q", np.array([0.5, 0.5, 0.0]))
def in_a_helper_with_log(x):
    return entropy(x)


@faulty("inf", "np.divide", "r", np.float64(0.0))
def potential_at_the_origin(x):
    r = 2.0 * x
    return 1.0 / r + x  # here


@faulty("NaN", "np.log", "p", X, Z, argument="w")
def nan_of_the_second_argument(x, w):
    def safe_log(p):
        return np.where(p > 0.0, np.log(p), 0.0)  # here

    return np.sum(x * safe_log(w))


@faulty("NaN", "np.sqrt", "u", 0.0)
def nan_of_a_nested_gradient(x):
    def energy(u):
        return u * np.sqrt(u)  # here

    return gs.grad(energy)(x)


@faulty("inf", "np.exp", "v", np.float32(80.0) * np.ones(2, np.float32))
def overflow_of_float32(x):
    v = x * 2
    return np.sum(np.exp(v))  # here


# In functions of ours, and in derivatives of derivatives ----------------------------------------------


@faulty("zero", "relu", "z", NEGATIVE)
def dead_functional_relu(x):
    z = x - 1.0
    return np.sum(gs.functional.relu(z))  # here


@faulty("zero", "softmax", "scores", X)
def saturated_softmax(x):
    scores = x * 1e4
    return gs.functional.softmax(scores, dim=0)[2]  # here


@faulty("None", "detach", "x", X)
def loss_of_what_was_detached(x):
    return gs.functional.mse_loss(x.detach(), X)  # here


class Marked(gs.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = x * 3.0
        ctx.mark_non_differentiable(kept)
        return x * 2.0, kept

    @staticmethod
    def backward(ctx, g, h):
        return g * 2.0


@faulty("None", "MarkedBackward", None, X)
def marked_as_not_differentiable(x):
    _doubled, kept = Marked.apply(x)  # here
    return np.sum(kept)


@faulty("None", "x[i] = v", "x", X)
def written_into_integers(x):
    out = np.zeros(3, dtype=int)
    out[:] = x  # here
    return np.sum(out)


@faulty("None", "np.sum", "", X)
def second_derivative_of_what_is_linear(x):
    return np.sum(gs.hessian(lambda u: np.sum(u * 2.0))(x))  # here


@faulty("None", "np.maximum", "u", X)
def second_derivative_of_pieces(x):
    def pieces(u):
        return np.maximum(u, 9.0)  # here

    _, back = gs.vjp(pieces, x)
    return np.sum(back(np.ones(3)))


@faulty("zero", "np.maximum", "x", X)
def over_several_lines(x):
    return np.sum(
        np.maximum(  # here
            x,
            100.0,
        )
    )


@faulty("zero", "x[i]", "np.concatenate([x, w])", X, X, argument="w")
def left_out_by_an_index(x, w):
    both = np.concatenate([x, w])[:3]  # here
    return np.sum(both)


@faulty("zero", "np.maximum", "v", NEGATIVE)
def checkpointed(x):
    def block(v):
        return np.sum(np.maximum(v, 0.0))  # here

    return gs.checkpoint(block, x)


@faulty("zero", "np.einsum", "x", X)
def einsum_with_zeros(x):
    w = np.zeros((3, 2))
    return np.sum(np.einsum("i,ij->j", x, w))  # here


# Healthy ----------------------------------------------------------------------------------------------


@healthy(X)
def square(x):
    return np.sum(x * x)


@healthy(X, Z + 1.0)
def two_arguments(x, w):
    return np.sum(np.tanh(x) * w)


@healthy({"w": X, "b": 2.0})
def tree(p):
    return np.sum(p["w"]) * p["b"]


@healthy(np.array([-1.0, 2.0]))
def relu_alive_in_part(x):
    return np.sum(np.maximum(x, 0.0))


@healthy(Z)
def where_with_a_clean_argument(x):
    return np.sum(np.where(x > 0.0, np.log(np.where(x > 0.0, x, 1.0)), x))


@healthy(X)
def detached_in_part(x):
    return np.sum(x * x.detach())


@healthy(X)
def compared_for_a_mask(x):
    return np.sum(x * (x > 1.5))


@healthy(X)
def loop(x):
    h = x
    for _ in range(4):
        h = np.sin(h) + x
    return np.mean(h)


@healthy(2.0)
def number(x):
    return math.sin(x) * x


@healthy(X)
def written_in_place(x):
    y = np.zeros(3)
    y[:] = x
    y[0] *= 2.0
    return np.sum(y)


@healthy(X)
def stable_softmax(x):
    e = np.exp(x - np.max(x))
    return np.sum((e / np.sum(e))[0])


@healthy(X)
def logged(x):
    value = np.sum(x).item()
    return np.sum(x) + (0.0 if math.isnan(value) else 1.0)


@healthy(M)
def matrix(x):
    return np.sum(x @ x.T)


@healthy(X)
def nested_gradient(x):
    return np.sum(gs.grad(lambda u: np.sum(u**3))(x))


@healthy(X)
def mapped(x):
    return np.sum(gs.vmap(lambda r: r * r)(x))


@healthy(X)
def stopped_twice(x):
    return np.sum(x - gs.stop_gradient(x)) + np.sum(x**2)


@healthy(X)
def no_grad_for_a_check(x):
    with gs.no_grad():
        ok = bool(np.all(x > 0.0))
    return np.sum(x) if ok else np.sum(-x)


@healthy(1.0 + 2.0j)
def complex_number(x):
    return np.abs(x) ** 2


HEALTHY.append((functools.partial(two_arguments, w=X), (X,)))


@healthy(X)
def picks(x):
    return x[1] * x[2] + np.max(x)


@healthy(X)
def infinite_mask(x):
    return np.sum(np.exp(np.where(np.array([True, False, True]), x, -np.inf)))


@healthy(X)
def suppressed(x):
    with contextlib.suppress(ZeroDivisionError):
        x = x / 2.0
    return np.sum(x)
