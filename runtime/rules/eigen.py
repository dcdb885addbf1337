"""eig and eigvals of matrices that need not be symmetric: complex ops, and NumPy's real results where all are real."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import of_matrices
from ..ops import Kind
from ..registry import batching, composed, primitive, rule, singular_at
from .contraction import adjoint, conj
from .decompositions import column, feels_phase, gaps, plus, row
from .support import happens, on_diagonal

_FOUND = np.linalg.eig(np.eye(1))
EigResult: Any = type(_FOUND)
GIVES_REAL = _FOUND.eigenvalues.dtype.kind == "f"  # until NumPy 2.5, where all eigenvalues are real


@primitive("x", Kind.opaque, n_out=2, may_raise=True)
def complex_eig(x: Any) -> Any:
    """The eigenvalues and eigenvectors of a matrix, complex also where all are real."""
    w, v = np.linalg.eig(x)
    w, v = w.astype(np.result_type(x, np.complex64)), v.astype(np.result_type(x, np.complex64))
    return w, v


rule(complex_eig, x=lambda g, out: eig_back(g[0], g[1], out[0], out[1]))
singular_at(complex_eig, x=lambda g, out: repeated(out[0]) | feels_phase((g[1], out[1], -2)))


@primitive("x", Kind.opaque, may_raise=True)
def complex_eigvals(x: Any) -> Any:
    """The eigenvalues of a matrix, complex also where all are real."""
    return np.linalg.eigvals(x).astype(np.result_type(x, np.complex64))


rule(complex_eigvals, x=lambda g, x, out: eigvals_back(g, out, *complex_eig(x)))
singular_at(complex_eigvals, x=lambda out: repeated(out))
batching(complex_eig, complex_eigvals)(of_matrices)


def eig_back(g_w: Any, g_v: Any, w: Any, v: Any) -> Any:
    """The cotangent of a matrix, from those of its eigenvalues and its eigenvectors of length one, whose phases are free.

    Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach, "On the computation of complex-valued gradients with application
    to statistically optimum beamforming" (2017), section 4.8, with the lengths kept.
    """
    inner = None
    if g_v is not None:
        turned = adjoint(v) @ conj(g_v)
        own = row(np.real(np.diagonal(turned, axis1=-2, axis2=-1)))
        inner = (turned - (adjoint(v) @ v) * own) / conj(gaps(w))
    if g_w is not None:
        inner = plus(inner, diagonal(conj(g_w), v))
    return None if inner is None else conj(np.linalg.solve(adjoint(v), inner @ adjoint(v)))


def repeated(w: Any) -> Any:
    """Matrices with equal eigenvalues."""
    return np.sum(row(w) == column(w), axis=(-2, -1), keepdims=True) > w.shape[-1]


def diagonal(values: Any, like: Any) -> Any:
    """Matrices with these numbers on the diagonal, shaped like others."""
    return on_diagonal(values, 0, -2, -1, like.shape, values.dtype)


def eigvals_back(g: Any, out: Any, w: Any, v: Any) -> Any:
    """The cotangent of a matrix from those of its eigenvalues `out`, which may come in another order than `w`."""
    far = np.absolute(row(out) - column(w))
    near = 1e-6 * np.max(np.absolute(w), axis=-1, keepdims=True) + float(np.finfo(w.dtype).tiny)
    same = diagonal(np.broadcast_to(near, w.shape), far)  # of equal ones the one in the same place
    nearest = np.argmin(far - same, axis=-1)
    return eig_back(np.take_along_axis(g, nearest, -1), None, w, v)


@composed(np.linalg.eig)
def eig(a: Any) -> Any:
    """The eigenvalues and eigenvectors, real where NumPy's are."""
    w, v = complex_eig(a)
    return EigResult(_real(w), _real(v)) if _is_real(a, w) else EigResult(w, v)


@composed(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """The eigenvalues, real where NumPy's are."""
    w = complex_eigvals(a)
    return _real(w) if _is_real(a, w) else w


def _real(x: Any) -> Any:
    """The real part as NumPy gives it: a view, or of single precision an array of its own."""
    return np.real(x) if x.dtype.itemsize == 16 else np.copy(np.real(x))


def _is_real(x: Any, w: Any) -> bool:
    return GIVES_REAL and bool(x.dtype.kind != "c") and not happens(np.imag(w) != 0)
