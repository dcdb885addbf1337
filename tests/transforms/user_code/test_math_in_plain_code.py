"""math, cmath and statistics in plain code under a transform: each name keeps its gradient, is constant, or refuses."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import math as m
import operator
import statistics
import sys
from collections.abc import Callable
from math import erf
from math import exp as e_to
from statistics import stdev
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.user_code.math_names import ROWS

# Every public name has a row: a new one in a later Python fails here, so that somebody decides.


@pytest.mark.parametrize("module", [math, cmath, statistics])
def test_every_public_name_has_a_row(module: Any) -> None:
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    rows = ROWS[module.__name__]
    assert not set(names) - set(rows) - {"LinearRegression"}, "differentiated, constant, itself or refused?"
    assert {kind for kind, _ in rows.values()} <= {"differentiated", "constant", "itself", "refused"}


# One function of one real number for each differentiated name; the point, and two others for a compiled function.

Cases = dict[str, tuple[Callable[[Any], Any], tuple[float, float, float]]]
AT, INSIDE, ABOVE = (0.7, 1.3, 2.1), (0.3, -0.5, 0.8), (1.2, 1.9, 3.4)

OF_NUMBERS = """
    atan asinh cbrt cos cosh degrees erf erfc exp exp2 expm1 fabs gamma lgamma log log10 log1p log2 radians sin sinh sqrt tan
    tanh
"""
OF_COMPLEX = "exp log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh log"
OF_SAMPLES = """
    mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped pstdev pvariance stdev variance
"""


def of_number(fn: Any) -> Callable[[Any], Any]:
    """A function of one number, called by a name of the user's."""
    return lambda x: fn(x)


def of_complex(fn: Any) -> Callable[[Any], Any]:
    """A function of a complex number, whose both parts count."""
    return lambda x: fn(x * (0.8 + 0.6j) + 0.1j).real + 2 * fn(complex(0.3, 0.2) * x).imag


def of_sample(fn: Any) -> Callable[[Any], Any]:
    """A function of a list."""
    return lambda x: fn([x, 2.5 * x * x, 3.7, 0.9 * x])


def of_samples(fn: Any) -> Callable[[Any], Any]:
    """A function of two lists."""
    return lambda x: fn([x, 2.5 * x * x, 3.7, 1.0], (2.0, x, x * x, 0.3))


