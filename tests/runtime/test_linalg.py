"""Linear algebra where it degenerates: equal eigenvalues, short ranks, singular matrices; and what has no rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from checks import unlike

EYE = np.eye(3)
RANK_ONE = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 1.0])
RANK_TWO = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
DEGENERATE = {
    "identity": EYE, "zero": 0 * EYE, "rank one": RANK_ONE, "rank two": RANK_TWO, "twice two": np.diag([1.0, 2.0, 2.0]),
    "tall": np.ones((4, 3)), "wide": np.ones((2, 3)), "tall zero": np.zeros((4, 2)), "stack": np.stack([EYE, RANK_ONE, 0 * EYE]),
    "defective": np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]), "one": np.zeros((1, 1)),
}  # fmt: skip
FINITE: dict[str, Callable[..., Any]] = {
    "eigh": lambda x: np.linalg.eigh(x)[1] ** 2, "eigvalsh": np.linalg.eigvalsh, "eig": lambda x: np.abs(np.linalg.eig(x)[1]),
    "eigvals": lambda x: np.real(np.linalg.eigvals(x)), "svd, u": lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2,
    "svd, vh": lambda x: np.linalg.svd(x, full_matrices=False)[2] ** 2, "svdvals": np.linalg.svdvals, "pinv": np.linalg.pinv,
    "det": np.linalg.det, "lstsq": lambda x: np.linalg.lstsq(x, np.arange(1.0, 1.0 + len(x)))[0],
    **{f"norm {k!r}": lambda x, k=k: np.linalg.norm(x, k, axis=(-2, -1)) for k in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")},
}  # fmt: skip
SQUARE = ("eigh", "eigvalsh", "eig", "eigvals", "det")


@pytest.mark.parametrize("matrix", DEGENERATE)
@pytest.mark.parametrize("name", FINITE)
def test_no_nan_comes_silently(name: str, matrix: str) -> None:
    x, f = DEGENERATE[matrix], FINITE[name]
    if (name in SQUARE and x.shape[-1] != x.shape[-2]) or (name == "lstsq" and x.ndim > 2):
        pytest.skip("it takes no such matrix")
    for dtype in (np.float64, np.complex128, np.float32):
        if dtype is np.float32 and matrix == "defective":
            continue  # the slope of an eigenvalue is infinite
        found = gs.grad(lambda x: np.real(np.sum(f(x))))(x.astype(dtype))
        assert found.dtype == dtype
        assert np.isfinite(found).all()


def along(f: Callable[..., Any], x: Any, v: Any, step: float = 1e-6) -> float:
    """A derivative along a direction."""
    return float((f(x + step * v) - f(x - step * v)) / (2 * step))


@pytest.mark.parametrize("matrix", ["identity", "zero", "rank one", "rank two", "twice two"])
def test_the_determinant_is_a_polynomial(matrix: str) -> None:
    x, v, u = DEGENERATE[matrix], *np.random.default_rng(0).normal(size=(2, 3, 3))
    f = gs.grad(np.linalg.det)
    assert abs(np.sum(f(x) * v) - along(np.linalg.det, x, v)) < 1e-7
    second = np.einsum("ijkl,ij,kl", gs.hessian(np.linalg.det)(x), u, v)
    assert abs(second - along(lambda y: np.sum(f(y) * u), x, v, step=1e-3)) < 1e-6
    np.testing.assert_allclose(gs.vmap(f)(np.stack([x, 2 * EYE])), [f(x), f(2 * EYE)], atol=1e-12)


def test_a_compiled_determinant_takes_both_ways() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.linalg.det(x) * np.sum(x)), verify="first calls")
    plain = gs.grad(lambda x: np.linalg.det(x) * np.sum(x))
    for x in (EYE, RANK_TWO, 2 * EYE + RANK_ONE, 0 * EYE, EYE):
        assert unlike(compiled(x), plain(x)) is None


def test_functions_of_a_repeated_eigenvalue_that_do_not_see_its_vectors_turn() -> None:
    x, v = TURN @ np.diag([1.0, 2.0, 2.0]) @ TURN.T, np.random.default_rng(0).normal(size=(3, 3))
    v = v + v.T

    def trace_of_cube(x: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(x) ** 3)

    def onto_the_lowest(x: Any) -> Any:
        _, vectors = np.linalg.eigh(x)
        return vectors[:, 0] @ np.diag([1.0, 2.0, 3.0]) @ vectors[:, 0]

    for f in (trace_of_cube, onto_the_lowest):
        assert abs(np.sum(gs.grad(f)(x) * v) - along(f, x, v)) < 1e-6


def test_least_squares_of_a_short_rank_is_that_of_the_pseudo_inverse() -> None:
    y = np.array([1.0, 2.0, -1.0])
    for x in (RANK_ONE, RANK_TWO, 0 * EYE):
        for k in (0, 1):
            found = gs.grad(lambda x, y: np.sum(np.linalg.lstsq(x, y)[0] ** 2), argnums=k)(x, y)
            expected = gs.grad(lambda x, y: np.sum((np.linalg.pinv(x, 3 * 2.0**-52) @ y) ** 2), argnums=k)(x, y)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_compiled_least_squares_minds_the_rank() -> None:
    def residual(x: Any, y: Any) -> Any:
        solution, residuals, rank, s = np.linalg.lstsq(x, y)
        return np.sum(residuals) + np.sum(solution**2) + rank * np.sum(s)

    full = np.random.default_rng(0).normal(size=(4, 2))
    short = np.outer(np.arange(4.0), [1.0, 2.0])
    y = np.arange(4.0) ** 2
    compiled = gs.compile(gs.value_and_grad(residual), verify="first calls")
    for x in (full, short, full, short, 2 * full):
        assert unlike(compiled(x, y), gs.value_and_grad(residual)(x, y)) is None
    assert compiled(short, y)[0] == residual(short, y)


def test_compiled_eigenvalues_are_real_or_complex_as_numpys_are() -> None:
    def spread(x: Any) -> Any:
        w, v = np.linalg.eig(x)
        return np.sum(np.abs(w - np.mean(w)) ** 2) + np.sum(np.abs(v) ** 4)

    turning = np.array([[0.0, 1.0], [-1.0, 0.5]])
    plain = np.array([[1.0, 1.0], [0.0, 3.0]])
    compiled = gs.compile(gs.value_and_grad(spread), verify="first calls")
    for x in (turning, plain, plain + 1.0, turning * 2):
        assert unlike(compiled(x), gs.value_and_grad(spread)(x)) is None
    values = gs.compile(np.linalg.eigvals)
    for x in (turning, plain, turning):  # from NumPy 2.5 on they are always complex
        assert values(x).dtype == np.linalg.eigvals(x).dtype
        assert unlike(values(x), np.linalg.eigvals(x)) is None


def test_eigenvalues_are_matched_in_whatever_order_they_come() -> None:
    from gradscribe.runtime.rules.eigen import complex_eig, eigvals_back

    x = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0], [0.0, 3.0, 2.0]])
    w, v = complex_eig(x)
    g = np.array([1.0, 10.0, 100.0]) + 0j
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        np.testing.assert_allclose(eigvals_back(g[order], w[order], w, v), eigvals_back(g, w, w, v))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.linalg.qr(x, mode="raw")[0], "mode='raw'.*use mode='reduced'"),
        (lambda x: np.linalg.qr(x[:, :2], mode="complete")[0], "mode='complete'.*arbitrary; use mode='reduced'"),
        (lambda x: np.linalg.svd(x[:, :2])[0], "full_matrices=True adds.*pass full_matrices=False"),
        (lambda x: np.linalg.cross(x[:, :2], x[:, :2]), "3"),
    ],
)
def test_what_has_no_rule_says_so(call: Any, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((NotImplementedError, ValueError), match=words):
            gs.grad(lambda x: np.sum(call(x)))(EYE + RANK_TWO)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.slogdet(x)[1], np.linalg.cond, lambda x: np.linalg.cond(x, 1), lambda x: np.sum(np.linalg.inv(x)),
        lambda x: np.sum(np.linalg.solve(x, np.ones(3))), lambda x: np.sum(np.linalg.matrix_power(x, -1)),
        lambda x: np.sum(np.linalg.cholesky(x)), lambda x: np.sum(np.linalg.qr(x)[1]),
        lambda x: np.sum(np.linalg.tensorinv(x, 1)),
    ],
)  # fmt: skip
def test_a_singular_matrix_is_an_error_where_the_slope_is_infinite(f: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        gs.grad(f)(0 * EYE)


def test_results_bear_numpys_names() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(np.linalg.eig(x))
        found.append(np.linalg.svd(x, hermitian=True))
        return np.sum(np.real(found[0].eigenvalues)) + np.sum(found[1].S)

    gs.grad(f)(np.diag([1.0, 2.0]))
    assert [type(r).__name__ for r in found] == ["EigResult", "SVDResult"]


def test_einsum_writes_into_out() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))

    def f(x: Any, y: Any) -> Any:
        out = np.zeros((3, 3))
        np.einsum(x, [0, 1], y, [1, 2], [0, 2], out=out)
        return np.sum(out**2)

    assert abs(f(x, y) - np.sum((x @ y) ** 2)) < 1e-12
    np.testing.assert_allclose(gs.grad(f)(x, y), 2 * (x @ y) @ y.T)


def test_the_source_of_lists_is_text() -> None:
    text = str(gs.source(lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), EYE, EYE))
    assert 'np.einsum("ab,bc", x, y)' in text


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        ((2,), (2,), {}), ((2,), (3,), {}), ((4, 3), (2,), {}), ((2, 4), (4, 3), {"axisa": 0}), ((2, 4), (2, 4), {"axis": 0}),
        ((5, 1, 2), (4, 2), {}), ((4, 3), (2, 4), {"axisb": 0, "axisc": 0}),
    ],
)  # fmt: skip
def test_cross_products_in_the_plane(a: Any, b: Any, options: dict[str, int], rng: np.random.Generator) -> None:
    x, y = rng.normal(size=a), rng.normal(size=b)
    try:
        np.cross(x, y, **options)
    except ValueError:
        pytest.skip("NumPy takes no vectors of two elements any more")
    f = lambda x, y: np.sum(np.sin(np.cross(x, y, **options)))
    gs.check_grads(f, (x, y))
    gradient = gs.grad(f, argnums=(0, 1))
    for found, expected in zip(gs.compile(gradient, verify="first calls")(x, y), gradient(x, y), strict=True):
        assert unlike(found, expected) is None


@pytest.mark.parametrize("op", [np.matmul, np.dot], ids=["matmul", "dot"])
@pytest.mark.parametrize("y", [(3,), (3, 2), (0,), (3, 0), (0, 2), (0, 0)], ids=str)
@pytest.mark.parametrize("batch", [(4, 2), (2, 1, 3), (0, 2), (2, 0)], ids=str)
def test_a_stack_of_rows_times_a_matrix(op: Any, y: Any, batch: Any, rng: np.random.Generator) -> None:
    """The matrix's cotangent is one product over all rows, where a length is 0 as well."""
    given = rng.normal(size=(*batch, y[0])), rng.normal(size=y)
    gradient = gs.grad(lambda x, y: np.sum(np.sin(op(x, y))), argnums=(0, 1))
    found = gradient(*given)
    rows = tuple(range(len(batch)))
    expected = np.tensordot(given[0], np.cos(op(*given)), (rows, rows))
    np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=1e-14)
    for turned in (given[0], np.ascontiguousarray(given[0].T).T):
        eager = gradient(turned, given[1])
        for one, other in zip(gs.compile(gradient, verify="first calls")(turned, given[1]), eager, strict=True):
            assert unlike(one, other) is None


def test_the_gradient_of_a_layer_of_a_stack_reads_as_one_product(rng: np.random.Generator) -> None:
    text = str(gs.source(gs.grad(lambda W, x: np.sum(np.tanh(x @ W))), rng.normal(size=(3, 2)), np.ones((5, 4, 3))))
    assert "x.reshape(-1, W.shape[0]).T @ " in text
    assert ".reshape(-1, W.shape[1])" in text
