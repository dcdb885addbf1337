import numpy as np


def wide_softplus_value_and_grad(w, x, y):
    """Specialised to w, x, y: 1-d float64.

    Returns out: float64; d_w: like w.
    """

    # forward
    # golden_functions.py:296: z = x * w[0] + w[1]
    x_w_0 = x * w[0]
    z = np.add(x_w_0, w[1], out=x_w_0)
    # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
    logaddexp = np.logaddexp(0.0, z)
    loss = np.subtract(logaddexp, y * z, out=logaddexp)
    out = np.mean(loss)  # golden_functions.py:298

    # backward
    with np.errstate(all="ignore"):
        d_z_part = 1.0 / x.size  # golden_functions.py:298
        # golden_functions.py:297: loss = np.logaddexp(0.0, z) - y * z
        d_z_part_y = -d_z_part * y
        del x_w_0, logaddexp, loss
        d_z_part_2 = 1.0 / (1.0 + np.exp(-z))
        np.multiply(d_z_part, d_z_part_2, out=d_z_part_2)
        d_z = np.add(d_z_part_y, d_z_part_2, out=d_z_part_y)
        # golden_functions.py:296: z = x * w[0] + w[1]
        d_w_1 = d_z.sum()
        d_w = np.zeros(w.shape)
        d_w[1] += d_w_1
        d_z *= x
        d_w[0] += d_z.sum()
    return out, d_w
