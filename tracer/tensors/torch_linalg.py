"""Tensor's methods of PyTorch for vectors and matrices: products, sums with products, and decompositions."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...runtime.errors import ShapeError
from ...unpatched import np
from ..core.site import blame
from .torch_arithmetic import times
from .torch_methods import Methods

__all__ = ["METHODS"]

METHODS = Methods()
_method = METHODS.take


def _ranks(name: str, n: int, **operands: Any) -> None:
    """ShapeError where an operand has another number of axes than n."""
    for operand, x in operands.items():
        if np.ndim(x) != n:
            what = {1: "a vector (1D)", 2: "a matrix", 3: "a 3D tensor"}[n]
            raise blame(
                ShapeError(f"{name}: {operand} must be {what}, but its shape is {tuple(np.shape(x))} ({np.ndim(x)}D)")
            )


def _sum(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    if type(beta) is int and beta == 0:  # what stands in self, NaN included, does not matter
        return times(product, alpha)
    return times(self, beta) + times(product, alpha)


@_method
def matmul(self: Any, other: Any, *, out: Any = None) -> Any:
    """The matrix product, of batches too."""
    return np.matmul(self, other) if out is None else np.matmul(self, other, out=out)


@_method
def mm(self: Any, mat2: Any) -> Any:
    """The product of two matrices: ShapeError for anything else."""
    _ranks("mm", 2, self=self, mat2=mat2)
    return np.matmul(self, mat2)


@_method
def mv(self: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    _ranks("mv", 2, self=self)
    _ranks("mv", 1, vec=vec)
    return np.matmul(self, vec)


@_method
def bmm(self: Any, mat2: Any) -> Any:
    """The products of two batches of matrices."""
    _ranks("bmm", 3, self=self, mat2=mat2)
    if np.shape(self)[0] != np.shape(mat2)[0]:
        raise blame(ShapeError(f"bmm: the batches have {np.shape(self)[0]} and {np.shape(mat2)[0]} matrices"))
    return np.matmul(self, mat2)


@_method
def outer(self: Any, vec2: Any) -> Any:
    """The products of all elements of two vectors."""
    _ranks("outer", 1, self=self, vec2=vec2)
    return np.outer(self, vec2)


@_method
def inner(self: Any, other: Any) -> Any:
    """The sum of products over the last axes."""
    return np.inner(self, other)


@_method
def vdot(self: Any, other: Any) -> Any:
    """The sum of products of two vectors, the first conjugated."""
    _ranks("vdot", 1, self=self, other=other)
    return np.vdot(self, other)


@_method
def kron(self: Any, other: Any) -> Any:
    """The Kronecker product."""
    return np.kron(self, other)


@_method
def cross(self: Any, other: Any, dim: int | None = None) -> Any:
    """The cross product along an axis of length 3, by default the first of that length."""
    axis = next((k for k, n in enumerate(self.shape) if n == 3), None) if dim is None else dim
    if axis is None:
        raise blame(ShapeError(f"cross: no dimension of size 3 in a tensor of shape {tuple(self.shape)}"))
    return np.cross(self, other, axis=axis)


@_method
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * self + alpha * (mat1 @ mat2)` of matrices."""
    _ranks("addmm", 2, mat1=mat1, mat2=mat2)
    return _sum(self, np.matmul(mat1, mat2), beta, alpha)


@_method
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * self + alpha * (mat @ vec)` of a matrix and a vector."""
    _ranks("addmv", 2, mat=mat)
    _ranks("addmv", 1, vec=vec)
    return _sum(self, np.matmul(mat, vec), beta, alpha)


@_method
def addr(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * self + alpha * outer(vec1, vec2)` of vectors."""
    _ranks("addr", 1, vec1=vec1, vec2=vec2)
    return _sum(self, np.outer(vec1, vec2), beta, alpha)


@_method
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * self + alpha * (batch1 @ batch2)` of batches of matrices."""
    _ranks("baddbmm", 3, batch1=batch1, batch2=batch2)
    return _sum(self, np.matmul(batch1, batch2), beta, alpha)


@_method
def addbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * self + alpha * (the sum of batch1 @ batch2 over the batch)`."""
    _ranks("addbmm", 3, batch1=batch1, batch2=batch2)
    return _sum(self, np.sum(np.matmul(batch1, batch2), axis=0), beta, alpha)


@_method
def det(self: Any) -> Any:
    """The determinants of square matrices."""
    return np.linalg.det(self)


@_method
def slogdet(self: Any) -> Any:
    """The signs, and the logarithms of the absolute values, of determinants: (sign, logabsdet)."""
    return np.linalg.slogdet(self)


@_method
def logdet(self: Any) -> Any:
    """The logarithm of determinants; NaN where they are negative."""
    sign, size = np.linalg.slogdet(self)
    return np.where(sign < 0, np.nan, size)


@_method
def inverse(self: Any) -> Any:
    """The inverses of square matrices."""
    return np.linalg.inv(self)


@_method
def pinverse(self: Any, rcond: float = 1e-15) -> Any:
    """The pseudo-inverses of matrices."""
    return np.linalg.pinv(self, rcond)


@_method
def matrix_power(self: Any, n: int) -> Any:
    """The n-th powers of square matrices."""
    return np.linalg.matrix_power(self, n)


@_method
def cholesky(self: Any, upper: bool = False) -> Any:
    """The lower (or upper) triangular factors of positive definite matrices."""
    lower = np.linalg.cholesky(self)
    return np.conjugate(np.swapaxes(lower, -1, -2)) if upper else lower


@_method
def qr(self: Any, some: bool = True) -> Any:
    """An orthonormal and an upper triangular factor: (Q, R)."""
    return np.linalg.qr(self, "reduced" if some else "complete")


class Svd(NamedTuple):
    """The factors of a singular value decomposition: `U @ diag(S) @ V.mH` is the matrix."""

    U: Any
    S: Any
    V: Any


@_method
def svd(self: Any, some: bool = True, compute_uv: bool = True) -> Svd:
    """Singular vectors and values (U, S, V) of matrices; without `compute_uv` U and V are zeros, as in PyTorch.

    With `some=False` they are square, and what is added has no derivative.
    """
    if compute_uv:
        u, s, vh = np.linalg.svd(self, full_matrices=not some)
        return Svd(u, s, np.conjugate(np.swapaxes(vh, -1, -2)))
    s = np.linalg.svd(self, compute_uv=False)
    *rest, m, n = self.shape
    u, v = (np.zeros_like(self, shape=(*rest, k, k)) for k in (m, n))
    return Svd(u, s, v)


@_method
def cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Any:
    """`x` of `a @ x = self`, by the lower (or upper) triangular factor `input2` of `a`."""
    return np.linalg.solve(_of_factor(input2, upper), self)


@_method
def cholesky_inverse(self: Any, upper: bool = False) -> Any:
    """The inverses of matrices by their lower (or upper) triangular factors."""
    return np.linalg.inv(_of_factor(self, upper))


def _of_factor(factor: Any, upper: bool) -> Any:
    """The matrix that a triangular factor belongs to."""
    lower = np.conjugate(np.swapaxes(np.triu(factor), -1, -2)) if upper else np.tril(factor)
    return np.matmul(lower, np.conjugate(np.swapaxes(lower, -1, -2)))


@_method
def matrix_exp(self: Any) -> Any:
    """The exponentials of square matrices, which needs SciPy."""
    from ...runtime.rules.scipy_linalg import expm

    return expm(self)


METHODS["ger"] = outer
