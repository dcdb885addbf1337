"""Simulations that are differentiated through their loops: an integrator that chooses its steps, and bodies that attract.

    python simulations.py

How often the integrator steps, and which steps it takes back, depends on what is integrated: one compiled gradient serves
every case.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any


def integrate(rate: Callable[[Array], Array], y: Array, end: Array, tolerance: float) -> Array:
    """`y` at the time `end`, where y' = rate(y): Bogacki's and Shampine's method of orders 3 and 2, with its own steps."""
    t, h = 0.0, 0.1
    k1 = rate(y)
    while t < end:
        h = min(h, end - t)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + 3 * h / 4 * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = rate(new)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error <= tolerance:
            t = t + h
            y, k1 = new, k4
        h = h * np.clip(0.9 * np.cbrt(tolerance / (error + 1e-300)), 0.2, 5.0)
    return y


def oscillator(mu: Array, start: Array, end: Array) -> Array:
    """Where van der Pol's oscillator of stiffness `mu` is at the time `end`."""

    def rate(y: Array) -> Array:
        return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    return integrate(rate, start, end, 1e-6)[0]


def attraction(x: Array, masses: Array) -> Array:
    """The acceleration of each body by all others."""
    apart = x[None, :, :] - x[:, None, :]
    distance = np.sqrt(np.sum(apart**2, axis=2) + 1e-2)
    return np.sum(masses[None, :, None] * apart / distance[:, :, None] ** 3, axis=1)


def bodies(x: Array, v: Array, masses: Array, steps: int, dt: float = 0.01) -> Array:
    """The bodies' positions after `steps` leapfrog steps."""
    a = attraction(x, masses)
    for _ in range(steps):
        v = v + dt / 2 * a
        x = x + dt * v
        a = attraction(x, masses)
        v = v + dt / 2 * a
    return x


def missed(v: Array, x: Array, masses: Array, target: Array, steps: int) -> Array:
    """How far the first body ends from its target."""
    return np.sum((bodies(x, v, masses, steps)[0] - target) ** 2)


def main() -> None:
    """Differentiate an oscillation by its stiffness, then aim a body at a target."""
    parser = argparse.ArgumentParser(description="Gradients through simulations.")
    parser.add_argument("--tiny", action="store_true", help="shorter simulations")
    tiny = parser.parse_args().tiny

    start = np.array([2.0, 0.0])
    slope = gs.compile(gs.value_and_grad(oscillator))
    for mu in (0.5, 1.0, 2.0):
        end = 0.5 if tiny else 6.0
        y, d_mu = slope(mu, start, end)
        about = (oscillator(mu + 1e-4, start, end) - oscillator(mu - 1e-4, start, end)) / 2e-4
        print(f"stiffness {mu}: ends at {y:.6f}, derivative {d_mu:.5f}, by differences {about:.5f}")

    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(3, 2)), np.zeros((3, 2))
    masses, target = np.ones(3), np.array([0.5, 0.5])
    aim = gs.compile(gs.value_and_grad(missed))
    for k in range(2 if tiny else 25):
        miss, d_v = aim(v, x, masses, target, 3 if tiny else 50)
        v[0] -= d_v[0]
        if k % 8 == 0:
            print(f"after {k:2d} corrections of its velocity the first body misses by {np.sqrt(miss):.2e}")


if __name__ == "__main__":
    main()
