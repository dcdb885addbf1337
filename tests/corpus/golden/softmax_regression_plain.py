import numpy as np


def softmax_regression(W, b, X, labels):
    """Specialised to W, X: 2-d float64; b: 1-d float64; labels: 1-d int64.

    Returns out: float64.
    """
    logits = X @ W + b  # golden_functions.py:38
    # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims=True)
    shifted = logits - logits.max(axis=1, keepdims=True)
    # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), axis= ...
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
    log_p_part = log_p[np.arange(X.shape[0]), labels]
    out = -(log_p_part.sum() / log_p_part.size)
    return out
