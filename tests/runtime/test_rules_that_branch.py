"""Rules are written with ops: those that ask for a value, which no kept loop can give them, are listed here with the reason."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs

from house import ROOT

# Where a function asks whether something happens: (file, function) -> what follows from it.
ASKS = {
    ("assembling.py", "piecewise"): "functions are called of what they are meant for alone",
    ("assembling.py", "real_if_close"): "the dtype of the result",
    ("assembling.py", "trim_zeros"): "the shape of the result",
    ("compositions.py", "choose"): "an error, by positions",
    ("compositions.py", "_weights"): "an error",
    ("compositions.py", "_sloped"): "NumPy's choice of a formula, by distances",
    ("counting.py", "histogram_bin_edges"): "the edges around equal numbers",
    ("eigen.py", "_is_real"): "the dtype of the result",
    ("emath.py", "_widened"): "the dtype of the result",
    ("emath.py", "power"): "the dtype of the result",
    ("least_squares.py", "lstsq"): "the shape of the residuals",
    ("linalg.py", "adjugate_back"): "the second derivative of a singular determinant",
    ("matrix_forms.py", "cond_back"): "an error",
    ("polynomials.py", "roots"): "the number of roots, and their dtype",
    ("polynomials.py", "poly"): "the dtype of the result",
    ("polynomials.py", "polydiv"): "the length of the remainder",
    ("scipy_design.py", "firls"): "an error",
    ("scipy_design.py", "firwin2"): "an error",
    ("scipy_iterations.py", "_of_iteration"): "an error, where there is no solution",
    ("scipy_interpolate.py", "_beyond"): "an error, outside of the knots",
    ("scipy_interpolate.py", "_increasing"): "an error",
    ("scipy_interpolate.py", "CubicSpline"): "an error, where the ends do not meet",
    ("scipy_interpolate.py", "Interp1d"): "an error, outside of the table",
    ("scipy_interpolate.py", "RegularGridInterpolator"): "an error, outside of the grid, and axes that descend",
    ("scipy_filters.py", "sosfiltfilt"): "the length of the padding, as SciPy counts it",
    ("scipy_splines.py", "_smoothed"): "FITPACK's search for its parameter, step by step",
    ("scipy_splines.py", "_Newton"): "an error, at a point twice",
    ("support.py", "happens"): "what the others call",
}


def test_no_other_rule_asks_for_a_value() -> None:
    found: set[tuple[str, str]] = set()
    for path in sorted(Path(ROOT, "runtime", "rules").glob("*.py")):
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            asks = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _asks(node)]
            if asks:
                found.add((path.name, getattr(function, "name", "")))
    assert found - set(ASKS) == set()
    assert set(ASKS) - found == set()


def _asks(node: ast.Call) -> bool:
    """Whether a call takes the truth of a value."""
    name = getattr(node.func, "id", "")
    compared = name == "bool" and isinstance(node.args[0], ast.Compare)
    says = name in ("bool", "float") and any(
        isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == "np" and part.attr in ("any", "all")
        for part in ast.walk(node)
    )
    return name == "happens" or compared or says


def determinants(x: np.ndarray) -> np.ndarray:
    total = 0.0
    for _ in range(12):
        x = x + 0.1 * np.tanh(x)
        total = total + np.log(np.linalg.det(x @ x.T))
    return total


def averages(x: np.ndarray) -> np.ndarray:
    for _ in range(12):
        x = x + 0.1 * np.average(x, weights=x * x, axis=0)
    return np.sum(x**2)


@pytest.mark.parametrize("function", [determinants, averages])
def test_loops_stay_loops_in_both_directions(function: object) -> None:
    x = np.random.default_rng(0).normal(size=(3, 3))
    compiled = gs.compile(gs.value_and_grad(function))
    value, gradient = gs.value_and_grad(function)(x)
    for _ in range(2):
        found = compiled(x)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], gradient)
    text = compiled.source(x)
    forward, backward = text.split("# backward")
    assert "for _ in range(12):" in forward
    code = "\n".join(line for line in forward.splitlines() if "#" not in line)
    assert code.count("np.linalg.det(") + code.count("np.any(") == 1
    assert "for " in backward or "while " in backward
    assert len(text.splitlines()) < 70


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_singular_matrix_has_cofactors(lost: int) -> None:
    """Of rank n - 1 they are of rank one, below zeros, in stacks beside regular matrices, too."""
    rng = np.random.default_rng(lost)
    a = rng.integers(-3, 4, (4, 4)).astype(float)
    a[:, : lost + 1] = 0.0
    stack = np.stack([a, np.eye(4)])
    found = gs.grad(lambda x: np.sum(np.linalg.det(x)))(stack)
    minors = [
        [np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j) for j in range(4)] for i in range(4)
    ]
    np.testing.assert_allclose(found[0], minors, atol=1e-12)
    np.testing.assert_array_equal(found[1], np.eye(4))
    hessian = gs.hessian(np.linalg.det)(a)
    step = 1e-5
    for i in range(4):
        for j in range(4):
            e = np.zeros((4, 4))
            e[i, j] = step
            slope = (gs.grad(np.linalg.det)(a + e) - gs.grad(np.linalg.det)(a - e)) / (2 * step)
            np.testing.assert_allclose(hessian[i, j], slope, atol=1e-6)
