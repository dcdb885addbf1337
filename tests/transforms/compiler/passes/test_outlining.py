"""Helpers that are called several times: each is one function of the source with its VJP beside it, and all bits are eager's."""

from __future__ import annotations

import ast
import functools
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

rng = np.random.default_rng(5)


def rate(y, growth, loss):
    prey, predator = y
    eaten = loss * prey * predator
    return np.array([growth * prey - eaten, eaten - 0.5 * predator])


def runge_kutta(y, growth, loss, dt, seen):
    """Steps of the Runge-Kutta scheme, and their distance from what was seen."""
    total = 0.0
    for target in seen:
        k1 = rate(y, growth, loss)
        k2 = rate(y + 0.5 * dt * k1, growth, loss)
        k3 = rate(y + 0.5 * dt * k2, growth, loss)
        k4 = rate(y + dt * k3, growth, loss)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        total = total + np.sum((y - target) ** 2)
    return total


def one_step(y, growth, loss, dt, seen):
    """A step that is not in a loop: what the last call of the helper adds to has begun with the others."""
    k1 = rate(y, growth, loss)
    k2 = rate(y + 0.5 * dt * k1, growth, loss)
    k3 = rate(y + dt * k2, growth, loss)
    return np.sum((y + dt / 3.0 * (k1 + k2 + k3) - seen[0]) ** 2)


def layer(x, W, b):
    z = x @ W + b
    centred = z - np.mean(z, axis=1, keepdims=True)
    scale = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)
    return np.tanh(centred / scale) + x


def each_in_the_other(W, b, x):
    return np.sum(layer(layer(layer(x, W, b), W, b), W, b) ** 2)


def list_of_layers(layers, x):
    for k in range(len(layers)):
        x = layer(x, *layers[(k + 1) % len(layers)])  # in an order of its own: written out
    return np.sum(x**2)


class Scheme:
    """A helper that is a method."""

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def force(self, x):
        bent = x - self.stiffness * np.mean(x)
        length = np.sqrt(np.sum(bent**2) + 1.0)
        return np.tanh(bent / length) * self.stiffness

    def energy(self, x):
        a = self.force(x)
        b = self.force(x + a)
        return np.sum(a * b * self.force(b - x))


def methods(stiffness, x):
    return Scheme(stiffness).energy(x)


def written(x, w):
    h = x * w
    h += np.sin(x)
    h *= w
    h[0] = 1.0
    h = np.exp(-h * h)
    return h * x


def writes(x, w):
    a = written(x, w)
    b = written(a, w)
    return np.sum(a * b * written(b + a, w))


