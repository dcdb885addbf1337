import numpy as np


def rosenbrock_value_and_grad(x):
    """Specialised to x: 1-d float64.

    Returns out: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:27: return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 ...
    t = x[:-1]
    t_2 = x[1:] - t**2
    t_3 = 1 - t
    out = (100.0 * t_2**2 + t_3**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:27: return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + ...
        d_t_2 = 200.0 * t_2
        d_x = np.zeros(x.shape)
        d_x[:-1] = -2.0 * t_3 - d_t_2 * (2.0 * t)
        d_x[1:] += d_t_2
    return out, d_x
