import numpy as np


def convolution_by_hand_value_and_grad(kernel, signal, target):
    """Value and gradient of `convolution_by_hand`, golden_functions.py:154.

    Specialised to kernel: float64[3]; signal: float64[n]; target: float64[m].

    Returns out: float64; d_kernel: like kernel.
    """

    # forward
    # golden_functions.py:155: n = len(signal) - len(kernel) + 1
    n = signal.size - kernel.size + 1
    response = np.zeros(n)
    # golden_functions.py:158: response += kernel[k] * signal[k : k + n]
    signal_part = signal[0:n]
    response += kernel[0] * signal_part
    signal_part_2 = signal[1 : 1 + n]
    response += kernel[1] * signal_part_2
    signal_part_3 = signal[2 : 2 + n]
    response += kernel[2] * signal_part_3
    # golden_functions.py:159: return np.sum((response - target) ** 2)
    difference = response - target
    out = (difference**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:159: return np.sum((response - target) ** 2)
        d_difference = 2.0 * difference
        # golden_functions.py:158: response += kernel[k] * signal[k : k + n]
        d_kernel = np.zeros(kernel.shape)
        d_kernel[2] += (d_difference * signal_part_3).sum()
        d_kernel[1] += (d_difference * signal_part_2).sum()
        d_kernel[0] += (d_difference * signal_part).sum()
    return out, d_kernel
