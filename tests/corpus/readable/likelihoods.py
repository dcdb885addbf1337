"""Likelihoods of probabilistic models."""

from __future__ import annotations

import numpy as np

from .case import Case


def gaussian_process(log_lengths, log_amplitude, log_noise, X, y):
    """The negative log evidence, with a length scale for each feature."""
    lengths = np.exp(log_lengths)
    scaled = (X[:, None, :] - X[None, :, :]) / lengths
    K = np.exp(log_amplitude - 0.5 * np.sum(scaled**2, axis=2))
    L = np.linalg.cholesky(K + np.exp(log_noise) * np.eye(len(X)))
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(L))) + 0.5 * len(y) * np.log(2.0 * np.pi)


def gaussian_process_grad(log_lengths, log_amplitude, log_noise, X, y):
    lengths = np.exp(log_lengths)
    noise = np.exp(log_noise)
    scaled = (X[:, None, :] - X[None, :, :]) / lengths
    K = np.exp(log_amplitude - 0.5 * np.sum(scaled**2, axis=2))
    L = np.linalg.cholesky(K + noise * np.eye(len(X)))
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    loss = 0.5 * y @ alpha + np.sum(np.log(np.diag(L))) + 0.5 * len(y) * np.log(2.0 * np.pi)
    L_inv = np.linalg.inv(L)
    d_K = 0.5 * (L_inv.T @ L_inv - np.outer(alpha, alpha))
    weight = d_K * K
    d_log_lengths = np.sum(weight[:, :, None] * scaled**2, axis=(0, 1))
    return loss, (d_log_lengths, np.sum(weight), np.trace(d_K) * noise)


def kalman_filter(F, log_q, log_r, H, observations):
    """The negative log-likelihood of a linear Gaussian model."""
    Q, R = np.exp(log_q) * np.eye(len(F)), np.exp(log_r) * np.eye(len(H))
    mean, cov = np.zeros(len(F)), np.eye(len(F))
    loss = 0.0
    for z in observations:
        mean = F @ mean
        cov = F @ cov @ F.T + Q
        v = z - H @ mean
        S = H @ cov @ H.T + R
        S_inv = np.linalg.inv(S)
        loss = loss + 0.5 * (v @ S_inv @ v + np.linalg.slogdet(S)[1])
        gain = cov @ H.T @ S_inv
        mean = mean + gain @ v
        cov = cov - gain @ H @ cov
    return loss


def kalman_filter_grad(F, log_q, log_r, H, observations):
    q, r = np.exp(log_q), np.exp(log_r)
    Q, R = q * np.eye(len(F)), r * np.eye(len(H))
    mean, cov = np.zeros(len(F)), np.eye(len(F))
    loss = 0.0
    steps = []
    for z in observations:
        before = mean, cov
        mean = F @ mean
        cov = F @ cov @ F.T + Q
        v = z - H @ mean
        S_inv = np.linalg.inv(H @ cov @ H.T + R)
        loss += 0.5 * (v @ S_inv @ v - np.linalg.slogdet(S_inv)[1])
        gain = cov @ H.T @ S_inv
        steps.append((*before, cov, v, S_inv, gain))
        mean = mean + gain @ v
        cov = cov - gain @ H @ cov
    d_F, d_Q, d_R = np.zeros_like(F), np.zeros_like(Q), np.zeros_like(R)
    d_mean, d_cov = np.zeros_like(mean), np.zeros_like(cov)
    for mean_before, cov_before, cov, v, S_inv, gain in reversed(steps):
        d_gain = np.outer(d_mean, v) - d_cov @ (H @ cov).T
        d_v = S_inv @ v + gain.T @ d_mean
        d_S_inv = 0.5 * np.outer(v, v) + H @ cov.T @ d_gain
        d_S = 0.5 * S_inv - S_inv.T @ d_S_inv @ S_inv.T
        d_cov = d_cov - (gain @ H).T @ d_cov + d_gain @ S_inv.T @ H + H.T @ d_S @ H
        d_mean = d_mean - H.T @ d_v
        d_R += d_S
        d_Q += d_cov
        d_F += np.outer(d_mean, mean_before) + d_cov @ F @ cov_before.T + d_cov.T @ F @ cov_before
        d_mean = F.T @ d_mean
        d_cov = F.T @ d_cov @ F
    return loss, (d_F, np.trace(d_Q) * q, np.trace(d_R) * r)


