"""What torch.autograd has beside ops, inside a compiled function: modelled, or eager with one warning that names the line.

Writes and views are in test_writes_compiled.py, Functions in test_function_compiled.py, modes in test_modes_compiled.py.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.autograd import functional

X = np.array([0.5, -1.25, 2.0])
W = gs.tensor([1.0, 2.0, 3.0], requires_grad=True)


@pytest.fixture(autouse=True)
def no_gradient_is_left() -> Any:
    W.grad = None
    yield
    W.grad = None


class Cube(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


@gs.custom_vjp
def doubled(x: Any) -> Any:
    return x * x


doubled.defvjp(lambda x: (x * x, x), lambda x, g: (4 * x * g,))

# Modelled: values, gradients and second derivatives are those of eager mode ---------------------------------------------


def detach(x: Any) -> Any:
    return np.sum(np.exp(x).detach() * x)


def detach_of_an_argument(x: Any) -> Any:
    return np.sum(x.detach() * x)


def detach_in_place(x: Any) -> Any:
    y = np.exp(x)
    y.detach_()
    return np.sum(y * x)


def a_write_into_what_was_detached(x: Any) -> Any:
    y = x * 2
    y.detach()[0] = 3.0
    return np.sum(y * x)


def a_write_into_what_others_detached(x: Any) -> Any:
    y = x * 2
    z = y[:2].detach()
    y[0] = 3.0 * x[1]
    return np.sum(z * x[:2]) + np.sum(y * x)


def a_write_under_no_grad(x: Any) -> Any:
    y = x * 2
    with gs.no_grad():
        y[0] = 3.0
    return np.sum(y * x)


def requires_grad(x: Any) -> Any:
    y = np.exp(x).detach().requires_grad_()
    return np.sum(y * x) if y.requires_grad and y.is_leaf else np.sum(x)


def retain_grad(x: Any) -> Any:
    y = x * x
    y.retain_grad()
    return np.sum(y * x)


def backward_of_a_part(x: Any) -> Any:
    y = x.detach().requires_grad_()
    np.sum(y * y * y).backward()
    return np.sum(y.grad * x)


def grad_of_a_part(x: Any) -> Any:
    y = x * 1
    (g,) = gs.autograd.grad(np.sum(y**3), y, create_graph=True)
    return np.sum(g * x)


def grad_of_a_part_as_a_constant(x: Any) -> Any:
    y = x * 1
    (g,) = gs.autograd.grad(np.sum(y**3), y, retain_graph=True)
    return np.sum(g * x)


def questions_to_the_graph(x: Any) -> Any:
    y = np.exp(x)
    y += 1
    return np.sum(y * x) * (len(y.grad_fn.name()) + len(y.grad_fn.next_functions) + y._version)


def function(x: Any) -> Any:
    return np.sum(Cube.apply(x) * x)


def custom_vjp(x: Any) -> Any:
    return np.sum(doubled(x) * x)


def checkpoint(x: Any) -> Any:
    return np.sum(gs.checkpoint(lambda a: np.exp(a) * a, x))


def enable_grad(x: Any) -> Any:
    with gs.no_grad():
        y = np.exp(x)
        with gs.enable_grad():
            z = y + np.sin(x)
    return np.sum(z * x)


def disabled_hooks(x: Any) -> Any:
    with gs.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        y = np.exp(x)
    return np.sum(y)


def functional_vjp(x: Any) -> Any:
    return np.sum(functional.vjp(lambda a: a**3, x, x, create_graph=True)[1])


def functional_jvp(x: Any) -> Any:
    return np.sum(functional.jvp(lambda a: a**3, x, x, create_graph=True)[1])


def functional_vhp(x: Any) -> Any:
    return np.sum(functional.vhp(lambda a: (a**3).sum(), x, x, create_graph=True)[1])


def functional_hvp(x: Any) -> Any:
    return np.sum(functional.hvp(lambda a: (a**3).sum(), x, x, create_graph=True)[1])


def copies(x: Any) -> Any:
    return np.sum(copy.deepcopy(x) * x * copy.copy(x))


def strides(x: Any) -> Any:
    y = x * x
    return np.sum(y) * y.strides[0]


def a_tensor_of_its_own(x: Any) -> Any:
    w = gs.tensor([1.0, 2.0, 3.0], requires_grad=True)
    np.sum(w * w).backward()
    return np.sum(w.grad * x)


MODELLED = [
    detach, detach_of_an_argument, detach_in_place, a_write_into_what_was_detached, a_write_into_what_others_detached,
    a_write_under_no_grad, requires_grad, retain_grad, backward_of_a_part, grad_of_a_part, grad_of_a_part_as_a_constant,
    questions_to_the_graph, function, custom_vjp, checkpoint, enable_grad, disabled_hooks, functional_vjp,
    functional_jvp, functional_vhp, functional_hvp, copies, strides, a_tensor_of_its_own,
]  # fmt: skip
ON_ARRAYS = [function, custom_vjp, checkpoint, enable_grad, disabled_hooks, copies, strides]  # no methods of Tensors


def twice(f: Any) -> Any:
    return gs.grad(lambda x: np.sum(gs.grad(f)(x) ** 2))


@pytest.mark.parametrize("transform", [gs.value_and_grad, twice])
@pytest.mark.parametrize("f", MODELLED, ids=lambda f: f.__name__)
def test_it_is_compiled_and_equal(f: Any, transform: Any) -> None:
    eager = transform(f)
    compiled = gs.compile(eager, verify="first calls")  # a warning that it runs eagerly would be an error here
    for x in (X, X + 0.25, -X, X):
        same(compiled(x), eager(x))


@pytest.mark.parametrize("f", ON_ARRAYS, ids=lambda f: f.__name__)
def test_without_a_gradient_too(f: Any) -> None:
    compiled = gs.compile(f, verify="first calls")
    for x in (X, X + 0.25, -X):
        same(compiled(x), f(x))


def same(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_array_equal(a, b)


# Eager, with one warning ------------------------------------------------------------------------------------------------


def tensor_hook(x: Any) -> Any:
    y = x * x
    y.register_hook(lambda g: g * 2)  # <-
    return np.sum(y)


def leaf_hook(x: Any) -> Any:
    x.register_hook(lambda g: g * 2)  # <-
    return np.sum(x * x)


def post_accumulate_hook(x: Any) -> Any:
    w = x.detach().requires_grad_()
    w.register_post_accumulate_grad_hook(lambda t: None)  # <-
    return np.sum(w * x)


def node_hook(x: Any) -> Any:
    y = np.exp(x)
    y.grad_fn.register_hook(lambda given, taken: (given[0] * 2,))  # <-
    return np.sum(y)


def node_prehook(x: Any) -> Any:
    y = np.exp(x)
    y.grad_fn.register_prehook(lambda taken: (taken[0] * 2,))  # <-
    return np.sum(y)


def multi_grad_hook(x: Any) -> Any:
    y = np.exp(x)
    gs.autograd.graph.register_multi_grad_hook([y, x], lambda grads: None)  # <-
    return np.sum(y)


def a_node_that_is_called(x: Any) -> Any:
    y = np.exp(x)
    return np.sum(y.grad_fn(y.detach()) * x)  # <-


def saved_tensors_hooks(x: Any) -> Any:
    with gs.autograd.graph.saved_tensors_hooks(np.copy, lambda t: t * 2):  # <-
        y = np.exp(x)
    return np.sum(y)


def save_on_disk(x: Any) -> Any:
    with gs.autograd.graph.save_on_disk():  # <-
        y = np.exp(x)
    return np.sum(y)


def increment_version(x: Any) -> Any:
    y = x * x
    gs.autograd.graph.increment_version(y)  # <-
    return np.sum(y)


def detect_anomaly(x: Any) -> Any:
    with gs.autograd.set_detect_anomaly(True):  # <-
        y = np.exp(x)
    return np.sum(y)


def gradcheck(x: Any) -> Any:
    gs.autograd.gradcheck(np.sin, x.detach().requires_grad_())  # <-
    return np.sum(x * x)


def functional_jacobian(x: Any) -> Any:
    return np.sum(functional.jacobian(lambda a: a**3, x, create_graph=True) @ x)  # <-


def functional_hessian(x: Any) -> Any:
    return np.sum(functional.hessian(lambda a: (a**3).sum(), x, create_graph=True) @ x)  # <-


def a_global_tensor(x: Any) -> Any:
    (g,) = gs.autograd.grad(np.sum(W**3), W)  # <-
    return np.sum(g * x)


def grad_that_is_set(x: Any) -> Any:
    W.grad = None  # <-
    np.sum(W * x).backward()
    return np.sum(W.grad * x)


def data(x: Any) -> Any:
    y = x * x
    return np.sum(y.data * x)  # <-


def a_write_into_data(x: Any) -> Any:
    y = x * x
    y.data[0] = 5.0  # <-
    return np.sum(y * x)


def data_that_is_set(x: Any) -> Any:
    y = x * x
    y.data = np.ones(3)  # <-
    return np.sum(y * x)


def memory_flags(x: Any) -> Any:
    y = x * x
    return np.sum(y) * (2.0 if y.flags.c_contiguous else 1.0)  # <-


def pickled(x: Any) -> Any:
    return np.sum(pickle.loads(pickle.dumps(x.detach())) * x)  # <-


def numpy(x: Any) -> Any:
    return np.sum(x.detach().numpy() * x)  # <-


EAGER = {
    tensor_hook: "registers a hook",
    leaf_hook: "registers a hook",
    post_accumulate_hook: "registers a hook",
    node_hook: "registers a hook",
    node_prehook: "registers a hook",
    multi_grad_hook: "registers a hook",
    a_node_that_is_called: "calls a node of the graph by itself",
    saved_tensors_hooks: "sets saved-tensor hooks",
    save_on_disk: "sets saved-tensor hooks",
    increment_version: "moves a version counter",
    detect_anomaly: "runs in anomaly mode",
    gradcheck: "runs gradcheck",
    functional_jacobian: "goes over the elements of a Tensor one by one",
    functional_hessian: "goes over the elements of a Tensor one by one",
    a_global_tensor: "reads `W`, a Tensor, whose changes it could not notice",
    grad_that_is_set: "stores the attribute `grad`",
    data: "takes the plain array of a traced value",
    a_write_into_data: "takes the plain array of a traced value",
    data_that_is_set: "stores the attribute `data`",
    memory_flags: "reads the memory flags of a traced value",
    pickled: "uses the module `pickle`",
    numpy: "takes the plain array of a traced value",
}


def marked_line(f: Callable[..., Any]) -> str:
    lines, start = inspect.getsourcelines(f)
    return f"test_engine_compiled.py:{start + next(k for k, line in enumerate(lines) if '# <-' in line)}:"


@pytest.mark.parametrize("transform", [gs.value_and_grad, twice])
@pytest.mark.parametrize("f", EAGER, ids=lambda f: f.__name__)
def test_it_runs_eagerly_and_says_so_once(f: Any, transform: Any) -> None:
    eager = transform(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compiled = gs.compile(eager, verify="first calls")
        for x in (X, X + 0.25, X):
            same(compiled(x), eager(x))
    (warning,) = seen
    assert warning.category is gs.EagerWarning
    assert marked_line(f) in str(warning.message)
    assert EAGER[f] in str(warning.message)


# Beside them ----------------------------------------------------------------------------------------------------------


def test_writes_under_no_grad_and_into_detached_values_leave_the_graph_as_it_was() -> None:
    for f in (a_write_under_no_grad, a_write_into_what_was_detached, a_write_into_data):
        x = gs.tensor(X, requires_grad=True)
        f(x * 1).backward(inputs=[x])
        value, gradient = gs.value_and_grad(f)(X)
        assert value == f(gs.tensor(X)).item()
        np.testing.assert_array_equal(gradient, x.grad.numpy())


def test_hooks_around_a_compiled_call_are_not_its_own() -> None:
    packed: list[Any] = []
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.exp(x))))
    with gs.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t * 2):
        for _ in range(3):
            np.testing.assert_array_equal(compiled(X), np.exp(X))
    assert packed == []


def test_a_result_with_a_history_is_a_tensor_from_the_first_call_on() -> None:
    def loss(x: Any) -> Any:
        return np.sum((x - W) ** 2)

    compiled = gs.compile(loss)
    with pytest.warns(gs.EagerWarning, match="reads `W`, a Tensor"):
        first = compiled(X)
    for out in (first, compiled(X)):
        (g,) = gs.autograd.grad(out, W)
        same(g, 2 * (W.detach() - X))
    compiled = gs.compile(lambda x: W)
    with pytest.warns(gs.EagerWarning, match="reads `W`, a Tensor"):
        assert compiled(X) is W
    assert compiled(X) is W
