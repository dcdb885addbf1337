"""gs.curve_fit and gs.least_squares: SciPy's, with exact Jacobians, on pytrees."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.errors import ShapeError
from ..tracer.core.graph import next_sequence
from ..transforms.arguments import return_line, returned
from ..transforms.derivatives.jacobian import jacobian
from ..transforms.optional import load
from .bounds import bounds_of
from .layout import Layout, constant, is_numbers
from .minimize import shown_to_user
from .objective import Flat, Residual, as_it_compiles, constants_alone

if TYPE_CHECKING:
    from .result import MinimizeResult

__all__ = ["curve_fit", "least_squares"]

_NO_BOUNDS = (-np.inf, np.inf)


def curve_fit(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
    check_finite: bool | None = None, bounds: Any = _NO_BOUNDS, method: str | None = None, *, full_output: bool = False,
    nan_policy: str | None = None, compile: bool | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Fit `f(xdata, *p)` to `ydata` with `scipy.optimize.curve_fit` and the exact Jacobian: `(popt, pcov)`, and what it adds.

    Without `p0` the parameters are those of the signature of `f`, as in SciPy; a `p0` of numbers is their start. A dict, a
    named tuple or a dataclass is one argument, `f(xdata, p)`, a list of arrays several, and `popt` is like `p0`. `pcov` is a
    matrix, in the order of the leaves (`gs.tree.leaves`). `bounds` is a pair (lower, upper) as in SciPy, or a tree like `p0` with
    such a pair for each leaf. The Jacobian is compiled where it can be; with `compile=True` a warning says where not, and with
    False it runs eagerly. Other arguments are SciPy's.

    Raises RuntimeError where the fit does not converge, FloatingPointError where the model is nan at the start, and
    ImportError without SciPy.

    >>> import numpy as np, gradscribe as gs
    >>> t = np.linspace(0.0, 4.0, 20)
    >>> popt, pcov = gs.curve_fit(lambda t, a, k: a * np.exp(-k * t), t, 3.0 * np.exp(-0.5 * t))
    >>> popt.round(6)
    array([3. , 0.5])
    >>> popt, pcov = gs.curve_fit(lambda t, p: p["a"] * np.exp(-p["k"] * t), t, 3.0 * np.exp(-0.5 * t), {"a": 1.0, "k": 1.0})
    >>> {name: round(value, 6) for name, value in popt.items()}
    {'a': 3.0, 'k': 0.5}
    """
    who = "gs.curve_fit"
    optimize = load("scipy.optimize", who)
    if "jac" in kwargs:
        raise TypeError(
            f"{who} takes no jac, since it computes the exact one: leave it out, or call scipy.optimize.curve_fit"
        )
    try:
        xdata, ydata, sigma, p0 = (constant(one, who) for one in (xdata, ydata, sigma, p0))
        options = {
            "sigma": sigma, "absolute_sigma": absolute_sigma, "check_finite": check_finite, "method": method,
            "full_output": full_output, "nan_policy": nan_policy, **kwargs,
        }  # fmt: skip
        model = _Model(f, p0, np.size(ydata), compile)
        if model.layout is None:
            p0 = p0 if p0 is None else np.asarray(p0) + 0.0  # SciPy would first pass whole numbers as ints
            return optimize.curve_fit(
                model.as_counted(), xdata, ydata, p0, bounds=bounds, jac=model.jacobian, **options
            )
        bounds = bounds_of(bounds, model.layout, optimize, pairs=False)
        start = model.layout.start
        popt, *rest = optimize.curve_fit(model.value, xdata, ydata, start, bounds=bounds, jac=model.jacobian, **options)
        return (model.layout.tree(popt), *rest)
    except Exception as error:
        raise shown_to_user(error) from error.__cause__


