import numpy as np


def gmm_log_likelihood_value_and_grad(log_weights, means, log_scales, x):
    """Specialised to log_weights: 1-d float64; means, log_scales, x: 2-d float64.

    Returns out: float64; d_log_weights, d_means, d_log_scales: like log_weights, means,
    log_scales.
    """

    # forward
    # golden_functions.py:127: scaled = (x[:, None, :] - means) / np.exp(log_scales)
    t = np.exp(log_scales)
    scaled = (x[:, None, :] - means) / t
    # golden_functions.py:128: log_density = -0.5 * np.sum(scaled**2, axis=2) - np.s ...
    log_density = -0.5 * (scaled**2).sum(axis=2) - log_scales.sum(axis=1)
    # golden_functions.py:129: joint = log_density + log_weights - np.log(np.sum(np. ...
    t_2 = np.exp(log_weights)
    t_3 = t_2.sum()
    joint = log_density + log_weights - np.log(t_3)
    # golden_functions.py:130: top = np.max(joint, axis=1)
    top = joint.max(axis=1)
    # golden_functions.py:131: return np.sum(top + np.log(np.sum(np.exp(joint - top[ ...
    t_4 = np.exp(joint - top[:, None])
    t_5 = t_4.sum(axis=1)
    out = (top + np.log(t_5)).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:131: return np.sum(top + np.log(np.sum(np.exp(joint - ...
        d_top = np.broadcast_to(1.0, top.shape)
        t_6 = (1.0 / t_5)[:, None] * t_4
        d_top_2 = np.array(d_top)
        d_top_2[:, None] += (-t_6).sum(axis=1, keepdims=True)
        # golden_functions.py:130: top = np.max(joint, axis=1)
        t_7 = joint == top[:, None]
        d_joint = t_6 + t_7 * (d_top_2 / t_7.sum(axis=1, dtype=np.float64))[:, None]
        # golden_functions.py:129: joint = log_density + log_weights - np.log(np.sum ...
        t_8 = -d_joint
        d_log_weights = t_8.sum() / t_3 * t_2 + d_joint.sum(axis=0)
        # golden_functions.py:128: log_density = -0.5 * np.sum(scaled**2, axis=2) - ...
        d_scaled = (d_joint * -0.5)[..., None] * (2.0 * scaled)
        # golden_functions.py:127: scaled = (x[:, None, :] - means) / np.exp(log_scales)
        t_9 = (-d_scaled * scaled / t).sum(axis=0) * t
        d_log_scales = t_8.sum(axis=0)[:, None] + t_9
        d_means = (-(d_scaled / t)).sum(axis=0)
    return out, (d_log_weights, d_means, d_log_scales)