MATH: Cases = {
    **{name: (of_number(getattr(math, name)), AT) for name in OF_NUMBERS.split()},
    **{name: (of_number(getattr(math, name)), INSIDE) for name in ("acos", "asin", "atanh")},
    "acosh": (lambda x: math.acosh(x), ABOVE),
    "atan2": (lambda x: math.atan2(x, 2.0) + math.atan2(1.5, x), AT),
    "copysign": (lambda x: math.copysign(x, -2.0) + math.copysign(3.0, x), AT),
    "fmod": (lambda x: math.fmod(x, 0.4) * 2 + math.fmod(7.1, x), AT),
    "remainder": (lambda x: math.remainder(x, 0.39) * 2 + math.remainder(7.0, x), AT),
    "pow": (lambda x: math.pow(x, 2.5) + math.pow(2, x) + math.pow(x, x), AT),
    "hypot": (lambda x: math.hypot(x, 2.0, x * x) + math.hypot(x), AT),
    "ldexp": (lambda x: math.ldexp(x, 3) * x, AT),
    "frexp": (lambda x: math.frexp(x)[0] * math.frexp(x)[1] + x, (0.7, 1.3, 2.7)),
    "modf": (lambda x: math.modf(x * 3)[0] + x * math.modf(x * 3)[1], AT),
    "nextafter": (lambda x: math.nextafter(x, 9.0) * x, AT),
    "fsum": (lambda x: math.fsum([x, 1e16, x * x, -1e16, 3]), AT),
    "dist": (lambda x: math.dist([x, 2.0], (1.5, x * x)), AT),
    "prod": (lambda x: math.prod([x, 2, x * x], start=3) + math.prod(v * x for v in (1.0, 2.0)), AT),
    "sumprod": (lambda x: math.sumprod([x, 2.0], [x, x]), AT),
    "fma": (lambda x: math.fma(x, x, x), AT),
}  # fmt: skip
CMATH: Cases = {
    **{name: (of_complex(getattr(cmath, name)), AT) for name in OF_COMPLEX.split()},
    "phase": (lambda x: cmath.phase(x + 1j) + cmath.phase(x * 1j - 1.0), AT),
    "polar": (lambda x: cmath.polar(x + 2j)[0] * cmath.polar(x * x + 2j)[1], AT),
    "rect": (lambda x: cmath.rect(x, x * x).imag + cmath.rect(2.0, x).real, AT),
}  # fmt: skip
STATISTICS: Cases = {
    **{name: (of_sample(getattr(statistics, name)), AT) for name in OF_SAMPLES.split()},
    "mode": (lambda x: statistics.mode([x * x, x, x, 3.0]), AT),
    "quantiles": (lambda x: functools.reduce(operator.add, statistics.quantiles([x, 2.5 * x, 3.7, x * x, 9.0], n=5)), AT),
    **{name: (of_samples(getattr(statistics, name)), AT) for name in ("covariance", "correlation")},
    "NormalDist": (lambda x: statistics.NormalDist(x, 1 + x).cdf(2.0) + statistics.NormalDist(0.5, 2.0).pdf(x)
                   + statistics.NormalDist(x, x * x).inv_cdf(0.3 * x) * statistics.NormalDist(sigma=x).zscore(x), AT),
    "linear_regression": (
        lambda x: (lambda line: line.slope + 3 * line.intercept)(statistics.linear_regression([x, 2.0, 5.0], [1.0, x * x, x])),
        AT,
    ),
}  # fmt: skip
ALL = {
    **{f"math.{k}": v for k, v in MATH.items()}, **{f"cmath.{k}": v for k, v in CMATH.items()},
    **{f"statistics.{k}": v for k, v in STATISTICS.items()},
    "math.log of a base": (lambda x: math.log(x, 10) + math.log(7.0, x + 1), AT),
    "cmath.log of a base": (lambda x: cmath.log(x * 1j, x + 2).real, AT),
    "cmath at a cut": (lambda x: (cmath.asin(x + 1) + cmath.acos(x + 1) + cmath.acosh(-x) + cmath.atanh(x + 1)
                                  + cmath.sqrt(-x) + cmath.log(-x)).imag, AT),
    "statistics.fmean of weights": (lambda x: statistics.fmean([x, 2.0, x * x], weights=[1.0, x, 3.0]), AT),
    "statistics.harmonic_mean of weights": (lambda x: statistics.harmonic_mean([x, 2.0, x * x], weights=[1.0, x, 3.0]), AT),
    "statistics.stdev about": (lambda x: statistics.stdev([x, 2.0, x * x], xbar=x * 1.5), AT),
    "statistics.pvariance about": (lambda x: statistics.pvariance([x, 2.0, x * x], mu=x * 1.5), AT),
    "statistics.quantiles inclusive": (lambda x: statistics.quantiles([x, 2.0, x * x, 7.0], method="inclusive")[0], AT),
    "statistics.linear_regression through 0": (
        lambda x: statistics.linear_regression([x, 2.0, 5.0], [1.0, x * x, x], proportional=True).slope, AT),
    "math.ldexp of frexp": (lambda x: math.ldexp(*math.frexp(x)) * x, (0.7, 1.3, 2.7)),
    "statistics.NormalDist of samples": (lambda x: statistics.NormalDist.from_samples([x, 1.0, 2 * x]).cdf(1.1), AT),
    "statistics.mean of a generator": (lambda x: statistics.mean(v * x for v in (1.0, 2.0, x)), AT),
}  # fmt: skip


