import numpy as np


def attention_value_and_grad(q, k, v):
    """Specialised to q, k, v: 2-d float64.

    Returns out: float64; d_q, d_k, d_v: like q, k, v.
    """

    # forward
    # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = q @ k.T / 1.7320508075688772
    # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
    t = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - t)
    # golden_functions.py:76: return e / e.sum(axis=-1, keepdims=True)
    t_2 = e.sum(axis=-1, keepdims=True)
    weights = e / t_2
    # golden_functions.py:82: return np.sum((weights @ v) ** 2)
    t_3 = weights @ v
    out = (t_3**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:82: return np.sum((weights @ v) ** 2)
        d_t_3 = 2.0 * t_3
        d_weights = d_t_3 @ v.T
        d_v = weights.T @ d_t_3
        # golden_functions.py:76: return e / e.sum(axis=-1, keepdims=True)
        d_t_2 = (-d_weights * weights / t_2).sum(axis=1, keepdims=True)
        d_e = d_weights / t_2 + d_t_2
        # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
        t_4 = d_e * e
        t_5 = scores == t
        t_6 = t_5.sum(axis=-1, dtype=np.float64, keepdims=True)
        d_scores = t_4 + t_5 * ((-t_4).sum(axis=1, keepdims=True) / t_6)
        # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
        t_7 = d_scores / 1.7320508075688772
        d_q = t_7 @ k
        d_k = (q.T @ t_7).T
    return out, (d_q, d_k, d_v)
