"""scipy.optimize.minimize: without constraints its gradient is zero, under constraints that of the Lagrangian."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import SingularPointError
from ...tracer.core.dispatch import has_tensor, stack_nested
from ...tracer.core.thread_state import LOCAL, grad_mode
from ..trees import flatten
from .scipy_callbacks import Callback, Inputs, Run, Solved, not_converged, plain, singular, solved_matrix, tracing
from .scipy_calls import Driver
from .scipy_integrals import is_followed
from .scipy_optima import AT, NOT_HELD, STEP, Objective, Stationary, called, number, optimum, tuple_of, with_names

__all__ = ["minimize"]


class Constraint(NamedTuple):
    """Functions of the variables, each between two bounds, which are equal where it is an equation."""

    value: Callable[[Any], Any]
    low: Any
    high: Any


def _of_scipy(path: str, given: Any) -> tuple[Constraint, Any]:
    """A constraint in one of SciPy's forms, and as SciPy takes it: of plain numbers."""
    if isinstance(given, dict):
        args = tuple_of(given.get("args", ()))
        call = Callback(path, given["fun"], args)
        passed = {k: called(path, v, args) for k, v in given.items() if k not in ("fun", "args")}
        high = 0.0 if str(given.get("type", "")).lower() == "eq" else np.inf
        return Constraint(call, 0.0, high), {**passed, "fun": call.plain}
    if not hasattr(given, "fun"):  # a matrix, of plain numbers
        return Constraint(lambda x: given.A @ x, given.lb, given.ub), given
    made, call = copy.copy(given), Callback(path, given.fun)
    made.fun, made.lb, made.ub = call.plain, plain(given.lb, path), plain(given.ub, path)
    for name in ("jac", "hess"):
        value = getattr(made, name, None)
        if callable(value) and not hasattr(value, "update"):
            setattr(made, name, Callback(path, value).plain)
    return Constraint(call, given.lb, given.ub), made


def _pair(bounds: Any) -> tuple[Any, Any]:
    """The lower and the upper bounds."""
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    low = [-np.inf if a is None else a for a, _ in bounds]
    high = [np.inf if b is None else b for _, b in bounds]
    return tuple([stack_nested(v) if has_tensor(v) else np.array(v, float) for v in (low, high)])  # type: ignore[return-value]


