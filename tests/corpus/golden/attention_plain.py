import numpy as np


def attention(q, k, v):
    """`attention`, golden_functions.py:79.

    Specialised to q: float64[n, m]; k: float64[p, m]; v: float64[p, r].

    Returns out: float64.
    """
    # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = q @ k.T / np.sqrt(q.shape[1])
    # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    # golden_functions.py:82: return np.sum((weights @ v) ** 2)
    return ((weights @ v) ** 2).sum()
