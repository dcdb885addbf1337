"""scipy.linalg: triangular and banded systems, Sylvester's equation, square root and exponential; the rest is NumPy's."""

from __future__ import annotations

from typing import Any

import scipy.linalg
from scipy import linalg

from ...unpatched import np
from ..batching import BatchedCall
from ..ops import Kind
from ..registry import batching, composed, primitive, rule
from ..result_types import KIND, LENGTHS
from .contraction import adjoint, flip
from .scipy_functions import arrays, made, refused

opaque = Kind.opaque


def _column(x: Any, y_shape: Any) -> Any:
    """A right-hand side as a matrix, if it is a vector."""
    return x[:, None] if len(y_shape) == 1 else x


# Triangular systems.


@primitive("x, y, trans, lower, unit", opaque, may_raise=True)
def solve_triangular(x: Any, y: Any, trans: Any, lower: Any, unit: Any) -> Any:
    """`linalg.solve_triangular`, which does not dispatch: it takes what a rule is given."""
    return scipy.linalg.solve_triangular(x, y, trans, lower, unit)  # the full name: generated source shows it


def _back(g: Any, x: Any, trans: Any, lower: Any, unit: Any) -> Any:
    """The right-hand side's cotangent: the solution of the transposed system."""
    return solve_triangular(*_transposed(x, g, trans), lower, unit)


def _transposed(x: Any, g: Any, trans: Any) -> tuple[Any, Any, int]:
    """The matrix, the right-hand side and the form of the transposed system."""
    return np.conj(x) if trans == 2 else x, g, 0 if trans else 1


def _triangle(m: Any, lower: Any, unit: Any) -> Any:
    """The part of a matrix that a triangular solver reads."""
    return np.tril(m, -1 if unit else 0) if lower else np.triu(m, 1 if unit else 0)


def _back_to_matrix(g: Any, x: Any, out: Any, y_shape: Any, trans: Any, lower: Any, unit: Any) -> Any:
    """The matrix's cotangent, of the triangle that is read."""
    d_y, solved = _column(_back(g, x, trans, lower, unit), y_shape), _column(out, y_shape)
    return _to_matrix(d_y, solved, trans, lower, unit)


def _to_matrix(d_y: Any, solved: Any, trans: Any, lower: Any, unit: Any) -> Any:
    found = _triangle(-(solved @ d_y.T if trans else d_y @ solved.T), lower, unit)
    return np.conj(found) if trans == 2 else found


rule(
    solve_triangular,
    x=lambda g, x, out, y_shape, trans, lower, unit: _back_to_matrix(g, x, out, y_shape, trans, lower, unit),
    y=lambda g, x, trans, lower, unit: _back(g, x, trans, lower, unit),
)


@primitive("x, y, trans, lower", opaque, may_raise=True, types=LENGTHS)
def solve_factor(x: Any, y: Any, trans: Any, lower: Any) -> Any:
    """The solution of a system whose matrix is a factor that a rule has: of numbers that nobody needs to look at."""
    return scipy.linalg.solve_triangular(x, y, trans=trans, lower=lower, check_finite=False)


def _factor_back(g: Any, x: Any, trans: Any, lower: Any) -> Any:
    return solve_factor(*_transposed(x, g, trans), lower)


rule(
    solve_factor,
    x=lambda g, x, out, trans, lower: _to_matrix(_factor_back(g, x, trans, lower), out, trans, lower, False),
    y=lambda g, x, trans, lower: _factor_back(g, x, trans, lower),
)


# SciPy's function takes twenty times as long as LAPACK's for small matrices. A Cholesky factor has no zero on its diagonal.
@primitive("x, y", opaque, types=LENGTHS)
def solve_cholesky(x: Any, y: Any) -> Any:
    """The solution of `x.T @ z = y`, where `x` is a Cholesky factor of doubles and `y` a matrix."""
    out, _ = scipy.linalg.lapack.dtrtrs(x.T, y)
    return out


rule(
    solve_cholesky,
    x=lambda g, x, out: _to_matrix(_factor_back(g, x, 1, True), out, 1, True, False),
    y=lambda g, x: _factor_back(g, x, 1, True),
)


@batching(solve_cholesky)
def _batched_cholesky(call: BatchedCall) -> Any:
    """Of stacks, or of several matrices side by side."""
    x, y = call["x"], call["y"]
    if not call.is_mapped("x"):
        columns = np.reshape(np.moveaxis(y, 0, 1), (y.shape[1], -1))
        found = np.reshape(call.run(y=columns), (y.shape[1], call.size, -1))
        return np.moveaxis(found, 1, 0)
    return np.linalg.solve(flip(_triangle(x, True, False)), y)


