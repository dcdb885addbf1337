import numpy as np


def layer_norm_value_and_grad(gain, bias, x):
    """Value and gradient of `layer_norm`, golden_functions.py:67.

    Specialised to gain, bias: float64[n]; x: float64[m, n].

    Returns out: float64; d_gain, d_bias, d_x: like gain, bias, x.
    """

    # forward
    # golden_functions.py:68: mu = x.mean(axis=-1, keepdims=True)
    mu = np.mean(x, axis=-1, keepdims=True)
    # golden_functions.py:69: var = x.var(axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    # golden_functions.py:70: y = gain * (x - mu) / np.sqrt(var + 1e-5) + bias
    x_minus_mu = x - mu
    y_root = np.sqrt(var + 1e-5)
    y_ratio = gain * x_minus_mu / y_root
    y = y_ratio + bias
    # golden_functions.py:71: return np.sum(y * np.arange(1.0, 5.0))
    indices = np.arange(1.0, 5.0)
    out = (y * indices).sum()

    # backward
    # golden_functions.py:71: return np.sum(y * np.arange(1.0, 5.0))
    d_y = np.broadcast_to(1.0, x.shape) * indices
    # golden_functions.py:70: y = gain * (x - mu) / np.sqrt(var + 1e-5) + bias
    d_gain_x_minus_mu = d_y / y_root
    d_shifted_var = (
        0.5 * (-(d_y * y_ratio).sum(axis=1, keepdims=True) / y_root) / y_root
    )
    d_x_minus_mu = d_gain_x_minus_mu * gain
    # golden_functions.py:69: var = x.var(axis=-1, keepdims=True)
    d_x_part = d_x_minus_mu + 2.0 * d_shifted_var / x.shape[1] * x_minus_mu
    # golden_functions.py:68: mu = x.mean(axis=-1, keepdims=True)
    d_x = d_x_part - d_x_minus_mu.sum(axis=1, keepdims=True) / x.shape[1]
    return out, ((d_gain_x_minus_mu * x_minus_mu).sum(axis=0), d_y.sum(axis=0), d_x)
