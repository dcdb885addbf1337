import numpy as np


def pairwise_energy_value_and_grad(points):
    """Value and gradient of `pairwise_energy`: Of charges that repel each other.

    Specialised to points: float64[n, m].

    Returns out: float64; d_points: like points.
    """

    # forward
    offset = points[:, None, :] - points[None, :, :]
    # golden_functions.py:205: squared = np.sum(offset**2, axis=-1) + 1e-6
    squared = (offset**2).sum(axis=-1) + 1e-6
    # golden_functions.py:206: return 0.5 * np.sum(1.0 / np.sqrt(squared))
    sqrt_squared = np.sqrt(squared)
    ratio = 1.0 / sqrt_squared
    out = 0.5 * ratio.sum()

    # backward
    # golden_functions.py:205: squared = np.sum(offset**2, axis=-1) + 1e-6
    d_offset_part = (0.5 * (-0.5 * ratio / sqrt_squared) / sqrt_squared)[..., None]
    d_offset = 2.0 * d_offset_part * offset
    # golden_functions.py:204: offset = points[:, None, :] - points[None, :, :]
    d_points = d_offset.sum(axis=1) - d_offset.sum(axis=0)
    return out, d_points
