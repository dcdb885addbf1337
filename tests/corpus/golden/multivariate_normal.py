import numpy as np
import scipy.linalg


def multivariate_normal_value_and_grad(mean, cov, x):
    """Value and gradient of `multivariate_normal`.

    The negative log-likelihood, by a Cholesky factor.

    Specialised to mean: float64[n]; cov: float64[n, n]; x: float64[m, n].

    Returns out: float64; d_mean, d_cov: like mean, cov.
    """

    # forward
    L = np.linalg.cholesky(cov)
    white = np.linalg.solve(L, (x - mean).T)
    # golden_functions.py:166: return 0.5 * np.sum(white**2) + len(x) * ...
    diagonal_L = np.diagonal(L)
    out = 0.5 * (white**2).sum() + x.shape[0] * np.log(diagonal_L).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:166: return 0.5 * np.sum(white**2) + len(x) * ...
        d_L_part = np.zeros(L.shape)
        np.fill_diagonal(d_L_part, x.shape[0] / diagonal_L)
        # golden_functions.py:165: white = np.linalg.solve(L, (x - mean).T)
        d_L_part_2 = np.linalg.solve(L.T, white)
        # golden_functions.py:164: L = np.linalg.cholesky(cov)
        product = L.T @ (d_L_part - d_L_part_2 @ white.T)
        d_cov_part = (np.tril(product) + np.tril(product, k=-1)) / 2.0
        d_cov_part_2 = scipy.linalg.solve_triangular(
            L, d_cov_part, 1, True, check_finite=False
        )
        d_cov_part_3 = scipy.linalg.solve_triangular(
            L, d_cov_part_2.T, 1, True, check_finite=False
        )
        return out, (-d_L_part_2.T.sum(axis=0), (d_cov_part_3.T + d_cov_part_3) / 2.0)
