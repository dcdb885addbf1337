import numpy as np


def newton_value_and_grad(a):
    """Specialised to a: float64.

    Returns x, d_a: float64.
    """

    # forward
    x = a
    xs = []
    ts = []
    while np.abs(x * x - a) > 1e-12:  # golden_functions.py:268
        xs.append(x)
        # golden_functions.py:269: x = 0.5 * (x + a / x)
        t = a / x
        ts.append(t)
        x = 0.5 * (x + t)

    # backward
    with np.errstate(all="ignore"):
        d_x = np.float64(1.0)
        t = np.float64(-0.0)
        for x_2, t_2 in zip(reversed(xs), reversed(ts)):  # golden_functions.py:268
            # golden_functions.py:269: x = 0.5 * (x + a / x)
            t_3 = d_x * 0.5
            t = t + t_3 / x_2
            d_x = t_3 - t_3 * t_2 / x_2
        d_a = d_x + t
    return x, d_a
