import numpy as np


def convolution_value_and_grad(kernel, image, target):
    """Value and gradient of `convolution`: Of two axes, by a window for each weight.

    Specialised to kernel: float64[n, m]; image: float64[k, p]; target: float64[q, r].

    Returns out: float64; d_kernel: like kernel.
    """

    # forward
    # golden_functions.py:149: windows = np.stack([image[i : i + n, j : j + m] for i ...
    n, m = target.shape
    image_part = image[0:n, 1 : 1 + m]
    image_part_2 = image[1 : 1 + n, 0:m]
    image_part_3 = image[1 : 1 + n, 1 : 1 + m]
    windows = np.stack([image[0:n, 0:m], image_part, image_part_2, image_part_3])
    # golden_functions.py:150: response = np.einsum("k,kij->ij", kernel.ravel(), ...
    response = np.einsum("k,kij->ij", np.ravel(kernel), windows)
    # golden_functions.py:151: return np.sum((response - target) ** 2)
    difference = response - target
    out = (difference**2).sum()

    # backward
    # golden_functions.py:150: response = np.einsum("k,kij->ij", kernel.ravel(), ...
    d_ravel_kernel = np.einsum("ij,kij->k", 2.0 * difference, windows)
    d_kernel = d_ravel_kernel.reshape(kernel.shape)
    return out, d_kernel
