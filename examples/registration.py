"""Two images, registered through scipy.ndimage.map_coordinates.

    python registration.py

A turn, a scale and a shift lay one image on the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage, optimize

import gradscribe as gs

Array = Any

TRUE = np.array([0.2, 1.05, 1.5, -0.8])


def moved(image: Array, p: Array) -> Array:
    """An image, turned by an angle, scaled and shifted."""
    middle = (np.array(image.shape) - 1.0) / 2.0
    rows = np.arange(image.shape[0])[:, None] - middle[0] + np.zeros(image.shape)
    columns = np.arange(image.shape[1]) - middle[1] + np.zeros(image.shape)
    c, s = p[1] * np.cos(p[0]), p[1] * np.sin(p[0])
    places = np.stack([c * rows - s * columns + middle[0] + p[2], s * rows + c * columns + middle[1] + p[3]])
    return ndimage.map_coordinates(image, places, order=3, mode="nearest")


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of a movement, and where to begin."""
    image = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(12, 14) if tiny else (48, 56)), 3.0) * 10.0
    target = moved(image, TRUE)

    def loss(p: Array) -> Array:
        return np.mean((moved(image, p) - target) ** 2)

    return loss, np.array([0.1, 1.0, 0.9, -0.3])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(description="Two images, registered through scipy.ndimage.map_coordinates")
    parser.add_argument("--tiny", action="store_true", help="fewer data")
    loss, start = problem(parser.parse_args().tiny)
    eager, compiled = gs.value_and_grad(loss), gs.compile(gs.value_and_grad(loss))
    (value, slope), h = eager(start), 1e-5
    moved = [[loss(start + s * h * e) for s in (1.0, -1.0)] for e in np.eye(start.size)]
    print("finite differences:", np.round([(up - down) / (2 * h) for up, down in moved], 4))
    print("gradient:          ", np.round(slope, 4), " loss:", round(float(value), 4))
    print("compiled gives the same bits:", np.array_equal(compiled(start)[1], slope))
    found = optimize.minimize(compiled, start, jac=True, method="BFGS", options={"maxiter": 60})
    print("fitted:            ", np.round(found.x, 3), " loss:", round(float(found.fun), 6))


if __name__ == "__main__":
    main()
