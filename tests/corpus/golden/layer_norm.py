import numpy as np


def layer_norm_value_and_grad(gain, bias, x):
    """Specialised to gain, bias: 1-d float64; x: 2-d float64.

    Returns out: float64; d_gain, d_bias, d_x: like gain, bias, x.
    """

    # forward
    # golden_functions.py:68: mu = x.mean(axis=-1, keepdims=True)
    mu = np.mean(x, axis=-1, keepdims=True)
    # golden_functions.py:69: var = x.var(axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    # golden_functions.py:70: y = gain * (x - mu) / np.sqrt(var + 1e-5) + bias
    t = x - mu
    t_2 = np.sqrt(var + 1e-5)
    t_3 = gain * t / t_2
    y = t_3 + bias
    # golden_functions.py:71: return np.sum(y * np.arange(1.0, 5.0))
    t_4 = np.arange(1.0, 5.0)
    out = (y * t_4).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:71: return np.sum(y * np.arange(1.0, 5.0))
        d_y = np.broadcast_to(1.0, x.shape) * t_4
        # golden_functions.py:70: y = gain * (x - mu) / np.sqrt(var + 1e-5) + bias
        d_bias = d_y.sum(axis=0)
        t_5 = d_y / t_2
        d_t = t_5 * gain
        d_gain = (t_5 * t).sum(axis=0)
        d_mu = (-d_t).sum(axis=1, keepdims=True)
        # golden_functions.py:69: var = x.var(axis=-1, keepdims=True)
        t_6 = 2.0 * ((-d_y * t_3 / t_2).sum(axis=1, keepdims=True) / (2.0 * t_2))
        # golden_functions.py:68: mu = x.mean(axis=-1, keepdims=True)
        d_x = d_t + t_6 / x.shape[1] * t + d_mu / x.shape[1]
    return out, (d_gain, d_bias, d_x)
