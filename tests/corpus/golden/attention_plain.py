import numpy as np


def attention(q, k, v):
    """Specialised to q, k, v: 2-d float64.

    Returns out: float64.
    """
    # golden_functions.py:80: scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = q @ k.T / np.sqrt(q.shape[1])
    # golden_functions.py:75: e = np.exp(z - z.max(axis=-1, keepdims=True))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)  # golden_functions.py:76
    # golden_functions.py:82: return np.sum((weights @ v) ** 2)
    out = ((weights @ v) ** 2).sum()
    return out
