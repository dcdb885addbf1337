"""Stand-ins for the functions of math, cmath and statistics inside a transform: one table, a row for each name."""

from __future__ import annotations

import cmath
import functools
import importlib
import inspect
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...runtime.errors import GradientLossError
from ...runtime.ops import Kind, Op
from ...runtime.registry import require
from ...runtime.rules import python_math
from ...runtime.rules.elementwise import astype
from ...tracer.core.dispatch import apply, has_tensor, stack_nested
from ...tracer.core.exits import leave
from ...tracer.core.listening import catches, of_sizes
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, alias, levels_of
from ...tracer.core.thread_state import LOCAL, refuse

__all__ = ["ROWS", "stand_in"]

Function = Callable[..., Any]


# Functions of numbers.


def _double(x: Any) -> Any:
    """A traced number as math takes it: a double, of Python's or of NumPy's."""
    if not isinstance(x, Operand) or x.dtype == np.float64 or x.dtype.kind == "c":  # which math refuses by itself
        return x
    return apply(require(float), (x,), {})


def _complex(x: Any) -> Any:
    """A traced number as cmath takes it: a double, or a complex number of two."""
    if isinstance(x, Operand) and x.dtype.kind == "c" and x.dtype != np.complex128:
        return astype(x, np.dtype(np.complex128))
    return x if isinstance(x, Operand) and x.dtype == np.complex128 else _double(x)


_MAY_RAISE: dict[str, Callable[..., Any]] = {  # of math: where a function raises, or (beside huge numbers) might
    **dict.fromkeys(["sin", "cos", "tan"], np.isinf), **dict.fromkeys(["log", "log2", "log10"], lambda x: x <= 0),
    **dict.fromkeys(["asin", "acos"], lambda x: abs(x) > 1), "atanh": lambda x: abs(x) >= 1, "sqrt": lambda x: x < 0,
    "acosh": lambda x: x < 1, "log1p": lambda x: x <= -1, **dict.fromkeys(["exp", "expm1"], lambda x: x > 709.782712893384),
    "exp2": lambda x: x >= 1024, **dict.fromkeys(["sinh", "cosh"], lambda x: abs(x) > 710.4758600739439),
    "gamma": lambda x: (x <= 0) | (x > 171.5), "lgamma": lambda x: (x <= 0) | (x > 1e300),
    "pow": lambda x, y: (x < 0) | ((x < 1e-10) & (y < 0)) | (x > 1e10) | (abs(y) > 30),
    **dict.fromkeys(["fmod", "remainder"], lambda x, y: (y == 0) | (abs(x) == math.inf)),
}  # fmt: skip


def _by_op(fn: Function) -> Function:
    """A function that is an op: of traced numbers a traced number of Python, and so weak."""
    take = _complex if fn.__module__ == "cmath" else _double
    may_raise = _MAY_RAISE.get(fn.__name__) if fn.__module__ == "math" else None

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = NotImplemented if kwargs else of_sizes(fn, args)
        if found is not NotImplemented:
            return found
        op = require(fn)
        fits = len(args) == sum(not p.by_name for p in op.params) or op.params[0].variadic
        fits = fits and (op.params[0].sequence or not any(isinstance(a, (list, tuple)) for a in args))
        if (not has_tensor(args) and not has_tensor(kwargs)) or not fits or (kwargs and op.kind is not Kind.opaque):
            return fn(*args, **kwargs)  # or the error of one that is called in another way
        taken = tuple(map(take, args))
        if may_raise is not None and catches() and not any(map(levels_of, taken)):
            wrong = may_raise(*taken)
            if leave(wrong, "bool") if isinstance(wrong, Operand) else wrong:
                fn(*[a._value if isinstance(a, Operand) else a for a in taken])  # its error, which the code may catch
            else:
                op = op.titled(op.title)  # behind this guard it does not raise
        return apply(op, taken, {k: take(v) for k, v in kwargs.items()})

    return call


