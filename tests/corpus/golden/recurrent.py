import numpy as np


def recurrent_value_and_grad(params, inputs):
    """Value and gradient of `recurrent`, golden_functions.py:258.

    Specialised to these arguments.
    params: {W: float64[n, m], U: float64[m, m], b: float64[m]}
    inputs: float64[k, n]

    Returns out: float64; d_U, d_W, d_b: like U, W, b.
    """
    W, U, b = params["W"], params["U"], params["b"]

    # forward
    h, hs = np.zeros(3), []
    for t in range(len(inputs)):
        hs.append(h)
        # golden_functions.py:261: h = np.tanh(inputs[t] @ params["W"] + h @ ...
        h = np.tanh(inputs[t] @ W + h @ U + b)
    out = (h**2).sum()  # golden_functions.py:262: return np.sum(h**2)

    # backward
    d_h = 2.0 * h  # golden_functions.py:262: return np.sum(h**2)
    # golden_functions.py:260: for t in range(len(inputs)):
    # a sum from -0.0 keeps the sign of a zero
    d_W, d_U, d_b = np.full_like(W, -0.0), np.full_like(U, -0.0), np.full_like(b, -0.0)
    for t in reversed(range(len(inputs))):
        h_before = hs[t]
        # golden_functions.py:261: h = np.tanh(inputs[t] @ params["W"] + h @ ...
        d_h_total = d_h * (1.0 - h**2)
        d_b += d_h_total
        d_h = U @ d_h_total
        d_U += h_before[:, None] * d_h_total
        d_W += inputs[t][:, None] * d_h_total
        h = h_before
    return out, {"W": d_W, "U": d_U, "b": d_b}
