"""Code that goes on after an error which only a Tensor meets: the transform raises, and plain errors are the user's own."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

pytestmark = pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")


def sleeps(t: Any) -> Any:
    try:
        time.sleep(t * 1e-9)
        return t
    except TypeError:
        return 0.25


def measures(t: Any) -> Any:
    try:
        return datetime.timedelta(seconds=t).total_seconds()
    except Exception:
        return 0.25


def bare(t: Any) -> Any:
    o = np.zeros(2)
    try:
        memoryview(o)[0] = t
    except:  # noqa: E722  # what the test is about
        return 0.25
    return o.sum()


def suppressed(t: Any) -> Any:
    with contextlib.suppress(TypeError):
        time.sleep(t * 1e-9)
        return t
    return 0.25


def without_rule(t: Any) -> Any:
    try:
        return np.real_if_close(np.trim_zeros([t, 0.0]))[0]
    except Exception:
        return 0.25


def refused_form(t: Any) -> Any:
    from scipy import sparse

    try:
        return sparse.csr_matrix(t * np.ones((2, 2))).toarray().sum()
    except Exception:
        return 0.25 * t


def suppressed_form(t: Any) -> Any:
    from scipy import sparse

    with contextlib.suppress(NotImplementedError):
        return sparse.csr_matrix(t * np.ones((2, 2))).toarray().sum()
    return 0.25 * t


TRANSFORMS: dict[str, Callable[..., Any]] = {"eager": gs.grad, "compiled": lambda f: gs.compile(gs.grad(f))}


@pytest.mark.parametrize("how", TRANSFORMS)
@pytest.mark.parametrize("swallows", [refused_form, suppressed_form])
def test_a_handler_does_not_hide_that_a_form_of_a_function_has_no_gradient(swallows: Any, how: str) -> None:
    pytest.importorskip("scipy.sparse", reason="the function is SciPy's")
    gradient = TRANSFORMS[how](lambda x: swallows(np.sum(x)) * 2.0)
    for _ in range(3):
        with pytest.raises((NotImplementedError, gs.GradientLossError)):
            gradient(np.ones(2))


@pytest.mark.parametrize("how", TRANSFORMS)
@pytest.mark.parametrize("swallows", [sleeps, measures, bare, suppressed])
def test_a_handler_does_not_hide_a_loss(swallows: Any, how: str) -> None:
    gradient = TRANSFORMS[how](lambda x: swallows(np.sum(x)) * 2.0)
    for _ in range(3):
        with pytest.raises(gs.GradientLossError):
            gradient(np.array([0.3, 0.5]))


def test_a_handler_keeps_the_gradient_or_raises() -> None:
    try:
        found = gs.grad(lambda x: without_rule(np.sum(x)) * 2.0)(np.array([0.3, 0.5]))
    except (gs.GradientLossError, gs.NoRuleError):
        return
    np.testing.assert_allclose(found, 2.0)


@pytest.mark.parametrize("how", TRANSFORMS)
def test_errors_that_numpy_raises_too_are_the_users_own(how: str) -> None:
    def f(x: Any) -> Any:
        try:
            return np.sum(np.linalg.cholesky(np.outer(x, x) - np.eye(2)))
        except np.linalg.LinAlgError:
            return np.sum(x) * 3.0

    gradient = TRANSFORMS[how](f)
    for _ in range(3):
        np.testing.assert_allclose(gradient(np.array([0.3, 0.5])), 3.0)
