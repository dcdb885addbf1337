"""The programs in examples/ that have SciPy in their middle: against finite differences, eager and compiled."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = (
    "bilevel", "calibration", "distribution_fit", "filter_fit", "graph_smoothing", "implicit_layer", "ode_fit",
    "quadrature_likelihood", "registration", "spline_fit",
)  # fmt: skip


def problem(name: str) -> tuple[Any, Any]:
    spec = importlib.util.spec_from_file_location(f"scipy_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: tuple[Any, Any] = module.problem(True)
    return found


@pytest.mark.parametrize(
    "name", [n if n in ("calibration", "graph_smoothing") else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_gradients(name: str) -> None:
    loss, start = problem(name)
    value, found = gs.value_and_grad(loss)(start)
    np.testing.assert_allclose(value, loss(start), rtol=1e-9)
    h = 1e-3  # wide, since what an inner optimiser finds jumps by 1e-10 with the rounding of the machine
    steps = [[loss(start + s * h * e) for s in (1, -1, 2, -2)] for e in np.eye(start.size)]
    expected = [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in steps]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.max(np.abs(found)))
    compiled = gs.compile(gs.value_and_grad(loss), verify="first calls")
    for x in (start, start + 1e-3, start - 1e-3):
        np.testing.assert_array_equal(compiled(x)[1], gs.grad(loss)(x))
    compiled.specialisation(start)  # which raises where it runs eagerly
