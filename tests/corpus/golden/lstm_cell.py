import numpy as np


def lstm_cell_value_and_grad(W, U, b, x, h, c):
    """Value and gradient of `lstm_cell`, golden_functions.py:89.

    Specialised to these arguments.
    W: float64[n, m]
    U: float64[n, k]
    b: float64[n]
    x: float64[m]
    h: float64[k]
    c: float64[p]

    Returns out: float64; d_W, d_U, d_b: like W, U, b.
    """

    # forward
    z = W @ x + U @ h + b
    i, f, o, g = np.split(z, 4)
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    exp_f, exp_i = np.exp(-f), np.exp(-i)
    one_plus_exp_f, one_plus_exp_i = 1.0 + exp_f, 1.0 + exp_i
    sigmoid_f, sigmoid_i = 1.0 / one_plus_exp_f, 1.0 / one_plus_exp_i
    # golden_functions.py:92: c_next = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    tanh_g = np.tanh(g)
    c_next = sigmoid_f * c + sigmoid_i * tanh_g
    exp_o = np.exp(-o)
    one_plus_exp_o = 1.0 + exp_o
    sigmoid_o = 1.0 / one_plus_exp_o
    # golden_functions.py:93: h_next = sigmoid(o) * np.tanh(c_next)
    tanh_c_next = np.tanh(c_next)
    h_next = sigmoid_o * tanh_c_next
    out = h_next.sum()  # golden_functions.py:94: return np.sum(h_next)

    # backward
    # golden_functions.py:93: h_next = sigmoid(o) * np.tanh(c_next)
    d_c_next = sigmoid_o * (1.0 - tanh_c_next**2)
    # golden_functions.py:92: c_next = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    d_g = d_c_next * sigmoid_i * (1.0 - tanh_g**2)
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    d_i = d_c_next * tanh_g * sigmoid_i / one_plus_exp_i * exp_i
    d_f = d_c_next * c * sigmoid_f / one_plus_exp_f * exp_f
    # golden_functions.py:91: i, f, o, g = np.split(z, 4)
    d_b = np.concatenate([d_i, d_f, h_next / one_plus_exp_o * exp_o, d_g])
    # golden_functions.py:90: z = W @ x + U @ h + b
    return out, (d_b[:, None] * x, d_b[:, None] * h, d_b)
