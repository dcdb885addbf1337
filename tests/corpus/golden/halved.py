import numpy as np


def halved_value_and_grad(x):
    """Value and gradient of `halved`: A loop in a loop.

    Specialised to x: float64[n].

    Returns total: float64; d_x: like x.
    """

    # forward
    total, saved = np.float64(0.0), []
    for i in range(len(x)):
        y = x[i]
        steps = 0
        while y > 1.0:
            y = y / 2.0
            steps += 1
        total = total + y**2
        saved.append((y, steps))

    # backward
    # golden_functions.py:276: for i in range(len(x)):
    d_x = np.zeros_like(x)
    for i in reversed(range(len(x))):
        y, steps = saved[i]
        d_y = 2.0 * y  # golden_functions.py:280: total = total + y**2
        # golden_functions.py:278: while y > 1.0:
        for _ in range(steps):
            d_y = d_y / 2.0  # golden_functions.py:279: y = y / 2.0
        d_x[i] += d_y  # golden_functions.py:277: y = x[i]
    return total, d_x
