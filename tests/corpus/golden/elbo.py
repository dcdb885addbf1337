import numpy as np


def elbo_value_and_grad(params, x, noise):
    """Value and gradient of `elbo`.

    Of a variational autoencoder with one linear layer on each side.

    Specialised to these arguments.
    params: {to_mu: float64[n, m], to_log_var: float64[n, m], decoder: float64[m, n]}
    x: float64[k, n]
    noise: float64[k, m]

    Returns out: float64; d_decoder, d_to_log_var, d_to_mu: like decoder, to_log_var,
    to_mu.
    """
    to_mu, to_log_var = params["to_mu"], params["to_log_var"]
    decoder = params["decoder"]

    # forward
    # golden_functions.py:216: mu, log_var = x @ params["to_mu"], x @ ...
    mu, log_var = x @ to_mu, x @ to_log_var
    # golden_functions.py:217: z = mu + np.exp(0.5 * log_var) * noise
    z_exp = np.exp(0.5 * log_var)
    z = mu + z_exp * noise
    rebuilt = z @ decoder  # golden_functions.py:218: rebuilt = z @ params["decoder"]
    # golden_functions.py:219: return np.sum((x - rebuilt) ** 2) + gaussian_kl(mu, ...
    x_minus_rebuilt = x - rebuilt
    # golden_functions.py:211: return -0.5 * np.sum(1 + log_var - mu**2 - ...
    exp_log_var = np.exp(log_var)
    gaussian_kl = -0.5 * (1 + log_var - mu**2 - exp_log_var).sum()
    out = (x_minus_rebuilt**2).sum() + gaussian_kl

    # backward
    # golden_functions.py:219: return np.sum((x - rebuilt) ** 2) + gaussian_kl(mu, ...
    d_rebuilt = -2.0 * x_minus_rebuilt
    # golden_functions.py:218: rebuilt = z @ params["decoder"]
    d_z, d_decoder = d_rebuilt @ decoder.T, z.T @ d_rebuilt
    # golden_functions.py:216: mu, log_var = x @ params["to_mu"], x @ ...
    d_to_log_var = x.T @ (0.5 * exp_log_var - 0.5 + d_z * noise * z_exp * 0.5)
    d_to_mu = x.T @ (mu + d_z)
    return out, {"to_mu": d_to_mu, "to_log_var": d_to_log_var, "decoder": d_decoder}
