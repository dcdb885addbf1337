import numpy as np


def gaussian_process_value_and_grad(log_params, x, y):
    """Value and gradient of `gaussian_process`.

    The negative log marginal likelihood under a squared-exponential kernel.

    Specialised to log_params: float64[3]; x, y: float64[n].

    Returns out: float64; d_log_params: like log_params.
    """

    # forward
    # golden_functions.py:171: amplitude, length, noise = np.exp(log_params)
    exp_log_params = np.exp(log_params)
    amplitude, length, noise = exp_log_params
    d = x[:, None] - x[None, :]
    # golden_functions.py:173: K = amplitude**2 * np.exp(-0.5 * (d / length) ** 2) + ...
    amplitude_squared = amplitude**2
    d_over_length = d / length
    K_exp = np.exp(-0.5 * d_over_length**2)
    K_identity = np.eye(x.size)
    K = amplitude_squared * K_exp + noise**2 * K_identity
    alpha = np.linalg.solve(K, y)
    _, logdet = np.linalg.slogdet(K)
    # golden_functions.py:176: return 0.5 * (y @ alpha + logdet + len(x) * np.log(2 ...
    out = 0.5 * (y @ alpha + logdet + x.size * np.log(2 * np.pi))

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:174: alpha = np.linalg.solve(K, y)
        d_K = 0.5 * np.linalg.inv(K).T - np.linalg.solve(K.T, 0.5 * y)[:, None] * alpha
        # golden_functions.py:173: K = amplitude**2 * np.exp(-0.5 * (d / length) ** ...
        d_d_over_length = -(d_K * amplitude_squared * K_exp) * d_over_length
        d_noise = 2.0 * (d_K * K_identity).sum() * noise
        d_length = -(d_d_over_length * d_over_length).sum() / length
        d_amplitude = 2.0 * (d_K * K_exp).sum() * amplitude
        # golden_functions.py:171: amplitude, length, noise = np.exp(log_params)
        d_exp_log_params = np.array([d_amplitude, d_length, d_noise]) + 0.0
        d_log_params = d_exp_log_params * exp_log_params
    return out, d_log_params