def hmm(log_start, log_trans, log_emit, symbols):
    """The forward algorithm."""
    alpha = log_start + log_emit[:, symbols[0]]
    for symbol in symbols[1:]:
        joint = alpha[:, None] + log_trans
        top = np.max(joint, axis=0)
        alpha = top + np.log(np.sum(np.exp(joint - top), axis=0)) + log_emit[:, symbol]
    top = np.max(alpha)
    return -(top + np.log(np.sum(np.exp(alpha - top))))


def hmm_grad(log_start, log_trans, log_emit, symbols):
    alpha = log_start + log_emit[:, symbols[0]]
    transitions = []
    for symbol in symbols[1:]:
        joint = alpha[:, None] + log_trans
        top = np.max(joint, axis=0)
        e = np.exp(joint - top)
        total = np.sum(e, axis=0)
        transitions.append(e / total)
        alpha = top + np.log(total) + log_emit[:, symbol]
    top = np.max(alpha)
    e = np.exp(alpha - top)
    loss = -(top + np.log(np.sum(e)))
    d_alpha = -e / np.sum(e)
    d_log_trans, d_log_emit = np.zeros_like(log_trans), np.zeros_like(log_emit)
    for symbol, transition in zip(reversed(symbols[1:]), reversed(transitions)):
        d_log_emit[:, symbol] += d_alpha
        d_joint = transition * d_alpha
        d_log_trans += d_joint
        d_alpha = np.sum(d_joint, axis=1)
    d_log_emit[:, symbols[0]] += d_alpha
    return loss, (d_alpha, d_log_trans, d_log_emit)


def mixture(logits, means, log_widths, x):
    """Of normal distributions in one dimension."""
    z = (x[:, None] - means) * np.exp(-log_widths)
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    joint = log_weights - log_widths - 0.5 * z**2
    top = np.max(joint, axis=1)
    return -np.mean(top + np.log(np.sum(np.exp(joint - top[:, None]), axis=1)))


def mixture_grad(logits, means, log_widths, x):
    precision = np.exp(-log_widths)
    z = (x[:, None] - means) * precision
    weights = np.exp(logits)
    total = np.sum(weights)
    joint = logits - np.log(total) - log_widths - 0.5 * z**2
    top = np.max(joint, axis=1)
    e = np.exp(joint - top[:, None])
    density = np.sum(e, axis=1)
    loss = -np.mean(top + np.log(density))
    d_joint = -e / density[:, None] / len(x)
    d_logits = np.sum(d_joint, axis=0) + weights / total
    d_means = np.sum(d_joint * z, axis=0) * precision
    d_log_widths = np.sum(d_joint * (z**2 - 1.0), axis=0)
    return loss, (d_logits, d_means, d_log_widths)


def ising(J, h, spins):
    """The negative log pseudo-likelihood of rows of spins, which are 1 and -1."""
    coupling = 0.5 * (J + J.T)
    coupling = coupling - np.diag(np.diag(coupling))
    field = spins @ coupling + h
    return np.mean(np.sum(np.log1p(np.exp(-2.0 * spins * field)), axis=1))


def ising_grad(J, h, spins):
    coupling = 0.5 * (J + J.T)
    coupling -= np.diag(np.diag(coupling))
    field = spins @ coupling + h
    e = np.exp(-2.0 * spins * field)
    loss = np.mean(np.sum(np.log1p(e), axis=1))
    d_field = -2.0 * spins * e / (1.0 + e) / len(spins)
    d_coupling = spins.T @ d_field
    d_coupling -= np.diag(np.diag(d_coupling))
    return loss, (0.5 * (d_coupling + d_coupling.T), np.sum(d_field, axis=0))


