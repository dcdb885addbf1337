import numpy as np


def mlp(params, x, y):
    """Specialised to these arguments.

    params: {w1: 2-d float64, b1: 1-d float64, w2: 2-d float64, b2: 1-d float64, w3:
    2-d float64, b3: 1-d float64}
    x, y: 2-d float64

    Returns result: float64.
    """
    w1 = params["w1"]
    b1 = params["b1"]
    w2 = params["w2"]
    b2 = params["b2"]
    w3 = params["w3"]
    b3 = params["b3"]
    # golden_functions.py:56: return np.maximum(z, 0.0)
    h1 = np.maximum(x @ w1 + b1, 0.0)
    h2 = np.maximum(h1 @ w2 + b2, 0.0)
    # golden_functions.py:63: out = h2 @ params["w3"] + params["b3"]
    out = h2 @ w3 + b3
    # golden_functions.py:64: return np.mean((out - y) ** 2)
    result = ((out - y) ** 2).sum() / out.size
    return result
