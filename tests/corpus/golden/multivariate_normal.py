import numpy as np


def multivariate_normal_value_and_grad(mean, cov, x):
    """Specialised to mean: 1-d float64; cov, x: 2-d float64.

    Returns out: float64; d_mean, d_cov: like mean, cov.
    """

    # forward
    L = np.linalg.cholesky(cov)  # golden_functions.py:164
    white = np.linalg.solve(L, (x - mean).T)  # golden_functions.py:165
    # golden_functions.py:166: return 0.5 * np.sum(white**2) + len(x) * np.sum(np.lo ...
    t = np.diagonal(L)
    out = 0.5 * (white**2).sum() + x.shape[0] * np.log(t).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:166: return 0.5 * np.sum(white**2) + len(x) * np.sum(n ...
        t_2 = np.zeros(L.shape)
        np.fill_diagonal(t_2, x.shape[0] / t)
        d_white = 0.5 * (2.0 * white)
        # golden_functions.py:165: white = np.linalg.solve(L, (x - mean).T)
        t_3 = np.linalg.solve(L.T, d_white)
        d_L = t_2 - t_3 @ white.T
        d_mean = (-t_3.T).sum(axis=0)
        # golden_functions.py:164: L = np.linalg.cholesky(cov)
        t_4 = L.T @ d_L
        t_5 = np.linalg.solve(L.T, (np.tril(t_4) + np.tril(t_4, k=-1)) / 2.0)
        t_6 = np.linalg.solve(L.T, t_5.T)
        d_cov = (t_6.T + t_6) / 2.0
    return out, (d_mean, d_cov)
