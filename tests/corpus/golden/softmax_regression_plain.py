import numpy as np


def softmax_regression(W, b, X, labels):
    """`softmax_regression`, golden_functions.py:37.

    Specialised to W: float64[n, m]; b: float64[m]; X: float64[k, n]; labels: int64[p].

    Returns out: float64.
    """
    logits = X @ W + b
    # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims=True)
    shifted = logits - logits.max(axis=1, keepdims=True)
    # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), ...
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
    return -(log_p[np.arange(X.shape[0]), labels].sum() / labels.size)
