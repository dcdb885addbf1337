import numpy as np


def quadratic_program_value_and_grad(q, P, A, b):
    """Value and gradient of `quadratic_program`.

    The minimum of x @ P @ x / 2 + q @ x under A @ x = b, by a Schur complement.

    Specialised to q: float64[n]; P: float64[n, n]; A: float64[m, n]; b: float64[m].

    Returns out: float64; d_q, d_b: like q, b.
    """

    # forward
    free = -np.linalg.solve(P, q)
    PA = np.linalg.solve(P, A.T)
    # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
    A_PA = A @ PA
    multiplier = np.linalg.solve(A_PA, A @ free - b)
    x = free - PA @ multiplier
    # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
    product = 0.5 * x @ P
    out = product @ x + q @ x

    # backward
    # golden_functions.py:195: return 0.5 * x @ P @ x + q @ x
    d_x = q + product + P @ x * 0.5
    # golden_functions.py:193: multiplier = np.linalg.solve(A @ PA, A @ free - b)
    d_multiplier_difference = np.linalg.solve(A_PA.T, PA.T @ -d_x)
    # golden_functions.py:191: free = -np.linalg.solve(P, q)
    d_q = x + np.linalg.solve(P.T, -(d_x + A.T @ d_multiplier_difference))
    return out, (d_q, -d_multiplier_difference)
