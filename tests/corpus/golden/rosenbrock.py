import numpy as np


def rosenbrock_value_and_grad(x):
    """Value and gradient of `rosenbrock`, golden_functions.py:26.

    Specialised to x: float64[n].

    Returns out: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:27: return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 ...
    x_part = x[:-1]
    difference = x[1:] - x_part**2
    one_minus_x_part = 1 - x_part
    out = (100.0 * difference**2 + one_minus_x_part**2).sum()

    # backward
    # golden_functions.py:27: return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 ...
    d_difference = 200.0 * difference
    d_x = np.zeros(x.shape)
    d_x[:-1] = -2.0 * one_minus_x_part - 2.0 * d_difference * x_part
    d_x[1:] += d_difference
    return out, d_x
