def heat_equation(u, kappa, target):
    """Three explicit steps, written into a buffer of the function's own.

    Specialised to u, target: float64[n]; kappa: a Python number.

    Returns out: float64.
    """
    u_2 = u.copy()  # golden_functions.py:236: u = u.copy()
    for _ in range(3):
        # golden_functions.py:238: u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u_2[1:-1] += kappa * (u_2[2:] - 2.0 * u_2[1:-1] + u_2[:-2])
    # golden_functions.py:239: return np.sum((u - target) ** 2)
    return ((u_2 - target) ** 2).sum()
