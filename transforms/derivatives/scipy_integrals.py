"""scipy.integrate's quadrature of the user's functions: derivatives by Leibniz' rule, under the integral and at its limits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import NoRuleError
from ...runtime.registry import require
from ...tracer.core.dispatch import apply, has_tensor
from ...tracer.core.pieces import pieces
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, wrap
from ...tracer.core.thread_state import LOCAL, capturing
from ...tracer.memory.survivors import run_again
from ..user_code.scope import as_it_runs
from .custom import linked
from .scipy_callbacks import (
    Attached,
    Callback,
    Inputs,
    Run,
    Solved,
    attached,
    plain,
    tracing,
    without_rule,
)
from .scipy_calls import Driver
from .scipy_jumps import Sample, jump, jumps_between, sample

__all__ = [
    "dblquad", "fixed_quad", "flattened", "is_followed", "nquad", "placed", "quad", "quad_vec", "tplquad", "unflattened",
]  # fmt: skip

_REMEMBERED = 2000  # points of a call, with the values there, by which a later call tells that the function has changed

Function = Callable[..., Any]


class Rule(NamedTuple):
    """How SciPy integrates: `solve` of a plain function between plain limits gives the value, the error, and more."""

    path: str
    solve: Callable[[Function, Any, Any], tuple[Any, ...]]
    vectors: bool = False  # whether it integrates functions whose values are vectors
    weight: Function | None = None  # what multiplies the integrand
    ends: bool = True  # whether the integrand with its weight is known at the limits

    def of(self, f: Function, low: Any, high: Any, count: int | None) -> tuple[Any, ...]:
        """The integral of a function of numbers, or of one of vectors with `count` elements."""
        if count is None or self.vectors:
            return self.solve(f, low, high)
        met: dict[Any, Any] = {}  # the elements have points in common

        def once(s: Any) -> Any:
            if s not in met:
                met[s] = f(s)
            return met[s]

        parts = [self.solve(lambda s, k=k: once(s)[k], low, high) for k in range(count)]
        return np.array([p[0] for p in parts]), np.array([p[1] for p in parts])


def integral(rule: Rule, f: Function, a: Any, b: Any, count: int | None = None) -> tuple[Any, ...]:
    """What the rule gives of `f`, traced, from `a` to `b`, of which the first is differentiated by Leibniz' rule.

    H. Flanders, Differentiation under the integral sign, 1973. What the integrand depends on is the union over all its
    calls; the derivative is a second integral by the same rule.
    """
    path, low, high = rule.path, plain(a, rule.path), plain(b, rule.path)
    inputs, known, decided = Inputs(), dict[Any, tuple[Any, frozenset[Any]]](), dict[Any, Sample]()

    def numbers(s: Any) -> Any:
        if heard is not None:
            heard.outcomes = []
        found = f(s)
        edges, value = inputs.of(found), plain(found, path)
        if len(known) < _REMEMBERED:
            known[s] = value, edges
            if heard is not None:
                decided[s] = Sample(s, heard.signature, np.asarray(value))
        return value

    with pieces() if LOCAL.grad else nullcontext() as heard:
        found = rule.of(numbers, low, high, count)
    limits = [(x, at, sign) for x, at, sign in ((a, low, -1.0), (b, high, 1.0)) if is_followed(x)]
    wanted = tuple(dict.fromkeys([*inputs.edges, *[x._node for x, _, _ in limits]]))
    if not wanted and LOCAL.grad:
        _refuse_jumps(path, f, decided)
    if not wanted or not LOCAL.grad:
        return found
    if any(np.asarray(v).dtype.kind == "c" for v, _ in known.values()):
        raise blame(
            NoRuleError(
                f"scipy.{path} of a complex integrand has no rule: integrate its real part and its imaginary part, np.real(f(x)) "
                "and np.imag(f(x))."
            )
        )
    if limits and not rule.ends:
        raise blame(
            NoRuleError(f"scipy.{path} with this weight has no derivative in its limits: pass them as constants.")
        )
    scalar = not np.shape(found[0])

    def within(g: Any) -> Any:
        """The part under the integral, of all places one behind the other."""
        met = False

        def slopes(s: Any) -> Any:
            nonlocal met
            with tracing():
                run = Run(f, (s._value,), (s._node,)) if is_followed(s) else Run(lambda: f(s), ())
            at = plain(s, path)
            if at in known:
                met = True
                run.check(path, *known[at])
            return flattened(run.pull(np.result_type(run.value).type(1) if scalar else g, wanted), wanted)

        size = sum([int(np.prod(edge.shape)) for edge in wanted])
        made = integral(rule, slopes, placed(a, low), placed(b, high), size)[0]
        if known and not met:
            s, (value, edges) = next(iter(known.items()))
            Run(lambda: f(s), ()).check(path, value, edges)
        return made

    def pull(node: Attached, gs: tuple[Any, ...]) -> list[Any]:
        (g,) = gs
        _refuse_jumps(path, f, decided)
        inner = within(g)
        sums = unflattened(g * inner if scalar else inner, wanted)
        for x, at, sign in limits:
            if np.isfinite(at):
                end = placed(x, at)
                with tracing():
                    value = f(end) if rule.weight is None else f(end) * rule.weight(end)
                value = value if LOCAL.grad else plain(value, path)
                k = wanted.index(x._node)
                sums[k] = sums[k] + sign * (g * value if scalar else np.sum(g * value))
        return sums

    (value,) = attached(path, (found[0],), wanted, pull)
    return value, without_rule(path, "abserr", found[1], wanted), *found[2:]


def _refuse_jumps(path: str, f: Function, known: dict[Any, Sample]) -> None:
    """Raise where an integrand jumps at a place that moves; once, for then nothing is known any more."""
    places = sorted(known)
    for a, _ in jumps_between(lambda s: sample(f, s), [known[s] for s in places]):
        raise jump(path, "integrand", a.place, "Integrate up to that place, and from there on")
    known.clear()


def is_followed(x: Any) -> bool:
    """Whether a derivative comes to a value."""
    return isinstance(x, Operand) and x._node is not None


def placed(x: Any, value: Any) -> Any:
    """A limit as it stands in the graph."""
    return linked(wrap(value), x._node) if is_followed(x) else value


def flattened(found: list[Any], wanted: tuple[Any, ...]) -> Any:
    """Cotangents one behind the other, with zeros where there is none."""
    return np.concatenate(
        [
            np.zeros(int(np.prod(edge.shape))) if d is None else np.reshape(d, (-1,))
            for d, edge in zip(found, wanted, strict=True)
        ]
    )


def unflattened(flat: Any, wanted: tuple[Any, ...]) -> list[Any]:
    """The reverse: one for each place."""
    found, at = [], 0
    for edge in wanted:
        size = int(np.prod(edge.shape))
        found.append(np.reshape(flat[at : at + size], edge.shape) if edge.shape else flat[at])
        at += size
    return found


def _given(driver: Driver, given: dict[str, Any], *names: str) -> tuple[list[Any], dict[str, Any]]:
    """Some of the arguments, and the others, plain."""
    chosen = [given.pop(name) for name in names]
    return chosen, {k: plain(v, driver.path) for k, v in given.items()}


def _weight(driver: Driver, rest: dict[str, Any]) -> tuple[Function | None, bool]:
    """The weight of an integrand as a function, and whether it is known at the limits."""
    kind, number = rest.get("weight"), rest.get("wvar")
    if kind in ("cos", "sin"):
        return lambda x: getattr(np, kind)(number * x), True
    return (lambda x: 1.0 / (x - number), True) if kind == "cauchy" else (None, kind is None)


def _quad(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `quad`."""
    if has_tensor(given.get("wvar")) and LOCAL.grad:
        raise blame(
            NoRuleError("scipy.integrate.quad has no derivative in wvar=: multiply the integrand by its weight.")
        )
    args = given.pop("args", ())
    (f, a, b), rest = _given(driver, given, "func", "a", "b")
    if not callable(f):  # C code
        found = driver.real(f, plain(a, driver.path), plain(b, driver.path), plain(args, driver.path), **rest)
        return Solved(found[:2], lambda r: (*r, *found[2:]))
    weight, ends = _weight(driver, rest)
    rule = Rule(driver.path, lambda f, low, high: driver.real(f, low, high, **rest), weight=weight, ends=ends)
    called = Callback(driver.path, f, args)
    if str(rest.get("weight")).startswith("alg") and LOCAL.grad and (is_followed(a) or is_followed(b)):
        low, high = (plain(limit, driver.path) for limit in (a, b))
        value, error, *more = rule.solve(lambda s: plain(called(s), driver.path), low, high)
        wanted = (_algebraic(driver, called, a, b, rest)._node,)
        (value,) = attached(driver.path, (value,), wanted, lambda node, gs: list(gs))  # SciPy's own
        return Solved((value, without_rule(driver.path, "abserr", error, wanted)), lambda r: (*r, *more))
    found = integral(rule, called, a, b)
    return Solved(found[:2], lambda r: (*r, *found[2:]))


