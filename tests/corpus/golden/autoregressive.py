import numpy as np


def autoregressive_value_and_grad(phi, sigma, series):
    """Specialised to phi, series: 1-d float64; sigma: a Python number.

    Returns out, d_sigma: float64; d_phi: like phi.
    """

    # forward
    # golden_functions.py:229: predicted = phi[0] * series[1:-1] + phi[1] * series[:-2]
    t = series[1:-1]
    t_2 = series[:-2]
    predicted = phi[0] * t + phi[1] * t_2
    residual = series[2:] - predicted  # golden_functions.py:230
    # golden_functions.py:231: return np.sum(residual**2) / (2 * sigma**2) + len(res ...
    t_3 = 2 * sigma**2
    t_4 = (residual**2).sum() / t_3
    out = t_4 + residual.size * np.log(sigma)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:231: return np.sum(residual**2) / (2 * sigma**2) + len ...
        t_5 = -t_4 / t_3 * 2.0 * (2 * sigma)
        d_sigma = np.float64(1.0) * residual.size / sigma + t_5
        d_residual = np.float64(1.0) / t_3 * (2.0 * residual)
        d_predicted = -d_residual  # golden_functions.py:230
        # golden_functions.py:229: predicted = phi[0] * series[1:-1] + phi[1] * seri ...
        d_phi = np.zeros(phi.shape)
        d_phi[1] += (d_predicted * t_2).sum()
        d_phi[0] += (d_predicted * t).sum()
    return out, (d_phi, d_sigma)
