"""Regressions, and losses of a matrix of data."""

from __future__ import annotations

import numpy as np

from .case import Case


def ridge(params, X, y, alpha):
    w, b = params
    residual = X @ w + b - y
    return 0.5 * np.mean(residual**2) + 0.5 * alpha * np.sum(w**2)


def ridge_grad(params, X, y, alpha):
    w, b = params
    residual = X @ w + b - y
    loss = 0.5 * np.mean(residual**2) + 0.5 * alpha * np.sum(w**2)
    d_residual = residual / len(y)
    d_w = X.T @ d_residual + alpha * w
    return loss, (d_w, np.sum(d_residual))


def poisson(beta, X, exposure, counts):
    eta = X @ beta + np.log(exposure)
    mu = np.exp(eta)
    return np.sum(mu - counts * eta)


def poisson_grad(beta, X, exposure, counts):
    eta = X @ beta + np.log(exposure)
    mu = np.exp(eta)
    loss = np.sum(mu - counts * eta)
    return loss, X.T @ (mu - counts)


def quantile(w, X, y, tau):
    """The pinball loss."""
    residual = y - X @ w
    return np.mean(np.maximum(tau * residual, (tau - 1.0) * residual))


def quantile_grad(w, X, y, tau):
    residual = y - X @ w
    loss = np.mean(np.maximum(tau * residual, (tau - 1.0) * residual))
    slope = np.where(residual > 0.0, tau, tau - 1.0)
    return loss, -X.T @ (slope / len(y))


def cox(beta, X, events):
    """The partial likelihood of survival times, the rows in order of falling time."""
    eta = X @ beta
    at_risk = np.cumsum(np.exp(eta))
    return -np.sum(events * (eta - np.log(at_risk)))


def cox_grad(beta, X, events):
    eta = X @ beta
    hazard = np.exp(eta)
    at_risk = np.cumsum(hazard)
    loss = -np.sum(events * (eta - np.log(at_risk)))
    d_at_risk = events / at_risk
    d_hazard = np.cumsum(d_at_risk[::-1])[::-1]
    d_eta = d_hazard * hazard - events
    return loss, X.T @ d_eta


def pca(W, X):
    """The error of a linear code that has the same weights on both sides."""
    centred = X - np.mean(X, axis=0)
    code = centred @ W
    error = code @ W.T - centred
    return np.sum(error**2) / len(X)


def pca_grad(W, X):
    centred = X - np.mean(X, axis=0)
    code = centred @ W
    error = code @ W.T - centred
    loss = np.sum(error**2) / len(X)
    d_error = 2.0 * error / len(X)
    d_W = d_error.T @ code + centred.T @ (d_error @ W)
    return loss, d_W


def ratings_model(model, rows, columns, ratings, penalty):
    """A factorisation of a sparse matrix with biases of users and items."""
    U, V, user_bias, item_bias, mean = model
    users, items = U[rows], V[columns]
    predicted = np.sum(users * items, axis=1) + user_bias[rows] + item_bias[columns] + mean
    error = predicted - ratings
    return np.sum(error**2) + penalty * (np.sum(users**2) + np.sum(items**2))


def ratings_model_grad(model, rows, columns, ratings, penalty):
    U, V, user_bias, item_bias, mean = model
    users, items = U[rows], V[columns]
    predicted = np.sum(users * items, axis=1) + user_bias[rows] + item_bias[columns] + mean
    error = predicted - ratings
    loss = np.sum(error**2) + penalty * (np.sum(users**2) + np.sum(items**2))
    d_error = 2.0 * error
    d_U, d_V = np.zeros_like(U), np.zeros_like(V)
    d_user_bias, d_item_bias = np.zeros_like(user_bias), np.zeros_like(item_bias)
    np.add.at(d_U, rows, d_error[:, None] * items + 2.0 * penalty * users)
    np.add.at(d_V, columns, d_error[:, None] * users + 2.0 * penalty * items)
    np.add.at(d_user_bias, rows, d_error)
    np.add.at(d_item_bias, columns, d_error)
    return loss, (d_U, d_V, d_user_bias, d_item_bias, np.sum(d_error))


def kmeans(centres, X):
    offset = X[:, None, :] - centres
    distance = np.sum(offset**2, axis=2)
    return np.mean(np.min(distance, axis=1))


def kmeans_grad(centres, X):
    offset = X[:, None, :] - centres
    distance = np.sum(offset**2, axis=2)
    loss = np.mean(np.min(distance, axis=1))
    nearest = distance == np.min(distance, axis=1, keepdims=True)
    return loss, -2.0 / len(X) * np.sum(nearest[:, :, None] * offset, axis=0)


def kernel_ridge(log_gamma, X, y, Xv, yv):
    """The error on other data of a fit with Gaussian kernels."""
    gamma = np.exp(log_gamma)
    sq = np.sum(X**2, axis=1)
    D = sq[:, None] + sq[None, :] - 2 * X @ X.T
    K = np.exp(-gamma * D)
    alpha = np.linalg.solve(K + 0.1 * np.eye(len(X)), y)
    sqv = np.sum(Xv**2, axis=1)
    Kv = np.exp(-gamma * (sqv[:, None] + sq[None, :] - 2 * Xv @ X.T))
    pred = Kv @ alpha
    return np.mean((pred - yv) ** 2)


