"""autograd's primitives in generated source: called by their names, their derivatives as their authors wrote them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.compat.autograd.extend import (
    defjvp,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)

X = np.array([0.7, -0.3, 0.9])
WEIGHTS = np.array([1.0, 2.0, 3.0])
SPACE = {"rate": 2.0}


@primitive
def wave(x: Any, y: Any = 2.0, *, scale: float = 1.0) -> Any:
    """What gradscribe cannot look into: numbers of Python's."""
    return np.reshape([math.sin(v) for v in np.ravel(x)], np.shape(x)) * y * scale


defvjp(
    wave,
    lambda ans, x, y=2.0, scale=1.0: lambda g: g * np.cos(x) * y * scale,
    lambda ans, x, y=2.0, scale=1.0: lambda g: g * ans / y,
)


@primitive
def parts(x: Any) -> Any:
    return np.sum(x), np.multiply(x, 2)


defvjp(parts, lambda ans, x: lambda g: g[0] + 2 * g[1])


@primitive
def product(*xs: Any) -> Any:
    return np.asarray(xs[0]) * xs[1] * xs[2]


defvjp_argnum(product, lambda k, ans, args, kwargs: lambda g: g * args[(k + 1) % 3] * args[(k + 2) % 3])


@primitive
def of_a_list(xs: Any) -> Any:
    return xs[0] * xs[1]


defvjp_argnums(of_a_list, lambda argnums, ans, args, kwargs: lambda g: ([g * args[0][1], g * args[0][0]],))


@primitive
def square(x: Any) -> Any:
    return np.square(np.asarray(x))


defjvp(square, lambda t, ans, x: 2 * x * t)


@notrace_primitive
def largest(x: Any) -> float:
    return float(max(x))


@primitive
def of_complex(z: Any) -> Any:
    return np.asarray(z) ** 2


defvjp(of_complex, lambda ans, z: lambda g: g * 2 * z)


@primitive
def weighted(x: Any) -> Any:
    return np.cumsum(x)


defvjp(weighted, lambda ans, x: lambda g: g * WEIGHTS * SPACE["rate"])


def repeated(x: Any) -> Any:
    y = x
    for _ in range(4):
        y = wave(y) * 0.3 + x
    return np.sum(y)


