import numpy as np


def convolution_by_hand_value_and_grad(kernel, signal, target):
    """Specialised to kernel, signal, target: 1-d float64.

    Returns out: float64; d_kernel: like kernel.
    """

    # forward
    # golden_functions.py:156: response = np.zeros(n)
    t = signal.size - kernel.size + 1
    response = np.zeros(t)
    # golden_functions.py:158: response += kernel[k] * signal[k : k + n]
    t_2 = signal[0:t]
    response += kernel[0] * t_2
    t_3 = signal[1 : 1 + t]
    response += kernel[1] * t_3
    t_4 = signal[2 : 2 + t]
    response += kernel[2] * t_4
    # golden_functions.py:159: return np.sum((response - target) ** 2)
    t_5 = response - target
    out = (t_5**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:159: return np.sum((response - target) ** 2)
        d_t_5 = 2.0 * t_5
        # golden_functions.py:158: response += kernel[k] * signal[k : k + n]
        d_kernel = np.zeros(kernel.shape)
        d_kernel[2] += (d_t_5 * t_4).sum()
        d_kernel[1] += (d_t_5 * t_3).sum()
        d_kernel[0] += (d_t_5 * t_2).sum()
    return out, d_kernel
