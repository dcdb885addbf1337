import numpy as np


def cosine_similarity_value_and_grad(u, v):
    """Specialised to u, v: 1-d float64.

    Returns out: float64; d_u, d_v: like u, v.
    """

    # forward
    # golden_functions.py:199: return u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    t = np.linalg.norm(u)
    t_2 = np.linalg.norm(v)
    t_3 = t * t_2
    out = u @ v / t_3

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:199: return u @ v / (np.linalg.norm(u) * np.linalg.nor ...
        t_4 = 1.0 / t_3
        d_t_3 = -out / t_3
        d_u = d_t_3 * t_2 * (u / np.where(t == 0, 1.0, t)) + t_4 * v
        d_v = d_t_3 * t * (v / np.where(t_2 == 0, 1.0, t_2)) + t_4 * u
    return out, (d_u, d_v)
