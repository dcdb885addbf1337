"""Roots of an equation, and their derivatives by what the equation depends on, through the loops that find them.

    python root_finding.py

Newton's method and bisection, as one writes them, stay loops in the compiled gradient; gs.fixed_point asks only for the
point where an iteration comes to rest. A binary search finds the place in a table between whose entries is interpolated.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any


def kepler(e: Array, anomaly: Array, eccentricity: Array) -> Array:
    """Kepler's equation, which the angle `e` solves: how far it is from being solved."""
    return e - eccentricity * np.sin(e) - anomaly


def newton(anomaly: Array, eccentricity: Array) -> Array:
    """The root by Newton's method."""
    e = anomaly
    step = 1.0
    while abs(step) > 1e-12:
        step = kepler(e, anomaly, eccentricity) / (1.0 - eccentricity * np.cos(e))
        e = e - step
    return e


def bisection(anomaly: Array, eccentricity: Array) -> Array:
    """The root by bisection; a halved interval has no slope, so a last step of Newton's carries the derivative."""
    low, high = anomaly - 1.0, anomaly + 1.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if kepler(middle, anomaly, eccentricity) > 0:
            high = middle
        else:
            low = middle
    e = 0.5 * (low + high)
    for _ in range(2):
        e = e - kepler(e, anomaly, eccentricity) / (1.0 - eccentricity * np.cos(e))
    return e


def at_rest(anomaly: Array, eccentricity: Array) -> Array:
    """The root as a fixed point: only the last step is remembered."""
    return gs.fixed_point(lambda e, m, k: m + k * np.sin(e), anomaly, anomaly, eccentricity)


def look_up(x: Array, xs: Array, ys: Array) -> Array:
    """The value at `x` of a table that is sorted by `xs`: by binary search, then interpolated."""
    low, high = 0, len(xs) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - xs[low]) / (xs[high] - xs[low])
    return (1.0 - share) * ys[low] + share * ys[high]


def main() -> None:
    """Solve Kepler's equation three ways, and read a table."""
    parser = argparse.ArgumentParser(description="Derivatives of roots, through the loops that find them.")
    parser.add_argument("--tiny", action="store_true", help="fewer angles")
    count = 2 if parser.parse_args().tiny else 5

    slopes = {f: gs.compile(gs.grad(f, argnums=1)) for f in (newton, bisection, at_rest)}
    print("d angle / d eccentricity   exact     newton  bisection  at_rest")
    for anomaly in np.linspace(0.5, 2.5, count):
        e = newton(anomaly, 0.4)
        exact = np.sin(e) / (1.0 - 0.4 * np.cos(e))
        print(
            f"mean anomaly {anomaly:.2f}    ",
            *[f"{d:10.6f}" for d in (exact, *[g(anomaly, 0.4) for g in slopes.values()])],
        )
    print(gs.source(gs.grad(newton, argnums=1), 1.0, 0.4))

    xs = np.linspace(0.0, 3.0, 8 if count == 2 else 1000)
    slope = gs.compile(gs.grad(look_up))
    for x in np.linspace(0.5, 2.5, count):
        print(f"slope of a table of sin at {x:.2f}: {slope(x, xs, np.sin(xs)):.4f}; cos: {np.cos(x):.4f}")


if __name__ == "__main__":
    main()
