"""scipy.sparse: matrices that are put together from others, and norms, where numbers are traced.

Products of matrices of which both have a pattern follow M. B. Giles, "An extended collection of matrix derivative results", 2008;
blocks, stacks and Kronecker products move numbers to other places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import sparse

from ...unpatched import np
from ..errors import NoRuleError
from ..registry import composed, made_of_ops
from .scipy_functions import arrays, made, refused
from .scipy_sparse import Sparse, _compressed, _traced, of_diagonals, spsolve
from .support import literal


def _any_traced(*values: Any) -> bool:
    """Whether a matrix of ops, or something traced, is among values, in lists and tuples too."""
    return any(_any_traced(*v) if isinstance(v, (list, tuple)) else isinstance(v, Sparse) or _traced(v) for v in values)


def _as_sparse(x: Any) -> Any:
    """A matrix of ops of what may be one of SciPy's, or dense."""
    if isinstance(x, Sparse):
        return x
    if sparse.issparse(x):
        return made_of_ops(x if x.format in ("csr", "csc", "coo") else x.tocsr())
    x = np.atleast_2d(literal(x, x))
    m, n = np.shape(x)
    rows, columns = (np.reshape(i, (-1,)) for i in _grid(x, m, n))
    return _compressed(np.reshape(x, (-1,)), rows, columns, (m, n), False, False)


def _grid(beside: Any, m: int, n: int) -> tuple[Any, Any]:
    rows, columns = made(np.arange, beside, m), made(np.arange, beside, n)
    return rows[:, None] + 0 * columns, columns + 0 * rows[:, None]


def _put_together(parts: list[tuple[Any, int, int]], shape: Any, format: Any, matrix: bool) -> Sparse:
    """Matrices at places, by their first row and column."""
    data, rows, columns = [], [], []
    for part, row, column in parts:
        at_rows, at_columns = part.places()
        data.append(part.data)
        rows.append(at_rows + row)
        columns.append(at_columns + column)
    flat = [np.concatenate(x) for x in (data, rows, columns)]
    return _compressed(flat[0], flat[1], flat[2], shape, False, matrix).asformat(format)


def _blocks(blocks: Any, format: Any, matrix: bool) -> Sparse:
    """A matrix of rows of matrices, or of None."""
    grid = [[None if b is None else _as_sparse(b) for b in row] for row in blocks]
    heights = [next(b.shape[0] for b in row if b is not None) for row in grid]
    widths = [next(b.shape[1] for b in column if b is not None) for column in zip(*grid, strict=True)]
    parts, top = [], 0
    for row, height in zip(grid, heights, strict=True):
        left = 0
        for b, width in zip(row, widths, strict=True):
            if b is not None:
                if b.shape != (height, width):
                    raise ValueError(f"a block of shape {b.shape}, where others in its row and column make {(height, width)}")
                parts.append((b, top, left))
            left += width
        top += height
    return _put_together(parts, (top, left), format, matrix)


def _is_matrix(*values: Any) -> bool:
    """Whether SciPy gives one of its older classes: where none of the newer ones is among the arguments."""
    flat = [b for v in values for b in (v if isinstance(v, (list, tuple)) else [v])]
    return not any(isinstance(b, sparse.sparray) or (isinstance(b, Sparse) and not b.matrix) for b in flat)


def _rows_of(blocks: Any) -> list[Any]:
    return [b for row in blocks for b in row]


