import numpy as np


def autoregressive_value_and_grad(phi, sigma, series):
    """Value and gradient of `autoregressive`.

    The negative log-likelihood of an AR(2) model.

    Specialised to phi: float64[n]; sigma: a Python number; series: float64[m].

    Returns out, d_sigma: float64; d_phi: like phi.
    """

    # forward
    predicted = phi[0] * series[1:-1] + phi[1] * series[:-2]
    residual = series[2:] - predicted
    # golden_functions.py:231: return np.sum(residual**2) / (2 * sigma**2) + ...
    product = 2 * sigma**2
    ratio = (residual**2).sum() / product
    out = ratio + residual.size * np.log(sigma)

    # backward
    # golden_functions.py:231: return np.sum(residual**2) / (2 * sigma**2) + ...
    d_sigma = np.float64(residual.size) / sigma - 4.0 * (ratio / product) * sigma
    # golden_functions.py:230: residual = series[2:] - predicted
    d_predicted = -2.0 * (np.float64(1.0) / product) * residual
    # golden_functions.py:229: predicted = phi[0] * series[1:-1] + phi[1] * series[:-2]
    d_phi = np.zeros(phi.shape)
    d_phi[1] += (d_predicted * series[:-2]).sum()
    d_phi[0] += (d_predicted * series[1:-1]).sum()
    return out, (d_phi, d_sigma)
