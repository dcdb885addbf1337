import numpy as np


def signed_value_and_grad(x):
    """Value and gradient of `signed`: A decision that is guarded.

    Specialised to x: float64[n].

    Returns out: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:309: if np.sum(x) > 0.0:
    if not x.sum() > 0.0:
        return NotImplemented  # another specialisation is wanted
    # golden_functions.py:310: return np.sum(np.sqrt(np.abs(x)))
    root = np.sqrt(np.abs(x))
    out = root.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:310: return np.sum(np.sqrt(np.abs(x)))
        d_x = 0.5 / root * np.sign(x)
    return out, d_x
