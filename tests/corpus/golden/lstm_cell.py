import numpy as np


def lstm_cell_value_and_grad(W, U, b, x, h, c):
    """Specialised to W, U: 2-d float64; b, x, h, c: 1-d float64.

    Returns out: float64; d_W, d_U, d_b: like W, U, b.
    """

    # forward
    z = W @ x + U @ h + b  # golden_functions.py:90
    i, f, o, g = np.split(z, 4)  # golden_functions.py:91
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    t = np.exp(-f)
    t_2 = 1.0 + t
    t_3 = 1.0 / t_2
    t_4 = np.exp(-i)
    t_5 = 1.0 + t_4
    t_6 = 1.0 / t_5
    # golden_functions.py:92: c_next = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    t_7 = np.tanh(g)
    c_next = t_3 * c + t_6 * t_7
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    t_8 = np.exp(-o)
    t_9 = 1.0 + t_8
    t_10 = 1.0 / t_9
    # golden_functions.py:93: h_next = sigmoid(o) * np.tanh(c_next)
    t_11 = np.tanh(c_next)
    h_next = t_10 * t_11
    # golden_functions.py:94: return np.sum(h_next)
    out = h_next.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:93: h_next = sigmoid(o) * np.tanh(c_next)
        d_c_next = t_10 * (1.0 - t_11**2)
        # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
        d_o = t_11 * t_10 / t_9 * t_8
        # golden_functions.py:92: c_next = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        d_g = d_c_next * t_6 * (1.0 - t_7**2)
        # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
        d_i = d_c_next * t_7 * t_6 / t_5 * t_4
        d_f = d_c_next * c * t_3 / t_2 * t
        d_b = np.concatenate([d_i, d_f, d_o, d_g])  # golden_functions.py:91
        # golden_functions.py:90: z = W @ x + U @ h + b
        t_12 = d_b[:, None]
        d_U = t_12 * h
        d_W = t_12 * x
    return out, (d_W, d_U, d_b)
