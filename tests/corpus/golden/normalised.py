import numpy as np


def normalised_value_and_grad(x, out):
    """Specialised to x, out: 1-d float64.

    Writes into out.

    Returns result: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
    t = np.sqrt((x**2).sum())
    out_2 = x / t
    # golden_functions.py:324: return np.sum(out * x)
    result = (out_2 * x).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
        d_out_2 = x[...]
        t_2 = (-d_out_2 * out_2 / t).sum() / (2.0 * t) * (2.0 * x)
        d_x = out_2 + d_out_2 / t + t_2

    # writes
    # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
    out[...] = out_2
    return result, d_x