Y = (np.array([1.0, 0.5]), np.float64(0.7), np.float64(0.3), 0.1, rng.normal(size=(6, 2)))
LAYERS = [(rng.normal(size=(4, 4)), rng.normal(size=4)) for _ in range(4)]
CASES = {
    "runge_kutta": (runge_kutta, Y, (0, 1, 2), "rate"),
    "one_step": (one_step, Y, (0, 1, 2), "rate"),
    "each_in_the_other": (each_in_the_other, (*LAYERS[0], rng.normal(size=(5, 4))), (0, 1, 2), "layer"),
    "list_of_layers": (list_of_layers, (LAYERS, rng.normal(size=(5, 4))), (0, 1), "layer"),
    "methods": (methods, (np.float64(0.7), rng.normal(size=5)), (0, 1), "force"),
    "writes": (writes, (rng.normal(size=5), rng.normal(size=5)), (0, 1), "written"),
    "writes into large arrays": (writes, (rng.normal(size=40000), rng.normal(size=40000)), (0, 1), "written"),
}


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """The functions of a source by their names."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def calls_of(name: str, text: str) -> int:
    """How often a source calls a function."""
    return sum(isinstance(n, ast.Call) and ast.unparse(n.func) == name for n in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(("function", "args", "argnums", "helper"), CASES.values(), ids=CASES)
def test_a_helper_is_a_function_with_its_vjp_beside_it(
    function: Callable[..., Any], args: Any, argnums: Any, helper: str
) -> None:
    eager = gs.value_and_grad(function, argnums=argnums)
    compiled = gs.compile(eager, verify=True)
    for _ in range(2):
        assert difference(compiled(*args), eager(*args)) is None
    assert not gs.explain(compiled).eager
    text = str(gs.source(eager, *args))
    names = list(functions(text))
    assert names == [helper, f"{helper}_vjp", f"{function.__name__}_value_and_grad"]
    times = calls_of(helper, text)
    assert times >= 3
    assert calls_of(f"{helper}_vjp", text) == times


@pytest.mark.parametrize("transform", [gs.grad, gs.hessian, lambda f: gs.vmap(gs.grad(f))])
def test_other_transforms_of_helpers_give_the_bits_of_eager(transform: Any) -> None:
    def f(x):
        a = written(x, x + 1.0)
        return np.sum(a * written(a, x) * written(x * a, a))

    x = rng.normal(size=(3, 4)) if transform not in (gs.grad, gs.hessian) else rng.normal(size=4)
    eager = transform(f)
    compiled = gs.compile(eager, verify=True)
    for _ in range(2):
        assert difference(compiled(x), eager(x)) is None
    assert not gs.explain(compiled).eager


def test_a_helper_that_is_called_twice_stands_where_it_is_called() -> None:
    def f(x, w):
        return np.sum(written(x, w) * written(w, x))

    assert list(functions(str(gs.source(gs.value_and_grad(f), *Y[:1], *Y[:1])))) == ["f_value_and_grad"]


def test_a_small_helper_stands_where_it_is_called() -> None:
    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    def f(x):
        return np.sum(sigmoid(x) * sigmoid(x * x) * sigmoid(x + 1.0))

    assert list(functions(str(gs.source(gs.value_and_grad(f), Y[0])))) == ["f_value_and_grad"]


def test_a_local_variable_of_the_name_of_a_helper_is_another_one() -> None:
    def f(params, x):
        y = params["written"] * x
        return np.sum(written(y, x) * written(x, y) * written(x + y, x))

    args = ({"written": np.array([1.0, 2.0])}, np.array([0.3, 0.4]))
    eager = gs.value_and_grad(f)
    compiled = gs.compile(eager, verify=True)
    assert difference(compiled(*args), eager(*args)) is None
    assert not gs.explain(compiled).eager


def test_one_source_with_functions_serves_all_lengths() -> None:
    compiled = gs.compile(gs.grad(each_in_the_other, argnums=(0, 1, 2)))
    for n, m in ((4, 5), (7, 9), (3, 3), (2, 5)):
        args = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(m, n))
        assert difference(compiled(*args), gs.grad(each_in_the_other, argnums=(0, 1, 2))(*args)) is None
    assert len(gs.explain(compiled).specialisations) == 1


def test_an_exported_module_has_the_functions_too(tmp_path: Any) -> None:
    text = gs.export(runge_kutta, *Y, argnums=(0, 1, 2))
    assert list(functions(text))[:3] == ["rate", "rate_vjp", "runge_kutta_value_and_grad"]
    space: dict[str, Any] = {}
    exec(text, space)
    assert (
        difference(space["runge_kutta_value_and_grad"](*Y), gs.value_and_grad(runge_kutta, argnums=(0, 1, 2))(*Y))
        is None
    )


def test_the_pass_can_be_left_out() -> None:
    from gradscribe.transforms.compiler.passes import FAST_NAMES, NAMES

    chosen = [name for name in NAMES if name not in (*FAST_NAMES, "outlining")]
    text = str(gs.compile(gs.value_and_grad(one_step), passes=chosen).source(*Y))
    assert list(functions(text)) == ["one_step_value_and_grad"]


def test_a_run_that_is_given_one_value_for_several_parameters_does_not_merge_them() -> None:
    class Kalman:
        def __init__(self, q: Any, r: Any) -> None:
            self.q, self.r, self.m, self.variance, self.likelihood = q, r, 0.0, 1.0, 0.0

        def step(self, y: Any) -> Any:
            self.variance += self.q
            total = self.variance + self.r
            gain, error = self.variance / total, y - self.m
            self.m += gain * error
            self.variance *= 1 - gain
            self.likelihood -= 0.5 * (math.log(2 * math.pi * total) + error * error / total)
            return self

    def likelihood(x: Any) -> Any:
        return functools.reduce(lambda filtered, y: filtered.step(y), SEEN, Kalman(x[0] ** 2, x[1] ** 2)).likelihood

    compiled = gs.compile(gs.grad(likelihood))
    for _ in range(3):
        x = rng.uniform(0.5, 1.5, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", gs.EagerWarning)
            found = compiled(x)
        assert np.array_equal(found, gs.grad(likelihood)(x))
    assert (
        gs.source(gs.grad(likelihood), x).count("step_vjp(") == 4
    )  # of the last step the cotangents have begun otherwise


SEEN = rng.normal(size=4)


def rate_by_places(state, t, rates):
    """A right-hand side as SciPy asks for it, that reads its state by places."""
    x, y = state[0], state[1]
    a, b, c, d = rates
    return np.stack([a * x - b * x * y, d * x * y - c * y + t])


def fitted(rates, state, seen, dt):
    total = 0.0
    for target in seen:
        k1 = rate_by_places(state, 0.0, rates)
        k2 = rate_by_places(state + 0.5 * dt * k1, 0.5 * dt, rates)
        k3 = rate_by_places(state + 0.5 * dt * k2, 0.5 * dt, rates)
        k4 = rate_by_places(state + dt * k3, dt, rates)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        total = total + np.sum((state - target) ** 2)
    return total


def test_a_helper_reads_the_same_however_often_python_ran_it() -> None:
    """CPython rewrites an instruction that ran a few times, and enters `__getitem__` of Python's by another way then."""
    args = (np.array([1.0, 0.1, 1.5, 0.07]), np.array([10.0, 5.0]), rng.normal(size=(9, 2)), 0.05)
    texts = {str(gs.source(gs.value_and_grad(fitted), *args)) for _ in range(6)}
    assert len(texts) == 1
    (text,) = texts
    assert calls_of("rate_by_places_vjp", text) == 4


