"""Rounding: how far results move where each operation rounds otherwise, which says how far C may lie from NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call
from ....runtime.ops import Kind
from ....runtime.registry import require
from ...trees import flatten_row
from ..schedule.program import Program
from ..schedule.run import called, run_program

__all__ = ["slack"]

RUNS = 3  # each with other roundings
FACTOR = 100.0  # as C's functions round in a few units, and its sums in another order
_MOST = 30_000  # calls of one run, after which it is given up: it takes seconds
_SUMS = (Kind.reduction, Kind.bilinear, Kind.linear)
_EXACT = frozenset([  # give one of their operands, or what no rounding changes
    np.maximum, np.minimum, np.fmax, np.fmin, np.negative, np.positive, np.absolute, np.fabs, np.copysign, np.sign, np.floor,
    np.ceil, np.trunc, np.rint, np.fmod, np.where, np.max, np.min, np.sort, np.clip, np.spacing, np.nextafter,
])  # fmt: skip


class _TooLongError(Exception):
    """A run of too many calls."""


def slack(program: Program, run: Callable[[Callable[..., Any]], Any], expected: Any, eps: float) -> list[float] | None:
    """Return how far each leaf of a result may lie from what is expected; None where it cannot be said.

    `run` calls what it is given as a kernel is called, and returns the result with what it has written into. Each run rounds
    each operation up or down by chance, a sum by the sum of its absolute values: what cancels moves by as much as another
    order of its terms may move it. No leaf may move by more than half of the digits of the largest number that was met, where
    nothing can be said of it.
    """
    leaves = flatten_row(expected)[0]
    moved, most = [0.0] * len(leaves), 0.0
    for seed in range(RUNS):
        shaken = _Shaken(seed)
        try:
            with np.errstate(all="ignore"):
                found = flatten_row(run(lambda *args, by=shaken: run_program(program, *args, called=by)))[0]
        except Exception:  # what rounds otherwise may take a path that raises
            return None
        if len(found) != len(leaves):
            return None
        for k, (x, y) in enumerate(zip(found, leaves, strict=True)):
            moved[k] = max(moved[k], _distance(x, y))
        most = max(most, shaken.most)
    return [min(FACTOR * far, eps**0.5 * most) for far in moved]


def _distance(x: Any, y: Any) -> float:
    """The largest difference of two results, where both are finite."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return 0.0
    both = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        far = np.abs(x[both].astype(np.complex128) - y[both])
    return float(np.max(far, initial=0.0))


class _Shaken:
    """Calls whose results are rounded by chance, and the largest finite number among them."""

    def __init__(self, seed: int) -> None:
        self.most = 0.0
        self._left = _MOST
        self._random = np.random.default_rng(seed)
        self._exact = {require(fn).base for fn in _EXACT}

    def __call__(self, call: Call, args: tuple[Any, ...], buffer: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _TooLongError
        op = call.op
        if op.base in self._exact or op.kind in (Kind.shaping, Kind.creation, Kind.loop):
            return self._met(called(call, args, buffer))
        if op.kind is Kind.opaque:
            return self._met(called(call, tuple(self._moved(x, None) if _is_array(x) else x for x in args), None))
        terms = None
        if op.kind in _SUMS and not isinstance(op.fn, np.ufunc) and any(map(_is_array, args)):
            try:
                terms = called(call, tuple(np.abs(x) if _is_array(x) else x for x in args), None)
            except Exception:  # a size by which the result is told, or an operand in a tuple
                terms = None
        result = called(call, args, buffer)
        if type(result) is tuple:
            return tuple(self._moved(x, None) for x in result)
        moved = self._moved(result, terms)
        if buffer is not None and moved is not buffer:
            buffer[...] = moved
            return buffer
        return moved

    def _met(self, result: Any) -> Any:
        for x in result if type(result) is tuple else (result,):
            if _is_number(x):
                self.most = max(self.most, float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))))
        return result

    def _moved(self, x: Any, terms: Any) -> Any:
        """A result, each element rounded up or down by chance: by its own size, or by that of the terms that it sums."""
        if not _is_number(x):
            return x
        dtype = np.asarray(x).dtype
        sizes = np.abs(x) if terms is None or np.shape(terms) != np.shape(x) else np.abs(terms)
        sizes = np.where(np.isfinite(x), np.minimum(sizes, np.finfo(dtype).max), 0)
        self.most = max(self.most, float(np.max(sizes, initial=0.0, where=sizes == sizes)))
        signs = self._random.integers(0, 2, np.shape(x)) * 2 - 1
        moved = x + (signs * (np.finfo(dtype).eps * sizes)).astype(dtype)
        if not isinstance(x, np.ndarray):
            return type(x)(moved)
        if moved.strides != x.strides:
            x = np.empty_like(x)
            x[...] = moved
            return x
        return moved


def _is_number(x: Any) -> bool:
    return (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc") or type(x) is float


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"