def there(name: str) -> bool:
    """Whether this Python has a name (fma and sumprod came later)."""
    module, _, rest = name.partition(".")
    return not rest or " " in name or hasattr({"math": math, "cmath": cmath, "statistics": statistics}[module], rest)


def test_every_differentiated_name_is_tried() -> None:
    for module, cases in (("math", MATH), ("cmath", CMATH), ("statistics", STATISTICS)):
        assert {n for n, (kind, _) in ROWS[module].items() if kind == "differentiated"} == set(cases)


def slope(f: Callable[[float], float], x: float) -> float:
    """A derivative by central differences of fourth order."""
    h = 1e-3
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", [n for n in ALL if there(n)])
def test_values_are_pythons_and_gradients_those_of_differences(name: str) -> None:
    f, points = ALL[name]
    compiled = gs.compile(gs.value_and_grad(f))
    for x in points:
        value, grad = gs.value_and_grad(f)(x)
        assert value == f(x)
        assert type(value) is type(f(x)), "a Python number"
        assert grad == pytest.approx(slope(f, x), rel=1e-7, abs=1e-8)
        again = compiled(x)
        assert again == (value, grad), "bit for bit"
        assert type(again[0]) is type(value)
    assert compiled.source(points[0])


@pytest.mark.parametrize("name", [n for n in ALL if there(n)])
def test_second_derivatives_and_forward_mode(name: str) -> None:
    f, (x, *_) = ALL[name]
    if name in ("math.nextafter", "math.fsum"):  # whose differences are rounding
        return
    assert gs.grad(gs.grad(f))(x) == pytest.approx(slope(gs.grad(f), x), rel=1e-6, abs=1e-7)
    assert gs.jvp(f, (x,), (1.0,))[1] == pytest.approx(gs.grad(f)(x), rel=1e-12)


@pytest.mark.parametrize("name", [n for n in ALL if there(n)])
def test_vmap_is_a_loop(name: str) -> None:
    f, points = ALL[name]
    if "frexp" in name or name == "statistics.quantiles":
        points = points[:1] * 2
    found = gs.vmap(gs.grad(f))(np.array(points))
    assert found == pytest.approx([gs.grad(f)(x) for x in points], rel=1e-9, abs=1e-12)


# Python sums products of its own floats in one way, and those of NumPy's in another: each as plain Python has it.

TWO_LISTS = {
    "fmean": statistics.fmean, "covariance": statistics.covariance, "correlation": statistics.correlation,
    "slope": lambda x, y: statistics.linear_regression(x, y).slope,
    "slope through 0": lambda x, y: statistics.linear_regression(x, y, proportional=True).slope,
    "intercept": lambda x, y: statistics.linear_regression(x, y).intercept,
    "sumprod": lambda x, y: math.sumprod(x, y), "geometric_mean": lambda x, y: statistics.geometric_mean(x),
}  # fmt: skip
KINDS_OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "lists": list, "tuples": tuple, "arrays": np.array, "lists of NumPy's numbers": lambda x: list(np.array(x)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS_OF_NUMBERS)
@pytest.mark.parametrize("name", [n for n in TWO_LISTS if n != "sumprod" or there("math.sumprod")])
def test_products_are_summed_as_python_sums_them(name: str, kind: str) -> None:
    fn, made = TWO_LISTS[name], KINDS_OF_NUMBERS[kind]

    def f(x: Any) -> Any:
        return fn(made([x, 0.1, x * x, 1e3 * x, 7.3]), made([0.3, x, 1.1, 1 / x, 2.0]))

    compiled = gs.compile(gs.value_and_grad(f))
    for x in (0.7, 1.3, 2.1, 0.1, 3.3):
        value, grad = gs.value_and_grad(f)(x)
        assert value == f(x)
        assert grad == pytest.approx(slope(f, x), rel=1e-5, abs=1e-7)
        assert compiled(x) == (value, grad)


# What is constant between its jumps, and what asks: no gradient, no loss, no warning.

