"""gs.minimize: scipy.optimize.minimize with exact derivatives, on pytrees."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from ..tracer.core.site import is_ours, library_of, prune
from ..transforms.optional import load
from ..transforms.progress import Bar
from .bounds import bounds_of
from .constraints import constraints_of
from .history import History
from .layout import Layout, constant
from .objective import Objective

if TYPE_CHECKING:
    from .result import MinimizeResult

__all__ = ["minimize", "shown_to_user"]

WHO = "gs.minimize"
_WITHOUT = {"nelder-mead", "powell", "cobyla", "cobyqa"}  # derivatives
_WITH_HESSIAN = {"dogleg", "trust-exact"}
_WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov"}
_LARGE = 1000  # parameters, from which on trust-constr is given products in place of the matrix
_STOPPED = "`callback` raised `StopIteration`."


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, *, bounds: Any = None, constraints: Any = (),
    tol: float | None = None, callback: Callable[..., Any] | None = None, options: dict[str, Any] | None = None,
    progress: bool | None = None, compile: bool | None = None, keep_x: bool = False, **derivatives: Never,
) -> MinimizeResult:  # fmt: skip
    """Minimise `fun(x, *args)` from `x0` with `scipy.optimize.minimize`, given the exact derivatives that the method takes.

    `x0` is a number, an array of any shape, a list of numbers (an array, as in SciPy), or a pytree: a dict, list, tuple or
    dataclass of those. `fun` is called with the like, and so are callbacks and the functions of constraints; `x` and `jac`
    of the result are like it, too. What is left of the result, matrices among it, is SciPy's, in the order of the leaves.

    The gradient comes from the same run as the value. dogleg, trust-exact and trust-constr are given the Hessian;
    Newton-CG, trust-ncg and trust-krylov its products with vectors; Nelder-Mead, Powell, COBYLA and COBYQA nothing.
    `bounds` takes SciPy's forms, or a tree like `x0` with a pair (lower, upper) for each leaf, where None is no bound and
    entries of dicts may be left out. Functions of `constraints` have exact Jacobians. Derivatives are compiled where they
    can be; with `compile=True` a warning says where not, and with False they run eagerly.

    `history` of the result holds value, gradient, evaluations and seconds of each iteration, with `keep_x=True` the
    parameters as well, and `result.plot()` draws it. A bar shows the progress on a terminal and in notebooks, where tqdm
    is installed: never with `progress=False`, anywhere with True. Without convergence `success` is False, and `message` says why.

    Raises what `gs.grad` raises, ShapeError and DtypeError for results that are no real number, FloatingPointError for nan
    (np.inf says that x is outside of the domain), ImportError without SciPy.

    >>> import numpy as np, gradscribe as gs
    >>> start = {"a": 0.0, "b": np.zeros(2)}
    >>> found = gs.minimize(lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] - p["a"]) ** 2), start)
    >>> found.success, round(found.x["a"], 4), found.x["b"].round(4)
    (True, 1.0, array([1., 1.]))
    """
    optimize = load("scipy.optimize", WHO)
    for name in derivatives:
        if name in ("jac", "hess", "hessp"):
            raise TypeError(
                f"{WHO} takes no {name}, since it computes the exact one: leave it out (for jac=True, let fun return the "
                "value alone), or call scipy.optimize.minimize"
            )
        raise TypeError(f"minimize() got an unexpected keyword argument {name!r}")
    try:
        run = _Run(optimize, fun, x0, args, method, bounds, constraints, compile)
        return run.result(tol, callback, dict(options or {}), progress, keep_x)
    except Exception as error:
        raise shown_to_user(error) from error.__cause__


def shown_to_user(error: Exception) -> Exception:
    """Return an error with a traceback that goes from the user's call to the user's function, without SciPy between them."""
    kept: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        filename = tb.tb_frame.f_code.co_filename
        if is_ours(filename):
            while kept and _is_scipys(kept[-1].tb_frame.f_code.co_filename):
                kept.pop()
        else:
            kept.append(tb)
        tb = tb.tb_next
    chain: types.TracebackType | None = None
    for tb in reversed(kept):
        chain = types.TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    notes = getattr(error, "__notes__", [])
    notes[:] = [note for note in notes if not _names_scipy(note)]  # the place where SciPy called the user's function
    return prune(error.with_traceback(chain))


def _is_scipys(filename: str) -> bool:
    return library_of(filename) == "scipy" or filename.endswith(".pyx")  # compiled by Cython, by a path of its builder


def _names_scipy(note: str) -> bool:
    found = re.match(r"at (.*):\d+(\n|$)", note)
    return found is not None and _is_scipys(found[1])


class _Run:
    """One call of gs.minimize: what it minimises, and what SciPy is given."""

    def __init__(
        self,
        optimize: Any,
        fun: Any,
        x0: Any,
        args: Any,
        method: Any,
        bounds: Any,
        constraints: Any,
        compile: bool | None,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"{WHO} takes a function, not {type(fun).__name__}: gs.minimize(f, x0)")
        self.optimize = optimize
        self.layout = Layout(x0, WHO)
        args = constant(args if isinstance(args, tuple) else (args,), WHO)
        self.objective = Objective(fun, args, self.layout, compile)
        if method is None:
            given = constraints if not isinstance(constraints, (list, tuple)) else len(constraints)
            method = "SLSQP" if given else "L-BFGS-B" if bounds is not None else "BFGS"
        self.method = method
        self.key = "custom" if callable(method) else str(method).lower()
        self.bounds = bounds_of(bounds, self.layout, optimize, pairs=True)
        self.constraints = constraints_of(constraints, self.layout, optimize, self.key, compile)

    def derivatives(self) -> dict[str, Any]:
        """Return the functions that the method takes."""
        objective = self.objective
        if self.key in _WITHOUT:
            return {}
        found: dict[str, Any] = {"jac": objective.gradient}
        if (
            self.key in _WITH_HESSIAN
            or self.key == "custom"
            or (self.key == "trust-constr" and self.layout.size < _LARGE)
        ):
            found["hess"] = objective.hessian
        if self.key in _WITH_PRODUCTS or self.key == "custom" or (self.key == "trust-constr" and "hess" not in found):
            found["hessp"] = objective.product
        return found

    def result(
        self, tol: Any, callback: Any, options: dict[str, Any], progress: bool | None, keep_x: bool
    ) -> MinimizeResult:
        """Return what SciPy finds, in trees."""
        from .result import MinimizeResult, in_trees  # it stands on SciPy

        objective, derivatives = self.objective, self.derivatives()
        fun = objective.smooth_value if derivatives else objective.value
        bar = Bar(progress, f"{WHO} of {objective.name}", options.get("maxiter"))
        watch = _Watch(objective, callback, self.key, bar, keep_x)
        try:
            fun(self.layout.start)
            watch.record(self.layout.start, None)
            found = self.optimize.minimize(
                fun, self.layout.start.copy(), method=self.method, bounds=self.bounds, constraints=self.constraints, tol=tol,
                callback=watch.with_x_alone if self.key == "tnc" else watch.with_result, options=options, **derivatives,
            )  # fmt: skip
        except StopIteration:
            if not watch.stopped:
                raise
            found = self.optimize.OptimizeResult(success=False, status=99, message=_STOPPED, **watch.last())
        finally:
            bar.close()
        return MinimizeResult(in_trees(found, self.layout) | {"history": watch.history})


class _Watch:
    """What SciPy calls after each iteration: it records, shows, and calls the user's callback with trees."""

    def __init__(self, objective: Objective, callback: Any, key: str, bar: Bar, keep_x: bool) -> None:
        self.objective, self.layout, self.callback = objective, objective.layout, callback
        self.key, self.bar, self.keep_x = key, bar, keep_x
        self.history = History()
        self.stopped = False
        self._x: Any = None
        self._slope = np.nan
        self._value = np.nan
        takes = None if callback is None else set(inspect.signature(callback).parameters)
        self._takes_result = takes == {"intermediate_result"}

    def with_x_alone(self, xk: Any) -> Any:
        """Be called after an iteration of TNC, which knows no other form."""
        return self.with_result(xk)

    def with_result(self, intermediate_result: Any) -> Any:
        """Be called after an iteration: with SciPy's result, or by some methods and versions with x alone."""
        state = intermediate_result if isinstance(intermediate_result, dict) else None
        x = np.array(intermediate_result["x"] if state is not None else intermediate_result)
        self.record(x, state)
        self.bar.step(self._value, self._slope)
        if self.callback is None:
            return None
        try:
            return self._call(x, state)
        except StopIteration:
            self.stopped = True
            raise

    def _call(self, x: Any, state: Any) -> Any:
        tree = self.layout.tree(x)
        if not self._takes_result and self.key != "trust-constr":
            return self.callback(tree)
        shown = self.objective_result(state) if state is not None else self.objective_result({"fun": self._value})
        shown["x"] = tree
        return self.callback(intermediate_result=shown) if self._takes_result else self.callback(tree, shown)

    def objective_result(self, state: Any) -> Any:
        """Return what SciPy says of an iteration, with trees."""
        from .result import MinimizeResult, in_trees

        return MinimizeResult(in_trees(state, self.layout))

    def record(self, x: Any, state: Any) -> None:
        """Add an iteration to the history, of what has been evaluated already."""
        known = self.objective.at(x)
        if known is not None:
            self._value = known.value
            self._slope = np.nan if known.gradient is None else float(np.max(np.abs(known.gradient)))
        elif self._x is None or not np.array_equal(self._x, x):  # else it stands where it stood
            self._value, self._slope = np.nan, np.nan
        if state is not None and "fun" in state:
            self._value = float(state["fun"])
        self._x = x
        self.history.add(self._value, self._slope, self.objective.count)
        if self.keep_x:
            self.history.x.append(self.layout.tree(x.copy()))

    def last(self) -> dict[str, Any]:
        """Return the entries of a result at the last iteration."""
        known = self.objective.at(self._x)
        found: dict[str, Any] = {"x": self._x, "fun": self._value, "nit": len(self.history) - 1}
        if known is not None and known.gradient is not None:
            found["jac"] = known.gradient
        return found | {"nfev": self.objective.count}
