import numpy as np


def softmax_regression_value_and_grad(W, b, X, labels):
    """Value and gradient of `softmax_regression`, golden_functions.py:37.

    Specialised to W: float64[n, m]; b: float64[m]; X: float64[k, n]; labels: int64[p].

    Returns out: float64; d_W, d_b: like W, b.
    """

    # forward
    logits = X @ W + b
    # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims=True)
    max_logits = logits.max(axis=1, keepdims=True)
    shifted = logits - max_logits
    # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), ...
    exp_shifted = np.exp(shifted)
    sum_exp_shifted = exp_shifted.sum(axis=1, keepdims=True)
    log_p = shifted - np.log(sum_exp_shifted)
    # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
    indices = np.arange(X.shape[0])
    out = -(log_p[indices, labels].sum() / labels.size)

    # backward
    # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
    d_log_p = np.zeros(logits.shape)
    np.add.at(d_log_p, (indices, labels), -1.0 / labels.size)
    # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), ...
    d_sum_exp_shifted = -d_log_p.sum(axis=1, keepdims=True) / sum_exp_shifted
    d_shifted = d_log_p + d_sum_exp_shifted * exp_shifted
    # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims=True)
    mask = logits == max_logits
    d_max_logits = -d_shifted.sum(axis=1, keepdims=True)
    d_logits = d_shifted + mask * (d_max_logits / mask.sum(axis=1, keepdims=True))
    # golden_functions.py:38: logits = X @ W + b
    return out, (X.T @ d_logits, d_logits.sum(axis=0))