CONSTANT: dict[str, Callable[[Any], Any]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "isnan": math.isnan, "isinf": math.isinf,
    "isfinite": math.isfinite, "isclose": lambda x: math.isclose(x, 2.5, rel_tol=0.5), "ulp": math.ulp,
    "comb": lambda x: math.comb(math.floor(x) + 5, 2), "lcm": lambda x: math.lcm(math.ceil(x), 6),
    "cmath.isnan": lambda x: cmath.isnan(x * 1j), "cmath.isinf": lambda x: cmath.isinf(x * 1j),
    "cmath.isfinite": lambda x: cmath.isfinite(x * 1j), "cmath.isclose": lambda x: cmath.isclose(x * 1j, 2.5j, abs_tol=0.05),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANT)
def test_what_is_constant_loses_nothing(name: str) -> None:
    ask = CONSTANT[name]

    def f(x: Any) -> Any:
        found = ask(x)
        return x * x if found else x * 3.0 + found

    def g(x: Any) -> Any:
        return x * ask(x)

    for of in (f, g):
        compiled = gs.compile(gs.value_and_grad(of))
        for x in (2.5, 2.6, 7.25, 0.25):
            assert gs.value_and_grad(of)(x)[0] == of(x)
            assert gs.grad(of)(x) == pytest.approx(slope(of, x), abs=1e-9)
            assert compiled(x) == gs.value_and_grad(of)(x)


def test_whole_numbers_are_plain_ones() -> None:
    def f(x: Any) -> Any:
        n = math.floor(x)
        assert type(n) is int
        return (
            x * math.factorial(n)
            + math.comb(5, n)
            + math.gcd(n, 6)
            + [0.0, 1.0, x, 2.0][n]
            + math.isqrt(n)
            + math.perm(4, n)
        )

    assert gs.value_and_grad(f)(2.5) == (f(2.5), 3.0)
    compiled = gs.compile(gs.value_and_grad(f))
    for x in (2.5, 2.75, 1.5, 3.5):
        assert compiled(x) == gs.value_and_grad(f)(x)


# Errors are Python's.

