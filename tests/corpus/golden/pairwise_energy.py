import numpy as np


def pairwise_energy_value_and_grad(points):
    """Specialised to points: 2-d float64.

    Returns out: float64; d_points: like points.
    """

    # forward
    offset = points[:, None, :] - points[None, :, :]  # golden_functions.py:204
    # golden_functions.py:205: squared = np.sum(offset**2, axis=-1) + 1e-6
    squared = (offset**2).sum(axis=-1) + 1e-6
    # golden_functions.py:206: return 0.5 * np.sum(1.0 / np.sqrt(squared))
    t = np.sqrt(squared)
    t_2 = 1.0 / t
    out = 0.5 * t_2.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:206: return 0.5 * np.sum(1.0 / np.sqrt(squared))
        d_squared = -0.5 * t_2 / t / (2.0 * t)
        # golden_functions.py:205: squared = np.sum(offset**2, axis=-1) + 1e-6
        d_offset = d_squared[..., None] * (2.0 * offset)
        # golden_functions.py:204: offset = points[:, None, :] - points[None, :, :]
        d_points = np.zeros(points.shape)
        d_points[None, :, :] = (-d_offset).sum(axis=0, keepdims=True)
        d_points[:, None, :] += d_offset.sum(axis=1, keepdims=True)
    return out, d_points
