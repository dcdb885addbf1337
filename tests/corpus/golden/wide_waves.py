import numpy as np


def wide_waves_value_and_grad(w, x):
    """Value and gradient of `wide_waves`: Arrays that are large enough for tiles.

    Specialised to w: float64[n]; x: float64[m].

    Returns out: float64; d_w: like w.
    """

    # forward
    # golden_functions.py:303: h = np.tanh(w[0] * x) + np.exp(-(x**2)) * w[1]
    w_0_x = w[0] * x
    np.tanh(w_0_x, out=w_0_x)  # out=: written over an array that nobody reads again
    x_squared = x**2
    np.negative(x_squared, out=x_squared)
    np.exp(x_squared, out=x_squared)
    x_squared_w_1 = x_squared * w[1]
    h = np.add(w_0_x, x_squared_w_1, out=x_squared_w_1)
    # golden_functions.py:304: return np.sum(h * np.sin(h))
    sin_h = np.sin(h)
    h_sin_h = h * sin_h
    out = np.sum(h_sin_h)

    # backward
    # golden_functions.py:304: return np.sum(h * np.sin(h))
    del x_squared_w_1, h_sin_h  # frees memory before more is taken
    cos_h = np.cos(h)
    h *= cos_h
    d_h = np.add(sin_h, h, out=sin_h)
    # golden_functions.py:303: h = np.tanh(w[0] * x) + np.exp(-(x**2)) * w[1]
    np.multiply(d_h, x_squared, out=x_squared)
    d_w = np.zeros(w.shape)
    d_w[1] += x_squared.sum()
    del x_squared, h, sin_h, cos_h
    w_0_x_squared = w_0_x**2
    np.subtract(1.0, w_0_x_squared, out=w_0_x_squared)
    d_h *= w_0_x_squared
    d_h *= x
    d_w[0] += d_h.sum()
    return out, d_w
