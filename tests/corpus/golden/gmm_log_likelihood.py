import numpy as np


def gmm_log_likelihood_value_and_grad(log_weights, means, log_scales, x):
    """Value and gradient of `gmm_log_likelihood`: Diagonal covariances.

    Specialised to these arguments.
    log_weights: float64[n]
    means, log_scales: float64[n, m]
    x: float64[k, m]

    Returns out: float64; d_log_weights, d_means, d_log_scales: like log_weights, means,
    log_scales.
    """

    # forward
    # golden_functions.py:127: scaled = (x[:, None, :] - means) / np.exp(log_scales)
    exp_log_scales = np.exp(log_scales)
    scaled = (x[:, None, :] - means) / exp_log_scales
    # golden_functions.py:128: log_density = -0.5 * np.sum(scaled**2, axis=2) - ...
    log_density = -0.5 * (scaled**2).sum(axis=2) - log_scales.sum(axis=1)
    # golden_functions.py:129: joint = log_density + log_weights - ...
    exp_log_weights = np.exp(log_weights)
    joint_total = exp_log_weights.sum()
    joint = log_density + log_weights - np.log(joint_total)
    top = joint.max(axis=1)  # golden_functions.py:130: top = np.max(joint, axis=1)
    # golden_functions.py:131: return np.sum(top + np.log(np.sum(np.exp(joint - ...
    exp = np.exp(joint - top[:, None])
    sum_exp = exp.sum(axis=1)
    out = (top + np.log(sum_exp)).sum()

    # backward
    # golden_functions.py:131: return np.sum(top + np.log(np.sum(np.exp(joint - ...
    d_joint_minus_top = (1.0 / sum_exp)[:, None] * exp
    # golden_functions.py:130: top = np.max(joint, axis=1)
    is_top = joint == top[:, None]
    d_joint_part = (1.0 - d_joint_minus_top.sum(axis=1)) / is_top.sum(axis=1)
    d_joint = d_joint_minus_top + is_top * d_joint_part[:, None]
    # golden_functions.py:129: joint = log_density + log_weights - ...
    sum_d_joint = d_joint.sum(axis=0)
    d_log_weights = sum_d_joint - d_joint.sum() / joint_total * exp_log_weights
    # golden_functions.py:128: log_density = -0.5 * np.sum(scaled**2, axis=2) - ...
    d_scaled = 2.0 * (d_joint * -0.5)[..., None] * scaled
    # golden_functions.py:127: scaled = (x[:, None, :] - means) / np.exp(log_scales)
    d_exp_log_scales = -(d_scaled * scaled).sum(axis=0) / exp_log_scales
    d_log_scales = (-sum_d_joint)[:, None] + d_exp_log_scales * exp_log_scales
    d_means = -(d_scaled / exp_log_scales).sum(axis=0)
    return out, (d_log_weights, d_means, d_log_scales)
