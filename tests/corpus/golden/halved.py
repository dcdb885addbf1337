import numpy as np


def halved_value_and_grad(x):
    """Specialised to x: 1-d float64.

    Returns total: float64; d_x: like x.
    """

    # forward
    total = np.float64(0.0)
    ys = []
    steps_list = []
    for i in range(len(x)):  # golden_functions.py:276
        y = x[i]  # golden_functions.py:277
        steps = 0
        while y > 1.0:  # golden_functions.py:278
            y = y / 2.0  # golden_functions.py:279
            steps += 1
        ys.append(y)
        steps_list.append(steps)
        total = total + y**2  # golden_functions.py:280

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:276: for i in range(len(x)):
        d_x = np.zeros_like(x)
        for i in reversed(range(len(x))):
            d_y = 2.0 * ys[i]  # golden_functions.py:280
            for _ in range(steps_list[i]):  # golden_functions.py:278
                d_y = d_y / 2.0  # golden_functions.py:279
            d_x[i] += d_y  # golden_functions.py:277
    return total, d_x
