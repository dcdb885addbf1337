"""Small systems in C: as NumPy's within a few roundings times the condition, errors and infinities as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native_batches import Native, needs_compiler, together, written

import gradscribe as gs

pytestmark = needs_compiler


def systems(a: Any, b: Any, c: Any) -> Any:
    spd = a @ a.T + np.eye(len(a))
    sign, log = np.linalg.slogdet(a)
    return (
        np.linalg.solve(a, b),
        np.linalg.solve(a, c),
        np.linalg.inv(a),
        sign * 1.0,
        log * 1.0,
        np.linalg.cholesky(spd),
    )


@pytest.fixture(scope="module", params=[np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def built(request: pytest.FixtureRequest) -> tuple[Native, Any]:
    """The kernel of each dtype."""
    rng = np.random.default_rng(0)
    args = [x.astype(request.param) for x in (rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3))]
    (kernel,) = together([written(systems, *args)])
    return kernel, request.param


def test_they_agree_with_numpy(built: tuple[Native, Any], rng: np.random.Generator) -> None:
    kernel, dtype = built
    assert set(kernel.kernel.called_out) <= {"np.eye"}
    eps = float(np.finfo(dtype).eps)
    for n in (2, 3, 5, 8, 16, 17, 30):
        for layout in (lambda x: x, lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, axis=0)[::2]):
            a = layout(rng.normal(size=(n, n)).astype(dtype))
            b, c = rng.normal(size=(n, 4)).astype(dtype), rng.normal(size=n).astype(dtype)
            bound = 30 * n * eps * float(np.linalg.cond(a.astype(float)) + np.linalg.cond(a.astype(float)) ** 2)
            for found, expected in zip(kernel.run(a, b, c), kernel.numpy(a, b, c), strict=True):
                assert type(found) is type(expected)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                assert np.max(np.abs(found - expected)) <= bound * (1.0 + np.max(np.abs(expected)))
    assert kernel.left == [0]


def test_what_is_singular_or_not_finite_is_numpys() -> None:
    def solved(a: Any, b: Any) -> Any:
        return np.linalg.solve(a, b) * 1.0

    def determinant(a: Any) -> Any:
        sign, log = np.linalg.slogdet(a)
        return sign * 1.0, log * 1.0

    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones(2)
    one, two, three = together(
        [written(solved, a, b), written(determinant, a), written(lambda a: np.linalg.cholesky(a) * 1.0, a)]
    )
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        one.run(singular, b)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        three.run(-a)
    assert two.run(singular) == (0.0, -np.inf)
    assert two.run(np.array([[0.0, 1.0], [1.0, 0.0]])) == (-1.0, 0.0)
    for special in (np.nan, np.inf):
        for matrix, vector in ((np.array([[1.0, special], [0.0, 1.0]]), b), (np.eye(2), np.array([special, 1.0]))):
            with np.errstate(all="ignore"):
                found, expected = one.run(matrix, vector), np.linalg.solve(matrix, vector)
                assert np.array_equal(found, expected, equal_nan=True)
                assert np.array_equal(two.run(matrix), determinant(matrix), equal_nan=True)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        two.run(np.ones((2, 3)))


def test_systems_of_a_factor_are_solved_in_c_and_large_or_singular_ones_by_scipy(rng: np.random.Generator) -> None:
    pytest.importorskip("scipy.linalg", reason="without SciPy there are no such systems")
    from gradscribe.runtime.rules.scipy_linalg import solve_factor

    def solved(a: Any, b: Any) -> Any:
        return (
            solve_factor(a, b, 0, False),
            solve_factor(a, b, 0, True),
            solve_factor(a, b, 1, False),
            solve_factor(a, b, 1, True),
        )

    (kernel,) = together([written(solved, np.eye(3), np.ones((3, 2)))])
    assert not kernel.kernel.called_out
    for n in (2, 3, 8, 16, 17, 30):
        a, b = rng.normal(size=(n, n)) / n + 2 * np.eye(n), rng.normal(size=(n, 4))
        for found, expected in zip(kernel.run(a, b), kernel.numpy(a, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert kernel.left == [0]
    singular = np.diag([1.0, 0.0, 2.0])
    with pytest.raises(np.linalg.LinAlgError):
        kernel.numpy(singular, np.ones((3, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        kernel.run(singular, np.ones((3, 2)))


def test_systems_of_a_factor_are_substitutions_at_any_size(rng: np.random.Generator) -> None:
    def solved(k: Any, y: Any, z: Any) -> Any:
        factor = np.linalg.cholesky(k)
        return (
            np.linalg.solve(factor, y),
            np.linalg.solve(factor.T, y),
            np.linalg.solve(factor, z),
            np.linalg.solve(factor.T, z),
        )

    (kernel,) = together([written(solved, np.eye(3), np.ones(3), np.ones((3, 2)))])
    assert kernel.kernel.text.count("triangle_d(") == 4
    assert "lu_d(" not in kernel.kernel.text
    for n, columns in ((2, 3), (5, 5), (16, 2), (17, 3), (40, 4), (40, 9), (100, 2)):
        k = np.cos(rng.normal(size=(n, n)))
        k = k @ k.T + np.eye(n)
        for given in (k, np.asfortranarray(k), np.repeat(k, 2, axis=1)[:, ::2]):
            args = given, rng.normal(size=n), rng.normal(size=(columns, n)).T
            for found, expected in zip(kernel.run(*args), kernel.numpy(*args), strict=True):
                assert (found.shape, found.strides) == (expected.shape, expected.strides)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert kernel.left == [0]
    for bad in (-np.eye(20), np.zeros((3, 3))):
        with pytest.raises(np.linalg.LinAlgError):
            kernel.run(bad, np.ones(len(bad)), np.ones((len(bad), 2)))


def test_a_factor_turned_round_by_trans_is_the_one_that_scipy_solves(rng: np.random.Generator) -> None:
    pytest.importorskip("scipy.linalg", reason="without SciPy there are no such systems")
    from gradscribe.runtime.rules.scipy_linalg import solve_factor

    def solved(k: Any, z: Any) -> Any:
        factor = np.linalg.cholesky(k)
        ways = [(m, trans, lower) for m in (factor, factor.T) for trans in (0, 1) for lower in (False, True)]
        return tuple(solve_factor(m, z, trans, lower) for m, trans, lower in ways)

    (kernel,) = together([written(solved, np.eye(3), np.ones((3, 2)))])
    for n, columns in ((2, 3), (16, 7), (17, 2), (30, 30), (41, 6)):
        k = np.cos(rng.normal(size=(n, n)))
        args = k @ k.T + np.eye(n), rng.normal(size=(n, columns))
        for found, expected in zip(kernel.run(*args), kernel.numpy(*args), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert kernel.left == [0]


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_gradient_through_a_factor_solves_its_transposed_systems(n: int) -> None:
    def f(a: Any) -> Any:
        return np.sum(np.sin(np.linalg.cholesky(a)))

    b = np.random.default_rng(0).normal(size=(n, n))
    a = b @ b.T + n * np.eye(n)
    (kernel,) = together([written(gs.grad(f), a)])
    np.testing.assert_allclose(kernel.run(a), gs.grad(f)(a), rtol=1e-12, atol=1e-14)
