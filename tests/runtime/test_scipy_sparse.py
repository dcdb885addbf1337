"""scipy.sparse in functions that are differentiated: products and systems, in the numbers and in the dense operand, compiled."""

from __future__ import annotations

import operator
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph, linalg

import gradscribe as gs
from gradscribe import NoRuleError

from case_tables import slopes, slow, weighted

RNG = np.random.default_rng(3)
ROWS, COLUMNS = np.array([0, 1, 2, 3, 0, 3]), np.array([0, 1, 2, 3, 1, 3])  # the last number is added to another one
INDPTR = np.array([0, 2, 3, 4, 5])
NUMBERS = np.array([2.0, 3.0, 2.5, 1.5, 0.5, 0.7])
LONG = np.cos(np.arange(8.0))
X, MANY, D4 = RNG.normal(size=4), RNG.normal(size=(4, 3)), np.array([1.5, 2.0, 2.5, 3.0])
S = sparse.csr_matrix(np.diag([3.0, 4.0, 5.0, 6.0]) + np.diag([1.0, 0.5, -1.0], 1) + np.diag([0.3], -3))
FORMS: dict[str, Any] = {form: S.asformat(form) for form in ("csr", "csc", "coo", "dia")} | {
    "array": sparse.csr_array(S)
}


class Holder:
    matrix = S.tocsc()


HOLDER = Holder()
ITERATIONS = ("cg", "cgs", "gmres", "bicg", "bicgstab", "minres", "lgmres", "qmr", "tfqmr", "gcrotmk")
NUMBERS_OF_SEVEN = np.array([4.0, 5.0, 6.0, 7.0, 1.0, -0.5, 0.7])
DENSE = np.diag([3.0, 4.0, 5.0, 6.0]) + np.eye(4, k=1)
DEFINITE, NEAR = sparse.csr_array(DENSE + DENSE.T), np.diag(1 / D4)


def of_iteration(name: str) -> Callable[[Any], Any]:
    """The solution of a symmetric system, whose numbers stand in two places each."""

    def solve(d: Any) -> Any:
        rows, columns = np.array([0, 1, 2, 3, 0, 1, 2, 1, 2, 3]), np.array([0, 1, 2, 3, 1, 2, 3, 0, 1, 2])
        m = sparse.csr_matrix((np.concatenate([d, d[4:]]), (rows, columns)), shape=(4, 4))
        x, info = getattr(linalg, name)(m, X * d[:4], rtol=1e-14)
        assert info == 0
        return x

    return solve


Case = tuple[Callable[[Any], Any], Any]


