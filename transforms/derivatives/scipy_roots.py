"""scipy.optimize's solvers of equations: the derivative of a root is that of the implicit-function theorem."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import NoRuleError
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL, grad_mode
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
)
from .scipy_calls import Driver
from .scipy_jumps import sample

__all__ = [
    "Residual", "bisect", "brenth", "brentq", "fixed_point", "fsolve", "newton", "ridder", "root", "root_scalar", "solution_of",
    "toms748",
]  # fmt: skip

_STEP = 1e-3  # Newton's next step at what is called a solution, beside its size
_ZERO = 1e-4  # a value at a root that is none, beside the largest that SciPy has met
_DERIVATIVES = ("fprime", "fprime2", "jac")


class Residual:
    """What is zero at the solution, as a function of the solution alone: of a number, or of one axis."""

    def __init__(self, callback: Callback, first: bool = False, of_step: bool = False) -> None:
        self.callback, self.first, self.of_step = callback, first, of_step
        self.seen: list[tuple[Any, Any]] = []  # where SciPy has called it

    def plain(self, x: Any, *rest: Any) -> Any:
        """As SciPy calls it."""
        found = self.callback.plain(x)
        self.seen.append((x, found - x if self.of_step else _first(found)))
        return found

    def __call__(self, x: Any) -> Any:
        """The residual, traced."""
        found = self.callback(x)
        found = found[0] if self.first else found
        return found - x if self.of_step else found

    def flat(self, shape: tuple[int, ...]) -> Any:
        """The residual of the solution as one axis."""
        if not shape:
            return self
        return lambda x: np.reshape(_stacked(self(np.reshape(x, shape))), (-1,))


def _stacked(found: Any) -> Any:
    return found if isinstance(found, (Operand, np.ndarray)) else np.asarray(found)


def solution_of(path: str, residual: Residual, x: Any, what: str, why_not: Any = None) -> Any:
    """The solution `x`, with the derivative of the implicit-function theorem: dx = -(df/dx)^-1 df.

    S. G. Krantz, H. R. Parks, The implicit function theorem, 2002. The residual is evaluated at the solution once more,
    traced; a higher derivative evaluates it again, of the solution as it stands in the graph. `why_not` says why there is
    no solution, and raises where something is differentiated.
    """
    shape = np.shape(x)
    at, flat = (np.reshape(x, (-1,)) if shape else x), residual.flat(shape)
    if not LOCAL.grad:
        return x
    run = Run(flat, (at,))
    if not shape:
        _check_continuous(path, residual, x, run)
    if not run.edges:
        return x
    if why_not is not None:
        raise not_converged(path, why_not)
    if np.asarray(at).dtype.kind != "f" or np.asarray(run.value).dtype.kind != "f":
        raise blame(
            NoRuleError(
                f"scipy.{path} is differentiated where the solution is real, of floats, not of {np.asarray(at).dtype}: solve for "
                "the real and the imaginary part, by scipy.optimize.root."
            )
        )
    if np.shape(run.value) != np.shape(at):
        raise singular(path, f"it solves {np.size(run.value)} equations for {np.size(at)} unknowns")
    if not shape:
        _check_simple(path, residual, x, run)

    def pull(node: Attached, g: tuple[Any, ...]) -> list[Any]:
        here = run
        if LOCAL.grad:  # the derivative of a derivative
            here = Run(flat, (at,), (node.own(0),))
            here.check(path, run.value, run.edges)
        jac = here.jacobian()
        w = solved_matrix(path, jac, g[0], what)
        if shape:
            _check_zero(path, at, plain(jac, path), run.value)
        return here.pull(-w, run.edges)

    (found,) = attached(path, (at,), run.edges, pull)
    return np.reshape(found, shape) if shape and shape != np.shape(at) else found


def _check_zero(path: str, x: Any, jac: Any, value: Any) -> None:
    """Raise where Newton's next step is not small: what the method calls a solution is none, such as a minimum of "lm"."""
    step = np.max(np.abs(np.linalg.solve(jac, value)), initial=0.0)
    if not step <= _STEP * (1.0 + np.max(np.abs(x), initial=0.0)):
        raise not_converged(path, f"the equations do not hold there, and Newton's next step is of length {step:.2g}")


def _check_continuous(path: str, residual: Residual, x: Any, run: Run) -> None:
    """Raise where the sign changes by a jump, whose place moves otherwise than a root, or stays."""
    seen = [(float(s), float(f)) for s, f in residual.seen if np.size(s) == 1 == np.size(f) and not np.iscomplexobj(f)]
    at, here = float(np.real(x)), float(np.real(run.value))
    beyond = [(abs(s - at), s, f) for s, f in seen if f * here < 0]
    scale = max([abs(f) for _, f in seen], default=0.0)
    if not beyond or abs(here) <= _ZERO * scale:
        return
    _, other, there = min(beyond)
    while (middle := at + (other - at) / 2) not in (at, other):
        value = float(np.real(plain(_first(residual.callback.plain(middle)), path)))
        value -= middle if residual.of_step else 0.0
        at, here, other, there = (middle, value, other, there) if value * here > 0 else (at, here, middle, value)
    if abs(there - here) > _ZERO * scale and (
        run.edges or sample(residual, np.float64(at)).decided != sample(residual, np.float64(other)).decided
    ):
        raise singular(path, "its sign changes by a jump there, where it has no root")