class _Model:
    """A model of data and parameters, as SciPy calls it: with one number for each parameter."""

    who = "gs.curve_fit"

    def __init__(self, f: Callable[..., Any], p0: Any, count: int, compile: bool | None) -> None:
        if not callable(f):
            raise TypeError(f"{self.who} takes a function, not {type(f).__name__}: gs.curve_fit(f, xdata, ydata)")
        self.f, self.count, self.compile = f, count, compile
        self.name = str(getattr(f, "__name__", type(f).__name__))
        self.layout = None if p0 is None or isinstance(p0, np.ndarray) or is_numbers(p0) else Layout(p0, self.who)
        self.several = type(p0) in (list, tuple)
        self.began = next_sequence()
        self._evaluated = False
        self._jacobian: Any = None

    def _arguments(self, p: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what the user's function takes behind the data."""
        if self.layout is None:
            return p
        tree = self.layout.tree(np.array(p))
        return tuple(tree) if self.several else (tree,)

    def as_counted(self) -> Callable[..., Any]:
        """Return the model as a function of the user's signature, whose parameters SciPy counts."""
        return functools.wraps(self.f)(lambda xdata, *p: self.value(xdata, *p))

    def value(self, xdata: Any, *p: Any) -> Any:
        """Return what the model says of the data."""
        found = self.f(xdata, *self._arguments(p))
        if found is None:
            what, what_to_do = returned(self.f, found)
            raise ShapeError(f"{self.who} needs an array, but {what}.\n{what_to_do}")
        found = constants_alone(found, self.began, self.who, self.name)
        if not self._evaluated and np.isnan(found).any():
            raise FloatingPointError(
                f"{self.who}: `{self.name}` returned nan at {return_line(self.f)} for the parameters at the start: give a p0 "
                "where it is finite"
            )
        self._evaluated = True
        return found

    def jacobian(self, xdata: Any, *p: Any) -> Any:
        """Return the derivatives by the parameters: a row for each datum."""
        args = self._arguments(p)
        if self._jacobian is None:
            argnums = tuple(range(1, 1 + len(args)))
            self._jacobian = as_it_compiles(jacobian(Flat(self.f, {}), argnums=argnums), self.compile)
        found = constants_alone(self._jacobian(xdata, *args), self.began, self.who, self.name)
        if self.layout is None:
            rows = np.stack([np.ravel(column) for column in found], axis=-1)
        else:
            rows = self.layout.rows(found)
        if len(rows) == 1:  # a model that is one number for all data
            count = self.count if not isinstance(xdata, np.ndarray) or not xdata.ndim else xdata.shape[-1]
            rows = np.broadcast_to(rows, (count, rows.shape[1]))
        return rows


def least_squares(
    fun: Callable[..., Any], x0: Any, bounds: Any = _NO_BOUNDS, method: str = "trf", *, args: Any = (),
    kwargs: dict[str, Any] | None = None, compile: bool | None = None, **options: Any,
) -> MinimizeResult:  # fmt: skip
    """Minimise the sum of squares of `fun(x, *args, **kwargs)` with `scipy.optimize.least_squares` and the exact Jacobian.

    `x0` is a pytree, as for `gs.minimize`; `x` and `grad` of the result are like it, and `jac` is a matrix with a row for each
    residual, in the order of the leaves. Residuals may be any tree of arrays. `bounds` is a pair (lower, upper), or a tree
    like `x0` with such a pair for each leaf. `options` are SciPy's (`loss`, `x_scale`, `max_nfev` ...).

    >>> import numpy as np, gradscribe as gs
    >>> found = gs.least_squares(lambda p: [p["a"] - 1.0, 10.0 * (p["b"] - p["a"] ** 2)], {"a": -1.0, "b": 1.0})
    >>> {name: round(value, 6) for name, value in found.x.items()}
    {'a': 1.0, 'b': 1.0}
    """
    who = "gs.least_squares"
    optimize = load("scipy.optimize", who)
    from .result import MinimizeResult, in_trees  # it stands on SciPy

    if "jac" in options:
        raise TypeError(
            f"{who} takes no jac, since it computes the exact one: leave it out, or call scipy.optimize.least_squares"
        )
    if not callable(fun):
        raise TypeError(f"{who} takes a function, not {type(fun).__name__}: gs.least_squares(f, x0)")
    try:
        layout = Layout(x0, who)
        named = constant(dict(kwargs or {}), who)
        function = functools.partial(fun, **named) if named else fun
        residual = Residual(function, constant(args if isinstance(args, tuple) else (args,), who), layout, compile)
        if options.get("callback") is not None:
            options["callback"] = _in_trees(options["callback"], layout)
        if not isinstance(options.get("x_scale"), (str, int, float, type(None))):
            options["x_scale"] = layout.vector(options["x_scale"])
        bounds = bounds_of(bounds, layout, optimize, pairs=False)
        found = optimize.least_squares(residual.value, layout.start, residual.jacobian, bounds, method, **options)
        return MinimizeResult(in_trees(found, layout, ("x", "grad")))
    except Exception as error:
        raise shown_to_user(error) from error.__cause__


def _in_trees(callback: Callable[..., Any], layout: Layout) -> Callable[..., Any]:
    """Return a callback that SciPy calls with vectors and the user's with trees."""
    from .result import MinimizeResult, in_trees

    if set(inspect.signature(callback).parameters) != {"intermediate_result"}:
        return lambda x: callback(layout.tree(np.array(x)))

    def with_result(intermediate_result: Any) -> Any:
        return callback(intermediate_result=MinimizeResult(in_trees(intermediate_result, layout, ("x", "grad"))))

    return with_result