def made(form: str) -> Callable[[Any], Any]:
    return lambda d: getattr(sparse, form)((d, (ROWS, COLUMNS)), shape=(4, 4))


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for form in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array"):
        found[f"numbers, {form}"] = (lambda d, form=form: made(form)(d) @ X + X @ made(form)(d), NUMBERS)
        found[f"system, {form}"] = (lambda d, form=form: linalg.spsolve(made(form)(d).tocsc(), X), NUMBERS)
    for form, m in FORMS.items():
        found[f"dense, {form}"] = (lambda x, m=m: m @ x, MANY)
        found[f"vector, {form}"] = (lambda x, m=m: x @ m + m @ x + m.T @ x, X)
    a = sparse.csr_array((NUMBERS[:5], COLUMNS[:5], INDPTR), shape=(4, 4))
    found |= {
        "numbers, by rows": (lambda d: sparse.csr_matrix((d, COLUMNS[:5], INDPTR), shape=(4, 4)) @ MANY, NUMBERS[:5]),
        "no shape": (lambda d: sparse.csr_matrix((d, (ROWS, COLUMNS))) @ X, NUMBERS),
        "right-hand side": (lambda b: linalg.spsolve(FORMS["csc"], b), X),
        "many right-hand sides": (lambda b: linalg.spsolve(FORMS["csr"], b), MANY),
        "a column": (lambda b: linalg.spsolve(FORMS["csc"], b[:, None]), X),
        "both": (lambda d: linalg.spsolve(made("csc_matrix")(d), d[:4] ** 2), NUMBERS),
        "splu": (lambda b: linalg.splu(FORMS["csc"]).solve(b) + linalg.splu(FORMS["csc"]).solve(b, "T"), X),
        "splu, numbers": (lambda d: linalg.splu(made("csc_matrix")(d)).solve(X), NUMBERS),
        "factorized": (lambda b: linalg.factorized(FORMS["csc"])(b), X),
        **{name: (of_iteration(name), NUMBERS_OF_SEVEN) for name in ITERATIONS},
        "cg, right-hand side": (lambda b: linalg.cg(DEFINITE, b, rtol=1e-14)[0], X),
        "gmres, dense": (lambda x: linalg.gmres(DENSE + 0.1 * x[:, None] * x, X, x, rtol=1e-14)[0], X),
        "gmres, preconditioned": (lambda b: linalg.gmres(FORMS["csc"], b, M=sparse.diags(1 / D4), rtol=1e-14)[0], X),
        "gmres, by a dense matrix": (lambda b: linalg.gmres(FORMS["csr"], b[:, None], M=NEAR, rtol=1e-14)[0], X),
        "diags": (lambda d: (sparse.diags(d) @ X) + (sparse.diags([d[1:], d[:3]], [1, -1]) @ X), D4),
        "diags_array": (lambda d: sparse.diags_array([d, d[:3]], offsets=[0, 1]) @ X, D4),
        "scaled": (lambda d: (S * d[0] + d[1] * S - 1.0 / d[2] * S) @ X, D4),
        "dot": (lambda x: S.dot(x), MANY),
        "matrix, *": (lambda x: S * x, X),
        "array, *": (lambda x: (x[0] * FORMS["array"]) @ MANY, X),
        "multiply": (lambda d: made("csr_array")(d).multiply(MANY[:, :1] * X[None, :]).toarray(), NUMBERS),
        "multiply, a row": (lambda d: made("csr_array")(d).multiply(X) @ X, NUMBERS),
        "sum of two": (lambda d: (S + made("csr_matrix")(d)) @ X + (made("csr_matrix")(d) - S) @ X, NUMBERS),
        "with the identity": (lambda d: linalg.spsolve((sparse.eye(4) + d[0] * S).tocsc(), X), D4),
        "made anew": (lambda x: sparse.csr_matrix(S) @ x + sparse.bsr_array(S) @ x + sparse.dok_array(S.tocsc()) @ x, X),
        "toarray": (lambda d: made("csc_array")(d).toarray() ** 2, NUMBERS),
        "diagonal and sums": (
            lambda d: made("csr_array")(d).diagonal() + made("csr_array")(d).sum(axis=1) * made("csr_array")(d).sum(), NUMBERS,
        ),
        "sums of a matrix": (lambda d: made("csr_matrix")(d).sum(axis=0), NUMBERS),
        "diags of numbers": (
            lambda d: linalg.spsolve(sparse.diags([d[0] + 4.0, -1.0, d[1]], [0, 1, -1], shape=(4, 4)).tocsc(), X), D4,
        ),
        "spdiags": (lambda d: sparse.spdiags(np.stack([d, d**2]), [0, 1], 4, 4) @ X + sparse.spdiags(d, 0, 4, 4) @ X, D4),
        "two sparse matrices": (
            lambda d: (made("csr_array")(d) @ S).toarray() + (S @ made("csc_array")(d) @ made("coo_array")(d)).toarray(),
            NUMBERS,
        ),
        "matrix, * and **": (lambda d: (made("csr_matrix")(d) * S * made("csr_matrix")(d) ** 2).toarray(), NUMBERS),
        "multiply, sparse": (
            lambda d: made("csr_array")(d).multiply(S).toarray() + made("csr_array")(d).multiply(made("csc_array")(d)).toarray(),
            NUMBERS,
        ),
        "power": (lambda d: made("csr_array")(d).power(2).toarray() + abs(made("csr_array")(-d)).toarray(), NUMBERS),
        "trace and mean": (
            lambda d: made("csr_array")(d).trace() * made("csr_array")(d).mean() + made("csr_array")(d).diagonal(1).sum(),
            NUMBERS,
        ),
        "index": (
            lambda d: made("csr_array")(d)[1:, :3].toarray() * made("csr_matrix")(d)[0, 1]
            + made("csr_matrix")(d)[0].toarray()[:, :3] + made("csr_matrix")(d).getcol(3).sum(), NUMBERS,
        ),
        "stacks": (
            lambda d: sparse.vstack([sparse.hstack([made("csr_array")(d), S]), sparse.hstack([S, made("csr_array")(d)])]) @ LONG,
            NUMBERS,
        ),
        "blocks": (
            lambda d: sparse.bmat([[made("csr_matrix")(d), None], [S, made("csc_matrix")(d)]]) @ LONG
            + sparse.block_diag([made("csr_matrix")(d), d[:4] * np.ones((4, 4))]) @ LONG
            + sparse.block_array([[made("csr_array")(d), S], [S, None]]) @ LONG, NUMBERS,
        ),
        "kron": (
            lambda d: sparse.kron(made("csr_array")(d), np.array([[1.0, 2.0]])) @ LONG
            + sparse.kron(sparse.csr_array(np.array([[1.0, 3.0]])), made("csr_array")(d)) @ LONG, NUMBERS,
        ),
        "triangles": (
            lambda d: sparse.tril(made("csr_array")(d)) @ X + sparse.triu(made("csr_array")(d), 1, format="csc") @ MANY[:, 0],
            NUMBERS,
        ),
        "norms": (
            lambda d: np.stack([linalg.norm(made("csr_array")(d)), linalg.norm(made("csr_array")(d), 1),
                                linalg.norm(made("csr_array")(d), np.inf)]) * linalg.norm(made("csr_matrix")(d), axis=1)[:3],
            NUMBERS,
        ),
        "inv": (lambda d: linalg.inv(made("csc_matrix")(d)).toarray(), NUMBERS),
        "a Laplacian": (
            lambda d: (sparse.kron(sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(2, 2)), sparse.eye(2))
                       + sparse.identity(4) * d[0] + d[1] * sparse.eye_array(4)) @ d, D4,
        ),
        "a part of a class": (lambda x: HOLDER.matrix @ x, X),
        "a part of a list": (lambda x: [S, a][1] @ x, X),
    }  # fmt: skip
    return found


