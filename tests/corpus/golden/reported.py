import numpy as np


def reported_value_and_grad(w, X, y):
    """Specialised to w, y: 1-d float64; X: 2-d float64.

    Returns loss: float64; d_w: like w.
    """

    # forward
    r = X @ w - y  # golden_functions.py:315
    # golden_functions.py:316: loss = np.mean(r**2)
    loss = (r**2).sum() / r.size
    print("loss", loss)  # golden_functions.py:317

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:316: loss = np.mean(r**2)
        d_r = 2.0 / r.size * r
        d_w = X.T @ d_r  # golden_functions.py:315
    return loss, d_w