def predator_and_prey(theta, z, data, dt):
    """A fit whose helper reads its parameters from the function around it, and takes two vectors apart."""

    def rhs(z):
        prey, predator = z
        a, b, c, d = theta
        return np.array([a * prey - b * prey * predator, c * prey * predator - d * predator])

    loss = 0.0
    for seen in data:
        k1 = rhs(z)
        k2 = rhs(z + 0.5 * dt * k1)
        k3 = rhs(z + 0.5 * dt * k2)
        k4 = rhs(z + dt * k3)
        z = z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        loss += np.sum((z - seen) ** 2)
    return loss


def test_a_helper_within_a_function_reads_as_it_is_written() -> None:
    transform = gs.value_and_grad(predator_and_prey, argnums=(0, 1))
    compiled = gs.compile(transform)
    args = np.array([1.0, 0.1, 0.2, 1.1]), np.array([10.0, 5.0]), rng.normal(size=(5, 2)), 0.1
    for scale in (1.0, 0.7):
        now = tuple(x * scale for x in args)
        assert difference(compiled(*now), transform(*now)) is None
    text = str(compiled.source(*args))
    assert "def rhs(z, a, b, c, d):\n" in text
    assert "def rhs_vjp(prey, predator, d, c, b, a, d_out, d_theta):\n" in text
    assert "    d_theta = d_theta + np.array([" in text
    assert len(re.findall(r"\n +d_theta, \w+ = rhs_vjp\(", text)) == 4
    assert "errstate" not in text