def kernel_ridge_grad(log_gamma, X, y, Xv, yv):
    gamma = np.exp(log_gamma)
    sq = np.sum(X**2, axis=1)
    D = sq[:, None] + sq[None, :] - 2 * X @ X.T
    K = np.exp(-gamma * D)
    A = K + 0.1 * np.eye(len(X))
    alpha = np.linalg.solve(A, y)
    sqv = np.sum(Xv**2, axis=1)
    Dv = sqv[:, None] + sq[None, :] - 2 * Xv @ X.T
    Kv = np.exp(-gamma * Dv)
    error = Kv @ alpha - yv
    loss = np.mean(error**2)
    d_pred = 2 * error / len(yv)
    d_Kv = np.outer(d_pred, alpha)
    d_y = np.linalg.solve(A.T, Kv.T @ d_pred)
    d_K = -np.outer(d_y, alpha)
    d_gamma = -np.sum(d_Kv * Dv * Kv) - np.sum(d_K * D * K)
    return loss, d_gamma * gamma


def softmax_regression(W, b, X, labels):
    """Cross entropy of a linear classifier."""
    logits = X @ W + b
    logits = logits - np.max(logits, axis=1, keepdims=True)
    log_probs = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(log_probs[np.arange(len(labels)), labels])


def softmax_regression_grad(W, b, X, labels):
    logits = X @ W + b
    logits = logits - np.max(logits, axis=1, keepdims=True)
    e = np.exp(logits)
    total = np.sum(e, axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.mean((logits - np.log(total))[rows, labels])
    d_logits = e / total
    d_logits[rows, labels] -= 1.0
    d_logits /= len(labels)
    return loss, (X.T @ d_logits, np.sum(d_logits, axis=0))


def elo(ratings, games, results, k_home):
    """Bradley-Terry with home advantage, log loss with a ridge."""
    home, away = games[:, 0], games[:, 1]
    diff = ratings[home] - ratings[away] + k_home
    p = 1.0 / (1.0 + np.exp(-diff))
    loss = -np.mean(results * np.log(p) + (1 - results) * np.log(1 - p))
    return loss + 0.01 * np.sum(ratings**2)


def elo_grad(ratings, games, results, k_home):
    home, away = games[:, 0], games[:, 1]
    diff = ratings[home] - ratings[away] + k_home
    p = 1.0 / (1.0 + np.exp(-diff))
    loss = -np.mean(results * np.log(p) + (1 - results) * np.log(1 - p)) + 0.01 * np.sum(ratings**2)
    d_diff = (p - results) / len(results)
    d_ratings = 0.02 * ratings
    np.add.at(d_ratings, home, d_diff)
    np.add.at(d_ratings, away, -d_diff)
    return loss, (d_ratings, np.sum(d_diff))


def huber_svm(w, b, X, y, C, delta):
    """A support vector machine with a smoothed hinge."""
    margin = 1.0 - y * (X @ w + b)
    loss = np.where(margin > delta, margin - 0.5 * delta, np.where(margin > 0, 0.5 * margin**2 / delta, 0.0))
    return 0.5 * w @ w + C * np.sum(loss)


def huber_svm_grad(w, b, X, y, C, delta):
    margin = 1.0 - y * (X @ w + b)
    loss = np.where(margin > delta, margin - 0.5 * delta, np.where(margin > 0, 0.5 * margin**2 / delta, 0.0))
    d_margin = np.where(margin > delta, C, np.where(margin > 0, C * margin / delta, 0.0))
    d_score = -d_margin * y
    return 0.5 * w @ w + C * np.sum(loss), (w + X.T @ d_score, np.sum(d_score))


def cases() -> list[Case]:
    """The functions of this file with arguments; the same numbers in each process."""
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(40, 5)), rng.normal(size=40), 0.3 * rng.normal(size=5)
    counts, events = np.float64(rng.poisson(2.0, size=40)), np.float64(rng.random(40) < 0.7)
    model = (rng.normal(size=(7, 3)), rng.normal(size=(6, 3)), rng.normal(size=7), rng.normal(size=6), np.float64(3.0))
    rows, columns = rng.integers(0, 7, size=30), rng.integers(0, 6, size=30)
    n = rng.normal
    return [
        Case(ridge, ridge_grad, ((w, np.float64(0.1)), X, y, 0.1)),
        Case(poisson, poisson_grad, (w, X, np.exp(rng.normal(size=40)), counts)),
        Case(quantile, quantile_grad, (w, X, y, 0.9)),
        Case(cox, cox_grad, (w, X, events)),
        Case(pca, pca_grad, (rng.normal(size=(5, 2)), X)),
        Case(ratings_model, ratings_model_grad, (model, rows, columns, rng.normal(size=30), 0.1)),
        Case(kmeans, kmeans_grad, (rng.normal(size=(3, 5)), X)),
        Case(
            kernel_ridge,
            kernel_ridge_grad,
            (
                np.float64(-0.5),
                rng.normal(size=(12, 3)),
                rng.normal(size=12),
                rng.normal(size=(6, 3)),
                rng.normal(size=6),
            ),
        ),
        Case(
            softmax_regression,
            softmax_regression_grad,
            (n(size=(4, 3)), n(size=3), n(size=(10, 4)), rng.integers(0, 3, 10)),
            (0, 1),
        ),
        Case(
            elo,
            elo_grad,
            (n(size=6), rng.integers(0, 6, (15, 2)), rng.integers(0, 2, 15) * 1.0, np.float64(0.3)),
            (0, 3),
        ),
        Case(
            huber_svm,
            huber_svm_grad,
            (n(size=4), np.float64(0.1), n(size=(12, 4)), np.sign(n(size=12)), 2.0, 0.5),
            (0, 1),
        ),
    ]