def _check_simple(path: str, residual: Residual, x: Any, run: Run) -> None:
    """Raise where a root is a multiple one: the slope there is nothing beside that to the next point where SciPy looked."""
    with grad_mode(False):
        slope, at = float(run.jacobian()), float(run.value)
    scale = max(abs(float(x)), 1.0)
    near = [(abs(float(s) - float(x)), float(f)) for s, f in residual.seen if np.size(s) == 1 == np.size(f)]
    near = [(d, f) for d, f in near if 1e-9 * scale < d < 1e-4 * scale]
    if (
        slope == 0
        or is_degenerate(residual, x, slope, at)
        or (near and abs(min(near)[1] - at) / min(near)[0] > 1e3 * abs(slope))
    ):
        raise singular(path, "it is a multiple root, or a jump, where the function has no slope that tells")


def _first(found: Any) -> Any:
    return found[0] if isinstance(found, tuple) else found


def _called(driver: Driver, given: dict[str, Any], name: str, **options: Any) -> tuple[Residual, dict[str, Any]]:
    """The residual, and the arguments for SciPy: plain, with functions that have their `args`."""
    args = given.pop("args", ())
    residual = Residual(Callback(driver.path, given.pop(name), args), **options)
    passed: dict[str, Any] = {name: residual.plain}
    for key, value in given.items():
        passed[key] = Callback(driver.path, value, args).plain if key in _DERIVATIVES and callable(value) else (
            value if callable(value) else plain(value, driver.path)
        )  # fmt: skip
    return residual, passed


def _bracketed(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `brentq` and its like."""
    name = "f" if "f" in given else "func"
    residual, passed = _called(driver, given, name)
    full = passed.pop("full_output", False)
    found, result = driver.real(**passed, full_output=True)
    several = isinstance(result, (np.ndarray, np.generic))  # newton, of an array
    if several:
        result, why = None, None
    else:
        why = None if result.converged else f"the flag is {result.flag!r}"
    x = solution_of(driver.path, residual, found, "the derivative of the function", why)
    return Solved((x,), lambda r: _with_root(r[0], result) if full else r[0])


def _with_root(x: Any, result: Any) -> Any:
    result.root = x
    return x, result


def _newton(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `newton`, for one number or for an array."""
    if np.size(plain(given["x0"], driver.path)) == 1 and np.ndim(plain(given["x0"], driver.path)) == 0:
        return _bracketed(driver, given)
    residual, passed = _called(driver, given, "func")
    full = passed.pop("full_output", False)
    found = driver.real(**passed, full_output=True)
    why = None if np.all(found.converged) else "some elements have not converged"
    x = solution_of(driver.path, residual, found.root, "the derivative of the function", why)
    return Solved((x,), lambda r: type(found)(r[0], *found[1:]) if full else r[0])


def _root_scalar(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `root_scalar`, whose result has the root."""
    residual, passed = _called(driver, given, "f", first=given.get("fprime") is True)
    result = driver.real(**passed)
    why = None if result.converged else f"the flag is {result.flag!r}"
    x = solution_of(driver.path, residual, result.root, "the derivative of the function", why)
    return Solved((x,), lambda r: _with_root(r[0], result)[1])


def _root(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `root`, of whose result `x` is differentiated."""
    residual, passed = _called(driver, given, "fun", first=given.get("jac") is True)
    result = driver.real(**passed)
    why = None if result.success else result.message
    x = solution_of(driver.path, residual, result.x, "the Jacobian", why)

    def give(r: tuple[Any, ...]) -> Any:
        hide_the_rest(driver.path, result, r[0], ("fun",))
        result.x = r[0]
        return result

    return Solved((x,), give)


def _fsolve(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `fsolve`."""
    residual, passed = _called(driver, given, "func")
    full = passed.pop("full_output", False)
    found, info, flag, message = driver.real(**passed, full_output=True)
    x = solution_of(driver.path, residual, found, "the Jacobian", None if flag == 1 else message)
    if not full and flag != 1:
        driver.real(**passed)  # which warns, or raises, as it does
    return Solved((x,), lambda r: (r[0], info, flag, message) if full else r[0])


def _fixed_point(driver: Driver, given: dict[str, Any]) -> Solved:
    """Solve by `fixed_point`, where func(x) - x is zero."""
    residual, passed = _called(driver, given, "func", of_step=True)
    x = solution_of(driver.path, residual, driver.real(**passed), "the derivative of func(x) - x")
    return Solved((x,), lambda r: r[0])


brentq, brenth, ridder, bisect, toms748 = (
    Driver(f"optimize.{name}", _bracketed) for name in ("brentq", "brenth", "ridder", "bisect", "toms748")
)
newton = Driver("optimize.newton", _newton)
root_scalar = Driver("optimize.root_scalar", _root_scalar)
root = Driver("optimize.root", _root)
fsolve = Driver("optimize.fsolve", _fsolve)
fixed_point = Driver("optimize.fixed_point", _fixed_point)