def _composed(fn: Function, body: Function) -> Function:
    """A function that is made of others where something traced is among its arguments."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_listed, args)), {k: _listed(v) for k, v in kwargs.items()}
        if not has_tensor(args) and not has_tensor(kwargs):
            return fn(*args, **kwargs)
        return body(*args, **kwargs)

    return call


def _whole(fn: Function, rounding: Function) -> Function:
    """math.floor and its like: an int, whose slope is zero, so that a plain one loses nothing."""

    @functools.wraps(fn)
    def call(x: Any) -> Any:
        found = of_sizes(fn, (x,))
        if found is not NotImplemented:
            return found
        if (method := LOCAL.special(x, f"__{fn.__name__}__")) is not None:
            return method()
        if (method := LOCAL.special(x, "__float__")) is not None:
            x = method()
        return fn(leave(alias(apply(require(rounding), (x,), {})), "int")) if isinstance(x, Operand) else fn(x)

    return call


def _of_integers(fn: Function) -> Function:
    """A function of whole numbers, through which no gradient goes."""

    def plain(x: Any) -> Any:
        if not isinstance(x, Operand):
            return x
        return leave(x, "index") if x.dtype.kind in "biu" else x._value  # which Python refuses

    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        found = of_sizes(fn, args)
        return fn(*map(plain, args)) if found is NotImplemented else found

    return call


def _refused(fn: Function, why: str) -> Function:
    """A function that has no derivative here: of something traced it raises."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_listed, args)), {k: _listed(v) for k, v in kwargs.items()}
        if has_tensor(args) or has_tensor(kwargs):
            raise blame(
                GradientLossError(
                    f"{fn.__module__}.{fn.__name__} {why}, and the gradient of what it is given would be lost: "
                    "cut it by gs.stop_gradient(...) where none is wanted."
                )
            )
        return fn(*args, **kwargs)

    return call


def _log(fn: Function) -> Function:
    log = _by_op(fn)
    return lambda x, *base: log(x) / log(*base) if base else log(x)


def _nextafter(x: Any, y: Any, *, steps: int | None = None) -> Any:
    return apply(require(math.nextafter), (_double(x), _double(y)), {} if steps is None else {"steps": steps})


def _ldexp(x: Any, i: Any) -> Any:
    return apply(require(math.ldexp), (_double(x), i), {})


def _frexp(x: Any) -> Any:
    x = _double(x)
    exponent = python_math.exponent(x)
    return apply(require(math.ldexp), (x, -exponent), {}), exponent


def _modf(x: Any) -> Any:
    x = _double(x)
    return python_math.fraction(x), python_math.whole(x)


