"""scipy.optimize's minimisers: at a smooth optimum the gradient is zero, whose implicit function the optimum is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import NoRuleError
from ...tracer.core.dispatch import has_tensor, stack_nested
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL, grad_mode
from ..trees import flatten
from .scipy_callbacks import (
    Attached,
    Callback,
    Run,
    Solved,
    attached,
    hide_the_rest,
    is_degenerate,
    not_converged,
    plain,
    singular,
    solved_matrix,
    without_rule,
)  # fmt: skip
from .scipy_calls import Driver
from .scipy_integrals import is_followed

__all__ = [
    "brent",
    "curve_fit",
    "fminbound",
    "golden",
    "least_squares",
    "lsq_linear",
    "minimize_scalar",
    "nnls",
]

Objective = Callable[[Any], Any]
AT, _NEAR = (
    1e-6,
    1e-4,
)  # beside a variable's size: at a bound, which holds it; near one, where a step shows whether it does
NOT_HELD = "it lies at a bound that does not hold it: the slope is zero there, too"
_TINY, STEP = 1e-6, 1e-3  # Newton's next step at what is called an optimum, beside its size


class Stationary:
    """The gradient of an objective, in those of its variables that are free; the others stay where they are."""

    def __init__(self, objective: Objective, x: Any) -> None:
        self.objective, self.x = objective, x
        self.free: Any = None  # a mask, where bounds hold others

    def hold(self, free: Any) -> None:
        """Leave variables as they are, but those that are free."""
        self.free = None if np.all(free) else free

    def start(self) -> Any:
        """Those that are free, at the optimum."""
        return self.x if self.free is None else self.x[self.free]

    def whole(self, x: Any) -> Any:
        """All variables, from those that are free."""
        if self.free is None:
            return x
        places = np.argsort(np.concatenate([np.flatnonzero(self.free), np.flatnonzero(~self.free)]))
        return np.reshape(np.concatenate([x, self.x[~self.free]])[places], np.shape(self.x))

    def __call__(self, x: Any) -> Any:
        """The gradient at `x`, traced."""
        node = x._node if isinstance(x, Operand) else None
        run = Run(
            lambda x: number(self.objective(self.whole(x))), (x._value if isinstance(x, Operand) else x,), (node,)
        )
        (found,) = run.pull(np.result_type(run.value).type(1), run.variables)
        return np.zeros(np.shape(x)) if found is None else found


def number(x: Any) -> Any:
    """An objective, which may be an array of one number."""
    return np.reshape(x, ()) if np.ndim(x) else x


def optimum(
    path: str, objective: Objective, x: Any, why_not: Any, bounds: Any = None, others: tuple[tuple[Any, Objective], ...] = ()
) -> tuple[Any, ...]:  # fmt: skip
    """The optimum `x`, with the derivative of the implicit-function theorem, of what is not held by an active bound.

    A. V. Fiacco, Sensitivity analysis for nonlinear programming, Mathematical Programming 10, 1976, section 2. `others` are
    values that SciPy gives, each with the function of the optimum that it is: one node is behind all of them.
    """
    values = tuple([value for value, _ in others])
    if not LOCAL.grad:
        return x, *values
    stationary = Stationary(objective, x)
    every = None if bounds is None else Run(stationary, (x,))
    if every is not None and every.edges:
        stationary.hold(np.reshape(_free(path, every, x, *bounds), np.shape(x)))
    at, whole = stationary.start(), stationary.whole
    run = None if not np.size(at) else every if every is not None and at is x else Run(stationary, (at,))
    runs = [Run(lambda x, of=of: of(whole(x)), (at,)) for _, of in others]
    edges = tuple(dict.fromkeys([e for r in (run, *runs) if r is not None for e in r.edges]))
    if not edges:
        return x, *values
    if run is not None and run.edges:
        _check(path, at, run, why_not, stationary)

    def pull(node: Attached, gs: tuple[Any, ...]) -> list[Any]:
        """The cotangents of `edges`: through the other results to the optimum, and through that."""
        nodes = (node.own(0),) if LOCAL.grad else None
        g, sums = gs[0], [None] * len(edges)
        for (_, of), share, known in zip(others, gs[1:], runs, strict=True):
            if isinstance(share, Operand) or (share is not None and np.any(share)):  # compiled, zeros stand for none
                here = known if nodes is None else Run(lambda x, of=of: of(whole(x)), (at,), nodes)
                first, *rest = here.pull(share, (*here.variables, *edges))
                g, sums = _sum(g, first), [*map(_sum, sums, rest)]
        if run is None or g is None:
            return sums
        here = run if nodes is None else Run(stationary, (at,), nodes)
        if nodes is not None:
            here.check(path, run.value, run.edges)
        w = solved_matrix(path, here.jacobian(), g, "the Hessian")
        return [*map(_sum, sums, here.pull(-w, edges))]

    found, *rest = attached(path, (at, *values), edges, pull)
    return whole(found), *rest


def _sum(a: Any, b: Any) -> Any:
    """The sum of two cotangents, of which either may be none."""
    return b if a is None else a if b is None else a + b


def _free(path: str, run: Run, x: Any, low: Any, high: Any) -> Any:
    """Which variables no bound holds; raises where one stands at a bound that does not hold it, either.

    Methods end a little inside of a bound that holds a variable, so Newton's next step decides: beyond the bound, it is held.
    """
    x = np.atleast_1d(x)
    low, high = (np.broadcast_to(v, np.shape(x)) for v in (low, high))
    reach = 2 * STEP * (1.0 + np.max(np.abs(x), initial=0.0))  # of a step that `_check` accepts
    seen = np.minimum(x - low, high - x) <= reach
    if not np.any(seen):
        return np.full(np.shape(x), True)
    with grad_mode(False):
        g, hessian = np.atleast_1d(plain(run.value, path)), plain(run.jacobian(), path)
    hessian = np.reshape(hessian, (np.size(x), np.size(x)))
    curve, size = np.diag(hessian), np.maximum(np.abs(x), 1.0)
    below = np.where(g == 0, x - low < high - x, g > 0)  # the bound that a variable moves to
    gap = np.where(below, x - low, high - x)
    held = (gap <= AT * size) | ((gap <= _NEAR * size) & (curve <= 0) & (np.abs(g) > 10 * np.abs(curve) * gap))
    own = np.where(curve > 0, np.abs(g) / np.where(curve > 0, curve, 1.0), np.where(g == 0, 0.0, np.inf))
    if np.any(held & (own <= gap + AT * size)):
        raise singular(path, NOT_HELD)
    while np.any(seen & ~held):
        free = np.flatnonzero(~held)
        step = np.zeros(np.shape(x))
        step[free] = -solved_matrix(path, hessian[np.ix_(free, free)], g[free], "the Hessian")
        near = np.maximum(AT * size, np.minimum(step**2 / size, 0.1 * np.abs(step)))  # as far as a step can be trusted
        inside = np.minimum(x + step - low, high - x - step)
        if np.any(seen & ~held & (np.abs(inside) <= near)):
            raise singular(path, NOT_HELD)
        beyond = seen & ~held & (inside < 0)
        if not np.any(beyond):
            break
        held = held | beyond
    return ~held


def _check(path: str, x: Any, run: Run, why_not: Any, stationary: Stationary) -> None:
    """Raise where Newton's next step is not small: a kink, a bound, or a method that ended too early.

    BFGS and others call their end a failure where the last digits are lost: it counts as one where the step is not tiny.
    """
    with grad_mode(False):
        hessian = run.jacobian()
        step = solved_matrix(path, hessian, np.asarray(run.value), "the Hessian")
    share = np.max(np.abs(step), initial=0.0) / (1.0 + np.max(np.abs(x), initial=0.0))
    if why_not is not None and not share <= _TINY:
        raise not_converged(path, why_not)
    if not share <= STEP:
        raise singular(
            path,
            "the gradient is not zero there (a kink, or a method that has ended too early): set a smaller tolerance, or take a "
            "method with gradients",
        )
    if is_degenerate(stationary, x, hessian, run.value):
        raise singular(path, "the Hessian is singular next to it, so that the optimum does not move smoothly")


def _refuse_traced(path: str, bounds: Any) -> None:
    """Raise where bounds are differentiated: an optimum at one moves with it."""
    if LOCAL.grad and any(is_followed(b) for b in flatten(bounds)[0]):
        raise blame(
            NoRuleError(f"scipy.{path} has no derivative in bounds=: pass them as constants, or scale what is bounded.")
        )


def called(path: str, value: Any, args: tuple[Any, ...]) -> Any:
    """A function for SciPy, which does not move the optimum: a gradient, a Hessian."""
    return Callback(path, value, args).plain if callable(value) and not isinstance(value, type) else plain(value, path)


def tuple_of(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def with_names(driver: Driver, result: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Solved:
    """What SciPy gives, with what is differentiated under these names; the derivative of the rest raises."""

    def give(results: tuple[Any, ...]) -> Any:
        hide_the_rest(driver.path, result, results[-1], names)
        for name, value in zip(names, results, strict=True):
            result[name] = value
        return result

    return Solved(values, give)


def _minimize_scalar(driver: Driver, given: dict[str, Any]) -> Solved:
    """Minimise by `minimize_scalar`."""
    path, passed = driver.path, dict(given)
    call = Callback(path, passed.pop("fun"), passed.pop("args", ()))
    bounds = passed.get("bounds")
    _refuse_traced(path, bounds)
    passed = {k: v if callable(v) else plain(v, path) for k, v in passed.items()}
    result = driver.real(call.plain, **passed)
    objective: Objective = lambda x: number(call(x))
    why = None if result.success else result.message
    x = np.float64(result.x)
    around = None if bounds is None else plain(bounds, path)
    return with_names(
        driver, result, ("x", "fun"), optimum(path, objective, x, why, around, ((result.fun, objective),))
    )


def _of_one_number(driver: Driver, given: dict[str, Any]) -> Solved:
    """Minimise by one of the functions before `minimize_scalar`: `brent`, `golden`, `fminbound`."""
    path, passed = driver.path, dict(given)
    call = Callback(path, passed.pop("func"), passed.pop("args", ()))
    bounds = (passed["x1"], passed["x2"]) if "x1" in passed else None
    _refuse_traced(path, bounds)
    full = passed.pop("full_output", False)
    found, value, *rest = driver.real(call.plain, **{k: plain(v, path) for k, v in passed.items()}, full_output=True)
    objective: Objective = lambda x: number(call(x))
    x = np.float64(found)
    around = None if bounds is None else plain(bounds, path)
    results = optimum(path, objective, x, None, around, ((value, objective),))
    if np.isscalar(found) and results[0] is x:
        results = found, *results[1:]
    return Solved(results, lambda r: (*r, *rest) if full else r[0])


_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


def _least_squares(driver: Driver, given: dict[str, Any]) -> Solved:
    """Minimise by `least_squares`, of whose result `x`, `fun` and `cost` are differentiated."""
    path, passed = driver.path, dict(given)
    args, words = tuple_of(passed.pop("args", ())), dict(passed.pop("kwargs", None) or {})
    call = Callback(path, passed.pop("fun"), args)
    if words:
        call.function = functools.partial(call.function, **words)
    bounds, loss, scale = passed.get("bounds"), passed.get("loss", "linear"), passed.get("f_scale", 1.0)
    _refuse_traced(path, bounds)
    passed = {
        k: called(path, functools.partial(v, **words) if callable(v) else v, args) if k == "jac"
        else v if callable(v) or hasattr(v, "lb") else plain(v, path)
        for k, v in passed.items()
    }  # fmt: skip
    result = driver.real(call.plain, **passed)

    def residuals(x: Any) -> Any:
        found = call(x)
        return np.reshape(found if isinstance(found, Operand) else np.asarray(found), (-1,))

    def cost(x: Any) -> Any:
        if callable(loss):
            raise blame(
                NoRuleError(f"scipy.{path} with a function as loss= has no derivative: take one of SciPy's losses.")
            )
        r = residuals(x)
        return 0.5 * scale * scale * np.sum(_LOSSES[loss]((r / scale) ** 2))

    why = None if result.success else result.message
    others = (result.fun, residuals), (result.cost, cost)
    return with_names(
        driver, result, ("x", "fun", "cost"), optimum(path, cost, result.x, why, _pair(path, bounds), others)
    )


def _pair(path: str, bounds: Any) -> Any:
    """The bounds of least squares, each a number or an array; None where there are none."""
    if bounds is None:
        return None
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else plain(bounds, path)
    return None if np.all(np.isneginf(low)) and np.all(np.isposinf(high)) else (low, high)


def _curve_fit(driver: Driver, given: dict[str, Any]) -> Solved:
    """Fit by `curve_fit`: the parameters are differentiated in the data, sigma, and what the function reads."""
    path, passed = driver.path, dict(given)
    f, xdata, ydata = passed.pop("f"), _listed(passed.pop("xdata")), _listed(passed.pop("ydata"))
    sigma, bounds = _listed(passed.pop("sigma", None)), passed.get("bounds")
    _refuse_traced(path, bounds)
    call = Callback(path, f)
    model = functools.wraps(f)(lambda *xs: call.plain(*xs))  # whose parameters SciPy counts
    options = dict(passed.pop("kwargs", {}))
    full = passed.pop("full_output", False)
    passed = {
        k: called(path, v, ()) if k == "jac" else v if hasattr(v, "lb") else plain(v, path) for k, v in passed.items()
    }
    found, covariance, *rest = driver.real(
        model, plain(xdata, path), plain(ydata, path), sigma=plain(sigma, path), **passed, **options, full_output=full
    )

    def residuals(p: Any) -> Any:
        if passed.get("nan_policy") is not None:
            raise blame(NoRuleError(f"scipy.{path} with nan_policy= has no derivative: leave out the NaN before."))
        off = call(xdata, *[p[k] for k in range(np.shape(p)[0])]) - ydata
        if sigma is None:
            return off
        return np.linalg.solve(np.linalg.cholesky(sigma), off) if np.ndim(sigma) == 2 else off / sigma

    def cost(p: Any) -> Any:
        off = residuals(p)
        return 0.5 * np.sum(off * off)

    def spread(p: Any) -> Any:
        off, columns = _columns(residuals, p)
        inverse = np.linalg.inv(columns @ columns.T)
        return inverse if passed.get("absolute_sigma") else inverse * (np.sum(off * off) / (np.size(off) - np.size(p)))

    known = np.all(np.isfinite(covariance))  # else SciPy has found the parameters, and not how well
    others = ((covariance, spread),) if known else ()
    x, *stated = optimum(path, cost, found, None, _pair(path, bounds), others)
    edges = (x._node,) if is_followed(x) else ()
    pcov = stated[0] if stated else without_rule(path, "pcov", covariance, edges)
    return Solved((x, pcov), lambda r: (*r, *rest))


def _columns(f: Objective, x: Any) -> tuple[Any, Any]:
    """What a function of few variables gives, and how it moves with each of them, a row each: all of it traced.

    The pullback is linear in its cotangent, so that a derivative of it by the cotangent is one of the function: as many
    calls as there are variables, where the results may be many.
    """
    at, node = (x._value, x._node) if isinstance(x, Operand) else (x, None)
    run = Run(lambda x: np.reshape(f(x), (-1,)), (at,), (node,))

    def pulled(u: Any) -> Any:
        (found,) = run.pull(u, run.variables)
        return np.zeros(np.shape(at)) if found is None else found

    back = Run(pulled, (np.zeros(np.shape(run.value)),))
    rows = [back.pull(unit, back.variables)[0] for unit in np.eye(np.size(at))]
    return run.result, np.stack([np.zeros(np.shape(run.value)) if row is None else row for row in rows])


def _listed(x: Any) -> Any:
    """An array of a list that holds Tensors."""
    return stack_nested(x) if type(x) in (list, tuple) and has_tensor(x) else x


def _linear(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `lsq_linear`."""
    path, passed = driver.path, dict(given)
    a, b, bounds = _listed(passed.pop("A")), _listed(passed.pop("b")), passed.get("bounds")
    _refuse_traced(path, bounds)
    passed = {k: v if callable(v) or hasattr(v, "lb") else plain(v, path) for k, v in passed.items()}
    result = driver.real(plain(a, path), plain(b, path), **passed)
    residuals: Objective = lambda x: a @ x - b
    cost: Objective = lambda x: 0.5 * np.sum(residuals(x) ** 2)
    why, others = None if result.success else result.message, ((result.fun, residuals), (result.cost, cost))
    return with_names(
        driver, result, ("x", "fun", "cost"), optimum(path, cost, result.x, why, _pair(path, bounds), others)
    )


def _nonnegative(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `nnls`."""
    path, passed = driver.path, dict(given)
    a, b = _listed(passed.pop("A")), _listed(passed.pop("b"))
    found, norm = driver.real(plain(a, path), plain(b, path), **plain(passed, path))
    residuals: Objective = lambda x: a @ x - b
    others = ((norm, lambda x: np.linalg.norm(residuals(x))),)  # whose slope at zero is zero
    return Solved(optimum(path, lambda x: 0.5 * np.sum(residuals(x) ** 2), found, None, (0.0, np.inf), others), tuple)


minimize_scalar = Driver("optimize.minimize_scalar", _minimize_scalar)
brent, golden, fminbound = (Driver(f"optimize.{name}", _of_one_number) for name in ("brent", "golden", "fminbound"))
least_squares = Driver("optimize.least_squares", _least_squares)
curve_fit = Driver("optimize.curve_fit", _curve_fit)
lsq_linear = Driver("optimize.lsq_linear", _linear)
nnls = Driver("optimize.nnls", _nonnegative)
