import numpy as np


def decided_value_and_grad(x):
    """Value and gradient of `decided`: A truth of Python's: a guard.

    Specialised to x: float64[n].

    Returns out: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:350: if bool(np.sum(x) > 0.0):
    if not x.sum() > 0.0:
        return NotImplemented  # another specialisation is wanted
    # golden_functions.py:351: return np.sum(np.sqrt(np.abs(x)))
    root = np.sqrt(np.abs(x))
    out = root.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:351: return np.sum(np.sqrt(np.abs(x)))
        d_x = 0.5 / root * np.sign(x)
    return out, d_x
