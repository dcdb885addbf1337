import numpy as np


def hinge_value_and_grad(w, X, y):
    """Value and gradient of `hinge`, golden_functions.py:50.

    Specialised to w: float64[n]; X: float64[m, n]; y: float64[m].

    Returns out: float64; d_w: like w.
    """

    # forward
    margin = y * (X @ w)
    # golden_functions.py:52: return np.mean(np.maximum(0.0, 1.0 - margin)) + 0.5 * ...
    one_minus_margin = 1.0 - margin
    half_w = 0.5 * w
    out = np.maximum(0.0, one_minus_margin).sum() / y.size + half_w @ w

    # backward
    # golden_functions.py:52: return np.mean(np.maximum(0.0, 1.0 - margin)) + 0.5 * ...
    d_margin_part = np.where(one_minus_margin == 0.0, 0.5 / y.size, 1.0 / y.size)
    # golden_functions.py:51: margin = y * (X @ w)
    d_w = (
        half_w
        + half_w
        + X.T @ (-np.where(one_minus_margin < 0.0, 0.0, d_margin_part) * y)
    )
    return out, d_w
