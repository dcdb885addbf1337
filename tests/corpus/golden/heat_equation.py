import numpy as np


def heat_equation_value_and_grad(u, kappa, target):
    """Value and gradient of `heat_equation`.

    Three explicit steps, written into a buffer of the function's own.

    Specialised to u: float64[n]; kappa: a Python number; target: float64[m].

    Returns out, d_kappa: float64; d_u: like u.
    """

    # forward
    u_2 = u.copy()  # golden_functions.py:236: u = u.copy()
    # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    u_2_part = u_2[1:-1]
    u_total = u_2[2:] - 2.0 * u_2_part + u_2[:-2]
    u_3 = np.array(u_2)
    u_3[1:-1] = u_2_part + kappa * u_total
    u_3_part = u_3[1:-1]
    u_total_2 = u_3[2:] - 2.0 * u_3_part + u_3[:-2]
    u_4 = np.array(u_3)
    u_4[1:-1] = u_3_part + kappa * u_total_2
    u_4_part = u_4[1:-1]
    u_total_3 = u_4[2:] - 2.0 * u_4_part + u_4[:-2]
    u_5 = np.array(u_4)
    u_5[1:-1] = u_4_part + kappa * u_total_3
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    u_5_minus_target = u_5 - target
    out = (u_5_minus_target**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:239: return np.sum((u - target) ** 2)
        d_u_5_minus_target = 2.0 * u_5_minus_target
        # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        d_u_4 = np.array(d_u_5_minus_target)
        d_u_4[1:-1] = 0.0
        d_u_total = d_u_5_minus_target[1:-1]
        d_u_total_3 = d_u_total * kappa
        d_u_4[:-2] += d_u_total_3
        d_u_4[1:-1] -= d_u_total_3 * 2.0
        d_u_4[2:] += d_u_total_3
        d_u_4[1:-1] += d_u_total
        d_u_3 = np.array(d_u_4)
        d_u_3[1:-1] = 0.0
        d_u_total_2 = d_u_4[1:-1]
        d_u_total_2_2 = d_u_total_2 * kappa
        d_u_3[:-2] += d_u_total_2_2
        d_u_3[1:-1] -= d_u_total_2_2 * 2.0
        d_u_3[2:] += d_u_total_2_2
        d_u_3[1:-1] += d_u_total_2
        d_u = np.array(d_u_3)
        d_u[1:-1] = 0.0
        d_u_total_4 = d_u_3[1:-1]
        d_u_total_5 = d_u_total_4 * kappa
        d_kappa_part = (d_u_total * u_total_3).sum() + (d_u_total_2 * u_total_2).sum()
        d_u[:-2] += d_u_total_5
        d_u[1:-1] -= d_u_total_5 * 2.0
        d_u[2:] += d_u_total_5
        d_u[1:-1] += d_u_total_4
        return out, (d_u, d_kappa_part + (d_u_total_4 * u_total).sum())
