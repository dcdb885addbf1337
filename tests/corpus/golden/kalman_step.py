import numpy as np


def kalman_step_value_and_grad(F, H, Q, R, mean, cov, z):
    """Value and gradient of `kalman_step`.

    The negative log-likelihood of one observation.

    Specialised to these arguments.
    F: float64[n, m]
    H: float64[k, n]
    Q: float64[n, n]
    R: float64[k, k]
    mean: float64[m]
    cov: float64[m, m]
    z: float64[k]

    Returns out: float64; d_Q, d_R: like Q, R.
    """

    # forward
    mean_2 = F @ mean  # golden_functions.py:99: mean = F @ mean
    cov_2 = F @ cov @ F.T + Q  # golden_functions.py:100: cov = F @ cov @ F.T + Q
    innovation = z - H @ mean_2  # golden_functions.py:101: innovation = z - H @ mean
    # golden_functions.py:102: S = H @ cov @ H.T + R
    H_cov_2 = H @ cov_2
    S = H_cov_2 @ H.T + R
    # golden_functions.py:103: gain = np.linalg.solve(S, H @ cov).T
    gain = np.linalg.solve(S, H_cov_2).T
    # golden_functions.py:104: mean = mean + gain @ innovation
    mean_3 = mean_2 + gain @ innovation
    _, logdet = np.linalg.slogdet(S)
    # golden_functions.py:106: fit = innovation @ np.linalg.solve(S, innovation)
    fit_solution = np.linalg.solve(S, innovation)
    fit = innovation @ fit_solution
    # golden_functions.py:107: return 0.5 * (fit + logdet) + 1e-3 * np.sum(mean**2)
    out = 0.5 * (fit + logdet) + 0.001 * (mean_3**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:106: fit = innovation @ np.linalg.solve(S, innovation)
        d_R_part = -np.linalg.solve(S.T, 0.5 * innovation)[:, None] * fit_solution
        # golden_functions.py:103: gain = np.linalg.solve(S, H @ cov).T
        d_R_part_2 = np.linalg.solve(S.T, ((0.002 * mean_3)[:, None] * innovation).T)
        d_R = d_R_part + 0.5 * np.linalg.inv(S).T - d_R_part_2 @ gain
        # golden_functions.py:102: S = H @ cov @ H.T + R
        return out, (H.T @ d_R_part_2 + H.T @ (d_R @ H), d_R)
