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
    # golden_functions.py:165: white = np.linalg.solve(L, (x - mean).T)
    d_L_part = np.linalg.solve(L.T, white)
    # golden_functions.py:164: L = np.linalg.cholesky(cov)
    d_cov_part = L.T @ (np.diag(x.shape[0] / diagonal_L) - d_L_part @ white.T) / 2.0
    tril_d_cov_part = np.tril(d_cov_part)
    d_cov_part_2, _ = scipy.linalg.lapack.dtrtrs(
        L.T, tril_d_cov_part + np.tril(tril_d_cov_part, k=-1).T
    )
    d_cov, _ = scipy.linalg.lapack.dtrtrs(L.T, d_cov_part_2.T)
    return out, (-d_L_part.T.sum(axis=0), d_cov)
