import numpy as np


def newton_value_and_grad(a):
    """Value and gradient of `newton`: The square root.

    Specialised to a: float64.

    Returns x, d_a: float64.
    """

    # forward
    x, xs, a_over_xs = a, [], []
    while np.abs(x * x - a) > 1e-12:
        xs.append(x)
        # golden_functions.py:269: x = 0.5 * (x + a / x)
        a_over_x = a / x
        a_over_xs.append(a_over_x)
        x = 0.5 * (x + a_over_x)

    # backward
    with np.errstate(all="ignore"):
        # a sum from -0.0 keeps the sign of a zero
        d_x, d_a_part = np.float64(1.0), np.float64(-0.0)
        # golden_functions.py:268: while np.abs(x * x - a) > 1e-12:
        for x_before, a_over_x in zip(reversed(xs), reversed(a_over_xs)):
            # golden_functions.py:269: x = 0.5 * (x + a / x)
            d_x_plus_a_over_x = d_x * 0.5
            d_a_part = d_a_part + d_x_plus_a_over_x / x_before
            d_x = d_x_plus_a_over_x - d_x_plus_a_over_x * a_over_x / x_before
        d_a = d_x + d_a_part
    return x, d_a
