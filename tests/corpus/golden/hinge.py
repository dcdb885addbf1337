import numpy as np


def hinge_value_and_grad(w, X, y):
    """Specialised to w, y: 1-d float64; X: 2-d float64.

    Returns out: float64; d_w: like w.
    """

    # forward
    margin = y * (X @ w)  # golden_functions.py:51
    # golden_functions.py:52: return np.mean(np.maximum(0.0, 1.0 - margin)) + 0.5 * ...
    t = 1.0 - margin
    t_2 = 0.5 * w
    out = np.maximum(0.0, t).sum() / y.size + t_2 @ w

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:52: return np.mean(np.maximum(0.0, 1.0 - margin)) + 0. ...
        t_3 = 1.0 / y.size
        d_margin = -np.where(t < 0.0, 0.0, np.where(t == 0.0, t_3 / 2.0, t_3))
        d_w = t_2 + w * 0.5 + X.T @ (d_margin * y)  # golden_functions.py:51
    return out, d_w
