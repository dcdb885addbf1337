import numpy as np


def relaxed_value_and_grad(u, b):
    """Specialised to u, b: 1-d float64.

    Returns out: float64; d_b: like b.
    """

    # forward
    r = b - u * u  # golden_functions.py:341
    # golden_functions.py:342: while np.sqrt(np.sum(r**2)) > 1e-6 * (1.0 + np.sqrt(n ...
    t = np.abs(b).max()
    ts = []
    ts_2 = []
    us = []
    while True:
        t_2 = 1e-6 * (1.0 + np.sqrt((u**2).sum()) + np.abs(u).max() + t)
        if not np.sqrt((r**2).sum()) > t_2:
            break
        us.append(u)
        # golden_functions.py:343: u = u + r / (2.0 * u)
        t_2 = 2.0 * u
        ts.append(t_2)
        t_3 = r / t_2
        ts_2.append(t_3)
        u = u + t_3
        r = b - u * u  # golden_functions.py:344
    # golden_functions.py:345: return np.sum(u)
    out = u.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:345: return np.sum(u)
        d_u = np.broadcast_to(1.0, u.shape)
        # golden_functions.py:342: while np.sqrt(np.sum(r**2)) > 1e-6 * (1.0 + np.sq ...
        d_r = np.zeros_like(r)
        t_2 = np.full_like(b, -0.0)
        for t_3, t_4, u_2 in zip(reversed(ts), reversed(ts_2), reversed(us)):
            # golden_functions.py:344: r = b - u * u
            t_2 += d_r
            t_5 = -d_r * u
            d_u = d_u + t_5 + t_5
            # golden_functions.py:343: u = u + r / (2.0 * u)
            d_r = d_u / t_3
            d_u = d_u - d_u * t_4 / t_3 * 2.0
            u = u_2
        d_b = t_2 + d_r  # golden_functions.py:341
    return out, d_b