def _algebraic(driver: Driver, f: Function, a: Any, b: Any, rest: dict[str, Any]) -> Any:
    """An integral whose weight is singular at the limits, which move: from 0 to 1, times powers and logarithms of the length."""
    length = b - a
    low, high = rest["wvar"]

    def part(weight: str) -> Any:
        options = {**rest, "weight": weight}
        rule = Rule(driver.path, lambda g, zero, one: driver.real(g, zero, one, **options), ends=False)
        return integral(rule, lambda s: f(a + length * s), 0.0, 1.0)[0]

    log, kind = np.log(length), rest["weight"]
    found = part(kind)
    if kind in ("alg-loga", "alg-logb"):
        found = found + log * part("alg")
    elif kind == "alg-log":
        found = found + log * (part("alg-loga") + part("alg-logb")) + log**2 * part("alg")
    return length ** (1.0 + low + high) * found


def _quad_vec(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `quad_vec`."""
    args = given.pop("args", ())
    (f, a, b), rest = _given(driver, given, "f", "a", "b")
    rest.pop("workers", None)  # in this process, where what the function reads is traced
    rule = Rule(driver.path, lambda f, low, high: driver.real(f, low, high, **rest), vectors=True)
    found = integral(rule, Callback(driver.path, f, args), a, b)
    return Solved(found[:2], lambda r: (*r, *found[2:]))


class _Nested:
    """Integrals within integrals, as nquad nests quad: the first range is that of the innermost one."""

    def __init__(self, driver: Driver, f: Any, ranges: list[Any], options: list[Any], args: tuple[Any, ...]) -> None:
        self.path, self.args, self.error = driver.path, args, 0.0
        self.f, self.options = Callback(driver.path, f, args), options
        self.ranges = [Callback(driver.path, r, args) if callable(r) else r for r in ranges]

    def over(self, depth: int, *outer: Any) -> Any:
        """The integral over the variable `depth` places from the last, where those behind it are `outer`."""
        k = len(self.ranges) - 1 - depth
        around: Any = self.ranges[k]
        low, high = around(*outer) if callable(around) else around
        option = self.options[k]
        option = dict(plain(option(*outer, *self.args) if callable(option) else option, self.path))
        if "points" in option:
            option["points"] = [p for p in option["points"] if plain(low, self.path) <= p <= plain(high, self.path)]
        inner = (lambda s: self.f(s, *outer)) if k == 0 else (lambda s: self.over(depth + 1, s, *outer))
        weight, ends = _weight(quad, option)
        rule = Rule(self.path, lambda f, low, high: quad.real(f, low, high, **option), weight=weight, ends=ends)
        value, error, *_ = integral(rule, inner, low, high)
        self.error = max(self.error, plain(error, self.path))
        return value


def _solved(driver: Driver, nested: _Nested) -> Solved:
    value = nested.over(0)
    edges = value._node.edges if is_followed(value) else ()
    return Solved((value, without_rule(driver.path, "abserr", nested.error, edges)), lambda r: r)


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _nquad(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `nquad`."""
    if given.pop("full_output", False):
        raise blame(NoRuleError("scipy.integrate.nquad of traced values takes no full_output: leave it out."))
    args = given.get("args")
    options, ranges = given.get("opts"), list(given["ranges"])
    options = {} if options is None else options
    each = [options] * len(ranges) if isinstance(options, dict) or callable(options) else list(options)
    return _solved(driver, _Nested(driver, given["func"], ranges, each, () if args is None else _tuple(args)))


def _dblquad(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `dblquad`, of a function of y and x."""
    ranges = _ranges(given, "gfun", "hfun")
    return _solved(
        driver, _Nested(driver, given["func"], ranges, [_tolerances(given)] * 2, _tuple(given.get("args", ())))
    )


def _tplquad(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `tplquad`, of a function of z, y and x."""
    ranges = [_between(given["qfun"], given["rfun"], 2), *_ranges(given, "gfun", "hfun")]
    return _solved(
        driver, _Nested(driver, given["func"], ranges, [_tolerances(given)] * 3, _tuple(given.get("args", ())))
    )


def _ranges(given: dict[str, Any], low: str, high: str) -> list[Any]:
    return [_between(given[low], given[high], 1), (given["a"], given["b"])]


def _between(low: Any, high: Any, count: int) -> Any:
    """A range whose ends are numbers, or functions of the variables around it."""
    low, high = (run_again(as_it_runs(x)) if callable(x) else x for x in (low, high))

    def of(*outer: Any) -> tuple[Any, Any]:
        around = outer[:count][::-1]  # of x and y, where nquad has y and x
        return (low(*around) if callable(low) else low), (high(*around) if callable(high) else high)

    return of


def _tolerances(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given.get(name, 1.49e-8) for name in ("epsabs", "epsrel")}


quad = Driver("integrate.quad", _quad)
quad_vec = Driver("integrate.quad_vec", _quad_vec)
nquad = Driver("integrate.nquad", _nquad)
dblquad = Driver("integrate.dblquad", _dblquad)
tplquad = Driver("integrate.tplquad", _tplquad)


def fixed_quad(func: Function, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """As SciPy's own: a sum, which is differentiated as it stands."""
    from scipy import special

    if np.isinf(plain(a, "integrate.fixed_quad")) or np.isinf(plain(b, "integrate.fixed_quad")):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    x, w = (_constant(np.real(v)) for v in special.roots_legendre(n))
    found = as_it_runs(func)((b - a) * (x + 1) / 2.0 + a, *_tuple(args))
    return (b - a) / 2.0 * np.sum(w * found, axis=-1), None


def _constant(x: Any) -> Any:
    return apply(require(np.array), (x.tolist(),), {}) if capturing() else x
