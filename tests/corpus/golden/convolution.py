import numpy as np


def convolution_value_and_grad(kernel, image, target):
    """Specialised to kernel, image, target: 2-d float64.

    Returns out: float64; d_kernel: like kernel.
    """

    # forward
    # golden_functions.py:149: windows = np.stack([image[i : i + n, j : j + m] for i ...
    t = image[0 : target.shape[0], 0 : target.shape[1]]
    t_2 = 1 + target.shape[1]
    t_3 = 1 + target.shape[0]
    t_4 = image[1:t_3, 0 : target.shape[1]]
    windows = np.stack([t, image[0 : target.shape[0], 1:t_2], t_4, image[1:t_3, 1:t_2]])
    # golden_functions.py:150: response = np.einsum("k,kij->ij", kernel.ravel(), win ...
    response = np.einsum("k,kij->ij", np.ravel(kernel), windows)
    # golden_functions.py:151: return np.sum((response - target) ** 2)
    t_5 = response - target
    out = (t_5**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:150: response = np.einsum("k,kij->ij", kernel.ravel(), ...
        d_kernel = np.reshape(np.einsum("ij,kij->k", 2.0 * t_5, windows), kernel.shape)
    return out, d_kernel
