import numpy as np


def normalised_value_and_grad(x, out):
    """Value and gradient of `normalised`: A write into an argument.

    Specialised to x: float64[n]; out: float64[m].

    Writes into out.

    Returns result: float64; d_x: like x.
    """

    # forward
    # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
    out_root = np.sqrt((x**2).sum())
    out_2 = x / out_root
    result = (out_2 * x).sum()  # golden_functions.py:324: return np.sum(out * x)

    # backward
    # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
    d_out_2 = x[...]
    d_x = (
        out_2
        + d_out_2 / out_root
        - 2.0 * (0.5 * ((d_out_2 * out_2).sum() / out_root) / out_root) * x
    )

    # writes
    out[...] = out_2  # golden_functions.py:323: out[...] = x / np.sqrt(np.sum(x**2))
    return result, d_x
