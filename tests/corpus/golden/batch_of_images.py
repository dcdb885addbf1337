import numpy as np


def batch_of_images_value_and_grad(weights, images, labels):
    """Value and gradient of `batch_of_images`: Float32 throughout.

    Specialised to weights: float32[n]; images: float32[m, k, p]; labels: float32[m].

    Returns out: float32; d_weights: like weights.
    """

    # forward
    # golden_functions.py:244: pixels = images.reshape(len(images), -1) / 255.0
    pixels = images.reshape(images.shape[0], -1) / 255.0
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    p_exp = np.exp(-(pixels @ weights))
    one_plus_p_exp = 1.0 + p_exp
    p = 1.0 / one_plus_p_exp
    # golden_functions.py:246: return -np.mean(labels * np.log(p) + (1 - labels) * ...
    one_minus_labels, one_minus_p = 1 - labels, 1 - p
    total = (labels * np.log(p) + one_minus_labels * np.log(one_minus_p)).sum()
    out = -(total / labels.size)

    # backward
    # golden_functions.py:246: return -np.mean(labels * np.log(p) + (1 - labels) * ...
    d_p_part = np.float32(-1.0) / labels.size
    d_p = d_p_part * labels / p - d_p_part * one_minus_labels / one_minus_p
    # golden_functions.py:245: p = sigmoid(pixels @ weights)
    d_weights = pixels.T @ (d_p * p / one_plus_p_exp * p_exp)
    return out, d_weights
