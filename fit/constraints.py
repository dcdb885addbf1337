"""Constraints in SciPy's forms, of functions of a tree, with exact Jacobians and Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.errors import ShapeError
from .layout import Layout, constant
from .objective import Residual

__all__ = ["constraints_of"]


def constraints_of(given: Any, layout: Layout, optimize: Any, method: str, compile: bool | None) -> Any:
    """Return constraints of the vector for a method of SciPy's, in its own forms."""
    if isinstance(given, (list, tuple)):
        return [_one(c, layout, optimize, method, compile) for c in given]
    return _one(given, layout, optimize, method, compile)


def _one(given: Any, layout: Layout, optimize: Any, method: str, compile: bool | None) -> Any:
    if isinstance(given, dict):
        return _of_dict(given, layout, optimize, method, compile)
    if isinstance(given, optimize.NonlinearConstraint):
        return _nonlinear(given, layout, optimize, method, compile)
    if isinstance(given, optimize.LinearConstraint):
        if np.shape(given.A)[-1] != layout.size:
            raise ShapeError(
                f"{layout.who}: the matrix of a LinearConstraint has {np.shape(given.A)[-1]} columns, but x0 has {layout.size} "
                "numbers. Of a tree they are in the order of its leaves (gs.tree.leaves)."
            )
        return given
    raise TypeError(
        f"{layout.who}: a constraint is a {type(given).__name__}, but must be a dict with `type` and `fun`, a "
        "NonlinearConstraint or a LinearConstraint of scipy.optimize"
    )


_TAKES_JACOBIAN = {"slsqp", "trust-constr", "custom"}


def _of_dict(given: dict[str, Any], layout: Layout, optimize: Any, method: str, compile: bool | None) -> Any:
    """Return a dict of the vector; for trust-constr the object that SciPy makes of it, with an exact Hessian."""
    missing = {"type", "fun"} - set(given)
    if missing or str(given["type"]).lower() not in ("eq", "ineq"):
        raise ValueError(
            f'{layout.who}: a constraint needs `type` ("eq" or "ineq") and `fun`, but has '
            f"{ {k: v for k, v in given.items() if k in ('type', 'fun')} }"
        )
    args = given.get("args", ())
    args = constant(tuple(args) if isinstance(args, (tuple, list)) else (args,), layout.who)
    function = Residual(given["fun"], args, layout, compile)
    jac = _users_jacobian(given["jac"], args, layout) if callable(given.get("jac")) else function.jacobian
    if method == "trust-constr":
        upper = 0.0 if str(given["type"]).lower() == "eq" else np.inf
        return optimize.NonlinearConstraint(function.value, 0.0, upper, jac, function.hessian)
    made = {"type": given["type"], "fun": function.value}
    return made | {"jac": jac} if method in _TAKES_JACOBIAN else made


def _nonlinear(given: Any, layout: Layout, optimize: Any, method: str, compile: bool | None) -> Any:
    """Return the constraint on the vector: exact where SciPy would take differences, or learn the Hessian."""
    function = Residual(given.fun, (), layout, compile)
    jac = _users_jacobian(given.jac, (), layout) if callable(given.jac) else function.jacobian
    if method not in ("trust-constr", "custom"):  # which take no Hessian, and some warn of one
        return optimize.NonlinearConstraint(function.value, given.lb, given.ub, jac, keep_feasible=given.keep_feasible)
    hess = given.hess
    if callable(hess):
        users = hess
        hess = lambda x, v: users(layout.tree(x.copy()), v)
    elif isinstance(hess, optimize.BFGS) or not isinstance(hess, optimize.HessianUpdateStrategy):
        hess = function.hessian  # what SciPy puts where nothing was said, or differences
    return optimize.NonlinearConstraint(function.value, given.lb, given.ub, jac, hess, given.keep_feasible)


def _users_jacobian(jac: Any, args: tuple[Any, ...], layout: Layout) -> Any:
    """Return a Jacobian of the user's own as a matrix: of one array it is one, of a tree a tree of blocks."""

    def matrix(x: Any, *_: Any) -> Any:
        found = jac(layout.tree(x.copy()), *args)
        shape = np.shape(found) if not isinstance(found, dict) else ()
        return np.asarray(found, float) if len(shape) == 2 else layout.rows(found)

    return matrix
