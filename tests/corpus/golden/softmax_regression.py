import numpy as np


def softmax_regression_value_and_grad(W, b, X, labels):
    """Specialised to W, X: 2-d float64; b: 1-d float64; labels: 1-d int64.

    Returns out: float64; d_W, d_b: like W, b.
    """

    # forward
    logits = X @ W + b  # golden_functions.py:38
    # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims=True)
    t = logits.max(axis=1, keepdims=True)
    shifted = logits - t
    # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), axis= ...
    t_2 = np.exp(shifted)
    t_3 = t_2.sum(axis=1, keepdims=True)
    log_p = shifted - np.log(t_3)
    # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
    t_4 = np.arange(X.shape[0])
    t_5 = log_p[t_4, labels]
    out = -(t_5.sum() / t_5.size)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:41: return -np.mean(log_p[np.arange(len(X)), labels])
        d_log_p = np.zeros(logits.shape)
        np.add.at(d_log_p, (t_4, labels), -1.0 / t_5.size)
        # golden_functions.py:40: log_p = shifted - np.log(np.sum(np.exp(shifted), a ...
        d_shifted = d_log_p + (-d_log_p).sum(axis=1, keepdims=True) / t_3 * t_2
        # golden_functions.py:39: shifted = logits - np.max(logits, axis=1, keepdims ...
        t_6 = logits == t
        t_7 = t_6.sum(axis=1, dtype=np.float64, keepdims=True)
        d_logits = d_shifted + t_6 * ((-d_shifted).sum(axis=1, keepdims=True) / t_7)
        # golden_functions.py:38: logits = X @ W + b
        d_b = d_logits.sum(axis=0)
        d_W = X.T @ d_logits
    return out, (d_W, d_b)
