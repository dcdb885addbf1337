import numpy as np


def gaussian_process_value_and_grad(log_params, x, y):
    """Specialised to log_params, x, y: 1-d float64.

    Returns out: float64; d_log_params: like log_params.
    """

    # forward
    # golden_functions.py:171: amplitude, length, noise = np.exp(log_params)
    t = np.exp(log_params)
    amplitude = t[0]
    length = t[1]
    noise = t[2]
    d = x[:, None] - x[None, :]  # golden_functions.py:172
    # golden_functions.py:173: K = amplitude**2 * np.exp(-0.5 * (d / length) ** 2) + ...
    t_2 = amplitude**2
    t_3 = d / length
    t_4 = np.exp(-0.5 * t_3**2)
    t_5 = np.eye(x.size)
    K = t_2 * t_4 + noise**2 * t_5
    alpha = np.linalg.solve(K, y)  # golden_functions.py:174
    _, logdet = np.linalg.slogdet(K)  # golden_functions.py:175
    # golden_functions.py:176: return 0.5 * (y @ alpha + logdet + len(x) * np.log(2 ...
    out = 0.5 * (y @ alpha + logdet + 11.027262398456072)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:176: return 0.5 * (y @ alpha + logdet + len(x) * np.lo ...
        d_alpha = 0.5 * y
        # golden_functions.py:174: alpha = np.linalg.solve(K, y)
        t_6 = -np.linalg.solve(K.T, d_alpha)[:, None] * alpha[None]
        d_K = 0.5 * np.linalg.inv(K).T + t_6
        # golden_functions.py:173: K = amplitude**2 * np.exp(-0.5 * (d / length) ** ...
        d_noise = (d_K * t_5).sum() * (2.0 * noise)
        d_length = (d_K * t_2 * t_4 * 0.5 * (2.0 * t_3) * t_3 / length).sum()
        d_amplitude = (d_K * t_4).sum() * (2.0 * amplitude)
        # golden_functions.py:171: amplitude, length, noise = np.exp(log_params)
        t_7 = np.zeros(log_params.shape)
        t_7[2] += d_noise
        t_7[1] += d_length
        t_7[0] += d_amplitude
        d_log_params = t_7 * t
    return out, d_log_params
