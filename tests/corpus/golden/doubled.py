import numpy as np


def doubled_value_and_grad(a):
    """Value and gradient of `doubled`.

    A loop whose trips depend on the data, and a branch.

    Specialised to a: float64[n].

    Returns out: float64; d_a: like a.
    """

    # forward
    b = a * 2
    steps = 0
    while np.linalg.norm(b) < 1000:
        b = b * 2
        steps += 1
    # golden_functions.py:254: c = b if b.sum() > 0 else 100 * b
    taken = b.sum() > 0
    c = b if taken else 100 * b
    out = c.sum()  # golden_functions.py:255: return np.sum(c)

    # backward
    d_c = np.broadcast_to(1.0, c.shape)  # golden_functions.py:255: return np.sum(c)
    # golden_functions.py:254: c = b if b.sum() > 0 else 100 * b
    d_b = d_c if taken else d_c * 100.0
    # golden_functions.py:252: while np.linalg.norm(b) < 1000:
    for _ in range(steps):
        d_b = d_b * 2.0  # golden_functions.py:253: b = b * 2
    d_a = d_b * 2.0  # golden_functions.py:251: b = a * 2
    return out, d_a