@batching(solve_factor)
def _batched_factor(call: BatchedCall) -> Any:
    """Of stacks, which SciPy's function does not take in all its versions."""
    x, y, trans = call["x"], call["y"], call["trans"]
    if not call.is_mapped("x"):
        columns = np.reshape(np.moveaxis(y, 0, 1), (y.shape[1], -1))
        found = np.reshape(call.run(y=columns), (y.shape[1], call.size, -1))
        return np.moveaxis(found, 1, 0)
    x = _triangle(x, call["lower"], False)
    return np.linalg.solve({0: x, 1: flip(x), 2: adjoint(x)}[trans], y)


@composed(linalg.solve_triangular)
def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if np.ndim(a) != 2:
        raise NotImplementedError(
            f"scipy.linalg.solve_triangular of {np.ndim(a)}-d arrays has no gradient here; loop over the matrices, or use "
            "np.linalg.solve"
        )
    return solve_triangular(a, b, {"N": 0, "T": 1, "C": 2}.get(trans, trans), bool(lower), bool(unit_diagonal))


@composed(linalg.cho_solve)
def _cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = c_and_lower
    first = _solve_triangular(c, b, 0 if lower else 2, lower)
    return _solve_triangular(c, first, 2 if lower else 0, lower)


@composed(linalg.cholesky)
def _cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    if lower:
        return np.linalg.cholesky(a)
    factor = np.linalg.cholesky(np.conj(np.swapaxes(a, -1, -2)))  # which reads the lower triangle
    return np.conj(np.swapaxes(factor, -1, -2))


@composed(linalg.cho_factor)
def _cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return _cholesky(a, lower), lower


# Banded systems: row r of the bands holds the diagonal that lies u - r above the main one.


@primitive("l_and_u, x, y", opaque, may_raise=True)
def solve_banded(l_and_u: Any, x: Any, y: Any) -> Any:
    """`linalg.solve_banded`, which does not dispatch."""
    return scipy.linalg.solve_banded(l_and_u, x, y)


def _shifted(v: Any, k: int) -> Any:
    """`v[j + k]` at each j, and zeros where there is none."""
    n = np.shape(v)[0]
    none, k = ((0, 0),) * (np.ndim(v) - 1), max(-n, min(k, n))
    return np.pad(v[k:], ((0, k), *none)) if k >= 0 else np.pad(v[:k], ((-k, 0), *none))


def _transposed_bands(x: Any, l_and_u: Any) -> Any:
    low, up = l_and_u
    return np.stack([_shifted(x[low + up - r], r - low) for r in range(low + up + 1)])


def _back_to_bands(d_y: Any, out: Any, l_and_u: Any) -> Any:
    low, up = l_and_u
    rows = [-_shifted(d_y, r - up) * out for r in range(low + up + 1)]
    return np.stack([row if np.ndim(row) == 1 else np.sum(row, axis=1) for row in rows])


def _back_banded(g: Any, l_and_u: Any, x: Any) -> Any:
    return solve_banded(l_and_u[::-1], _transposed_bands(x, l_and_u), g)


rule(
    solve_banded,
    x=lambda g, l_and_u, x, out: _back_to_bands(_back_banded(g, l_and_u, x), out, l_and_u),
    y=lambda g, l_and_u, x: _back_banded(g, l_and_u, x),
)


@composed(linalg.solve_banded)
def _solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    return solve_banded(tuple(l_and_u), ab, b)


# Sylvester's equation x·out + out·y = q, and the square root, whose derivative solves one.


@primitive("x, y, q", opaque, may_raise=True)
def solve_sylvester(x: Any, y: Any, q: Any) -> Any:
    """`linalg.solve_sylvester`, which does not dispatch."""
    return scipy.linalg.solve_sylvester(x, y, q)


rule(
    solve_sylvester,
    x=lambda g, x, y, out: -solve_sylvester(x.T, y.T, g) @ out.T,
    y=lambda g, x, y, out: -out.T @ solve_sylvester(x.T, y.T, g),
    q=lambda g, x, y: solve_sylvester(x.T, y.T, g),
)


@composed(linalg.solve_sylvester)
def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return solve_sylvester(a, b, q)


@primitive("x", opaque, may_raise=True, types=lambda x: LENGTHS if x.dtype.kind == "c" else KIND)
def sqrtm(x: Any) -> Any:
    """`linalg.sqrtm`, which does not dispatch."""
    return scipy.linalg.sqrtm(x)


rule(sqrtm, x=lambda g, out: solve_sylvester(out.T, out.T, g))


# The exponential, whose derivative is a block of another exponential (R. Mathias, "A chain rule for matrix functions
# and applications", SIAM J. Matrix Anal. Appl. 17, 1996).


@primitive("x", opaque, may_raise=True)
def expm(x: Any) -> Any:
    """`linalg.expm`, which does not dispatch."""
    return scipy.linalg.expm(x)


