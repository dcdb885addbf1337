import numpy as np


def quadratic_program_value_and_grad(q, P, A, b):
    """Specialised to q, b: 1-d float64; P, A: 2-d float64.

    Returns out: float64; d_q, d_b: like q, b.
    """

    # forward
    free = -np.linalg.solve(P, q)  # golden_functions.py:191
    PA = np.linalg.solve(P, A.T)  # golden_functions.py:192
    # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
    t = A @ PA
    multiplier = np.linalg.solve(t, A @ free - b)
    x = free - PA @ multiplier  # golden_functions.py:194
    # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
    t_2 = 0.5 * x @ P
    out = t_2 @ x + q @ x

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
        d_x = q + t_2 + P @ x * 0.5
        d_multiplier = PA.T @ -d_x  # golden_functions.py:194
        # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
        t_3 = np.linalg.solve(t.T, d_multiplier)
        d_b = -t_3
        d_free = d_x + A.T @ t_3
        d_q = x + np.linalg.solve(P.T, -d_free)  # golden_functions.py:191
    return out, (d_q, d_b)
