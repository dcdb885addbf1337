"""Fit a curve with scipy.optimize.minimize, which takes the exact gradient from gs.value_and_grad unchanged.

    pip install gradscribe scipy
    python scipy_minimize.py

A damped oscillation is fitted to noisy measurements, once with gradients that SciPy estimates and once with ours.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import gradscribe as gs

try:
    from scipy.optimize import minimize
except ImportError:
    sys.exit("This example needs SciPy: pip install scipy")


def model(p: Any, t: Any) -> Any:
    """A damped oscillation: amplitude, decay, frequency, phase."""
    return p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t + p[3])


def misfit(p: Any, t: Any, measured: Any) -> Any:
    """The sum of squared residuals."""
    return np.sum((model(p, t) - measured) ** 2)


def main() -> None:
    """Make data, fit twice, compare."""
    parser = argparse.ArgumentParser(description="Fit a damped oscillation with and without exact gradients.")
    parser.add_argument("--tiny", action="store_true", help="fewer measurements")
    n = 200 if parser.parse_args().tiny else 20_000

    rng = np.random.default_rng(0)
    truth = np.array([2.0, 0.3, 4.0, 0.5])
    t = np.linspace(0.0, 6.0, n)
    measured = model(truth, t) + 0.1 * rng.normal(size=n)
    start = np.array([1.5, 0.5, 3.8, 0.0])

    objective = gs.compile(gs.value_and_grad(misfit))
    estimated = minimize(misfit, start, args=(t, measured), method="BFGS")
    exact = minimize(objective, start, args=(t, measured), jac=True, method="BFGS")

    print(gs.source(objective, start, t, measured))
    for name, found in (("estimated gradients", estimated), ("exact gradients", exact)):
        print(f"{name:20} {found.nfev:4d} evaluations, misfit {found.fun:.6g}, parameters {np.round(found.x, 4)}")
    print(f"{'truth':20} parameters {truth}")


if __name__ == "__main__":
    main()