def black_scholes_portfolio(market, positions, strikes, maturities, paid):
    """The squared error of prices that a logistic approximation of the normal distribution gives."""
    spot, vol, rate = market
    root = vol * np.sqrt(maturities)
    d1 = (np.log(spot / strikes) + (rate + 0.5 * vol**2) * maturities) / root
    discounted = strikes * np.exp(-rate * maturities)
    price = spot / (1.0 + np.exp(-1.702 * d1)) - discounted / (1.0 + np.exp(-1.702 * (d1 - root)))
    return np.sum(positions * (price - paid) ** 2)


def black_scholes_portfolio_grad(market, positions, strikes, maturities, paid):
    spot, vol, rate = market
    root_maturity = np.sqrt(maturities)
    root = vol * root_maturity
    drift = rate + 0.5 * vol**2
    d1 = (np.log(spot / strikes) + drift * maturities) / root
    discounted = strikes * np.exp(-rate * maturities)
    delta = 1.0 / (1.0 + np.exp(-1.702 * d1))
    exercised = 1.0 / (1.0 + np.exp(-1.702 * (d1 - root)))
    error = spot * delta - discounted * exercised - paid
    loss = np.sum(positions * error**2)
    d_price = 2.0 * positions * error
    d_d2 = -d_price * discounted * 1.702 * exercised * (1.0 - exercised)
    d_d1 = d_price * spot * 1.702 * delta * (1.0 - delta) + d_d2
    d_root = -d_d2 - d_d1 * d1 / root
    d_drift = np.sum(d_d1 * maturities / root)
    d_spot = np.sum(d_price * delta + d_d1 / (root * spot))
    d_vol = np.sum(d_root * root_maturity) + d_drift * vol
    d_rate = d_drift + np.sum(d_price * discounted * exercised * maturities)
    return loss, (d_spot, d_vol, d_rate)


def garch(params, r):
    """Returns whose variance follows those of before."""
    omega, alpha, beta = params
    sigma2 = np.var(r)
    ll = 0.0
    for t in range(1, len(r)):
        sigma2 = omega + alpha * r[t - 1] ** 2 + beta * sigma2
        ll -= 0.5 * (np.log(2 * np.pi) + np.log(sigma2) + r[t] ** 2 / sigma2)
    return -ll


def garch_grad(params, r):
    omega, alpha, beta = params
    sigma2 = np.var(r)
    ll = 0.0
    sigmas = [sigma2]
    for t in range(1, len(r)):
        sigma2 = omega + alpha * r[t - 1] ** 2 + beta * sigma2
        ll -= 0.5 * (np.log(2 * np.pi) + np.log(sigma2) + r[t] ** 2 / sigma2)
        sigmas.append(sigma2)
    d_omega = d_alpha = d_beta = d_sigma2 = 0.0
    for t in range(len(r) - 1, 0, -1):
        d_sigma2 += 0.5 / sigmas[t] - 0.5 * (r[t] / sigmas[t]) ** 2
        d_omega += d_sigma2
        d_alpha += d_sigma2 * r[t - 1] ** 2
        d_beta += d_sigma2 * sigmas[t - 1]
        d_sigma2 *= beta
    return -ll, np.array([d_omega, d_alpha, d_beta])


def ekf(log_q, log_r, x0, ranges, dt):
    """Tracks a moving target from its distance, by an extended Kalman filter."""
    q, r = np.exp(log_q), np.exp(log_r)
    F = np.array([[1.0, dt], [0.0, 1.0]])
    x, P = x0, np.eye(2)
    nll = 0.0
    for z in ranges:
        x = F @ x
        P = F @ P @ F.T + q * np.eye(2)
        dist = np.sqrt(x[0] ** 2 + 1.0)
        H = np.array([x[0] / dist, 0.0])
        S = H @ P @ H + r
        e = z - dist
        K = P @ H / S
        x = x + K * e
        P = P - np.outer(K, H @ P)
        nll = nll + 0.5 * (np.log(2 * np.pi * S) + e**2 / S)
    return nll


