import numpy as np


def huber_value_and_grad(w, X, y):
    """Value and gradient of `huber`, golden_functions.py:44.

    Specialised to w: float64[n]; X: float64[m, n]; y: float64[m].

    Returns out: float64; d_w: like w.
    """

    # forward
    r = X @ w - y
    a = np.abs(r)
    # golden_functions.py:47: return np.mean(np.where(a <= delta, 0.5 * r**2, delta ...
    mask = a <= 1.35
    out = np.where(mask, 0.5 * r**2, 1.35 * (a - 0.675)).sum() / r.size

    # backward
    # golden_functions.py:46: a = np.abs(r)
    d_r_part = np.where(mask, 0.0, 1.0 / r.size) * 1.35 * np.sign(r)
    # golden_functions.py:45: r = X @ w - y
    d_w = X.T @ (np.where(mask, 1.0 / r.size, 0.0) * r + d_r_part)
    return out, d_w
