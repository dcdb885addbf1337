import numpy as np


def convolution_by_hand_value_and_grad(kernel, signal, target):
    """Value and gradient of `convolution_by_hand`, golden_functions.py:154.

    Specialised to kernel: float64[n]; signal: float64[m]; target: float64[k].

    Returns out: float64; d_kernel: like kernel.
    """

    # forward
    # golden_functions.py:155: n = len(signal) - len(kernel) + 1
    n = signal.size - kernel.size + 1
    response = np.zeros(n)
    for k in range(len(kernel)):
        response += kernel[k] * signal[k : k + n]
    # golden_functions.py:159: return np.sum((response - target) ** 2)
    difference = response - target
    out = (difference**2).sum()

    # backward
    # golden_functions.py:159: return np.sum((response - target) ** 2)
    d_difference = 2.0 * difference
    # golden_functions.py:157: for k in range(len(kernel)):
    d_kernel = np.zeros_like(kernel)
    for k in reversed(range(len(kernel))):
        # golden_functions.py:158: response += kernel[k] * signal[k : k + n]
        d_kernel[k] += (d_difference * signal[k : k + n]).sum()
    return out, d_kernel
