"""Estimation: a Kalman filter's likelihood, a Markov chain of samples, and clusters, differentiated through their loops.

python estimation.py
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any


def kalman(q: Array, r: Array, ys: Array) -> Array:
    """The log likelihood of measured positions of a body whose velocity drifts, by the spreads of drift and measurement."""
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    see = np.array([[1.0, 0.0]])
    drift = q**2 * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    x, p = np.zeros(2), 10.0 * np.eye(2)
    total = 0.0
    for y in ys:
        x = move @ x
        p = move @ p @ move.T + drift
        s = see @ p @ see.T + r**2 * np.eye(1)
        residual = y - see @ x
        total = total - 0.5 * (residual @ np.linalg.solve(s, residual) + np.linalg.slogdet(2 * np.pi * s)[1])
        gain = np.linalg.solve(s, see @ p).T
        x = x + gain @ residual
        p = p - gain @ see @ p
    return total


def log_density(x: Array, power: Array) -> Array:
    """Of the samples, up to a constant."""
    return -np.sum(np.abs(x) ** power)


def metropolis(shift: Array, power: float, rng: np.random.Generator, steps: int) -> Array:
    """The mean square of a random walk of samples (Metropolis and others, 1953) whose every step is shifted."""
    x, total = np.zeros(2), 0.0
    for _ in range(steps):
        proposal = x + shift + rng.normal(size=2)
        if np.log(rng.uniform()) < log_density(proposal, power) - log_density(x, power):
            x = proposal
        total = total + np.sum(x**2)
    return total / steps


def distances(points: Array, centres: Array) -> Array:
    """The square of the distance of every point from every centre."""
    return np.sum((points[:, None, :] - centres) ** 2, axis=2)


def inertia(points: Array, centres: Array) -> Array:
    """The squared distances from the nearest centre once Lloyd's iterations no longer move a point to another one."""
    nearest = np.argmin(distances(points, centres), axis=1)
    while True:
        members = 1.0 * (nearest[:, None] == np.arange(len(centres)))
        centres = members.T @ points / np.sum(members, axis=0)[:, None]
        before, nearest = nearest, np.argmin(distances(points, centres), axis=1)
        if (nearest == before).all():
            break
    return np.sum(np.min(distances(points, centres), axis=1))


def main() -> None:
    """Fit the filter, differentiate the samples, move the points."""
    parser = argparse.ArgumentParser(description="Gradients through a filter, a sampler and a clustering.")
    parser.add_argument("--tiny", action="store_true", help="less data")
    tiny = parser.parse_args().tiny
    rng = np.random.default_rng(0)

    n = 8 if tiny else 200
    ys = np.cumsum(np.cumsum(0.3 * rng.normal(size=n)))[:, None] + 2.0 * rng.normal(size=(n, 1))
    climb = gs.compile(gs.value_and_grad(kalman, argnums=(0, 1)))
    q, r = 1.0, 1.0
    for k in range(3 if tiny else 121):
        value, (d_q, d_r) = climb(q, r, ys)
        q, r = q + 0.1 / n * d_q * (k > 0), r + 0.1 / n * d_r * (k > 0)
        if k % 30 == 0:
            print(
                f"Kalman filter, step {k:3d}: log likelihood {value:.2f}, drift {q:.3f} (true 0.3), noise {r:.3f} (true 2)"
            )

    walk = gs.compile(gs.value_and_grad(metropolis))
    for steps in (5, 10) if tiny else (100, 1000):
        mean, slope = walk(np.zeros(2), 2.0, np.random.default_rng(1), steps)
        print(
            f"Metropolis, {steps} steps: mean square {mean:.4f}, derivative by a shift of every step {np.round(slope, 3)}"
        )

    points = rng.normal(size=(12 if tiny else 300, 2)) + np.repeat(
        [[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 4 if tiny else 100, axis=0
    )
    gather = gs.compile(gs.value_and_grad(inertia))
    for k in range(3 if tiny else 31):
        spread, d_points = gather(points, points[:: len(points) // 3])
        points = points - 0.05 * d_points
        if k % 10 == 0:
            print(f"k-means, points moved {k:2d} times: inertia {spread:.4f}")


if __name__ == "__main__":
    main()
