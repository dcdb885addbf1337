import numpy as np


def cosine_similarity_value_and_grad(u, v):
    """Value and gradient of `cosine_similarity`, golden_functions.py:198.

    Specialised to u, v: float64[n].

    Returns out: float64; d_u, d_v: like u, v.
    """

    # forward
    # golden_functions.py:199: return u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    norm_u = np.linalg.norm(u)
    norm_v = np.linalg.norm(v)
    norm_u_norm_v = norm_u * norm_v
    out = u @ v / norm_u_norm_v

    # backward
    # golden_functions.py:199: return u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    d_u_v = 1.0 / norm_u_norm_v
    d_norm_u_norm_v = -out / norm_u_norm_v
    d_v = d_norm_u_norm_v * norm_u * (v / norm_v) + d_u_v * u
    return out, (d_norm_u_norm_v * norm_v * (u / norm_u) + d_u_v * v, d_v)
