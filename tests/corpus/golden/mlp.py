import numpy as np


def mlp_value_and_grad(params, x, y):
    """Value and gradient of `mlp`: A dict of parameters, and a helper.

    Specialised to these arguments.
    params: {w1: float64[n, m], b1: float64[m], w2: float64[m, k], b2: float64[k], w3:
    float64[k, p], b3: float64[p]}
    x: float64[q, n]
    y: float64[q, p]

    Returns result: float64; d_b1, d_b2, d_b3, d_w1, d_w2, d_w3: like b1, b2, b3, w1,
    w2, w3.
    """
    w1, b1, w2, b2 = params["w1"], params["b1"], params["w2"], params["b2"]
    w3, b3 = params["w3"], params["b3"]

    # forward
    # golden_functions.py:61: h1 = relu(x @ params["w1"] + params["b1"])
    z = x @ w1 + b1
    h1 = np.maximum(z, 0.0)
    # golden_functions.py:62: h2 = relu(h1 @ params["w2"] + params["b2"])
    z_2 = h1 @ w2 + b2
    h2 = np.maximum(z_2, 0.0)
    out = h2 @ w3 + b3  # golden_functions.py:63: out = h2 @ params["w3"] + params["b3"]
    # golden_functions.py:64: return np.mean((out - y) ** 2)
    out_minus_y = out - y
    result = (out_minus_y**2).sum() / out.size

    # backward
    # golden_functions.py:64: return np.mean((out - y) ** 2)
    d_out_minus_y = 2.0 / out.size * out_minus_y
    # golden_functions.py:63: out = h2 @ params["w3"] + params["b3"]
    d_h2 = d_out_minus_y @ w3.T
    # golden_functions.py:56: return np.maximum(z, 0.0)
    d_z_2 = np.where(z_2 < 0.0, 0.0, np.where(z_2 == 0.0, d_h2 / 2.0, d_h2))
    # golden_functions.py:62: h2 = relu(h1 @ params["w2"] + params["b2"])
    d_h1 = d_z_2 @ w2.T
    d_z = np.where(z < 0.0, 0.0, np.where(z == 0.0, d_h1 / 2.0, d_h1))
    return (
        result,
        {
            "w1": x.T @ d_z,
            "b1": d_z.sum(axis=0),
            "w2": h1.T @ d_z_2,
            "b2": d_z_2.sum(axis=0),
            "w3": h2.T @ d_out_minus_y,
            "b3": d_out_minus_y.sum(axis=0),
        },
    )