CASES = cases()
SHORT = (
    "numbers, coo_matrix",
    "system, csr_array",
    "dense, csr",
    "many right-hand sides",
    "both",
    "scaled",
    "two sparse matrices",
    "index",
    "stacks",
    "with the identity",
    "a Laplacian",
    "a part of a class",
    "made anew",
    "cg",
    "gmres, preconditioned",
)


@pytest.mark.filterwarnings("ignore:spsolve requires A be CSC or CSR")
@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_against_scipy_and_finite_differences(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(gs.vjp(f, x)[0], np.asarray(f(x)), rtol=1e-13)
    g = weighted(lambda x: np.asarray(f(x)) if isinstance(x, np.ndarray) else f(x))
    found = gs.grad(g)(x)
    np.testing.assert_allclose(
        found, slopes(lambda x: weighted(lambda x: np.asarray(f(x)))(x), x), rtol=1e-7, atol=1e-9
    )
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    second = (gs.grad(weighted(f))(x + 1e-5 * u) - gs.grad(weighted(f))(x - 1e-5 * u)) / 2e-5
    np.testing.assert_allclose(gs.hvp(weighted(f))(x, u), second, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(gs.jvp(weighted(f), (x,), (u,))[1], np.sum(found * u), rtol=1e-9)


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    first = gs.grad(weighted(f))
    with warnings.catch_warnings():
        compiled = gs.compile(first, verify="first calls")
        for k in range(3):
            np.testing.assert_array_equal(compiled(x * (1 + 0.1 * k)), first(x * (1 + 0.1 * k)))
    compiled.specialisation(x)  # which raises where it runs eagerly


def test_a_matrix_from_outside_that_changes() -> None:
    spaces: dict[str, Any] = {"m": S.copy(), "np": np}
    exec("def f(x):\n    return np.sum((m @ x) ** 2)", spaces)
    f = spaces["f"]
    compiled = gs.compile(gs.grad(f))
    for change in (lambda: None, lambda: operator.imul(spaces["m"].data, 2.0), lambda: spaces.update(m=S.tocsc())):
        change()
        np.testing.assert_array_equal(compiled(X), gs.grad(f)(X))


def test_code_that_asks_what_it_is() -> None:
    def f(d: Any) -> Any:
        m = made("csr_array")(d)
        assert sparse.issparse(m)
        assert not sparse.issparse(d)
        return np.sum(m @ X if sparse.issparse(m) else np.dot(m, X))

    np.testing.assert_allclose(gs.grad(f)(NUMBERS), X[COLUMNS], rtol=1e-15)


def test_what_is_plain_stays_scipys() -> None:
    found = gs.value_and_grad(
        lambda t: (t, (S @ X, S.T, sparse.csr_matrix(S), linalg.spsolve(S.tocsc(), X))), has_aux=True
    )(2.0)
    product, *others, solved = found[0][1]
    np.testing.assert_array_equal(product, S @ X)
    np.testing.assert_array_equal(solved, linalg.spsolve(S.tocsc(), X))
    assert [type(m) for m in others] == [type(S.T), type(S)]


@pytest.mark.parametrize("form", ["bsr", "lil", "dok"])
def test_other_forms_are_read_as_rows(form: str) -> None:
    m = S.asformat(form)
    np.testing.assert_array_equal(
        gs.grad(lambda x: np.sum((m @ x) ** 2))(X), gs.grad(lambda x: np.sum((S @ x) ** 2))(X)
    )
    np.testing.assert_allclose(gs.vjp(lambda x: x @ m, X)[0], X @ S, rtol=1e-15)


def test_without_scipys_solvers() -> None:
    program = (
        "import numpy as np, gradscribe as gs\nfrom scipy.sparse import csr_matrix\n"
        "print(gs.grad(lambda x: np.sum(csr_matrix(np.diag([2.0, 3.0])) @ x))(np.ones(2)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.stdout == "[2. 3.]\n", found.stderr


RAISES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "eigsh": (lambda d: np.sum(linalg.eigsh(made("csr_array")(d), k=2)[0]), NoRuleError, r"take np\.linalg\.eigh of toarray"),
    "a method": (lambda d: made("csr_array")(d).max(), NoRuleError, "`max` of a sparse matrix whose numbers are traced"),
    "rows by their places": (lambda d: made("csr_array")(d)[[0, 2]].sum(), NotImplementedError, r"take toarray\(\)\[...\]"),
    "a dense array": (lambda d: sparse.csr_matrix(d[:, None] * d).sum(), NotImplementedError, "its pattern would follow"),
    "no convergence": (
        lambda d: np.sum(linalg.gmres(made("csr_array")(d), X, restart=1, maxiter=1, rtol=1e-14)[0]), gs.ConvergenceError,
        "gmres has not converged",
    ),
    "an operator": (
        lambda d: np.sum(linalg.cg(linalg.aslinearoperator(S), d[:4])[0]), NotImplementedError,
        "with an operator has no gradient",
    ),
    "callback": (
        lambda d: np.sum(linalg.cg(made("csr_array")(d), X, callback=print)[0]), NotImplementedError, "callback= has no gradient",
    ),
    "shapes": (lambda d: np.sum(made("csr_array")(d) @ d), ValueError, "dimension mismatch"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_raises(name: str) -> None:
    f, error, words = RAISES[name]
    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=words):
                run(NUMBERS)


def test_a_program_that_imports_scipy_sparse_alone_has_its_products() -> None:
    program = """
import numpy as np, gradscribe as gs, scipy.sparse
m = scipy.sparse.csr_array(np.diag([1.0, 2.0]))
t = gs.tensor([3.0, 4.0], requires_grad=True)
(m @ t).sum().backward()
print(t.grad.tolist(), gs.grad(lambda x: np.sum(m @ x))(np.ones(2)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[1.0, 2.0] [1.0, 2.0]\n", done.stderr


GRAPH = sparse.csr_matrix(np.array([[0, 1, 2, 0], [1, 0, 0, 1], [2, 0, 0, 3], [0, 1, 3, 0]], float))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(csgraph.laplacian(GRAPH) @ x)),
        lambda x: np.sum(x * csgraph.dijkstra(GRAPH)[0] ** 2 * x),
        lambda x: np.sum(np.sin(x)[csgraph.connected_components(GRAPH)[1]]),
        lambda x: np.sum(linalg.lsqr(GRAPH, np.ones(4))[0] * x**2),
        lambda x: np.sum(np.sin(linalg.expm(GRAPH.tocsc()) @ x)),
    ],
)
def test_functions_without_a_rule_take_sparse_constants(f: Callable[[Any], Any]) -> None:
    x = np.array([0.3, -0.2, 0.5, 0.7])
    found = gs.grad(f)(x)
    np.testing.assert_allclose(found, slopes(f, x), rtol=1e-6, atol=1e-9)
    with pytest.warns(gs.EagerWarning, match="of a sparse matrix"):
        np.testing.assert_allclose(gs.compile(gs.grad(f))(x), found, rtol=1e-12)


def test_functions_without_a_rule_refuse_traced_sparse_matrices() -> None:
    with pytest.raises(
        NoRuleError, match=r"scipy\.sparse\.csgraph\.laplacian of a sparse matrix that is differentiated"
    ):
        gs.grad(lambda x: np.sum(csgraph.laplacian(sparse.diags(x)) @ x))(np.ones(4))


def test_the_right_side_may_be_a_list() -> None:
    f = lambda x: np.sum(linalg.spsolve(sparse.eye(3, format="csc") * 2.0, [x[0], x[1] * x[0], 1.0]) ** 2)
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(gs.grad(f)(x), slopes(f, x), rtol=1e-8)
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(x), gs.grad(f)(x))