class Lagrangian:
    """An objective under constraints, of the variables and one multiplier for each constraint that holds them.

    At the optimum its gradient is zero: A. V. Fiacco, Sensitivity analysis for nonlinear programming, Mathematical
    Programming 10, 1976. Which constraints hold is found by Newton's next step, as methods end a little inside or outside.
    """

    def __init__(self, path: str, objective: Objective, constraints: list[Constraint], x: Any) -> None:
        self.path, self.objective, self.constraints, self.x = path, objective, constraints, x
        self.held: Any = None  # positions of the bounds that hold, those below before those above

    def gaps(self, x: Any) -> Any:
        """How far each value lies above its lower bound, and behind these, how far below its upper one."""
        below: list[Any] = []
        above: list[Any] = []
        for value, low, high in self.constraints:
            v = value(x)
            v = np.reshape(stack_nested(v) if type(v) in (list, tuple) else v, (-1,))
            for found, gap in ((below, v - low), (above, high - v)):
                found.append(np.reshape(gap, (-1,)))
        return np.concatenate(below + above)

    def __call__(self, z: Any) -> Any:
        """The objective, less what the constraints that hold count for."""
        n = np.size(self.x)
        x = z[:n]
        return number(self.objective(x)) - np.sum(z[n:] * self.gaps(x)[self.held])

    def solve(self) -> Any:
        """The variables and the multipliers; raises where it does not tell whether a constraint holds."""
        path, x, n = self.path, self.x, np.size(self.x)
        run = Run(self.gaps, (x,))
        with grad_mode(False):
            gaps, slopes = np.asarray(run.value), plain(run.jacobian(), path)
            g = np.atleast_1d(plain(Stationary(self.objective, x)(x), path))
        count = len(gaps) // 2
        equal = gaps[:count] + gaps[count:] == 0
        size, steep = 1.0 + np.max(np.abs(x), initial=0.0), np.linalg.norm(slopes, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(np.isfinite(gaps), gaps / np.where(steep > 0, steep, 1.0), np.inf)
        held = (away <= AT * size) & ~np.concatenate([np.full(count, False), equal])  # an equation counts once
        near = (away <= 2 * STEP * size) & ~np.concatenate([equal, equal])
        while True:
            self.held = np.flatnonzero(held)
            multipliers = np.linalg.lstsq(slopes[held].T, g, rcond=None)[0]
            z = np.concatenate([x, multipliers])
            step_run = Run(Stationary(self, z), (z,))
            with grad_mode(False):
                matrix = plain(step_run.jacobian(), path)
                step = solved_matrix(
                    path, matrix, -np.asarray(step_run.value), "the matrix of the optimum's conditions"
                )
            inside = away + np.where(steep > 0, slopes @ step[:n] / np.where(steep > 0, steep, 1.0), 0.0)
            moved = np.max(np.abs(step[:n]), initial=0.0)
            doubt = max(AT * size, min(moved**2 / size, 0.1 * moved))
            if np.any(near & ~held & (np.abs(inside) <= doubt)):
                raise singular(path, NOT_HELD)
            beyond = near & ~held & (inside < 0)
            if not np.any(beyond):
                break
            held = held | beyond
        push = (multipliers + step[n:]) * steep[held]
        curve = max(float(np.max(np.abs(matrix[:n, :n]), initial=0.0)), 1e-12)
        if np.any(~np.concatenate([equal, equal])[held] & (push <= AT * size * curve)):
            raise singular(path, NOT_HELD)
        return z


def _minimize(driver: Driver, given: dict[str, Any]) -> Solved:
    """Minimise by `minimize`, of whose result `x` and `fun` are differentiated."""
    path, passed = driver.path, dict(given)
    args = tuple_of(passed.pop("args", ()))
    call = Callback(path, passed.pop("fun"), args)
    first = passed.get("jac") is True
    bounds, constraints = passed.pop("bounds", None), passed.pop("constraints", ())
    passed = {
        k: called(path, v, args) if k in ("jac", "hess", "hessp") else v if callable(v) else plain(v, path)
        for k, v in passed.items()
    }
    many = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    pairs = [_of_scipy(path, c) for c in many]
    if pairs:
        scipys = [c for _, c in pairs]
        passed["constraints"] = scipys if isinstance(constraints, (list, tuple)) else scipys[0]
    around = bounds if bounds is None or hasattr(bounds, "lb") else plain(bounds, path)
    result = driver.real(call.plain, **passed, bounds=around)
    objective: Objective = lambda x: number(call(x)[0] if first else call(x))
    why = None if result.success else result.message
    x = np.atleast_1d(result.x)
    moving = LOCAL.grad and bounds is not None and any(is_followed(b) for b in flatten(bounds)[0])
    if not pairs and not moving:
        limits = None if bounds is None else _pair(around)
        return with_names(
            driver, result, ("x", "fun"), optimum(path, objective, result.x, why, limits, ((result.fun, objective),))
        )
    own = [c for c, _ in pairs]
    if bounds is not None:
        own.append(Constraint(lambda x: x, *_pair(bounds)))
    lagrangian = Lagrangian(path, objective, own, x)
    if not LOCAL.grad or not _is_followed(lagrangian):
        return with_names(driver, result, ("x", "fun"), (result.x, result.fun))
    try:
        z, n = lagrangian.solve(), np.size(x)
    except SingularPointError:
        if why is None:
            raise
        raise not_converged(path, why) from None
    found, fun = optimum(path, lagrangian, z, why, None, ((result.fun, lambda z: objective(z[:n])),))
    return with_names(driver, result, ("x", "fun"), (found[:n], fun))


def _is_followed(lagrangian: Lagrangian) -> bool:
    """Whether the objective or a constraint depends on what is differentiated."""
    noted = Inputs()
    with tracing():
        noted.note(lagrangian.objective(lagrangian.x))
        noted.note(lagrangian.gaps(lagrangian.x))
    return bool(noted.edges)


minimize = Driver("optimize.minimize", _minimize)
