"""scipy.sparse: matrices whose numbers are traced and whose pattern is not, their products and the systems that they state.

Numbers lie row after row, or column after column, as in SciPy's csr and csc; positions are never differentiated. The formulas are
those of dense matrices at the places of the pattern (M. B. Giles, "An extended collection of matrix derivative results", 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse
import scipy.sparse.linalg
from scipy import sparse

from ...unpatched import np
from ..errors import NoRuleError
from ..ops import Kind
from ..registry import composed, made_of_ops, object_class, primitive, rule
from ..result_types import UNKNOWN
from .scipy_functions import arrays, made, refused, taken
from .support import literal

opaque = Kind.opaque


def _like(data: Any, shape: Any, x: Any) -> Any:
    return np.empty((shape[0], *np.shape(x)[1:]), np.result_type(data, x))


@primitive(
    "data, indices, indptr, shape, by_columns, x", opaque, may_raise=True,
    types=lambda data, shape, x: _like(data, shape, x),
)  # fmt: skip
def compressed_product(data: Any, indices: Any, indptr: Any, shape: Any, by_columns: Any, x: Any) -> Any:
    """The product of a sparse matrix with a vector or a matrix."""
    return (scipy.sparse.csc_array if by_columns else scipy.sparse.csr_array)((data, indices, indptr), shape) @ x


def _places(indices: Any, indptr: Any, by_columns: bool) -> tuple[Any, Any]:
    """The row and the column of each number."""
    along = np.searchsorted(indptr, made(np.arange, indices, np.shape(indices)[0]), side="right") - 1
    return (indices, along) if by_columns else (along, indices)


def _at(g: Any, rows: Any, x: Any, columns: Any) -> Any:
    """The elements of the product of `g` with the transpose of `x`, at some places."""
    found = g[rows] * x[columns]
    return np.sum(found, axis=1) if np.ndim(found) > 1 else found


def _product_data(g: Any, indices: Any, indptr: Any, by_columns: bool, x: Any) -> Any:
    rows, columns = _places(indices, indptr, by_columns)
    return _at(g, rows, x, columns)


rule(
    compressed_product,
    data=lambda g, indices, indptr, by_columns, x: _product_data(g, indices, indptr, by_columns, x),
    x=lambda g, data, indices, indptr, shape, by_columns: compressed_product(
        data, indices, indptr, shape[::-1], not by_columns, g
    ),
)


@primitive(
    "data, indices, indptr, shape, by_columns, b", opaque, may_raise=True,
    types=lambda data, shape, b: UNKNOWN if np.result_type(data, b).kind in "biu" else _like(data, shape, b),
)  # fmt: skip
def compressed_solve(data: Any, indices: Any, indptr: Any, shape: Any, by_columns: Any, b: Any) -> Any:
    """The solution of a sparse system, by SuperLU."""
    return np.ascontiguousarray(
        scipy.sparse.linalg.spsolve(
            (scipy.sparse.csc_array if by_columns else scipy.sparse.csr_array)((data, indices, indptr), shape, copy=True), b
        )
    )


def _solve_back(g: Any, data: Any, indices: Any, indptr: Any, shape: Any, by_columns: bool) -> Any:
    return compressed_solve(data, indices, indptr, shape[::-1], not by_columns, g)


def _solve_data(g: Any, data: Any, indices: Any, indptr: Any, shape: Any, by_columns: bool, out: Any) -> Any:
    rows, columns = _places(indices, indptr, by_columns)
    return -_at(_solve_back(g, data, indices, indptr, shape, by_columns), rows, out, columns)


rule(
    compressed_solve,
    data=lambda g, data, indices, indptr, shape, by_columns, out: _solve_data(
        g, data, indices, indptr, shape, by_columns, out
    ),
    b=lambda g, data, indices, indptr, shape, by_columns: _solve_back(g, data, indices, indptr, shape, by_columns),
)


def _traced(value: Any) -> bool:
    return hasattr(type(value), "__gradscribe_apply__")


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Sparse) or sparse.issparse(value)


def _dense(value: Any) -> bool:
    return _traced(value) or isinstance(value, np.ndarray)


class Sparse:
    """A sparse matrix of which the numbers may be Tensors."""

    __array_ufunc__ = None  # operators of arrays leave it to this class
    __gradscribe_of_ops__ = True
    ndim = 2

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: Any, by_columns: bool = False, matrix: bool = False) -> None:
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape, self.by_columns = (int(shape[0]), int(shape[1])), by_columns
        self.matrix = matrix  # SciPy's older classes, whose `*` is a product

    # What it is.

    @property
    def format(self) -> str:
        """How its numbers lie."""
        return "csc" if self.by_columns else "csr"

    @property
    def dtype(self) -> Any:
        """The type of its numbers."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many numbers it holds."""
        return int(np.shape(self.data)[0])

    def of_scipy(self, data: Any, indices: Any, indptr: Any) -> Any:
        """A matrix of SciPy's like this one, of plain arrays."""
        return getattr(sparse, f"{self.format}_{'matrix' if self.matrix else 'array'}")((data, indices, indptr), self.shape)

    def places(self) -> tuple[Any, Any]:
        """The row and the column of each number."""
        return _places(self.indices, self.indptr, self.by_columns)

    def _with(self, data: Any) -> Sparse:
        return Sparse(data, self.indices, self.indptr, self.shape, self.by_columns, self.matrix)

    # Other forms of it.

    @property
    def T(self) -> Sparse:
        """The transpose: the same numbers, the other way."""
        return Sparse(self.data, self.indices, self.indptr, self.shape[::-1], not self.by_columns, self.matrix)

    def transpose(self, axes: Any = None, copy: bool = False) -> Sparse:
        """The transpose."""
        return self.T

    def copy(self) -> Sparse:
        """Itself: it never changes."""
        return self

    def tocsr(self, copy: bool = False) -> Sparse:
        """Row after row."""
        return self if not self.by_columns else _compressed(self.data, *self.places(), self.shape, False, self.matrix)

    def tocsc(self, copy: bool = False) -> Sparse:
        """Column after column."""
        return self if self.by_columns else _compressed(self.data, *self.places(), self.shape, True, self.matrix)

    def tocoo(self, copy: bool = False) -> Sparse:
        """As it is: rows and columns are found where they are needed."""
        return self

    def asformat(self, format: Any, copy: bool = False) -> Sparse:
        """In another form."""
        return self.tocsc() if format == "csc" else self.tocsr() if format == "csr" else self

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The dense array."""
        return self @ made(np.eye, self.data, self.shape[1])

    todense = toarray

    def diagonal(self, k: int = 0) -> Any:
        """The main diagonal."""
        rows, columns = self.places()
        found = self._with(np.where(columns - rows == k, self.data, 0.0)).sum(1)
        first = max(-k, 0)
        return np.reshape(found, (-1,))[first : first + max(min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)), 0)]

    def trace(self, offset: int = 0) -> Any:
        """The sum of a diagonal."""
        rows, columns = self.places()
        return np.sum(np.where(columns - rows == offset, self.data, 0.0))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean of all elements, zeros included, or along an axis."""
        return self.sum(axis) / (self.shape[0] * self.shape[1] if axis is None else self.shape[axis % 2])

    def summed(self) -> Sparse:
        """The same matrix with one number at each place, for what is no sum of numbers; others, beside them, are zero."""
        rows, columns = self.places()
        keys = rows * self.shape[1] + columns
        order = np.argsort(keys, kind="stable")
        keys, count = keys[order], self.nnz
        if not count:
            return self
        many = np.cumsum(np.concatenate([keys[:1] * 0, (keys[1:] != keys[:-1]) * 1]))
        starts = np.searchsorted(many, made(np.arange, keys, count + 1))
        ones = made(np.ones, keys, count)
        data = compressed_product(ones, made(np.arange, keys, count), starts, (count, count), False, self.data[order])
        at = keys[np.minimum(starts[:-1], count - 1)]
        return _compressed(data, at // self.shape[1], at % self.shape[1], self.shape, self.by_columns, self.matrix)

    def power(self, n: Any, dtype: Any = None) -> Sparse:
        """Each number to a power."""
        if not _traced(n) and n == 0:
            raise NotImplementedError("input is zero: its power 0 is not sparse")
        one = self.summed()
        return one._with(np.where(one.data == 0, 0.0, one.data) ** n)

    def __pow__(self, n: Any) -> Any:
        if not self.matrix:
            return self.power(n)
        found = self
        for _ in range(int(n) - 1):
            found = found @ self
        return found

    def __abs__(self) -> Sparse:
        one = self.summed()
        return one._with(np.abs(one.data))

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Sparse:
        """With numbers of another type."""
        return self._with(self.data.astype(dtype))

    def conj(self, copy: bool = True) -> Sparse:
        """With conjugate numbers."""
        return self._with(np.conj(self.data))

    conjugate = conj

    def __getitem__(self, key: Any) -> Any:
        """An element, or a range of rows and columns; others of toarray()."""
        at = key if isinstance(key, tuple) else (key, slice(None))
        if len(at) == 2 and not any(isinstance(k, slice) or np.ndim(k) for k in at):
            i, j = (int(k) % n for k, n in zip(at, self.shape, strict=True))
            rows, columns = self.places()
            return np.sum(np.where((rows == i) & (columns == j), self.data, 0.0))
        ranges = [self._range(k, n) for k, n in zip(at, self.shape, strict=False)]
        if len(at) != 2 or None in ranges:
            raise refused("sparse", "an index that is no number and no range of step 1", "take toarray()[...]")
        (top, bottom), (left, right) = ranges
        rows, columns = self.places()
        inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
        data = np.where(inside, self.data, 0.0)
        shape = max(bottom - top, 0), max(right - left, 0)
        moved = (np.where(inside, rows - top, 0), np.where(inside, columns - left, 0))
        return _compressed(data, *moved, shape, self.by_columns, self.matrix)

    def _range(self, key: Any, n: int) -> Any:
        """The first place of a range and that behind its last; None of what is none."""
        if isinstance(key, slice):
            start, stop, step = key.indices(n)
            return (start, stop) if step == 1 else None
        if np.ndim(key) or not self.matrix:
            return None
        return int(key) % n, int(key) % n + 1

    def getrow(self, i: int) -> Any:
        """A row, as a matrix."""
        return Sparse(self.data, self.indices, self.indptr, self.shape, self.by_columns, True)[i]

    def getcol(self, j: int) -> Any:
        """A column, as a matrix."""
        return Sparse(self.data, self.indices, self.indptr, self.shape, self.by_columns, True)[:, j]

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all numbers, or along an axis."""
        if axis is None:
            return np.sum(self.data)
        axis %= 2
        of = self if axis else self.T
        found = of @ made(np.ones, self.data, of.shape[1])
        return found if not self.matrix else np.reshape(found, (-1, 1) if axis else (1, -1))

    # Products.

    def __matmul__(self, x: Any) -> Any:
        if not _dense(x):
            if isinstance(x, (list, tuple)):
                (x,) = arrays(x) if not _traced(self.data) else arrays(x, self.data)[:1]
            else:
                return self._of_sparse(x)
        if np.shape(x)[0] != self.shape[1]:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={self.shape[1]}),(k={np.shape(x)[0]},m)->(n,m)")
        if np.ndim(x) > 2:
            raise refused("sparse", "products with more than two axes", "reshape the operand to two")
        return compressed_product(self.data, self.indices, self.indptr, self.shape, self.by_columns, x)

    def _of_sparse(self, x: Any) -> Any:
        if np.ndim(x) == 0 and not hasattr(x, "shape"):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        other = x if isinstance(x, Sparse) else made_of_ops(x)
        if other is None:
            raise TypeError(f"a sparse matrix cannot be multiplied by {type(x).__name__}")
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"matmul: dimension mismatch of {self.shape} and {other.shape}")
        rows, inner = self.places()
        other = other.tocsr()
        counts = other.indptr[inner + 1] - other.indptr[inner]
        of_self = np.repeat(made(np.arange, counts, self.nnz), counts)
        within = made(np.arange, of_self, np.shape(of_self)[0]) - (np.cumsum(counts) - counts)[of_self]
        of_other = other.indptr[inner][of_self] + within
        data = taken(self.data, of_self) * taken(other.data, of_other)
        shape, matrix = (self.shape[0], other.shape[1]), self.matrix and other.matrix
        return _compressed(data, rows[of_self], other.indices[of_other], shape, self.by_columns, matrix).summed()

    def __rmatmul__(self, x: Any) -> Any:
        if not _dense(x):
            return made_of_ops(x)._of_sparse(self)
        return self.T @ x if np.ndim(x) == 1 else (self.T @ x.T).T

    def dot(self, x: Any) -> Any:
        """The product."""
        return self * x if np.ndim(x) == 0 and not hasattr(x, "format") else self @ x

    def __mul__(self, x: Any) -> Any:
        if self.matrix and (np.ndim(x) > 0 or _is_sparse(x)):
            return self @ x
        return self.multiply(x)

    def __rmul__(self, x: Any) -> Any:
        if self.matrix and (np.ndim(x) > 0 or _is_sparse(x)):
            return self.__rmatmul__(x)
        return self.multiply(x)

    def multiply(self, x: Any) -> Sparse:
        """Each number times another one: of a scalar, a row, a column or a dense array."""
        if _is_sparse(x):
            return self._times(x if isinstance(x, Sparse) else made_of_ops(x))
        if np.ndim(x) == 0:
            return self._with(self.data * x)
        rows, columns = self.places()
        x = x[None, :] if np.ndim(x) == 1 else x
        one = np.shape(x)
        factor = x[rows if one[0] != 1 else rows * 0, columns if one[1] != 1 else columns * 0]
        return self._with(self.data * factor)

    def _times(self, other: Sparse) -> Sparse:
        """The product of numbers at places that both have."""
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {other.shape}")
        one, other = self.summed(), other.summed().tocsr()
        if not other.nnz or not one.nnz:
            return one._with(one.data * 0.0)
        (i, j), (k, m) = one.places(), other.places()
        wanted, keys = i * self.shape[1] + j, k * self.shape[1] + m
        order = np.argsort(keys, kind="stable")
        keys, numbers = keys[order], other.data[order]
        first = np.minimum(np.searchsorted(keys, wanted), other.nnz - 1)
        # The zeros that `summed` leaves stand behind the number of their place.
        factor = np.where(keys[first] == wanted, numbers[first], 0.0)
        return one._with(one.data * factor)

    def __truediv__(self, x: Any) -> Sparse:
        return self.multiply(1.0 / x)

    def __neg__(self) -> Sparse:
        return self._with(-self.data)

    # Sums.

    def __add__(self, x: Any) -> Any:
        other = x if isinstance(x, Sparse) else made_of_ops(x)
        if other is None:
            if np.ndim(x) == 0:
                if not _traced(x) and x == 0:
                    return self
                raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
            return self.toarray() + x
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {other.shape}")
        parts = zip(self.places(), other.places(), strict=True)
        rows, columns = (np.concatenate(pair) for pair in parts)
        data = np.concatenate([self.data, other.data])
        return _compressed(data, rows, columns, self.shape, self.by_columns, self.matrix).summed()

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        return self + -x

    def __rsub__(self, x: Any) -> Any:
        return -self + x

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(sparse.csr_array, name):
            raise AttributeError(f"'Sparse' object has no attribute '{name}'")
        raise NoRuleError(
            f"`{name}` of a sparse matrix whose numbers are traced has no gradient rule in gradscribe: it has products, sums, "
            "multiply, sum, diagonal, toarray, scipy.sparse.linalg.spsolve, cg, gmres ...; of toarray() all of NumPy's functions."
        )


def _compressed(data: Any, rows: Any, columns: Any, shape: Any, by_columns: bool, matrix: bool) -> Sparse:
    """Numbers at places, in whatever order and more than one at a place, as a matrix."""
    major, minor = (columns, rows) if by_columns else (rows, columns)
    order = np.argsort(major * shape[0 if by_columns else 1] + minor, kind="stable")  # as SciPy's canonical form has it
    indptr = np.searchsorted(major[order], made(np.arange, major, shape[1 if by_columns else 0] + 1))
    return Sparse(data[order], minor[order], indptr, shape, by_columns, matrix)


def _length(places: Any) -> int:
    return int(np.max(places)) + 1


def _whole(*places: Any) -> tuple[Any, ...]:
    """Positions as arrays of ints."""
    return tuple([p.astype(np.int64) if p.dtype.kind not in "iu" else p for p in places])


def _maker(format: str, matrix: bool) -> Callable[..., Any]:
    by_columns = format == "csc"

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Sparse:
        if isinstance(arg1, Sparse):
            return arg1.asformat(format)
        if not isinstance(arg1, tuple):
            raise refused(
                f"sparse.{format}_{'matrix' if matrix else 'array'}", "a dense array that is traced",
                "its pattern would follow from values: state it, by (data, (rows, columns))",
            )  # fmt: skip
        if len(arg1) == 2:
            data, places = arg1
            data, rows, columns = arrays(data, *places)
            rows, columns = _whole(rows, columns)
            shape = (_length(rows), _length(columns)) if shape is None else shape
            return _compressed(data, rows, columns, shape, by_columns, matrix)
        data, indices, indptr = arrays(*arg1)
        if shape is None:
            shape = (np.shape(indptr)[0] - 1, _length(indices))
            shape = shape[::-1] if by_columns else shape
        indices, indptr = _whole(indices, indptr)
        return Sparse(data, indices, indptr, shape, by_columns, matrix)

    return make


def _over_compressed(real: Any, parts: dict[str, Any]) -> Sparse:
    data, indices, indptr = parts.values()
    return Sparse(data, indices, indptr, real.shape, real.format == "csc", isinstance(real, sparse.spmatrix))


def _over_places(real: Any, parts: dict[str, Any]) -> Sparse:
    data, rows, columns = parts.values()
    return _compressed(data, rows, columns, real.shape, False, isinstance(real, sparse.spmatrix))


def _over_diagonals(real: Any, parts: dict[str, Any]) -> Sparse:
    return of_diagonals(parts["data"], parts["offsets"], real.shape, isinstance(real, sparse.spmatrix))


def of_diagonals(data: Any, offsets: Any, size: tuple[int, int], matrix: bool) -> Sparse:
    """A matrix of diagonals that are rows of an array, where element j stands in column j."""
    (m, n), shape = size, np.shape(data)
    columns = made(np.arange, data, shape[1]) + np.zeros_like(offsets)[:, None]
    rows = columns - offsets[:, None]
    there = (rows >= 0) & (rows < m) & (columns < n)
    flat = [np.reshape(np.where(there, part, 0), (-1,)) for part in (data, rows, columns)]
    return _compressed(flat[0], flat[1], flat[2], size, False, matrix)


for _kind in ("csr", "csc", "coo"):
    for _matrix in (True, False):
        _over = _over_places if _kind == "coo" else _over_compressed
        _parts = ("data", "row", "col") if _kind == "coo" else ("data", "indices", "indptr")
        _class = getattr(sparse, f"{_kind}_{'matrix' if _matrix else 'array'}")
        object_class(_class, _maker(_kind, _matrix), _parts, _over, traced=True)
for _class in (sparse.dia_matrix, sparse.dia_array):
    object_class(_class, _maker("dia", _class is sparse.dia_matrix), ("data", "offsets"), _over_diagonals, traced=True)


for _kind in ("bsr", "lil", "dok"):
    for _class in (getattr(sparse, f"{_kind}_matrix"), getattr(sparse, f"{_kind}_array")):
        object_class(_class, _maker(_kind, True), (), lambda real, parts: made_of_ops(real.tocsr()), traced=True)


def _diagonals(matrix: bool) -> Callable[..., Any]:
    def diags(
        diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None, beside: Any = None
    ) -> Sparse:
        if np.ndim(offsets) == 0:
            one = not isinstance(diagonals, (list, tuple)) and np.ndim(diagonals) == 1
            one = one or (isinstance(diagonals, (list, tuple)) and np.ndim(diagonals[0]) == 0)
            diagonals, offsets = ([diagonals] if one else diagonals), [offsets]
        parts = [np.atleast_1d(arrays(d, *diagonals, beside)[0] if not _traced(d) else d) for d in diagonals]
        if len(parts) != len(offsets):
            raise ValueError(f"Different number of diagonals ({len(parts)}) and offsets ({len(offsets)}).")
        if shape is None:
            size = np.shape(parts[0])[0] + abs(int(offsets[0]))
            shape = (size, size)
        data, rows, columns = [], [], []
        beside = next((d for d in parts if _traced(d)), beside)
        for d, k in zip(parts, map(int, offsets), strict=True):
            length = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
            places = made(np.arange, beside, length)
            data.append(d[:length] if np.shape(d)[0] != 1 else d + 0.0 * places)
            rows.append(places + max(-k, 0))
            columns.append(places + max(k, 0))
        flat, at_rows, at_columns = (np.concatenate(part) for part in (data, rows, columns))
        found = _compressed(flat, at_rows, at_columns, shape, False, matrix)
        return found.asformat(format)

    diags.takes_beside = True  # type: ignore[attr-defined]
    return diags


def _array_of_diagonals(diagonals: Any, /, *, offsets: Any = 0, **options: Any) -> Sparse:
    found: Sparse = _diagonals(False)(diagonals, offsets, **options)
    return found


_array_of_diagonals.takes_beside = True  # type: ignore[attr-defined]


object_class(sparse.diags, _diagonals(True), traced=True)
object_class(sparse.diags_array, _array_of_diagonals, traced=True)


@composed(sparse.issparse)
def issparse(x: Any) -> bool:
    """Whether something is a sparse matrix, also one whose numbers are traced."""
    return isinstance(x, Sparse) or sparse.issparse(x)


# Systems.


def _system(name: str, a: Any, *beside: Any) -> Any:
    """A matrix of ops; None where all is plain."""
    if isinstance(a, Sparse):
        return a
    if not any(map(_traced, beside)):
        return None
    if not sparse.issparse(a):
        raise refused(f"sparse.linalg.{name}", "a dense matrix", "use scipy.linalg.solve or np.linalg.solve")
    return made_of_ops(a if a.format in ("csr", "csc") else a.tocsc())


@composed(sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """The solution of a sparse system: its derivative solves the transposed one."""
    b = b if _is_sparse(b) else arrays(b)[0]
    matrix = _system("spsolve", A, b)
    if matrix is None:
        return sparse.linalg.spsolve(A, b, permc_spec, use_umfpack)
    if permc_spec is not None:
        raise refused("sparse.linalg.spsolve", "permc_spec=", "leave it out")
    if not _dense(b):
        (b,) = (literal(b, matrix.data),)
    b = np.reshape(b, (-1,)) if np.ndim(b) == 2 and np.shape(b)[1] == 1 else b
    return compressed_solve(matrix.data, matrix.indices, matrix.indptr, matrix.shape, matrix.by_columns, b)


class Factors:
    """What SuperLU gives: a system that is solved for one right-hand side after the other."""

    def __init__(self, real: Any, matrix: Any) -> None:
        self._real, self._matrix, self.shape = real, matrix, matrix.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution."""
        if self._real is not None and not _traced(rhs):
            return self._real.solve(rhs, trans)
        a = self._matrix if isinstance(self._matrix, Sparse) else made_of_ops(self._matrix.tocsc())
        a = a.T if trans != "N" else a
        return compressed_solve(a.data, a.indices, a.indptr, a.shape, a.by_columns, rhs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._real is None:
            raise NoRuleError(f"`{name}` of the factors of a traced sparse matrix has no gradient rule: solve with them.")
        return getattr(self._real, name)


@composed(sparse.linalg.splu)
def splu(A: Any, *args: Any, **kwargs: Any) -> Any:
    """The factors of a sparse matrix."""
    return Factors(None if isinstance(A, Sparse) else sparse.linalg.splu(A, *args, **kwargs), A)


@composed(sparse.linalg.factorized)
def factorized(A: Any) -> Any:
    """A function that solves a sparse system."""
    return Factors(None if isinstance(A, Sparse) else sparse.linalg.splu(A.tocsc()), A).solve
