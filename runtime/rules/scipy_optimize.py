"""scipy.optimize without a solver of ours: the assignment problem, and Rosenbrock's function with its derivatives."""

from __future__ import annotations

from typing import Any

from scipy import optimize

from ...unpatched import np
from ..memory import NEW
from ..ops import Kind
from ..registry import composed, undifferentiable

undifferentiable(  # places, which stay the same at costs nearby
    optimize.linear_sum_assignment, "cost_matrix, maximize=False", Kind.opaque, path="scipy.optimize.linear_sum_assignment",
    n_out=2, may_raise=True, memory=NEW,
)  # fmt: skip


def _array(x: Any) -> Any:
    x = np.stack(x) if isinstance(x, (list, tuple)) else x
    return x * 1.0 if x.dtype.kind in "biu" else x


@composed(optimize.rosen)
def rosen(x: Any) -> Any:
    """The sum over the first axis."""
    x = _array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0, dtype=x.dtype)


@composed(optimize.rosen_der)
def rosen_der(x: Any) -> Any:
    """The gradient: the first element, those between, the last one."""
    x = _array(x)
    middle, before, after = x[1:-1], x[:-2], x[2:]
    first = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    inner = 200 * (middle - before**2) - 400 * (after - middle**2) * middle - 2 * (1 - middle)
    return np.concatenate([first[None], inner, (200 * (x[-1] - x[-2] ** 2))[None]])


@composed(optimize.rosen_hess)
def rosen_hess(x: Any) -> Any:
    """The Hessian: its diagonal, and the one on either side."""
    x = np.atleast_1d(_array(x))
    inner = 202 + 1200 * x[1:-1] ** 2 - 400 * x[2:]
    first = 1200 * x[0] ** 2 - 400 * x[1] + 2
    beside = -400 * x[:-1]
    diagonal = np.concatenate([first[None], inner, np.full_like(x[-1:], 200)])
    return np.diag(beside, 1) + np.diag(beside, -1) + np.diag(diagonal)


@composed(optimize.rosen_hess_prod)
def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of the Hessian with `p`."""
    x, p = (np.stack(v) if isinstance(v, (list, tuple)) else v for v in (x, p))
    x = np.atleast_1d(x) + 0.0
    first = (1200 * x[0] ** 2 - 400 * x[1] + 2) * p[0] - 400 * x[0] * p[1]
    inner = -400 * x[:-2] * p[:-2] + (202 + 1200 * x[1:-1] ** 2 - 400 * x[2:]) * p[1:-1] - 400 * x[1:-1] * p[2:]
    last = -400 * x[-2] * p[-2] + 200 * p[-1]
    return np.concatenate([first[None], inner, last[None]])