def _stated(fn: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what a function of SciPy's is where something traced is among its arguments; else it stays SciPy's."""

    def state(body: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return (body if _any_traced(*args, *kwargs.values()) else fn)(*args, **kwargs)

        composed(fn)(call)
        return body

    return state


@_stated(sparse.hstack)
def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Sparse:
    """Matrices beside each other."""
    return _blocks([list(blocks)], format, _is_matrix(list(blocks)))


@_stated(sparse.vstack)
def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Sparse:
    """Matrices below each other."""
    return _blocks([[b] for b in blocks], format, _is_matrix(list(blocks)))


@_stated(sparse.bmat)
def bmat(blocks: Any, format: Any = None, dtype: Any = None) -> Sparse:
    """A matrix of blocks."""
    return _blocks(blocks, format, _is_matrix(_rows_of(blocks)))


@_stated(sparse.block_array)
def block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Sparse:
    """A matrix of blocks."""
    return _blocks(blocks, format, False)


@_stated(sparse.block_diag)
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Sparse:
    """Matrices along the diagonal."""
    parts, row, column = [], 0, 0
    for m in map(_as_sparse, mats):
        parts.append((m, row, column))
        row, column = row + m.shape[0], column + m.shape[1]
    return _put_together(parts, (row, column), format, _is_matrix(list(mats)))


@_stated(sparse.kron)
def kron(A: Any, B: Any, format: Any = None) -> Sparse:
    """The Kronecker product: each number of the one times each of the other."""
    a, b = _as_sparse(A), _as_sparse(B)
    (i, j), (k, m) = a.places(), b.places()
    data = np.reshape(a.data[:, None] * b.data, (-1,))
    rows = np.reshape(i[:, None] * b.shape[0] + k, (-1,))
    columns = np.reshape(j[:, None] * b.shape[1] + m, (-1,))
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return _compressed(data, rows, columns, shape, False, _is_matrix(A, B)).asformat(format)


@_stated(sparse.spdiags)
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Sparse:
    """A matrix of diagonals that are rows of an array, where element j stands in column j."""
    if m is None and n is None:
        m = n = np.shape(data)[-1]
    elif n is None:
        m, n = m
    (data,) = arrays(data)
    data = np.atleast_2d(data)
    offsets = np.reshape(literal(diags, data), (-1,))
    return of_diagonals(data, offsets, (int(m), int(n)), True).asformat(format)


def _eye(matrix: bool) -> Callable[..., Sparse]:
    def eye(
        m: Any, n: Any = None, k: int = 0, dtype: Any = float, format: Any = None, beside: Any = None
    ) -> Sparse:
        shape = int(m), int(m if n is None else n)
        count = max(min(shape[0] + min(k, 0), shape[1] - max(k, 0)), 0)
        ones, places = made(np.ones, beside, count, dtype), made(np.arange, beside, count)
        return _compressed(ones, places + max(-k, 0), places + max(k, 0), shape, False, matrix).asformat(format)

    eye.takes_beside = True  # type: ignore[attr-defined]
    return eye


composed(sparse.eye)(_eye(True))
composed(sparse.eye_array)(_eye(False))


@composed(sparse.identity)
def identity(n: Any, dtype: Any = "d", format: Any = None, beside: Any = None) -> Sparse:
    """The identity."""
    return _eye(True)(n, dtype=dtype, format=format, beside=beside)


identity.takes_beside = True  # type: ignore[attr-defined]


def _triangle(fn: Any, keep: Callable[[Any, Any, int], Any]) -> None:
    @_stated(fn)
    def triangle(A: Any, k: int = 0, format: Any = None) -> Sparse:
        a: Sparse = _as_sparse(A)
        rows, columns = a.places()
        return a._with(np.where(keep(rows, columns, k), a.data, 0.0)).asformat(format)


_triangle(sparse.tril, lambda rows, columns, k: columns - rows <= k)
_triangle(sparse.triu, lambda rows, columns, k: columns - rows >= k)


@_stated(sparse.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """A norm: of all numbers, or the largest sum along an axis."""
    if ord in (None, "fro", "f") and axis is None:
        return np.linalg.norm(x.summed().data)
    x = x.summed()
    if axis is not None and ord in (None, 1, 2) and np.ndim(axis) == 0:
        sums = Sparse.sum(x._with(np.abs(x.data) if ord == 1 else x.data**2), axis)
        return np.reshape(sums if ord == 1 else np.sqrt(sums), (-1,))
    if axis is None and ord in (1, np.inf):
        return np.max(x._with(np.abs(x.data)).sum(0 if ord == 1 else 1))
    raise refused("sparse.linalg.norm", f"ord={ord!r}, axis={axis!r}", "take np.linalg.norm of toarray()")


def _dense_instead(name: str, way: str) -> None:
    fn = getattr(sparse.linalg, name, None)
    if fn is None:
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _any_traced(*args, *kwargs.values()):
            return fn(*args, **kwargs)
        raise NoRuleError(f"scipy.sparse.linalg.{name} of a matrix that is traced has no gradient rule in gradscribe: {way}")

    call.refuses = True  # type: ignore[attr-defined]  # so that no table counts it
    composed(fn)(call)


for _name, _way in {
    "eigs": "take np.linalg.eig of toarray().",
    "eigsh": "take np.linalg.eigh of toarray().",
    "expm": "take scipy.linalg.expm of toarray().",
    "expm_multiply": "take scipy.linalg.expm of toarray().",
    "lobpcg": "take np.linalg.eigh of toarray().",
    "lsmr": "take np.linalg.lstsq of toarray(), or spsolve of a.T @ a.",
    "lsqr": "take np.linalg.lstsq of toarray(), or spsolve of a.T @ a.",
    "matrix_power": "take products, a @ a.",
    "onenormest": "take norm(a, 1).",
    "spilu": "take splu.",
    "svds": "take np.linalg.svd of toarray().",
}.items():
    _dense_instead(_name, _way)


@_stated(sparse.linalg.inv)
def inv(A: Any) -> Sparse:
    """The inverse, all of whose places hold numbers."""
    found: Sparse = _as_sparse(spsolve(A, made(np.eye, A.data, A.shape[0])))
    return found
