import numpy as np


def heat_equation(u, kappa, target):
    """Three explicit steps, written into a buffer of the function's own.

    Specialised to u: float64[n]; kappa: a Python number; target: float64[m].

    Returns out: float64.
    """
    u_2 = u.copy()  # golden_functions.py:236: u = u.copy()
    # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    u_2_part = u_2[1:-1]
    u_3 = np.array(u_2)
    u_3[1:-1] = u_2_part + kappa * (u_2[2:] - 2.0 * u_2_part + u_2[:-2])
    u_3_part = u_3[1:-1]
    u_4 = np.array(u_3)
    u_4[1:-1] = u_3_part + kappa * (u_3[2:] - 2.0 * u_3_part + u_3[:-2])
    u_4_part = u_4[1:-1]
    u_5 = np.array(u_4)
    u_5[1:-1] = u_4_part + kappa * (u_4[2:] - 2.0 * u_4_part + u_4[:-2])
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    return ((u_5 - target) ** 2).sum()