def ekf_grad(log_q, log_r, x0, ranges, dt):
    q, r = np.exp(log_q), np.exp(log_r)
    F = np.array([[1.0, dt], [0.0, 1.0]])
    x, P = x0, np.eye(2)
    nll = 0.0
    steps = []
    for z in ranges:
        x = F @ x
        P = F @ P @ F.T + q * np.eye(2)
        dist = np.sqrt(x[0] ** 2 + 1.0)
        H = np.array([x[0] / dist, 0.0])
        S = H @ P @ H + r
        e = z - dist
        K = P @ H / S
        steps.append((x, P, dist, H, S, e, K))
        x = x + K * e
        P = P - np.outer(K, H @ P)
        nll = nll + 0.5 * (np.log(2 * np.pi * S) + e**2 / S)
    d_q = d_r = 0.0
    d_x, d_P = np.zeros(2), np.zeros((2, 2))
    for x, P, dist, H, S, e, K in reversed(steps):
        d_K = d_x * e - d_P @ (H @ P)
        d_HP = -K @ d_P
        d_e = d_x @ K + e / S
        d_S = 0.5 / S - 0.5 * e**2 / S**2 - d_K @ K / S
        d_PH = d_K / S
        d_H = P @ d_HP + P.T @ d_PH + d_S * (P + P.T) @ H
        d_P = d_P + np.outer(H, d_HP) + np.outer(d_PH, H) + d_S * np.outer(H, H)
        d_r += d_S
        d_x[0] += d_H[0] / dist**3 - d_e * x[0] / dist
        d_q += np.trace(d_P)
        d_P = F.T @ d_P @ F
        d_x = F.T @ d_x
    return nll, (d_q * q, d_r * r, d_x)


def cases() -> list[Case]:
    """The functions of this file with arguments; the same numbers in each process."""
    rng = np.random.default_rng(3)
    n, f = rng.normal, np.float64
    market = (f(100.0), f(0.2), f(0.03))
    strikes, maturities = np.linspace(80.0, 120.0, 9), np.linspace(0.3, 2.0, 9)
    spins = np.sign(n(size=(20, 6)))
    return [
        Case(
            gaussian_process,
            gaussian_process_grad,
            (n(size=3), f(0.2), f(-1.0), n(size=(12, 3)), n(size=12)),
            (0, 1, 2),
        ),
        Case(
            kalman_filter,
            kalman_filter_grad,
            (np.array([[1.0, 0.1], [-0.1, 0.9]]), f(-2.0), f(-1.0), np.array([[1.0, 0.0]]), n(size=(15, 1))),
            (0, 1, 2),
        ),
        Case(hmm, hmm_grad, (n(size=4), n(size=(4, 4)), n(size=(4, 5)), rng.integers(0, 5, size=20)), (0, 1, 2)),
        Case(mixture, mixture_grad, (n(size=3), n(size=3), 0.2 * n(size=3), n(size=60)), (0, 1, 2)),
        Case(ising, ising_grad, (0.3 * n(size=(6, 6)), 0.3 * n(size=6), spins), (0, 1)),
        Case(
            black_scholes_portfolio,
            black_scholes_portfolio_grad,
            (market, np.ones(9), strikes, maturities, 10.0 + n(size=9)),
        ),
        Case(garch, garch_grad, (np.array([0.1, 0.1, 0.8]), n(size=20))),
        Case(ekf, ekf_grad, (f(-2.0), f(-1.0), np.array([1.0, 0.5]), 1.0 + rng.uniform(size=10), 0.1), (0, 1, 2)),
    ]
