"""Modes inside compiled functions and transforms: modelled, or eager with one warning that names the line."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe import no_grad

X = np.array([0.5, -1.25, 2.0])


@pytest.fixture(autouse=True)
def modes_left_alone() -> Iterator[None]:
    yield
    found = gs.is_grad_enabled(), gs.is_inference_mode_enabled(), gs.is_anomaly_enabled()
    gs.set_grad_enabled(True)
    gs.autograd.set_detect_anomaly(False)
    assert found == (True, False, False)


def with_no_grad(x: Any) -> Any:
    with gs.no_grad():
        w = np.exp(x)
    return np.sum(w * x)


def with_inference_mode(x: Any) -> Any:
    with gs.inference_mode():
        w = np.exp(x)
    return np.sum(w * x)


def with_set_grad_enabled(x: Any) -> Any:
    with gs.set_grad_enabled(False):
        w = np.exp(x)
    return np.sum(w * x)


@gs.no_grad
def quiet_exp(x: Any) -> Any:
    return np.exp(x)


@gs.inference_mode()
def inferred_exp(x: Any) -> Any:
    return np.exp(x)


@gs.set_grad_enabled(False)
def switched_exp(x: Any) -> Any:
    return np.exp(x)


def with_imported_name(x: Any) -> Any:
    with no_grad():
        w = np.exp(x)
    return np.sum(w * x)


def with_decorators(x: Any) -> Any:
    return np.sum(quiet_exp(x) * x)


def with_decorated_inference(x: Any) -> Any:
    return np.sum(inferred_exp(x) * x)


def with_decorated_switch(x: Any) -> Any:
    return np.sum(switched_exp(x) * x)


FUNCTIONS: list[Callable[[Any], Any]] = [
    with_no_grad, with_inference_mode, with_set_grad_enabled, with_decorators, with_decorated_inference,
    with_decorated_switch, with_imported_name,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_mode_inside_a_transform_stops_the_gradient(f: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(gs.grad(f)(X), np.exp(X))
    assert f(X) == np.sum(np.exp(X) * X)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_compiled_it_is_the_same(f: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for transform in (lambda f: f, gs.grad):
            compiled = gs.compile(transform(f))
            for x in (X, X + 1, X):
                np.testing.assert_array_equal(compiled(x), transform(f)(x))
    assert all(w.category is gs.EagerWarning for w in seen)
    assert len(seen) <= 2  # one for each of the two
    for w in seen:
        assert "runs eagerly" in str(w.message)
        assert "test_modes_compiled.py:" in str(w.message)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_modes_are_modelled(f: Callable[[Any], Any]) -> None:
    assert "np.exp" in gs.source(gs.grad(f), X)


def eagerly(f: Callable[[Any], Any], reason: str, marked: str) -> Any:
    """A compiled `f` that says once, and at the line with `marked`, why it runs eagerly."""
    lines, start = inspect.getsourcelines(f)
    line = start + next(k for k, text in enumerate(lines) if marked in text)
    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match=reason) as seen:
        result = compiled(X)
    assert [f"test_modes_compiled.py:{line}" in str(w.message) for w in seen] == [True]
    return compiled, result


def test_asking_for_the_mode_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        on = gs.is_grad_enabled()
        return x * (2.0 if on else 3.0)

    with gs.no_grad():
        compiled, result = eagerly(f, "asks whether grad mode is on", "gs.is_grad_enabled()")
        np.testing.assert_array_equal(result, X * 3.0)  # the caller's mode, also while it was captured
        np.testing.assert_array_equal(compiled(X), X * 3.0)
    np.testing.assert_array_equal(compiled(X), X * 2.0)


def test_asking_for_inference_mode_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        return x * (2.0 if gs.is_inference_mode_enabled() else 3.0)

    compiled, result = eagerly(f, "asks whether inference mode is on", "is_inference_mode_enabled()")
    np.testing.assert_array_equal(result, X * 3.0)
    with gs.inference_mode():
        np.testing.assert_array_equal(compiled(X), X * 2.0)


def test_a_mode_that_outlives_the_call_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        gs.set_grad_enabled(False)
        return x * 2.0

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="sets grad mode for what comes after it"):
        np.testing.assert_array_equal(compiled(X), X * 2.0)
    assert not gs.is_grad_enabled()
    gs.set_grad_enabled(True)
    compiled(X)
    assert not gs.is_grad_enabled()
    gs.set_grad_enabled(True)


def test_a_transform_ends_what_its_function_set() -> None:
    def f(x: Any) -> Any:
        y = np.sum(x * x)
        gs.set_grad_enabled(False)
        return y

    np.testing.assert_array_equal(gs.grad(f)(X), 2 * X)
    assert gs.is_grad_enabled()


def test_anomaly_mode_inside_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        with gs.autograd.set_detect_anomaly(True):
            return np.sum(x * x)

    _, result = eagerly(f, "runs in anomaly mode", "set_detect_anomaly(True)")
    assert result == np.sum(X * X)


def test_a_compiled_function_runs_eagerly_while_anomaly_mode_is_on() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.sqrt(x) * 0.0)))
    assert np.isnan(compiled(np.zeros(2))).all()
    with (
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
        pytest.raises(gs.AutogradError, match="returned nan values in its 0th output"),
        gs.autograd.set_detect_anomaly(True),
    ):
        compiled(np.zeros(2))
    assert np.isnan(compiled(np.zeros(2))).all()


@pytest.mark.parametrize("mode", [gs.no_grad, gs.inference_mode])
def test_transforms_differentiate_whatever_the_callers_mode_is(mode: Any) -> None:
    compiled = gs.compile(gs.grad(gs.grad(lambda x: x**3)))
    with mode():
        assert gs.grad(lambda x: x * x)(3.0) == 6.0
        assert gs.value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
        assert compiled(2.0) == 12.0
    assert compiled(2.0) == 12.0
