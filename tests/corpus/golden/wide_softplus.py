import numpy as np


def wide_softplus_value_and_grad(w, x, y):
    """Value and gradient of `wide_softplus`.

    Arrays that are large enough to be written over, and freed.

    Specialised to w: float64[n]; x, y: float64[m].

    Returns out: float64; d_w: like w.
    """

    # forward
    # golden_functions.py:296: z = x * w[0] + w[1]
    x_w_0 = x * w[0]
    # out=: written over an array that nobody reads again
    z = np.add(x_w_0, w[1], out=x_w_0)
    # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
    logaddexp = np.logaddexp(0.0, z)
    loss = np.subtract(logaddexp, y * z, out=logaddexp)
    out = np.mean(loss)

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
        d_z_part = -1.0 / x.size * y
        del x_w_0, logaddexp, loss  # frees memory before more is taken
        d_z_part_2 = 1.0 / (1.0 + np.exp(-z))
        np.multiply(1.0 / x.size, d_z_part_2, out=d_z_part_2)
        d_z = np.add(d_z_part, d_z_part_2, out=d_z_part)
        # golden_functions.py:296: z = x * w[0] + w[1]
        d_w_1 = d_z.sum()
        d_w = np.zeros(w.shape)
        d_w[1] += d_w_1
        d_z *= x
        d_w[0] += d_z.sum()
    return out, d_w
