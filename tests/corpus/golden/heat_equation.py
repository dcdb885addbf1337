import numpy as np


def heat_equation_value_and_grad(u, kappa, target):
    """Value and gradient of `heat_equation`.

    Three explicit steps, written into a buffer of the function's own.

    Specialised to u, target: float64[n]; kappa: a Python number.

    Returns out, d_kappa: float64; d_u: like u.
    """

    # forward
    u_2 = u.copy()  # golden_functions.py:236: u = u.copy()
    u_totals = []
    for _ in range(3):
        # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u_total = u_2[2:] - 2.0 * u_2[1:-1] + u_2[:-2]
        u_totals.append(u_total)
        u_2[1:-1] += kappa * u_total
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    u_2_minus_target = u_2 - target
    out = (u_2_minus_target**2).sum()

    # backward
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    d_u = 2.0 * u_2_minus_target
    d_kappa = np.float64(-0.0)  # a sum from -0.0 keeps the sign of a zero
    # golden_functions.py:237: for _ in range(3):
    for u_total in reversed(u_totals):
        # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        d_kappa_u_total = d_u[1:-1]
        d_u_total = d_kappa_u_total * kappa
        d_kappa += (d_kappa_u_total * u_total).sum()
        d_u[:-2] += d_u_total
        d_u[1:-1] -= d_u_total * 2.0
        d_u[2:] += d_u_total
    return out, (d_u, d_kappa)
