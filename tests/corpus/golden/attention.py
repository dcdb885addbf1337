import numpy as np


def attention_value_and_grad(q, k, v):
    """Value and gradient of `attention`, golden_functions.py:79.

    Specialised to q: float64[n, m]; k: float64[p, m]; v: float64[p, r].

    Returns out: float64; d_q, d_k, d_v: like q, k, v.
    """

    # forward
    # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
    scores_root = np.sqrt(q.shape[1])
    scores = q @ k.T / scores_root
    # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
    max_scores = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - max_scores)
    # golden_functions.py:76: return e / e.sum(axis=-1, keepdims=True)
    sum_e = e.sum(axis=-1, keepdims=True)
    weights = e / sum_e
    # golden_functions.py:82: return np.sum((weights @ v) ** 2)
    weights_v = weights @ v
    out = (weights_v**2).sum()

    # backward
    # golden_functions.py:82: return np.sum((weights @ v) ** 2)
    d_weights_v = 2.0 * weights_v
    d_weights = d_weights_v @ v.T
    # golden_functions.py:76: return e / e.sum(axis=-1, keepdims=True)
    d_sum_e = -(d_weights * weights).sum(axis=1, keepdims=True) / sum_e
    # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
    d_e_difference = (d_weights / sum_e + d_sum_e) * e
    mask = scores == max_scores
    d_max_scores = -d_e_difference.sum(axis=1, keepdims=True)
    d_scores = d_e_difference + mask * (d_max_scores / mask.sum(axis=-1, keepdims=True))
    # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
    d_q_k = d_scores / scores_root
    return out, (d_q_k @ k, (q.T @ d_q_k).T, weights.T @ d_weights_v)
