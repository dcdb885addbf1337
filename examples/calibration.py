"""A model, calibrated by quantities that scipy.optimize.brentq finds within the loss.

    python calibration.py

Prices of options follow from a smile of volatilities; what is compared are volatilities, found from prices by a root.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, special

import gradscribe as gs

Array = Any

TRUE = np.array([0.2, -0.1, 0.3])


def price(volatility: Array, strike: Array) -> Array:
    """The price of a call in a year, of a share that costs 1 now (Black and Scholes, without interest)."""
    d = -np.log(strike) / volatility + volatility / 2.0
    return special.ndtr(d) - strike * special.ndtr(d - volatility)


def implied(target: Array, strike: Array) -> Array:
    """The volatility at which a call has its price."""
    return optimize.brentq(lambda v: price(v, strike) - target, 1e-3, 3.0, xtol=1e-13)


def mixed(p: Array, strike: Array) -> Array:
    """The price in a model of two regimes, whose volatilities differ."""
    share = special.expit(p[2])
    return share * price(np.exp(p[0] - 1.5), strike) + (1.0 - share) * price(np.exp(p[1] - 1.0), strike)


def problem(tiny: bool) -> tuple[Callable[[Array], Array], Array]:
    """The loss of the model, and where to begin."""
    strikes = np.linspace(0.8, 1.25, 3 if tiny else 9).tolist()
    smile = [implied(mixed(TRUE, k), k) for k in strikes]

    def loss(p: Array) -> Array:
        off = [implied(mixed(p, k), k) - v for k, v in zip(strikes, smile, strict=True)]
        return 1e4 * np.mean(np.stack(off) ** 2)

    return loss, np.array([0.0, 0.1, 0.0])


def main() -> None:
    """Compare the gradient with finite differences, then fit."""
    parser = argparse.ArgumentParser(
        description="A model, calibrated by quantities that scipy.optimize.brentq finds within the loss"
    )
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
