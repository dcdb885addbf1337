import numpy as np


def wide_waves_value_and_grad(w, x):
    """Specialised to w, x: 1-d float64.

    Returns out: float64; d_w: like w.
    """

    # forward
    # golden_functions.py:303: h = np.tanh(w[0] * x) + np.exp(-(x**2)) * w[1]
    t = w[0] * x
    np.tanh(t, out=t)
    t_2 = x**2
    np.negative(t_2, out=t_2)
    np.exp(t_2, out=t_2)
    t_3 = t_2 * w[1]
    h = np.add(t, t_3, out=t_3)
    # golden_functions.py:304: return np.sum(h * np.sin(h))
    t_4 = np.sin(h)
    t_5 = h * t_4
    out = np.sum(t_5)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:304: return np.sum(h * np.sin(h))
        del t_3, t_5
        t_6 = np.cos(h)
        h *= t_6
        d_h = np.add(t_4, h, out=t_4)
        # golden_functions.py:303: h = np.tanh(w[0] * x) + np.exp(-(x**2)) * w[1]
        np.multiply(d_h, t_2, out=t_2)
        d_w = np.zeros(w.shape)
        d_w[1] += t_2.sum()
        del t_2, h, t_4, t_6
        t_7 = t**2
        np.subtract(1.0, t_7, out=t_7)
        d_h *= t_7
        d_h *= x
        d_w[0] += d_h.sum()
    return out, d_w
