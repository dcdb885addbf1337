import numpy as np


def quadratic_program_value_and_grad(q, P, A, b):
    """Specialised to q, b: 1-d float64; P, A: 2-d float64.

    Returns out: float64; d_q, d_b: like q, b.
    """

    # forward
    free = -np.linalg.solve(P, q)  # golden_functions.py:191
    PA = np.linalg.solve(P, A.T)  # golden_functions.py:192
    # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
    A_PA = A @ PA
    multiplier = np.linalg.solve(A_PA, A @ free - b)
    x = free - PA @ multiplier  # golden_functions.py:194
    # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
    product = 0.5 * x @ P
    out = product @ x + q @ x

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
        d_x = q + product + P @ x * 0.5
        d_multiplier = PA.T @ -d_x  # golden_functions.py:194
        # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
        d_multiplier_difference = np.linalg.solve(A_PA.T, d_multiplier)
        d_b = -d_multiplier_difference
        d_free = d_x + A.T @ d_multiplier_difference
        d_q = x + np.linalg.solve(P.T, -d_free)  # golden_functions.py:191
    return out, (d_q, d_b)
