import numpy as np


def wide_softplus_value_and_grad(w, x, y):
    """Specialised to w, x, y: 1-d float64.

    Returns out: float64; d_w: like w.
    """

    # forward
    # golden_functions.py:296: z = x * w[0] + w[1]
    t = x * w[0]
    z = np.add(t, w[1], out=t)
    # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
    t_2 = np.logaddexp(0.0, z)
    loss = np.subtract(t_2, y * z, out=t_2)
    out = np.mean(loss)  # golden_functions.py:298

    # backward
    with np.errstate(all="ignore"):
        t_3 = 1.0 / x.size  # golden_functions.py:298
        # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
        t_4 = -t_3 * y
        del t, t_2, loss
        t_5 = 1.0 / (1.0 + np.exp(-z))
        np.multiply(t_3, t_5, out=t_5)
        d_z = np.add(t_4, t_5, out=t_4)
        # golden_functions.py:296: z = x * w[0] + w[1]
        t_6 = d_z.sum()
        d_w = np.zeros(w.shape)
        d_w[1] += t_6
        d_z *= x
        d_w[0] += d_z.sum()
    return out, d_w
