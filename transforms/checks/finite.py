"""Central finite differences of a scalar function, with how far they can be trusted, to hold a gradient against."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...runtime.central_differences import central

__all__ = ["DIRECTIONS", "ENTRIES", "SEED", "Slopes", "slopes"]

ALL = 64  # an argument with at most so many entries is checked entry by entry
ENTRIES, DIRECTIONS = 24, 8  # a larger one at so many entries, and along so many directions
SEED = 0
_FACTORS = (8.0, 1.0, 1 / 32, 1 / 1024)  # steps that are tried where the usual one does not agree


class Slopes(NamedTuple):
    """Slopes of one argument: what the gradient says, what finite differences say, and how far apart they may be."""

    expected: Any
    found: Any
    allowed: Any
    kinks: int  # one-sided slopes differ, and the gradient lies between them
    unsettled: int  # neither agreement, nor do two steps agree
    sampled: bool  # taken at some entries and along some directions, not at every entry

    @property
    def ok(self) -> bool:
        """Whether every slope is as near as it should be, kinks aside."""
        near = np.abs(self.expected - self.found) <= self.allowed
        return bool(np.count_nonzero(~near) <= self.kinks)


def slopes(value: Callable[[Any], float], x: Any, gradient: Any, coarsest: float = 0.0) -> Slopes:
    """The slopes of `value` at `x`, an array or a number, beside those that `gradient` predicts.

    `gradient` follows the convention of gs.grad: dL/da + i dL/db for an argument a + i b. `coarsest` is the machine
    epsilon of the least precise numbers that `value` may compute with on its way.
    """
    array, g = np.asarray(x), np.asarray(gradient)
    middle = value(_like(x, array))
    eps = float(max(np.finfo(array.dtype).eps, np.finfo(np.result_type(middle)).eps))
    probes = list(_probes(array, g))
    rows = [_slope(value, x, array, g, probe, eps, float(middle)) for probe in probes]
    if coarsest > eps:  # of that precision where it must be: what does not agree is taken again
        for k, row in enumerate(rows):
            if not abs(row[0] - row[1]) <= row[2]:
                rows[k] = _slope(value, x, array, g, probes[k], coarsest, float(middle))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    expected, found, allowed = (np.array(c, dtype=float) for c in columns[:3])
    return Slopes(expected, found, allowed, sum(columns[3]), sum(columns[4]), array.size > ALL)


def _probes(array: Any, g: Any) -> Iterator[tuple[Any, Any]]:
    """The directions in which slopes are taken: what is moved of the argument, and which way."""
    rng = np.random.default_rng(SEED)
    complex_ = array.dtype.kind == "c"
    wide: Any = np.complex128 if complex_ else np.float64
    chosen = range(array.size) if array.size <= ALL else rng.choice(array.size, ENTRIES, replace=False)
    for k in chosen:
        for unit in (1.0, 1j) if complex_ else (1.0,):
            yield np.unravel_index(k, array.shape), wide(unit)
    for k in range(DIRECTIONS if array.size > ALL else 0):
        v = rng.normal(size=array.shape) + (1j * rng.normal(size=array.shape) if complex_ else 0.0)
        if k == 0 and np.all(np.isfinite(g)) and np.any(g):
            v = g.astype(wide)  # the steepest direction, which shows most
        yield ..., v / np.linalg.norm(v)


def _slope(
    value: Callable[[Any], float], x: Any, array: Any, g: Any, probe: tuple[Any, Any], eps: float, middle: float
) -> tuple[float, float, float, bool, bool]:
    """Expected slope, found slope, allowed difference, whether at a kink, whether unsettled."""
    index, direction = probe
    work, along = np.copy(array, order="K"), array[index][direction != 0]
    size = float(np.max(np.abs(along))) if along.size == 1 else _rms(array)
    h = eps ** (1 / 3) * max(1.0, size if np.isfinite(size) else 1.0)
    relative = eps**0.4

    def at(step: float) -> tuple[float, float, float, float]:
        ends = central(lambda: [float(value(_like(x, work)))], work, index, direction, step)
        products = np.real(np.conj(g[index]) * ends.moved) / (2 * step)
        expected, scale = float(np.sum(products)), float(np.linalg.norm(products))
        found = ends.slope()
        return expected, found, relative * max(abs(found), scale) + ends.noise(eps), ends.jump(middle)

    first = at(h)
    if abs(first[0] - first[1]) <= first[2]:
        return (*first[:3], False, False)
    tried = [at(h * factor) for factor in _FACTORS]
    # the truncation error falls with the square of the step, so the finer of two tells how large it is
    truncation = [np.inf, *(abs(a[1] - b[1]) / 50 for a, b in itertools.pairwise(tried))]
    errors = [a[2] + t for a, t in zip(tried, truncation, strict=True)]
    best = int(np.argmin([e if np.isfinite(e) else np.inf for e in errors[1:]])) + 1
    expected, found, allowed, jump = tried[best]
    if abs(expected - found) <= allowed:
        return expected, found, allowed, False, False
    between = jump != 0 and abs(expected - found) <= abs(jump) / 2 + allowed
    kink = between and 0.5 < tried[best - 1][3] / jump < 2 and abs(jump) > allowed
    return expected, found, allowed, kink, not kink and not truncation[best] <= allowed


def _rms(array: Any) -> float:
    return float(np.linalg.norm(array) / max(1.0, array.size) ** 0.5)


def _like(x: Any, array: Any) -> Any:
    """A copy of an array, laid out in memory as it is, of the type of `x`."""
    if isinstance(x, np.ndarray):
        return np.copy(array, order="K")
    return array[()] if isinstance(x, np.generic) else type(x)(array)
