import numpy as np


def batch_of_images_value_and_grad(weights, images, labels):
    """Specialised to weights, labels: 1-d float32; images: 3-d float32.

    Returns out: float32; d_weights: like weights.
    """

    # forward
    # golden_functions.py:244: pixels = images.reshape(len(images), -1) / 255.0
    pixels = np.reshape(images, (images.shape[0], -1)) / 255.0
    # golden_functions.py:86: return 1.0 / (1.0 + np.exp(-z))
    t = np.exp(-(pixels @ weights))
    t_2 = 1.0 + t
    p = 1.0 / t_2
    # golden_functions.py:246: return -np.mean(labels * np.log(p) + (1 - labels) * n ...
    t_3 = 1 - labels
    t_4 = 1 - p
    out = -((labels * np.log(p) + t_3 * np.log(t_4)).sum() / labels.size)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:246: return -np.mean(labels * np.log(p) + (1 - labels) ...
        t_5 = np.float32(-1.0) / labels.size
        d_p = t_5 * labels / p - t_5 * t_3 / t_4
        # golden_functions.py:245: p = sigmoid(pixels @ weights)
        d_weights = pixels.T @ (d_p * p / t_2 * t)
    return out, d_weights