def _expm_back(g: Any, x: Any) -> Any:
    """The cotangent of `x`: the upper right block of the exponential of [[xᵀ, g], [0, xᵀ]]."""
    n = np.shape(x)[-1]
    flipped = np.swapaxes(x, -1, -2)
    above = np.concatenate([flipped, g], axis=-1)
    below = np.concatenate([np.zeros_like(flipped), flipped], axis=-1)
    return expm(np.concatenate([above, below], axis=-2))[..., :n, n:]


rule(expm, x=lambda g, x: _expm_back(g, x))

composed(linalg.sqrtm)(lambda A: sqrtm(A))
composed(linalg.expm)(lambda A: expm(A))

# What NumPy has, too.


@composed(linalg.solve)
def _solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    if assume_a in ("upper triangular", "lower triangular"):
        return _solve_triangular(a, b, int(transposed), assume_a[0] == "l")
    if assume_a not in (None, "gen", "general"):  # of a symmetric matrix one triangle is read
        rest = np.tril(a, -1) if lower else np.triu(a, 1)
        other = np.swapaxes(rest, -1, -2)
        if assume_a in ("sym", "symmetric"):
            a = (np.tril(a) if lower else np.triu(a)) + other
        else:  # whose diagonal is real
            n = np.shape(a)[-1]
            a = rest + np.conj(other) + np.where(made(np.eye, a, n, n, 0, bool), np.real(a), 0)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


composed(linalg.inv)(lambda a, overwrite_a=False, check_finite=True: np.linalg.inv(a))
composed(linalg.det)(lambda a, overwrite_a=False, check_finite=True: np.linalg.det(a))
composed(linalg.pinv)(lambda a, check_finite=True: np.linalg.pinv(a))
composed(linalg.norm)(
    lambda a, ord=None, axis=None, keepdims=False, check_finite=True: np.linalg.norm(a, ord, axis, keepdims)
)
composed(linalg.svdvals)(lambda a, overwrite_a=False, check_finite=True: np.linalg.svd(a, False)[1])


@composed(linalg.svd)
def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    found = np.linalg.svd(a, bool(compute_uv and full_matrices))
    return tuple(found) if compute_uv else found[1]


def _part(name: str, index: Any, value: Any) -> slice:
    """The part of a spectrum, in ascending order, that is asked for."""
    if value is not None:
        raise refused(f"linalg.{name}", "subset_by_value=", "take all of it, and index the result")
    return slice(None) if index is None else slice(int(index[0]), int(index[1]) + 1)


def _generalized(a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any, Any]:
    """The matrix with the same eigenvalues, its side, and the factor that leads back to the eigenvectors."""
    if b is None:
        return a, "L" if lower else "U", None
    rest = np.tril(a, -1) if lower else np.triu(a, 1)
    a = rest + np.conj(rest.T) + np.diag(np.real(np.diagonal(a)))
    factor = np.linalg.cholesky(b if lower else np.conj(b.T))
    if type == 1:
        half = np.linalg.solve(factor, a)
        return np.conj(np.linalg.solve(factor, np.conj(half.T)).T), "L", factor
    return np.conj(factor.T) @ a @ factor, "L", factor


@composed(linalg.eigh)
def _eigh(
    a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Any = None,
    subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    part = _part("eigh", subset_by_index, subset_by_value)
    matrix, side, factor = _generalized(a, b, lower, type)
    if eigvals_only:
        return np.linalg.eigvalsh(matrix, side)[part]
    w, v = np.linalg.eigh(matrix, side)
    if part != slice(None):
        w, v = w[part], v[:, part]
    if factor is None:
        return w, v
    return w, np.linalg.solve(np.conj(factor.T), v) if type != 3 else factor @ v


@composed(linalg.eigvalsh)
def _eigvalsh(
    a: Any, b: Any = None, *, lower: bool = True, overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1,
    check_finite: bool = True, subset_by_index: Any = None, subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    part = _part("eigvalsh", subset_by_index, subset_by_value)
    matrix, side, _ = _generalized(a, b, lower, type)
    return np.linalg.eigvalsh(matrix, side)[part]


@composed(linalg.block_diag)
def _block_diag(*arrs: Any) -> Any:
    arrs = arrays(*arrs)
    if any(np.ndim(a) > 2 for a in arrs):
        raise NotImplementedError("scipy.linalg.block_diag of more than two axes has no gradient here")
    parts = [np.reshape(a, (1,) * (2 - np.ndim(a)) + np.shape(a)) for a in arrs]
    total = sum(np.shape(p)[1] for p in parts)
    rows, before = [], 0
    for p in parts:
        width = np.shape(p)[1]
        rows.append(np.pad(p, ((0, 0), (before, total - before - width))))
        before += width
    return np.concatenate(rows)