ERRORS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sqrt": (math.sqrt, -1.0), "log": (math.log, 0.0), "log1p": (math.log1p, -1.0), "acos": (math.acos, 1.5),
    "exp": (math.exp, 800.0), "cosh": (math.cosh, 800.0), "gamma": (math.gamma, -2.0), "gamma too large": (math.gamma, 200.0),
    "lgamma": (math.lgamma, 0.0), "atanh": (math.atanh, 1.0), "acosh": (math.acosh, 0.5), "sin of inf": (math.sin, math.inf),
    "pow": (lambda x: math.pow(x, 0.5), -1.0), "pow too large": (lambda x: math.pow(x, 400.0), 1e3),
    "fmod": (lambda x: math.fmod(2.0, x), 0.0), "remainder": (lambda x: math.remainder(2.0, x), 0.0),
    "ldexp": (lambda x: math.ldexp(x, 5000), 1.0), "log to base 1": (lambda x: math.log(x + 1, x), 1.0),
    "floor of nan": (lambda x: x * math.floor(x), math.nan), "ceil of inf": (lambda x: x * math.ceil(x), math.inf),
    "round of nan": (lambda x: x * round(x), math.nan),
    "cmath.log": (cmath.log, 0.0), "cmath.exp": (lambda x: cmath.exp(x).real, 800.0),
    "dist": (lambda x: math.dist([x], [1.0, 2.0]), 1.0), "stdev": (lambda x: stdev([x]), 1.0),
    "geometric_mean": (lambda x: statistics.geometric_mean([x, 1.0]), -1.0),
    "correlation": (lambda x: statistics.correlation([x, x], [1.0, 2.0]), 1.0),
    "quantiles": (lambda x: statistics.quantiles([x], n=0)[0], 1.0),
    "NormalDist": (lambda x: statistics.NormalDist(1.0, x).mean, -1.0),
    "pdf": (lambda x: statistics.NormalDist(1.0, x).pdf(2.0), 0.0),
    "inv_cdf": (lambda x: statistics.NormalDist().inv_cdf(x), 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_plain_python(name: str) -> None:
    f, bad = ERRORS[name]
    with pytest.raises(Exception) as plain:
        f(bad)
    compiled = gs.compile(gs.grad(f))
    for call in (gs.grad(f), compiled, compiled):
        with pytest.raises(type(plain.value)) as caught:
            call(bad)
        assert str(caught.value).split("\n")[0] == str(plain.value)
    assert plain.value.args


CALLED_WRONGLY: dict[str, Callable[[Any], Any]] = {
    "two for one": lambda x: math.sin(x, x), "one for two": lambda x: math.atan2(x), "by name": lambda x: math.sin(x=x),  # type: ignore[call-arg]
    "complex": lambda x: math.sin(x * 1j), "text": lambda x: math.fmod(x, "a"), "a list": lambda x: math.exp([x]),  # type: ignore[arg-type]
    "of an array": lambda x: math.exp(np.ones(3) * x), "three for two": lambda x: math.pow(x, x, x),  # type: ignore[call-arg]
    "other lengths": lambda x: math.dist([x], [x, x]), "of float": lambda x: math.factorial(x), "gcd": lambda x: math.gcd(x, 2),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED_WRONGLY)
def test_what_is_called_wrongly_raises_as_in_python(name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as plain:
        CALLED_WRONGLY[name](1.5)
    with pytest.raises(type(plain.value)) as caught:
        gs.grad(CALLED_WRONGLY[name])(1.5)
    assert str(caught.value).split("\n")[0] == str(plain.value)


def test_an_error_of_a_later_call_is_pythons_too() -> None:
    compiled = gs.compile(gs.grad(lambda x: math.sqrt(x) * math.log(x)))
    assert [compiled(x) for x in (1.5, 2.5)] == [gs.grad(lambda x: math.sqrt(x) * math.log(x))(x) for x in (1.5, 2.5)]
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        compiled(-1.0)
    assert compiled(1.5) == gs.grad(lambda x: math.sqrt(x) * math.log(x))(1.5)


CAUGHT: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "log": (math.log, (2.0, 3.0, -1.0, 2.5, -2.0)), "exp": (math.exp, (2.0, 800.0, 3.0)), "acosh": (math.acosh, (2.0, 0.5, 3.0)),
    "pow": (lambda x: math.pow(x, 1.5), (2.0, -2.0, 3.0)), "gamma": (math.gamma, (2.5, -2.0, 500.0, 3.0)),
    "fmod": (lambda x: math.fmod(7.25, x), (2.0, 0.0, 3.0)), "sin": (math.sin, (2.0, math.inf, 3.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUGHT)
def test_an_error_that_the_code_catches(name: str) -> None:
    fn, points = CAUGHT[name]

    def f(x: Any) -> Any:
        try:
            return fn(x) * 2.0
        except (ValueError, OverflowError):
            return x * 5.0

    compiled = gs.compile(gs.grad(f))
    for x in points:
        expected = slope(lambda t: fn(t) * 2.0, x) if x in (2.0, 3.0, 2.5) else 5.0
        assert gs.grad(f)(x) == pytest.approx(expected)
        assert compiled(x) == gs.grad(f)(x)
    assert compiled.source(points[0])


# Extremes, where a rule that squares or divides Python's numbers would raise.


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (math.atan, 1e200, 0.0), (math.asinh, 1e200, 1e-200), (math.asinh, -1e200, 1e-200), (math.erf, 1e200, 0.0),
        (math.erfc, -1e200, 0.0), (math.tanh, 1e3, 0.0), (lambda x: math.atan2(x, 1e-200), 1e-200, 0.5e200),
        (lambda x: math.hypot(x, 1e200), 1e200, math.sqrt(0.5)), (lambda x: math.pow(x, 0.5), 0.0, math.inf),
        (lambda x: math.pow(x, 2.0), 0.0, 0.0), (lambda x: math.pow(x, 0.0), 0.0, 0.0), (math.sqrt, 0.0, math.inf),
        (math.hypot, 0.0, 0.0), (lambda x: math.dist([x], [1.0]), 1.0, 0.0), (lambda x: statistics.pstdev([x, x]), 1.0, 0.0),
        (lambda x: math.atan2(x, 0.0), 0.0, 0.0), (math.lgamma, 1e300, math.log(1e300)), (math.asin, 1.0, math.inf),
    ],
)  # fmt: skip
def test_extremes(f: Any, x: float, expected: float) -> None:
    assert gs.grad(f)(x) == pytest.approx(expected, rel=1e-12)
    assert gs.compile(gs.grad(f))(x) == gs.grad(f)(x)


# To fourteen digits.

DIGAMMA = [  # by mpmath, to 40 digits
    (1e-8, -100000000.57721564636), (0.3, -3.5025242222001331249), (1.0, -0.57721566490153286061), (1.7, 0.20854787487349392145),
    (12.5, 2.4851956512749120482), (170.0, 5.1328543770833071812), (-0.5, 0.036489973978576520559), (-7.3, 4.3373073055100501422),
    (1e15, 34.53877639491068476),
]  # fmt: skip


@pytest.mark.parametrize(("x", "expected"), DIGAMMA)
def test_digamma_has_fourteen_digits(x: float, expected: float) -> None:
    assert gs.grad(lambda t: math.lgamma(t))(x) == pytest.approx(expected, rel=2e-14)
    if x < 100:
        assert gs.grad(lambda t: math.gamma(t))(x) == pytest.approx(math.gamma(x) * expected, rel=2e-14)


# Where the name comes from, and how it is called.


class _Model:
    scale = 2.0

    def value(self, x: Any) -> Any:
        return m.erf(x) * self.scale

    @staticmethod
    def still(x: Any) -> Any:
        return e_to(-x)


def helper(x: Any, fn: Any = math.gamma) -> Any:
    return fn(x) + erf(x)


def local_import(x: Any) -> Any:
    import math as mathematics

    return mathematics.erf(x) * x


WAYS: dict[str, Callable[[Any], Any]] = {
    "alias of the module": lambda x: m.erf(x) * m.gamma(x),
    "imported name": lambda x: erf(x) * e_to(x),
    "helper and default": lambda x: helper(x) * x,
    "another function as argument": lambda x: helper(x, math.lgamma),
    "map": lambda x: sum(map(math.exp, [x, 2.0, x * x])),
    "map of two": lambda x: sum(map(math.pow, [x, 2.0], [3.0, x])),
    "comprehension": lambda x: sum([math.erf(v) for v in (x, x * x)]),
    "generator": lambda x: math.fsum(math.erfc(v) for v in (x, x * x)),
    "key=": lambda x: max([x, -x, 3.0 * x], key=math.exp) + min([x, 2 * x], key=lambda v: math.cos(v)),
    "sorted key=": lambda x: sorted([x, -x, 0.1], key=math.atan)[2] * x,
    "partial": lambda x: functools.partial(math.pow, 2.0)(x) + functools.partial(math.hypot, x)(3.0),
    "reduce": lambda x: functools.reduce(math.hypot, [x, 1.0, x * x]),
    "closure": (lambda f: lambda x: f(x) * x)(math.erf),
    "local import": local_import,
    "starmap": lambda x: sum(itertools.starmap(math.atan2, [(x, 1.0), (2.0, x)])),
    "filter": lambda x: sum(filter(math.isfinite, [x, math.inf, x * x])),
    "accumulate": lambda x: [*itertools.accumulate([x, 1.0, x * x], math.hypot)][-1],
    "imported statistics": lambda x: stdev([x, 1.0, x * x]),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_the_function(way: str) -> None:
    f = WAYS[way]
    compiled = gs.compile(gs.value_and_grad(f))
    for x in AT:
        value, grad = gs.value_and_grad(f)(x)
        # From Python 3.12 on, `sum` carries the rounding errors of floats along; those that are traced it adds one by one.
        assert value == (f(x) if sys.version_info < (3, 12) else pytest.approx(f(x), rel=1e-15))
        assert grad == pytest.approx(slope(f, x), rel=1e-7)
        assert compiled(x) == (value, grad)


standard = statistics.NormalDist(0.5, 2.0)
normal_cdf, normal_quantile = standard.cdf, standard.inv_cdf


def test_methods_of_a_distribution_under_a_name_of_their_own() -> None:
    def f(x: Any) -> Any:
        return normal_cdf(x) * normal_quantile(x / 4)

    assert gs.value_and_grad(f)(0.7) == (f(0.7), pytest.approx(slope(f, 0.7), rel=1e-8))
    assert type(standard) is statistics.NormalDist


BUILTINS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: sum([x, 2.0, x * x]) + sum((x, 1.0), start=x),
    "min, max": lambda x: max(x, 0.5, x * x) + min([x, 3.0]) + max([], default=x),
    "abs": lambda x: abs(-x) * abs(x), "round": lambda x: round(x) * x,
    "divmod": lambda x: divmod(x, 0.39)[1] + divmod(x, 0.39)[0] * x + divmod(7.1, x)[1],
    "pow": lambda x: pow(x, 3) + pow(2.0, x) + pow(x, -0.5),
    "operator": lambda x: operator.add(x, 1.0) * operator.neg(x) + operator.truediv(2, x) + operator.mod(x, 0.4)
    + operator.pow(x, 2) - operator.sub(x, x * x) * operator.pos(x) + operator.abs(x) + operator.floordiv(x, 0.4) * x,
    "operator in reduce": lambda x: functools.reduce(operator.mul, [x, 2.0, x]),
    "complex": lambda x: (lambda z: abs(z) + z.real * z.imag + (z * z.conjugate()).real)(cmath.exp(x * 1j) + x),
    "itemgetter": lambda x: operator.itemgetter(1)([0.0, x]) * x,
}  # fmt: skip


@pytest.mark.parametrize("name", BUILTINS)
def test_builtins_of_traced_numbers(name: str) -> None:
    f = BUILTINS[name]
    compiled = gs.compile(gs.value_and_grad(f))
    for x in AT:
        value, grad = gs.value_and_grad(f)(x)
        # From Python 3.12 on, `sum` carries the rounding errors of floats along; those that are traced it adds one by one.
        assert value == (f(x) if sys.version_info < (3, 12) else pytest.approx(f(x), rel=1e-15))
        assert grad == pytest.approx(slope(f, x), rel=1e-7)
        assert compiled(x) == (value, grad)


def test_a_number_rounded_to_places_runs_eagerly_since_it_may_be_a_key() -> None:
    def f(x: Any) -> Any:
        return round(x, 1) * x

    compiled = gs.compile(gs.value_and_grad(f))
    found = [compiled(x) for x in AT[:2]]
    with pytest.warns(gs.EagerWarning, match="turns a traced float into a number that differs"):
        found.append(compiled(AT[2]))
    assert found == [(f(x), round(x, 1)) for x in AT]


# Types: a Python number stays weak, and statistics of an array give what Python gives.


def test_a_number_of_math_is_weak() -> None:
    def f(x: Any, a: Any) -> Any:
        return np.sum(a * math.erf(x) + math.hypot(x, 1.0) * a)

    a = np.array([1.0, 2.0], np.float32)
    assert f(0.5, a).dtype == np.float32
    for call in (gs.value_and_grad(f), gs.compile(gs.value_and_grad(f))):
        value, grad = call(0.5, a)
        assert value.dtype == np.float32
        assert value == f(0.5, a)
        assert grad == pytest.approx(slope(lambda x: f(x, a.astype(float)), 0.5), rel=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_elements_of_arrays_are_taken_as_doubles(kind: Any) -> None:
    def f(a: Any) -> Any:
        return math.gamma(a[0]) * math.erf(a[1])

    a = np.array([1.5, 0.25], kind)
    value, grad = gs.value_and_grad(f)(a)
    assert (value, type(value)) == (f(a), float)
    assert grad.dtype == kind
    assert grad == pytest.approx(gs.grad(f)(a.astype(float)), rel=1e-3 if kind is np.float16 else 1e-6)


@pytest.mark.parametrize(
    "name", ["mean", "fmean", "median", "stdev", "pvariance", "median_low", "harmonic_mean", "mode"]
)
def test_statistics_of_an_array(name: str) -> None:
    x = np.array([1.5, 0.75, 2.5, 2.25, 0.5])
    f = getattr(statistics, name)
    compiled = gs.compile(gs.value_and_grad(lambda a: f(a) * 2))
    for k in (1.0, 1.5, 0.75):
        value, grad = gs.value_and_grad(lambda a: f(a) * 2)(x * k)
        assert value == f(x * k) * 2
        assert type(f(x * k) * 2) is type(value)
        for j in range(5):
            e = np.eye(5)[j]
            assert grad[j] == pytest.approx(slope(lambda h, e=e, k=k: float(f(x * k + h * e)) * 2, 0.0), abs=1e-8)
        again = compiled(x * k)
        assert again[0] == value
        assert np.array_equal(again[1], grad)


def test_a_long_sample_is_one_call() -> None:
    source = gs.compile(gs.grad(lambda a: statistics.stdev(a) + math.fsum(a))).source(np.arange(1000.0))
    assert "statistics.stdev(a)" in source
    assert len(source.splitlines()) < 30


@pytest.mark.parametrize(
    "f",
    [
        lambda x: statistics.multimode([x, x, 1.0])[0],
        lambda x: statistics.kde([x, 1.0], 0.5)(0.3) if hasattr(statistics, "kde") else statistics.multimode((x, x))[0],
    ],
)
def test_what_has_no_derivative_here_raises(f: Any) -> None:
    for call in (gs.grad(f), gs.compile(gs.grad(f)), gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError, match="statistics"):
            call(1.5)


# A program.


def price(volatility: Any, spot: Any = 100.0, strike: Any = 100.0, rate: Any = 0.05, years: Any = 1.0) -> Any:
    """A call by Black and Scholes."""
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    return spot * normal(d1) - strike * math.exp(-rate * years) * normal(d1 - spread)


def normal(x: Any) -> Any:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def test_the_vega_of_black_and_scholes() -> None:
    d1 = (0.05 + 0.02) / 0.2
    vega = 100 * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
    assert vega == pytest.approx(37.52, abs=0.005)
    assert gs.grad(price)(0.2) == pytest.approx(vega, rel=1e-13)
    compiled = gs.compile(gs.grad(price, argnums=(0, 1, 2, 3, 4)))
    for v in (0.2, 0.3, 0.25):
        arguments = (v, 101.0, 99.0, 0.04, 1.5)
        greeks = compiled(*arguments)
        assert greeks == gs.grad(price, argnums=(0, 1, 2, 3, 4))(*arguments)
        for k in range(5):
            at = lambda t, k=k, a=arguments: price(*[t if j == k else b for j, b in enumerate(a)])
            assert greeks[k] == pytest.approx(slope(at, arguments[k]), rel=1e-6)


def test_an_export_needs_numpy_alone(tmp_path: Any) -> None:
    path = tmp_path / "vega.py"
    gs.export(gs.grad(price), 0.2, path=path)
    space: dict[str, Any] = {}
    text = path.read_text()
    exec(text, space)
    assert "scipy" not in text
    found = [v for k, v in space.items() if callable(v) and k == "price_grad"]
    assert found[0](0.3) == gs.grad(price)(0.3)
