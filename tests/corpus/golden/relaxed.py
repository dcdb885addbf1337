import numpy as np


def relaxed_value_and_grad(u, b):
    """Value and gradient of `relaxed`.

    A test that is too wide for the head of its loop.

    Specialised to u, b: float64[n].

    Returns out: float64; d_b: like b.
    """

    # forward
    r = b - u * u
    # golden_functions.py:342: while np.sqrt(np.sum(r**2)) > 1e-6 * (1.0 + ...
    largest = np.abs(b).max()
    u_ratios, us = [], []
    while True:
        product = 1e-6 * (1.0 + np.sqrt((u**2).sum()) + np.abs(u).max() + largest)
        if not np.sqrt((r**2).sum()) > product:
            break
        us.append(u)
        # golden_functions.py:343: u = u + r / (2.0 * u)
        u_ratio = r / (2.0 * u)
        u_ratios.append(u_ratio)
        u = u + u_ratio
        r = b - u * u
    out = u.sum()  # golden_functions.py:345: return np.sum(u)

    # backward
    with np.errstate(all="ignore"):
        d_u = np.broadcast_to(1.0, u.shape)  # golden_functions.py:345: return np.sum(u)
        # golden_functions.py:342: while np.sqrt(np.sum(r**2)) > 1e-6 * (1.0 + ...
        # a sum from -0.0 keeps the sign of a zero
        d_r, d_b_part = np.zeros_like(r), np.full_like(b, -0.0)
        for u_ratio, u_before in zip(reversed(u_ratios), reversed(us)):
            # golden_functions.py:343: u = u + r / (2.0 * u)
            twice_u_before = 2.0 * u_before
            # golden_functions.py:344: r = b - u * u
            d_b_part += d_r
            d_r_u = -d_r * u
            d_u = d_u + d_r_u + d_r_u
            d_r = d_u / twice_u_before
            d_u = d_u - d_u * u_ratio / twice_u_before * 2.0
            u = u_before
        d_b = d_b_part + d_r  # golden_functions.py:341: r = b - u * u
    return out, d_b
