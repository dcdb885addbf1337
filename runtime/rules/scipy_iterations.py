"""scipy.sparse.linalg's iterations for systems: the derivative of the solution, by the same iteration of the transposed system.

A matrix is dense, or its numbers and their places. Iterations end at a tolerance, and so do these: a system that an iteration
does not solve raises, and a transposed one that it does not solve is solved by SuperLU.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import scipy.sparse
import scipy.sparse.linalg
from scipy import sparse

from ...unpatched import np
from ..errors import ConvergenceError
from ..ops import Kind
from ..registry import composed, primitive, rule
from ..result_types import UNKNOWN
from .scipy_functions import made, refused
from .scipy_sparse import Sparse, _at, _dense, _places, _system, _traced
from .support import happens, literal

_NAMES = ("cg", "cgs", "gmres", "bicg", "bicgstab", "minres", "lgmres", "qmr", "tfqmr", "gcrotmk")
_INVERSES = {"M": "M", "M1": "M2", "M2": "M1"}  # what stands for an inverse, and for that of the transposed system
_UNSTATED = ("callback", "outer_v", "CU")  # which a second call would run, or write to, again


def _like(data: Any, b: Any, method: str) -> Any:
    dtype = np.result_type(data, b)
    return UNKNOWN if dtype.kind in "biu" or method == "minres" else np.empty(np.shape(b), dtype)


@primitive(
    "data, indices, indptr, shape, by_columns, b, x0, [inverse], turned, method, options", Kind.opaque, may_raise=True,
    types=lambda data, b, method: _like(data, b, method),
)  # fmt: skip
def iterated(
    data: Any, indices: Any, indptr: Any, shape: Any, by_columns: Any, b: Any, x0: Any, inverse: Any, turned: Any, method: Any,
    options: Any,
) -> Any:  # fmt: skip
    """The solution of a sparse system by an iteration, or NaN where that finds none."""
    matrix = (scipy.sparse.csc_array if by_columns else scipy.sparse.csr_array)((data, indices, indptr), shape, copy=True)
    near = None if not inverse else inverse[0] if len(inverse) == 1 else scipy.sparse.csr_array(tuple(inverse), shape)
    stated = dict(options) if near is None else {"M": near.T if turned else near, **dict(options)}
    out, info = getattr(scipy.sparse.linalg, method)(matrix, b, x0, **stated)
    out = out if info == 0 else np.full_like(out, np.nan)
    return out


@primitive(
    "data, indices, indptr, shape, by_columns, b, [inverse], turned, method, options", Kind.opaque, may_raise=True,
    types=lambda data, b, method: _like(data, b, method),
)  # fmt: skip
def iterated_back(
    data: Any, indices: Any, indptr: Any, shape: Any, by_columns: Any, b: Any, inverse: Any, turned: Any, method: Any,
    options: Any,
) -> Any:  # fmt: skip
    """The solution of a sparse system by an iteration, or by SuperLU where that finds none."""
    matrix = (scipy.sparse.csc_array if by_columns else scipy.sparse.csr_array)((data, indices, indptr), shape, copy=True)
    near = None if not inverse else inverse[0] if len(inverse) == 1 else scipy.sparse.csr_array(tuple(inverse), shape)
    stated = dict(options) if near is None else {"M": near.T if turned else near, **dict(options)}
    out, info = getattr(scipy.sparse.linalg, method)(matrix, b, **stated)
    out = out if info == 0 else scipy.sparse.linalg.spsolve(matrix, b)
    return out


def _back(
    g: Any, data: Any, indices: Any, indptr: Any, shape: Any, by_columns: bool, inverse: Any, turned: Any, method: Any,
    options: Any,
) -> Any:  # fmt: skip
    others = tuple([(_INVERSES[k], v.T) if k in _INVERSES else (k, v) for k, v in options])
    return iterated_back(data, indices, indptr, shape[::-1], not by_columns, g, inverse, not turned, method, others)


def _back_data(w: Any, x: Any, indices: Any, indptr: Any, by_columns: bool) -> Any:
    """The cotangent of the numbers: at each place, that of the right-hand side times the solution."""
    rows, columns = _places(indices, indptr, by_columns)
    return -_at(w, rows, x, columns)


rule(
    iterated,
    data=lambda g, data, indices, indptr, shape, by_columns, inverse, turned, method, options, out: _back_data(
        _back(g, data, indices, indptr, shape, by_columns, inverse, turned, method, options),
        out,
        indices,
        indptr,
        by_columns,
    ),
    b=lambda g, data, indices, indptr, shape, by_columns, inverse, turned, method, options: _back(
        g, data, indices, indptr, shape, by_columns, inverse, turned, method, options
    ),
    x0=None,
    inverse=None,
)
rule(
    iterated_back,
    data=lambda g, data, indices, indptr, shape, by_columns, inverse, turned, method, options, out: _back_data(
        _back(g, data, indices, indptr, shape, by_columns, inverse, turned, method, options), out, indices, indptr, by_columns
    ),
    b=lambda g, data, indices, indptr, shape, by_columns, inverse, turned, method, options: _back(
        g, data, indices, indptr, shape, by_columns, inverse, turned, method, options
    ),
    inverse=None,
)


def _of_dense(a: Any) -> Sparse:
    """A dense matrix by its numbers, all of which have a place."""
    m, n = np.shape(a)
    columns = made(np.arange, a, m * n) % n
    return Sparse(np.reshape(a, (-1,)), columns, made(np.arange, a, m + 1) * n, (m, n))


def _matrix(name: str, a: Any, *beside: Any) -> Any:
    """The matrix of a system as one of ops; None where all is plain."""
    if _dense(a) and np.ndim(a) == 2 and any(map(_traced, (a, *beside))):
        return _of_dense(a)
    if not isinstance(a, Sparse) and not sparse.issparse(a) and any(map(_traced, beside)):
        raise refused(f"sparse.linalg.{name}", "an operator", "give the matrix, sparse or dense")
    return _system(name, a, *beside)


def _given_inverse(given: dict[str, Any]) -> list[Any]:
    """A preconditioner as arrays, taken out of the options: nothing, a dense matrix, or a sparse one by its rows."""
    found = given.get("M")
    if _dense(found):
        return [given.pop("M")]
    if isinstance(found, Sparse) or sparse.issparse(found):
        rows = given.pop("M").tocsr()
        return [rows.data, rows.indices, rows.indptr]
    return []


def _of_iteration(name: str) -> Callable[..., Any]:
    real = getattr(sparse.linalg, name)
    signature = inspect.signature(real)

    def solve(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        given = dict(signature.bind(*args, **kwargs).arguments)
        a, b, x0 = given.pop("A"), given.pop("b"), given.pop("x0", None)
        matrix = _matrix(name, a, b)
        if matrix is None:
            return real(*args, **kwargs)  # type: ignore[no-any-return]
        given = {k: v for k, v in given.items() if v is not None}
        inverse = _given_inverse(given)
        for k, v in given.items():
            if k in _UNSTATED:
                raise refused(f"sparse.linalg.{name}", f"{k}=", "leave it out")
            if _traced(v) or isinstance(v, Sparse):
                raise refused(f"sparse.linalg.{name}", f"{k}= that is traced", "it moves no solution: make it of plain numbers")
        b = np.reshape(b if _dense(b) else literal(b, matrix.data), (-1,))
        parts = matrix.data, matrix.indices, matrix.indptr, matrix.shape, matrix.by_columns
        x = iterated(*parts, b, x0, inverse, False, name, tuple(given.items()))
        if happens(x != x):
            raise ConvergenceError(
                f"scipy.sparse.linalg.{name} has not converged, so that its result has no derivative: allow more iterations "
                "(maxiter=), give a preconditioner (M=), or take scipy.sparse.linalg.spsolve."
            )
        return x, 0

    return solve


for _name in _NAMES:
    if hasattr(sparse.linalg, _name):
        composed(getattr(sparse.linalg, _name))(_of_iteration(_name))
