import numpy as np


def matrix_factorisation_value_and_grad(U, V, ratings, seen):
    """Value and gradient of `matrix_factorisation`, golden_functions.py:222.

    Specialised to these arguments.
    U: float64[n, m]
    V: float64[k, m]
    ratings: float64[n, k]
    seen: bool[n, k]

    Returns out: float64; d_U, d_V: like U, V.
    """

    # forward
    error = np.where(seen, U @ V.T - ratings, 0.0)
    # golden_functions.py:224: return np.sum(error**2) + 0.1 * (np.sum(U**2) + ...
    out = (error**2).sum() + 0.1 * ((U**2).sum() + (V**2).sum())

    # backward
    # golden_functions.py:223: error = np.where(seen, U @ V.T - ratings, 0.0)
    d_error_difference = np.where(seen, 2.0 * error, 0.0)
    d_V = 0.2 * V + (U.T @ d_error_difference).T
    return out, (0.2 * U + d_error_difference @ V, d_V)
