"""Statistical models, compiled over the same gradient written by hand in straight NumPy."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import check_and_time, is_tiny  # noqa: E402

import gradscribe as gs  # noqa: E402

Array = Any


def mixture(alphas: Array, means: Array, factors: Array, x: Array) -> Array:
    """The log likelihood of a Gaussian mixture; a factor is a log diagonal, then the entries below it, of K precisions."""
    n, d = x.shape
    rows, columns = np.tril_indices(d, -1)
    log_diagonal = factors[:, :d]
    q = np.exp(log_diagonal)[:, :, None] * np.eye(d)
    q[:, rows, columns] = factors[:, d:]
    y = (x - means[:, None]) @ q.swapaxes(1, 2)
    terms = alphas + np.sum(log_diagonal, axis=1) - 0.5 * np.sum(y * y, axis=2).T
    top = np.max(terms, axis=1, keepdims=True)
    likelihood = np.sum(np.log(np.sum(np.exp(terms - top), axis=1)) + top[:, 0])
    most = np.max(alphas)
    return likelihood - n * (most + np.log(np.sum(np.exp(alphas - most))))


def mixture_by_hand(alphas: Array, means: Array, factors: Array, x: Array) -> tuple[Array, tuple[Array, ...]]:
    """Value and gradient of `mixture`."""
    n, d = x.shape
    rows, columns = np.tril_indices(d, -1)
    diagonal = np.arange(d)
    log_diagonal = factors[:, :d]
    scale = np.exp(log_diagonal)
    q = np.zeros((len(means), d, d))
    q[:, diagonal, diagonal] = scale
    q[:, rows, columns] = factors[:, d:]
    centred = x - means[:, None]
    y = centred @ q.swapaxes(1, 2)
    terms = np.einsum("kni,kni->nk", y, y)
    terms *= -0.5
    terms += alphas + np.sum(log_diagonal, axis=1)
    top = np.max(terms, axis=1, keepdims=True)
    terms -= top
    e = np.exp(terms, out=terms)
    s = np.sum(e, axis=1, keepdims=True)
    most = np.max(alphas)
    prior = np.exp(alphas - most)
    total = np.sum(prior)
    value = np.sum(np.log(s) + top) - n * (most + np.log(total))
    with np.errstate(all="ignore"):
        e /= s
        d_alphas = e.sum(axis=0)
        y *= -e.T[:, :, None]
        d_q = y.swapaxes(1, 2) @ centred
        d_factors = np.empty_like(factors)
        d_factors[:, :d] = d_alphas[:, None] + d_q[:, diagonal, diagonal] * scale
        d_factors[:, d:] = d_q[:, rows, columns]
        return value, (d_alphas - n / total * prior, -(y.sum(axis=1)[:, None] @ q)[:, 0], d_factors)


def logistic(w: Array, b: Array, x: Array, y: Array) -> Array:
    """The mean negative log likelihood of labels 0 and 1."""
    z = x @ w + b
    return np.mean(np.logaddexp(0.0, z) - y * z)


def logistic_by_hand(w: Array, b: Array, x: Array, y: Array) -> tuple[Array, tuple[Array, Array]]:
    """Value and gradient of `logistic`, which share one exponential."""
    z = x @ w + b
    e = np.exp(-np.abs(z))
    value = (np.sum(np.log1p(e)) + np.sum(np.maximum(z, 0.0)) - np.dot(y, z)) / len(y)
    d_z = np.where(z >= 0, 1.0, e)
    e += 1.0
    d_z /= e
    d_z -= y
    d_z /= len(y)
    return value, (d_z @ x, d_z.sum())


def layer(w: Array, b: Array, x: Array, y: Array) -> Array:
    """One linear layer and the mean binary cross-entropy of its logits."""
    z = x @ w + b
    return np.mean(np.logaddexp(0.0, z) - y * z)


def layer_by_hand(w: Array, b: Array, x: Array, y: Array) -> tuple[Array, tuple[Array, Array]]:
    """Value and gradient of `layer`, which share one exponential."""
    z = x @ w + b
    e = np.exp(-np.abs(z))
    value = np.add.reduce(np.log1p(e) + np.maximum(z, 0.0) - y * z) / z.size
    d_z = (np.where(z >= 0, 1.0, e) / (1.0 + e) - y) / z.size
    return value, (x[:, None] * d_z, d_z)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    d, k, n = (3, 2, 7) if is_tiny() else (10, 10, 1000)
    args = (
        rng.normal(size=k),
        rng.normal(size=(k, d)),
        rng.normal(size=(k, d * (d + 1) // 2)) / 5,
        rng.normal(size=(n, d)),
    )
    check_and_time(
        "mixture",
        gs.compile(gs.value_and_grad(mixture, argnums=(0, 1, 2))),
        mixture_by_hand,
        args,
        *((2, 1) if is_tiny() else (100, 3)),
    )
    rows, columns = (10, 3) if is_tiny() else (10**5, 20)
    x = rng.normal(size=(rows, columns))
    args = (rng.normal(size=columns), 0.1, x, (rng.uniform(size=rows) < 0.5) * 1.0)
    check_and_time(
        "logistic regression",
        gs.compile(gs.value_and_grad(logistic, argnums=(0, 1))),
        logistic_by_hand,
        args,
        *((2, 1) if is_tiny() else (60, 1)),
    )
    args = (rng.normal(size=(5, 3)), rng.normal(size=3), np.ones(5), np.zeros(3))
    compiled = gs.compile(gs.value_and_grad(layer, argnums=(0, 1)))
    check_and_time("linear and BCE, 5 x 3", compiled, layer_by_hand, args, *((2, 1) if is_tiny() else (150, 300)))
