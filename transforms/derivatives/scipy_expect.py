"""`expect` of scipy.stats' families: integrals that `scipy.integrate.quad` takes, and of whole numbers a sum."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import NoRuleError
from ...runtime.registry import composition, require
from ...runtime.rules.distribution_families import support_of
from ...tracer.core.dispatch import apply, has_tensor
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import refuse
from .scipy_integrals import is_followed, quad

__all__ = ["expect"]

_TAIL, _TERMS = 1e-25, 20_000  # masses that a sum leaves out, beside the largest; how far one goes to each side


def expect(
    family: Any, func: Callable[[Any], Any] | None = None, args: tuple[Any, ...] = (), loc: Any = 0, scale: Any = 1,
    lb: Any = None, ub: Any = None, conditional: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """The mean of a function of what has this distribution, by three integrals, as SciPy splits them."""
    if not isinstance(args, tuple):
        raise TypeError(f"scipy.stats.{family.name}.expect takes a tuple args=, not {type(args).__name__}")
    if any(np.ndim(v) for v in (lb, ub, *args, loc, scale) if v is not None):
        raise NoRuleError(
            f"scipy.stats.{family.name}.expect of arrays of parameters has no rule: call it for each of them."
        )
    if hasattr(family, "pmf"):
        if options or not (type(scale) is int and scale == 1):
            raise TypeError(f"scipy.stats.{family.name}.expect takes no {[*options] or 'scale'}")
        return _sum(family, func, args, loc, lb, ub, conditional)
    cdf, ppf = _formula(family, "cdf"), _formula(family, "ppf")
    whole = lb is None and ub is None
    low, high = support_of(family, args)
    lb, ub = _moved(low, loc, scale) if lb is None else lb, _moved(high, loc, scale) if ub is None else ub
    *shapes, at, size, start, stop = (_constant(v) for v in (*args, loc, scale, lb, ub))
    below, above = (0.0, 1.0) if whole else (cdf(end, *shapes, loc=at, scale=size) for end in (start, stop))
    first, second = (ppf(below + (above - below) * q, *shapes, loc=at, scale=size) for q in (0.05, 0.95))
    weighted = functools.partial(_weighted, family.name, func, args, loc, scale)
    parts = [quad(weighted, a, b, **options)[0] for a, b in ((lb, first), (first, second), (second, ub))]
    found = parts[0] + parts[1] + parts[2]
    return (
        found / (cdf(ub, *args, loc=loc, scale=scale) - cdf(lb, *args, loc=loc, scale=scale)) if conditional else found
    )


def _sum(family: Any, func: Any, args: tuple[Any, ...], loc: Any, lb: Any, ub: Any, conditional: bool) -> Any:
    """The mean over whole numbers: all of them, or all that count."""
    if is_followed(loc):
        raise NoRuleError(
            f"scipy.stats.{family.name}.expect of a loc= that is differentiated has no rule: a sum over whole numbers jumps."
        )
    pmf = _formula(family, "pmf")
    at, *plain = (_plain(v) for v in (loc, *args))
    low, high = (float(end) for end in family.support(*plain, loc=at))
    if np.isinf(low) or np.isinf(high):
        refuse(f"calls scipy.stats.{family.name}.expect, in which the number of terms follows from values")
        low, high = _heart(family, plain, at, low, high)
    low, high = low if lb is None else max(low, _plain(lb)), high if ub is None else min(high, _plain(ub))
    k = apply(require(np.arange), (low, high + 1.0), {})
    mass = pmf(k, *args, loc=loc)
    found = np.sum((k if func is None else func(k)) * mass)
    return found / np.sum(mass) if conditional else found


def _heart(family: Any, args: list[Any], loc: Any, low: float, high: float) -> tuple[float, float]:
    """The whole numbers around the mean that have all of the mass, but for the smallest of floats."""
    middle = float(family.mean(*args, loc=loc))
    if np.isfinite(middle):
        middle = np.rint(middle)
        k = np.arange(max(low, middle - _TERMS), min(high, middle + _TERMS) + 1)
        mass = family.pmf(k, *args, loc=loc)
        there = np.flatnonzero(mass > _TAIL * np.max(mass))
        if (np.isfinite(low) or there[0] > 0) and (np.isfinite(high) or there[-1] < len(k) - 1):
            return float(k[there[0]]), float(k[there[-1]])
    raise NoRuleError(
        f"scipy.stats.{family.name}.expect has no rule where its tail is long: sum func(k) * pmf(k) over the values that count."
    )


def _plain(value: Any) -> Any:
    return value._value if isinstance(value, Operand) else value


def _formula(family: Any, method: str) -> Callable[..., Any]:
    found = composition(getattr(family, method))
    if found is None:
        raise NoRuleError(
            f"scipy.stats.{family.name}.expect has no rule: sum func(k) * pmf(k) over the values that it takes."
        )
    return found


def _moved(end: Any, loc: Any, scale: Any) -> Any:
    """An end of the support; one that is infinite, or that of the standard member at 0, depends on no scale."""
    if has_tensor(end):
        return end * scale + loc
    return float(end) if np.isinf(end) else loc if end == 0 else end * scale + loc


def _constant(value: Any) -> Any:
    return value.detach() if isinstance(value, Operand) else value


def _weighted(name: str, func: Any, args: Any, loc: Any, scale: Any, x: Any) -> Any:
    """What is integrated."""
    family = getattr(importlib.import_module("scipy.stats"), name)
    return (x if func is None else func(x)) * _formula(family, "pdf")(x, *args, loc=loc, scale=scale)
