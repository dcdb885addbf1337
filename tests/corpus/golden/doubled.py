import numpy as np


def doubled_value_and_grad(a):
    """Specialised to a: 1-d float64.

    Returns out: float64; d_a: like a.
    """

    # forward
    b = a * 2  # golden_functions.py:251
    steps = 0
    while np.linalg.norm(b) < 1000:  # golden_functions.py:252
        b = b * 2  # golden_functions.py:253
        steps += 1
    # golden_functions.py:254: c = b if b.sum() > 0 else 100 * b
    taken = b.sum() > 0
    c = b if taken else 100 * b
    # golden_functions.py:255: return np.sum(c)
    out = c.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:255: return np.sum(c)
        d_c = np.broadcast_to(1.0, c.shape)
        # golden_functions.py:254: c = b if b.sum() > 0 else 100 * b
        d_b = d_c if taken else d_c * 100.0
        for _ in range(steps):  # golden_functions.py:252
            d_b = d_b * 2.0  # golden_functions.py:253
        d_a = d_b * 2.0  # golden_functions.py:251
    return out, d_a
