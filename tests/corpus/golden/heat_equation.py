import numpy as np


def heat_equation_value_and_grad(u, kappa, target):
    """Specialised to u, target: 1-d float64; kappa: a Python number.

    Returns out, d_kappa: float64; d_u: like u.
    """

    # forward
    # golden_functions.py:236: u = u.copy()
    u_2 = u.copy()
    # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    t = u_2[1:-1]
    t_2 = u_2[2:] - 2.0 * t + u_2[:-2]
    u_3 = np.array(u_2)
    u_3[1:-1] = t + kappa * t_2
    t_3 = u_3[1:-1]
    t_4 = u_3[2:] - 2.0 * t_3 + u_3[:-2]
    u_4 = np.array(u_3)
    u_4[1:-1] = t_3 + kappa * t_4
    t_5 = u_4[1:-1]
    t_6 = u_4[2:] - 2.0 * t_5 + u_4[:-2]
    u_5 = np.array(u_4)
    u_5[1:-1] = t_5 + kappa * t_6
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    t_7 = u_5 - target
    out = (t_7**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:239: return np.sum((u - target) ** 2)
        d_t_7 = 2.0 * t_7
        # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        d_u_4 = np.array(d_t_7)
        d_u_4[1:-1] = 0.0
        t_8 = d_t_7[1:-1]
        d_t_6 = t_8 * kappa
        d_u_4[:-2] += d_t_6
        d_u_4[1:-1] -= d_t_6 * 2.0
        d_u_4[2:] += d_t_6
        d_u_4[1:-1] += t_8
        d_u_3 = np.array(d_u_4)
        d_u_3[1:-1] = 0.0
        t_9 = d_u_4[1:-1]
        d_t_4 = t_9 * kappa
        d_u_3[:-2] += d_t_4
        d_u_3[1:-1] -= d_t_4 * 2.0
        d_u_3[2:] += d_t_4
        d_u_3[1:-1] += t_9
        d_u = np.array(d_u_3)
        d_u[1:-1] = 0.0
        t_10 = d_u_3[1:-1]
        d_t_2 = t_10 * kappa
        d_kappa = (t_8 * t_6).sum() + (t_9 * t_4).sum() + (t_10 * t_2).sum()
        d_u[:-2] += d_t_2
        d_u[1:-1] -= d_t_2 * 2.0
        d_u[2:] += d_t_2
        d_u[1:-1] += t_10
    return out, (d_u, d_kappa)
