import numpy as np


def signed_value_and_grad(x):
    """Value and gradient of `signed`: A decision: both arms stand in the text.

    Specialised to x: float64[n].

    Returns result: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:309: if np.sum(x) > 0.0:
    taken = x.sum() > 0.0
    if taken:
        # golden_functions.py:310: return np.sum(np.sqrt(np.abs(x)))
        t = np.sqrt(np.abs(x))
        result = t.sum()
    else:
        result = (x**2).sum()  # golden_functions.py:311: return np.sum(x**2)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:309: if np.sum(x) > 0.0:
        d_x = 0.5 / t * np.sign(x) if taken else 2.0 * x
    return result, d_x
