"""scipy.linalg's structured matrices, factors and functions of matrices: values and slopes against SciPy, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import gradscribe as gs

from case_tables import slopes, slow, weighted

RNG = np.random.default_rng(7)
A, TALL, B = RNG.normal(size=(4, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 2))
C = np.array([5.0, 0.5, -1.0, 0.3])


def definite(a: Any) -> Any:
    return a @ a.T + 4.0 * np.diag(np.ones(4))


Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {
    "lu": (lambda a: linalg.lu(a)[1] @ linalg.lu(a)[2] @ linalg.lu(a)[2], A),
    "lu, tall": (lambda a: linalg.lu(a)[1] ** 2 @ linalg.lu(a)[2], TALL),
    "lu, wide": (lambda a: linalg.lu(a)[1] ** 2 @ linalg.lu(a)[2], TALL.T.copy()),
    "lu, permute_l": (lambda a: linalg.lu(a, permute_l=True)[0] ** 2, A),
    "lu, p_indices": (lambda a: linalg.lu(a, p_indices=True)[2] ** 2, A),
    "lu_factor": (lambda a: linalg.lu_factor(a)[0] ** 2, A),
    **{f"lu_solve, {k}": (lambda a, k=k: linalg.lu_solve(linalg.lu_factor(a), B, k), A) for k in (0, 1, 2)},
    "lu_solve, a right-hand side": (lambda b: linalg.lu_solve(linalg.lu_factor(A), b), B),
    "lstsq": (lambda a: np.append(linalg.lstsq(a, TALL[:, 0])[0], linalg.lstsq(a, TALL[:, 0])[1]), TALL + 0.1 * A[0, 0]),
    "lstsq, wide": (lambda b: linalg.lstsq(TALL.T, b)[0], B[:3]),
    "toeplitz": (lambda c: linalg.toeplitz(c) @ linalg.toeplitz(c, c**2), C),
    "hankel": (lambda c: linalg.hankel(c) @ linalg.hankel(c, c**2), C),
    "circulant": (lambda c: linalg.circulant(c) ** 2, C),
    "companion": (lambda c: linalg.companion(c), C),
    "khatri_rao": (lambda a: linalg.khatri_rao(a, a[:2]), A),
    "solve_toeplitz": (lambda c: linalg.solve_toeplitz((c, c), B), C),
    "matmul_toeplitz": (lambda c: linalg.matmul_toeplitz((c, c**2), B), C),
    "solve_circulant": (lambda c: linalg.solve_circulant(c, B[:, 0]), C),
    "solveh_banded": (lambda a: linalg.solveh_banded(np.stack([a[0], a[1], a[2] + 9.0]), B), A),
    "solveh_banded, lower": (lambda a: linalg.solveh_banded(np.stack([a[2] + 9.0, a[0], a[1]]), B, lower=True), A),
    "solve_continuous_lyapunov": (lambda a: linalg.solve_continuous_lyapunov(a, a @ a.T), A),
    "solve_discrete_lyapunov": (lambda a: linalg.solve_discrete_lyapunov(a / 9.0, a @ a.T), A),
    "qr": (lambda a: linalg.qr(a)[1], A),
    "qr, economic": (lambda a: linalg.qr(a, mode="economic")[0], TALL),
    "eig": (lambda a: np.abs(linalg.eig(a)[0]), A),
    "eigvals": (lambda a: np.abs(linalg.eigvals(a)), A),
    "eigh, of two": (lambda a: linalg.eigh(a + a.T, definite(a))[0], A),
    "eigh, of two, vectors": (lambda a: linalg.eigh(a + a.T, definite(a))[1] ** 2, A),
    "eigh, a driver": (lambda a: linalg.eigh(a + a.T, driver="ev", eigvals_only=True), A),
    "eigvalsh, type 2": (lambda a: linalg.eigvalsh(a + a.T, definite(a), type=2), A),
    "eigh_tridiagonal": (lambda c: linalg.eigh_tridiagonal(c, c[:3] ** 2, eigvals_only=True), C),
    "pinvh": (lambda a: linalg.pinvh(definite(a)), A),
    "logm": (lambda a: linalg.logm(definite(a)), A),
    **{name: (lambda a, name=name: getattr(linalg, name)(a), A / 2) for name in ("cosm", "sinm", "coshm", "sinhm", "tanhm")},
    "expm_frechet": (lambda a: np.stack(linalg.expm_frechet(a, a @ a)), A / 2),
    "fractional_matrix_power": (lambda a: linalg.fractional_matrix_power(definite(a), 0.3), A),
    "polar": (lambda a: linalg.polar(a)[0] @ linalg.polar(a)[1] ** 2, A),
    "polar, left": (lambda a: linalg.polar(a, "left")[0], TALL.T.copy()),
    "orthogonal_procrustes": (lambda a: linalg.orthogonal_procrustes(a, A.T)[0], A + np.diag(C)),
}  # fmt: skip
SHORT = ("lu, tall", "lu_solve, 0", "lstsq", "toeplitz", "eigh, of two", "polar")


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_against_scipy_and_finite_differences(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(gs.vjp(f, x)[0], f(x), rtol=1e-8, atol=1e-11)
    g = weighted(f)
    found = gs.grad(g)(x)
    np.testing.assert_allclose(found, slopes(g, x), rtol=1e-6, atol=1e-7)
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(gs.jvp(g, (x,), (u,))[1], np.sum(found * u), rtol=1e-7, atol=1e-10)
    second = (gs.grad(g)(x + 1e-5 * u) - gs.grad(g)(x - 1e-5 * u)) / 2e-5
    np.testing.assert_allclose(gs.hvp(g)(x, u), second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    first = gs.grad(weighted(f))
    compiled = gs.compile(first, verify="first calls")
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * (1 + 0.01 * k)), first(x * (1 + 0.01 * k)))
    compiled.specialisation(x)  # which raises where it runs eagerly


RAISES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a part of the spectrum": (lambda a: linalg.eigh(a, subset_by_value=[0, 1])[0], "subset_by_value="),
    "pivoting": (lambda a: linalg.qr(a, pivoting=True)[1], "pivoting"),
    "the other side": (lambda a: linalg.polar(a[:2])[0], "take the other side"),
    "eigenvectors": (lambda a: linalg.eigh_tridiagonal(a[0], a[0, :3])[0], "np.linalg.eigh of the whole matrix"),
    "a generalized problem": (lambda a: linalg.eigvals(a, a), r"np\.linalg\.solve\(b, a\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_has_no_derivative_raises_by_name(name: str) -> None:
    f, words = RAISES[name]
    for run in (gs.grad(lambda a: np.sum(np.abs(f(a)))), gs.compile(gs.grad(lambda a: np.sum(np.abs(f(a)))))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(NotImplementedError, match=words):
                run(A)