def while_large(x: Any) -> Any:
    y = x
    while np.sum(y**2) > 0.5:
        y = wave(np.tanh(y), 0.9)
    return np.sum(y)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "twice": lambda x: np.sum(wave(x, x)),
    "options": lambda x: np.sum(wave(x, 3.0, scale=0.5)),
    "two results": lambda x: parts(x)[0] * np.sum(parts(x)[1]),
    "any number": lambda x: np.sum(product(x, 2 * x, np.exp(x))),
    "a list": lambda x: np.sum(of_a_list([x, 2 * x])),
    "by its jvp": lambda x: np.sum(square(x) * x),
    "constant": lambda x: np.sum(x * x) * largest(x),
    "complex": lambda x: np.sum(np.abs(of_complex(x + 1j * x**2))),
    "repeated": repeated,
    "while": while_large,
}
WRAPS: dict[str, Callable[..., Any]] = {
    "plain": lambda f: f,
    "gradient": gs.value_and_grad,
    "jvp": lambda f: lambda x: gs.jvp(f, (x,), (np.cos(x),)),
    "hessian": gs.hessian,
    "vmap": lambda f: lambda x: gs.vmap(gs.grad(f))(np.stack([x, x * 1.1])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrap", WRAPS)
def test_compiled_is_eager(name: str, wrap: str) -> None:
    if (name, wrap) == ("while", "vmap"):
        pytest.skip("one truth value for many examples")
    plain = WRAPS[wrap](FUNCTIONS[name])
    compiled = gs.compile(plain, verify="first calls")
    for k in range(3):
        x = X * (1 + 0.1 * k)
        found, expected = compiled(x), plain(x)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
            np.testing.assert_array_equal(a, b)
    compiled.specialisation(X)  # which raises where it runs eagerly


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_right(name: str) -> None:
    if name != "constant":  # by its author's will
        assert gs.compare(gs.grad(FUNCTIONS[name]), X).ok


def test_the_source_imports_the_function() -> None:
    text = gs.compile(gs.grad(repeated)).source(X)
    assert f"from {__name__} import wave as wave_op" in text
    assert "y = wave_op(x) * 0.3 + x" in text
    assert "extend.py" not in text


def test_what_a_formula_reads_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    slope = gs.compile(gs.grad(lambda x: np.sum(weighted(x))), verify="first calls")
    np.testing.assert_array_equal(slope(X), 2 * WEIGHTS)
    monkeypatch.setitem(globals(), "WEIGHTS", 10 * WEIGHTS)
    np.testing.assert_array_equal(slope(X), 2 * WEIGHTS)
    monkeypatch.setitem(SPACE, "rate", 3.0)
    np.testing.assert_array_equal(slope(X), 3 * WEIGHTS)


@primitive
def tripled(x: Any) -> Any:
    return np.multiply(x, 3)


def test_a_formula_may_be_stated_anew() -> None:
    slope = gs.compile(gs.grad(lambda x: np.sum(tripled(x))), verify="first calls")
    for factor in (3.0, 7.0):
        defvjp(tripled, lambda ans, x, factor=factor: lambda g: factor * g)
        np.testing.assert_array_equal(slope(X), np.full(3, factor))
    defvjp(tripled, lambda ans, *args: lambda g: g, argnums=[1])
    with pytest.raises(gs.NoRuleError, match=r"VJP of tripled wrt argnums \(0,\) not defined"):
        slope(X)


@notrace_primitive
def length(x: Any) -> int:
    return len(x)


@primitive
def of_a_dict(d: Any) -> Any:
    return d["a"] * 2


defvjp(of_a_dict, lambda ans, d: lambda g: {"a": 2 * g})


@primitive
def itself(x: Any) -> Any:
    return x


defvjp(itself, lambda ans, x: lambda g: g)


@primitive
def refuses(x: Any) -> Any:
    if np.sum(x) > 2:
        raise ValueError("too large")
    return x * 2.0


defvjp(refuses, lambda ans, x: lambda g: 2.0 * g)


def caught(x: Any) -> Any:
    try:
        return np.sum(refuses(x))
    except ValueError:
        return np.sum(x)


def inner() -> Any:
    made = primitive(lambda x: np.tanh(np.asarray(x)))
    defvjp(made, lambda ans, x: lambda g: g * (1 - ans**2))
    return made


WITHOUT_A_NAME = inner()


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: np.sum(x) * length(x), "that gives more than arrays"),
        (lambda x: np.sum(of_a_dict({"a": x})), "that is given arrays within an object"),
        (lambda x: np.sum(itself(x) * x), "that gives the memory of an argument"),
        (lambda x: np.sum(WITHOUT_A_NAME(x)), "that no module has under that name, to import it from"),
        (caught, "which can raise, beside code that catches errors"),
    ],
)
def test_what_source_cannot_call_runs_eagerly(f: Callable[..., Any], why: str) -> None:
    compiled = gs.compile(gs.grad(f))
    with pytest.warns(gs.EagerWarning, match=why):
        np.testing.assert_array_equal(compiled(X), gs.grad(f)(X))
    for x in (X, 3 * X):
        np.testing.assert_array_equal(compiled(x), gs.grad(f)(x))


def test_an_error_is_the_functions_own() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(refuses(x))))
    np.testing.assert_array_equal(compiled(X), [2.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="too large"):
        compiled(3 * X)


def test_it_is_not_exported() -> None:
    with pytest.raises(gs.CompileError, match="because it calls `wave`, an op of yours"):
        gs.export(repeated, X)
