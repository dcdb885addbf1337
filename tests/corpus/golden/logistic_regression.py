import numpy as np


def logistic_regression_value_and_grad(w, X, y):
    """Value and gradient of `logistic_regression`: Labels are -1 and 1.

    Specialised to w: float64[n]; X: float64[m, n]; y: float64[m].

    Returns out: float64; d_w: like w.
    """

    # forward
    margin = y * (X @ w)
    # golden_functions.py:33: penalty = 0.01 * np.sum(w**2)
    penalty = 0.01 * (w**2).sum()
    # golden_functions.py:34: return np.mean(np.logaddexp(0.0, -margin)) + penalty
    minus_margin = -margin
    out = np.logaddexp(0.0, minus_margin).sum() / y.size + penalty

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:32: margin = y * (X @ w)
        d_w = 0.02 * w + X.T @ (
            -1.0 / y.size * (1.0 / (1.0 + np.exp(-minus_margin))) * y
        )
    return out, d_w
