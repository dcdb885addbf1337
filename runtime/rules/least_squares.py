"""lstsq: the solution, the residuals and the singular values; at a rank that stays as it is, as for pinv."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, primitive, rule, singular_at
from ..result_types import BY_VALUE
from .contraction import adjoint, conj
from .decompositions import plus, svd_back
from .support import happens

EPS = float(np.finfo(np.float64).eps)  # NumPy solves in double precision, whatever it is given


@primitive("x, y, rcond", Kind.opaque, n_out=4, may_raise=True, types=BY_VALUE)  # no residuals where the rank is short
def least_squares(x: Any, y: Any, rcond: Any) -> Any:
    """Return the results of `np.linalg.lstsq`."""
    return np.linalg.lstsq(x, y, rcond)


rule(
    least_squares,
    x=lambda g, x, y, rcond, out: least_squares_x(g, x, columns(y), inverse(x, rcond), columns(out[0])),
    y=lambda g, x, y, rcond, out: least_squares_y(g, x, y, inverse(x, rcond), out[0]),
)
singular_at(least_squares, x=lambda x, out: out[2] < min(x.shape))


def columns(v: Any) -> Any:
    """Right-hand sides as columns, also a single one."""
    return np.expand_dims(v, -1) if np.ndim(v) == 1 else v


def inverse(x: Any, rcond: Any) -> Any:
    """The pseudo-inverse that leaves out the singular values which `np.linalg.lstsq` does."""
    return np.linalg.pinv(x, max(x.shape) * EPS if rcond is None else EPS if rcond < 0 else rcond)


def least_squares_x(g: Any, x: Any, y: Any, p: Any, solution: Any) -> Any:
    """The cotangent of the matrix: through the solution (Golub and Pereyra's derivative), the residuals, the singular values."""
    total, residual = None, y - x @ solution
    if g[0] is not None:
        g_x = columns(conj(g[0]))
        g_y = adjoint(p) @ g_x
        total = residual @ adjoint(p @ g_y) - g_y @ adjoint(solution)
        total = total + (adjoint(p) @ solution) @ adjoint(g_x - adjoint(x) @ g_y)
    if g[1] is not None and g[1].shape[0]:
        total = plus(total, -2 * ((residual * g[1]) @ adjoint(solution)))
    total = None if total is None else conj(total)
    if g[3] is not None:
        total = plus(total, svd_back((None, g[3], None), x, np.linalg.svd(x, full_matrices=False), False))
    return total


def least_squares_y(g: Any, x: Any, y: Any, p: Any, solution: Any) -> Any:
    """The cotangent of the right-hand sides."""
    total = None if g[0] is None else adjoint(p) @ conj(g[0])
    if g[1] is not None and g[1].shape[0]:
        total = plus(total, 2 * (y - x @ solution) * (g[1] if np.ndim(y) == 2 else g[1][0]))
    return None if total is None else conj(total)


@composed(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solution, the residuals (none where the rank is short), the rank and the singular values."""
    found = least_squares(a, b, rcond)
    happens(found[2] < a.shape[1])  # which the shape of the residuals follows
    return tuple(found)
