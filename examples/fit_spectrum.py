"""Fit the peaks of a spectrum with gs.minimize: parameters in a dataclass, bounds by name, exact derivatives.

    pip install gradscribe scipy
    python fit_spectrum.py [--plot spectrum.png]

Each peak has a place, a height and a width; below them lies a sloping background. The parameters are arrays in a dataclass,
and so are the bounds. Errors follow from the exact Hessian at the solution.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

import gradscribe as gs


@dataclasses.dataclass
class Spectrum:
    """What is fitted: one entry for each peak, and the background."""

    place: Any
    height: Any
    width: Any
    background: Any


def counts(p: Spectrum, energy: Any) -> Any:
    """The expected counts at each energy."""
    z = (energy[:, None] - p.place) / p.width
    return np.sum(p.height * np.exp(-0.5 * z**2), axis=1) + p.background[0] + p.background[1] * energy


def loss(p: Spectrum, energy: Any, measured: Any) -> Any:
    """The negative logarithm of the Poisson likelihood, up to a constant."""
    expected = counts(p, energy)
    return np.sum(expected - measured * np.log(expected))


def main() -> None:
    """Make data, fit, and print what was found."""
    parser = argparse.ArgumentParser(description="Fit the peaks of a spectrum.")
    parser.add_argument("--tiny", action="store_true", help="fewer channels")
    parser.add_argument("--plot", metavar="FILE", help="write the convergence as a picture (needs matplotlib)")
    chosen = parser.parse_args()

    energy = np.linspace(0.0, 10.0, 100 if chosen.tiny else 2000)
    truth = Spectrum(
        np.array([2.0, 4.5, 7.0]), np.array([80.0, 50.0, 120.0]), np.array([0.3, 0.5, 0.4]), np.array([20.0, -1.0])
    )
    measured = np.random.default_rng(0).poisson(counts(truth, energy)).astype(float)

    start = Spectrum(np.array([2.2, 4.3, 7.2]), np.full(3, 60.0), np.full(3, 0.4), np.array([15.0, 0.0]))
    bounds = {"place": (0, 10), "height": (1, None), "width": (0.05, 2), "background": ([1.0, -1.5], [np.inf, 1.5])}
    found = gs.minimize(loss, start, args=(energy, measured), bounds=bounds)
    print(f"{found.message}: {found.nit} iterations, {found.nfev} evaluations")

    blocks = dataclasses.asdict(gs.hessian(loss)(found.x, energy, measured))
    names = list(blocks)
    hessian = np.block([[blocks[a][b] for b in names] for a in names])
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    values = np.concatenate([getattr(found.x, name) for name in names])
    exact = np.concatenate([getattr(truth, name) for name in names])
    labels = [f"{name}[{k}]" for name in names for k in range(len(getattr(truth, name)))]
    for label, value, error, true in zip(labels, values, errors, exact, strict=True):
        print(f"{label:14} {value:9.3f} ± {error:.3f}   true {true:8.3f}")
    if chosen.plot:
        found.plot().figure.savefig(chosen.plot)


if __name__ == "__main__":
    main()
