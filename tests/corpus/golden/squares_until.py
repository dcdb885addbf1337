import numpy as np


def squares_until_value_and_grad(x, limit):
    """Value and gradient of `squares_until`: It returns from within the loop.

    Specialised to x: float64[n]; limit: a Python number.

    Returns result: float64; d_x: like x.
    """

    # forward
    s, result, stop, taken_list = np.float64(0.0), np.float64(0.0), False, []
    for i in range(len(x)):
        if stop:
            break
        s = s + x[i] ** 2
        taken = s > limit  # golden_functions.py:289: if s > limit:
        taken_list.append(taken)
        if taken:
            result = 2.0 * s
            stop = True
    taken = not stop
    if taken:
        result = s

    # backward
    # golden_functions.py:287: for i in range(len(x)):
    if taken:
        d_s, d_result = np.float64(1.0), np.float64(0.0)
    else:
        d_s, d_result = np.float64(0.0), np.float64(1.0)
    d_x = np.zeros_like(x)
    for i in reversed(range(len(taken_list))):
        # golden_functions.py:289: if s > limit:
        if taken_list[i]:
            d_s = d_s + d_result * 2.0  # golden_functions.py:290: return 2.0 * s
            d_result = np.float64(0.0)
        d_x[i] += 2.0 * d_s * x[i]  # golden_functions.py:288: s = s + x[i] ** 2
    return result, d_x
