import numpy as np


def mlp(params, x, y):
    """A dict of parameters, and a helper.

    Specialised to these arguments.
    params: {w1: float64[n, m], b1: float64[m], w2: float64[m, k], b2: float64[k], w3:
    float64[k, p], b3: float64[p]}
    x: float64[q, n]
    y: float64[q, p]

    Returns result: float64.
    """
    w1, b1, w2, b2 = params["w1"], params["b1"], params["w2"], params["b2"]
    w3, b3 = params["w3"], params["b3"]
    # golden_functions.py:56: return np.maximum(z, 0.0)
    h1 = np.maximum(x @ w1 + b1, 0.0)
    h2 = np.maximum(h1 @ w2 + b2, 0.0)
    out = h2 @ w3 + b3  # golden_functions.py:63: out = h2 @ params["w3"] + params["b3"]
    # golden_functions.py:64: return np.mean((out - y) ** 2)
    return ((out - y) ** 2).sum() / out.size