def _prod(values: Iterable[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, values, start)


def _polar(z: Any) -> Any:
    z = _complex(z)
    return abs(z), apply(require(cmath.phase), (z,), {})


# Functions of samples.


def _listed(values: Any) -> Any:
    """A generator, a map and the like as a list, so that it can be looked at; anything else as it is."""
    if isinstance(values, (Operand, np.ndarray, list, tuple, str, dict)) or not isinstance(values, Iterable):
        return values
    return list(values)


def _array(values: Any) -> Any:
    """A sample as an array; a number, or None, as it is."""
    if type(values) not in (list, tuple):
        return values
    return stack_nested(values) if has_tensor(values) else apply(require(np.array), (values,), {})


def _is_of_python(sample: Any) -> bool:
    """Whether a sample is a list of Python's numbers, traced ones among them."""
    return type(sample) in (list, tuple) and all(
        type(v._value if isinstance(v, Operand) else v) in (int, float, bool) for v in sample
    )


def _of_python(made: Any, sample: Any) -> Any:
    """A result as a number of Python, and so weak, where the sample is a list of such."""
    if not isinstance(made, Operand) or levels_of(made) or type(made._value) is float or not _is_of_python(sample):
        return made
    return apply(require(float), (made,), {})


def _of_samples(fn: Function) -> Function:
    """A function of lists that is an op on arrays, or has a second one on arrays that stand for lists."""

    def body(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            bound = inspect.signature(fn).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        op, of_list = require(fn), _of_lists(fn)
        if of_list is not None and all(map(_is_of_python, args)) and len(args) == len(of_list.params):
            op = of_list
        return _of_python(apply(op, tuple(map(_array, args)), {}), args[0])

    return _composed(fn, body)


def _of_lists(fn: Function) -> Op | None:
    """The op of a function that stands for it on lists of Python's numbers, where it is another one."""
    if fn is getattr(math, "sumprod", None):
        return require(python_math.sumprod)
    if fn.__module__ != "statistics":
        return None
    found = importlib.import_module("...runtime.rules.python_statistics", __package__).OF_LISTS.get(fn)
    return None if found is None else require(found)


def _picked(fn: Function, pick: Function) -> Function:
    """A function of one sample that picks elements of it: `pick` gets the array."""

    def body(data: Any, *args: Any, **kwargs: Any) -> Any:
        x = _array(data)
        if not levels_of(x):
            try:
                fn(np.asarray(x._value).tolist(), *args, **kwargs)  # its own errors
            except Exception as error:
                refuse(f"goes on after an error of statistics.{fn.__name__}")
                raise blame(error) from None
        found = pick(x, *args, **kwargs)
        return [_of_python(f, data) for f in found] if type(found) is list else _of_python(found, data)

    return _composed(fn, body)


def _median(x: Any) -> Any:
    n, ranked = x.shape[0], np.sort(x)
    return ranked[n // 2] if n % 2 else (ranked[n // 2 - 1] + ranked[n // 2]) / 2


def _median_low(x: Any) -> Any:
    return np.sort(x)[(x.shape[0] - 1) // 2]


def _median_high(x: Any) -> Any:
    return np.sort(x)[x.shape[0] // 2]


def _median_grouped(x: Any, interval: Any = 1.0) -> Any:
    middle = _median_high(x)
    below, equal = np.sum(x < middle), np.sum(x == middle)
    return middle - interval / 2.0 + interval * (x.shape[0] / 2 - below) / equal


def _quantiles(x: Any, *, n: int = 4, method: str = "exclusive") -> Any:
    length, ranked, found = x.shape[0], np.sort(x), []
    for i in range(1, n):
        if method == "inclusive":
            j, delta = divmod(i * (length - 1), n)
        else:
            j = min(max(i * (length + 1) // n, 1), length - 1)
            delta = i * (length + 1) - j * n
            j -= 1
        found.append((ranked[j] * (n - delta) + ranked[j + 1] * delta) / n)
    return found


def _mode(x: Any) -> Any:
    return x[np.argmax(np.sum(x[:, None] == x, axis=1))]


def _correlation(fn: Function) -> Function:
    by_op = _of_samples(fn)
    of_ranks = _refused(fn, "compares ranks by any method but 'linear'")
    return lambda x, y, /, *, method="linear": by_op(x, y) if method == "linear" else of_ranks(x, y, method=method)


def _linear_regression(fn: Function) -> Function:
    from ...runtime.rules.python_statistics import OF_LISTS, regression_intercept, regression_slope

    def body(x: Any, y: Any, /, *, proportional: bool = False) -> Any:
        of_slope, of_intercept = regression_slope, regression_intercept
        if _is_of_python(x) and _is_of_python(y):
            of_slope, of_intercept = OF_LISTS[of_slope], OF_LISTS[of_intercept]
        x, y = _array(x), _array(y)
        slope = of_slope(x, y, proportional)
        intercept = 0.0 if proportional else of_intercept(x, y)
        return importlib.import_module("statistics").LinearRegression(slope=slope, intercept=intercept)

    return _composed(fn, body)


def _is_traced(distribution: Any, x: Any) -> bool:
    """Whether a function of a normal distribution is of something traced, and no error."""
    sigma = distribution._sigma
    return has_tensor((x, distribution._mu, sigma)) and bool(levels_of(sigma) or sigma)


def _normal_dist(plain: Any) -> Any:
    """statistics.NormalDist whose parameters, and what its functions are given, may be traced."""
    normal_quantile = importlib.import_module("...runtime.rules.python_statistics", __package__).normal_quantile
    exp, erf, sqrt = _by_op(math.exp), _by_op(math.erf), _by_op(math.sqrt)

    class Meta(type):
        def __instancecheck__(cls, obj: Any) -> bool:
            return isinstance(obj, plain)

    class NormalDist(plain, metaclass=Meta):
        def __init__(self, mu: Any = 0.0, sigma: Any = 1.0) -> None:
            super().__init__(*[0.0 if isinstance(v, Operand) else v for v in (mu, sigma)])
            if not levels_of(sigma) and sigma < 0.0:
                raise importlib.import_module("statistics").StatisticsError("sigma must be non-negative")
            if has_tensor((mu, sigma)):
                self._mu, self._sigma = [
                    apply(require(float), (v,), {}) if has_tensor(v) else float(v) for v in (mu, sigma)
                ]

        @classmethod
        def from_samples(cls, data: Any) -> Any:
            data = _listed(data)
            mean, stdev = (
                _of_samples(getattr(importlib.import_module("statistics"), name)) for name in ("mean", "stdev")
            )
            return cls(mean(data), stdev(data)) if has_tensor(data) else plain.from_samples.__func__(cls, data)

        def pdf(self, x: Any) -> Any:
            if not _is_traced(self, x):
                return plain.pdf(self, x)
            variance = self._sigma * self._sigma
            difference = x - self._mu
            return exp(difference * difference / (-2.0 * variance)) / sqrt(math.tau * variance)

        def cdf(self, x: Any) -> Any:
            if not _is_traced(self, x):
                return plain.cdf(self, x)
            return 0.5 * (1.0 + erf((x - self._mu) / (self._sigma * math.sqrt(2.0))))

        def inv_cdf(self, p: Any) -> Any:
            if not _is_traced(self, p):
                return plain.inv_cdf(self, p)
            return normal_quantile(p, self._mu, self._sigma)

        def zscore(self, x: Any) -> Any:
            return (x - self._mu) / self._sigma if _is_traced(self, x) else plain.zscore(self, x)

    NormalDist.__module__, NormalDist.__qualname__ = "statistics", "NormalDist"
    return NormalDist


# The table: how each public name is taken, and by what its stand-in is made of the function itself.


def _rows(kind: str, make: Function | None, names: str) -> dict[str, tuple[str, Function | None]]:
    return dict.fromkeys(names.split(), (kind, make))


def _body(body: Function) -> Function:
    return lambda fn: _composed(fn, body)


def _pick(pick: Function) -> Function:
    return lambda fn: _picked(fn, pick)


ROWS: dict[str, dict[str, tuple[str, Function | None]]] = {
    "math": {
        **_rows(
            "differentiated", _by_op,
            "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees erf erfc exp exp2 expm1 fabs fma fmod gamma "
            "hypot lgamma log10 log1p log2 pow radians remainder sin sinh sqrt tan tanh",
        ),
        **_rows("differentiated", _of_samples, "dist fsum sumprod"),
        "log": ("differentiated", _log), "nextafter": ("differentiated", _body(_nextafter)),
        "frexp": ("differentiated", _body(_frexp)),
        "ldexp": ("differentiated", _body(_ldexp)), "modf": ("differentiated", _body(_modf)),
        "prod": ("differentiated", _body(_prod)),
        **_rows("constant", _by_op, "isclose isfinite isinf isnan ulp"),
        "floor": ("constant", lambda fn: _whole(fn, np.floor)), "ceil": ("constant", lambda fn: _whole(fn, np.ceil)),
        "trunc": ("constant", lambda fn: _whole(fn, np.trunc)),
        **_rows("constant", _of_integers, "comb factorial gcd isqrt lcm perm"),
        **_rows("itself", None, "e inf nan pi tau"),
    },
    "cmath": {
        **_rows(
            "differentiated", _by_op,
            "acos acosh asin asinh atan atanh cos cosh exp log10 phase rect sin sinh sqrt tan tanh",
        ),
        "log": ("differentiated", _log), "polar": ("differentiated", _body(_polar)),
        **_rows("constant", _by_op, "isclose isfinite isinf isnan"),
        **_rows("itself", None, "e inf infj nan nanj pi tau"),
    },
    "statistics": {
        **_rows(
            "differentiated", _of_samples,
            "covariance fmean geometric_mean harmonic_mean mean pstdev pvariance stdev variance",
        ),
        "correlation": ("differentiated", _correlation), "linear_regression": ("differentiated", _linear_regression),
        "median": ("differentiated", _pick(_median)), "median_low": ("differentiated", _pick(_median_low)),
        "median_high": ("differentiated", _pick(_median_high)), "mode": ("differentiated", _pick(_mode)),
        "median_grouped": ("differentiated", _pick(_median_grouped)), "quantiles": ("differentiated", _pick(_quantiles)),
        "multimode": ("refused", lambda fn: _refused(fn, "gives as many numbers as are most common")),
        "kde": ("refused", lambda fn: _refused(fn, "gives a function of plain numbers")),
        "kde_random": ("refused", lambda fn: _refused(fn, "draws random numbers")),
        "NormalDist": ("differentiated", _normal_dist), "StatisticsError": ("itself", None),
    },
}  # fmt: skip


@functools.cache
def _stand_ins(module: str) -> dict[str, tuple[Function, Function]]:
    """The functions of a module that have a stand-in, and these."""
    home = importlib.import_module(module)
    return {
        name: (getattr(home, name), make(getattr(home, name)))
        for name, (_, make) in ROWS[module].items()
        if make is not None and hasattr(home, name)
    }


def stand_in(value: Any) -> Function | None:
    """Return the replacement of a function of math, cmath or statistics inside a transform; None where there is none."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or module not in ROWS:
        return None
    if isinstance(value, types.MethodType):  # of a NormalDist
        ours = _stand_ins(module).get(type(value.__self__).__name__, (None, None))[1]
        method = vars(ours).get(value.__name__) if isinstance(ours, type) else None
        return None if method is None else functools.partial(method, value.__self__)
    original, ours = _stand_ins(module).get(getattr(value, "__name__", ""), (None, None))
    return ours if original is value else None
