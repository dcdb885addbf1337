import numpy as np


def recurrent_value_and_grad(params, inputs):
    """Specialised to these arguments.

    params: {W: 2-d float64, U: 2-d float64, b: 1-d float64}
    inputs: 2-d float64

    Returns out: float64; d_U, d_W, d_b: like U, W, b.
    """
    W, U, b = params["W"], params["U"], params["b"]

    # forward
    h = np.zeros(3)  # golden_functions.py:259
    hs = []
    for t in range(len(inputs)):  # golden_functions.py:260
        hs.append(h)
        # golden_functions.py:261: h = np.tanh(inputs[t] @ params["W"] + h @ params[ ...
        h = np.tanh(inputs[t] @ W + h @ U + b)
    # golden_functions.py:262: return np.sum(h**2)
    out = (h**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:262: return np.sum(h**2)
        d_h = 2.0 * h
        # golden_functions.py:260: for t in range(len(inputs)):
        d_W = np.full_like(W, -0.0)
        d_U = np.full_like(U, -0.0)
        d_b = np.full_like(b, -0.0)
        for t in reversed(range(len(inputs))):
            h_2 = hs[t]
            # golden_functions.py:261: h = np.tanh(inputs[t] @ params["W"] + h @ par ...
            d_h_total = d_h * (1.0 - h**2)
            d_b += d_h_total
            d_h = U @ d_h_total
            d_U += h_2[:, None] * d_h_total[None]
            d_W += inputs[t][:, None] * d_h_total[None]
            h = h_2
    return out, {"W": d_W, "U": d_U, "b": d_b}
