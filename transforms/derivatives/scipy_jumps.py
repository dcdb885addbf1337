"""Jumps of a function that SciPy integrates: a place of one that moves adds to the derivative what no rule here has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import SingularPointError
from ...tracer.core.pieces import pieces
from ...tracer.core.site import blame
from .scipy_callbacks import Run, plain, tracing

__all__ = ["Sample", "jump", "jump_along", "jumps_along", "jumps_between", "sample", "sample_state", "starts_at"]

_SMALL = 1e-6  # a difference that is none, beside the largest values of a function
_DEPTH = 3  # halves that are looked at in any case


class Sample(NamedTuple):
    """A function at one place: all that it decided there by what is differentiated, and its value."""

    place: Any
    decided: int
    value: Any


def sample(f: Callable[[Any], Any], s: Any) -> Sample:
    """A function of a plain number, of which all else that it reads may move."""
    with pieces() as heard, tracing():
        found = f(s)
    return Sample(s, heard.signature, np.asarray(plain(found, "")))


def sample_state(f: Callable[..., Any], s: Any, *moving: Any) -> Sample:
    """A function of a plain time and of a state and more, which move like all else that the function reads."""
    with pieces() as heard:
        run = Run(lambda *xs: f(s, *xs), moving)
    return Sample(s, heard.signature, np.asarray(run.value))


def halves(a: Any, b: Any) -> Any:
    """The number in the middle; None where there is none between."""
    m = a + (b - a) / 2
    return None if m in (a, b) else m


def jumps_between(
    take: Callable[[Any], Sample], known: list[Sample], middle: Callable[[Any, Any], Any] = halves
) -> Iterator[tuple[Sample, Sample]]:
    """Neighbouring places between which a function jumps where it decides otherwise.

    `known` samples are in the order of their places. Where neighbours decide otherwise, the place is looked for by halves, until
    the values agree or no place is between.
    """
    if all(a.decided == known[0].decided for a in known):
        return
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs([a.value for a in known]), axis=0)
        waiting = [(a, b, 0) for a, b in itertools.pairwise(known) if a.decided != b.decided]
        while waiting:
            a, b, depth = waiting.pop()
            if depth > _DEPTH and np.all(np.abs(a.value - b.value) <= _SMALL * scale):
                continue
            place = middle(a.place, b.place)
            if place is None:
                if not np.all(np.abs(a.value - b.value) <= _SMALL * scale):
                    yield a, b
                continue
            m = take(place)
            waiting += [(x, y, depth + 1) for x, y in ((a, m), (m, b)) if x.decided != y.decided]


def jumps_along(
    at: Callable[[Any, Any], Sample], states: Any, backward: bool = False
) -> Iterator[tuple[Sample, Sample, Any, Any]]:
    """Where the slope of a state jumps along its path, which SciPy's interpolant gives: both sides, with their states."""

    def take(s: Any) -> Sample:
        return at(s, states(s))

    ends = states.ts
    with pieces():
        known = [take(s) for s in np.sort([*ends, *(ends[1:] + ends[:-1]) / 2])]
    for a, b in jumps_between(take, known[::-1] if backward else known):
        low, high = (states(x.place) for x in (a, b))  # which differ by rounding, or between two steps

        def line(x: Any, a: Any = a, b: Any = b, low: Any = low, high: Any = high) -> Sample:
            return at((a if x < 0.5 else b).place, low + x * (high - low))._replace(place=x)

        if any(True for _ in jumps_between(line, [line(0.0), line(1.0)])):
            yield a, b, low, high


def starts_at(time: Any, start: Any, stop: Any) -> bool:
    """Whether a time is the first one, where a state may stand on a jump, and leave it at once."""
    return bool(abs(time - start) <= 1e-12 * abs(stop - start))


def jump_along(path: str, time: Any) -> Exception:
    """The error of a state whose slope jumps at a time that moves."""
    way_out = "Solve up to that time, which scipy.optimize.brentq finds of the solution up to a time, and from there on"
    return jump(path, "right-hand side", time, way_out)


def jump(path: str, what: str, place: Any, instead: str) -> Exception:
    """The error of a function that jumps at a place which moves with what is differentiated."""
    return blame(
        SingularPointError(
            f"the {what} of scipy.{path} jumps near {float(place):.6g}, where it decides by a value that is differentiated (a "
            f"comparison, a branch, a rounding): the place of the jump moves, and its share of the derivative has no rule. "
            f"{instead}, or let gs.stop_gradient decide where no such share is meant."
        )
    )
