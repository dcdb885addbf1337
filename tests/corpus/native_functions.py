"""Functions that lay numbers out anew, by what C has a form for: of a vector or a matrix, and two arrays of ints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradscribe.runtime.rules.indexing import add_place, index_add_at, scatter, scatter_rows
from gradscribe.runtime.rules.support import place_main_diagonal

__all__ = ["MATRICES", "VECTORS", "I", "J", "M", "V"]

V, M = np.linspace(-1.0, 1.0, 7), np.linspace(-2.0, 2.0, 12).reshape(3, 4)
I, J = np.array([2, 0, -1, 2]), np.array([0, 1, 2, -4])

VECTORS: list[Callable[..., Any]] = [
    lambda x, i, j: np.stack([x[0], x[-1], 2.5]),
    lambda x, i, j: np.stack([x, x + 1.0], axis=1),
    lambda x, i, j: np.stack([x, x[::-1]]),
    lambda x, i, j: np.concatenate([x, [0.0, 1.0], x[2:]]),
    lambda x, i, j: np.diff(x),
    lambda x, i, j: np.roll(x, 2),
    lambda x, i, j: np.roll(x, -9),
    lambda x, i, j: np.diag(x, 1),
    lambda x, i, j: np.diag(x),
    lambda x, i, j: np.arange(len(x)) * x,
    lambda x, i, j: np.eye(len(x)) * x,
    lambda x, i, j: np.arange(len(x), 0, -2) * 1.0,
    lambda x, i, j: np.eye(len(x), 3, -1),
    lambda x, i, j: x[i] * 1.0,
    lambda x, i, j: place_main_diagonal(x, (len(x), len(x)), np.float64),
    lambda x, i, j: add_place(x[1:], slice(1, None), (len(x),), np.float64),
    lambda x, i, j: scatter(x[:4], i, (len(x),), np.float64),
    lambda x, i, j: scatter(x[0], i, (len(x),), np.float64),
    lambda x, i, j: index_add_at(x * 1.0, i, x[:4]),
]
MATRICES: list[Callable[..., Any]] = [
    lambda x, i, j: np.tril(x),
    lambda x, i, j: np.triu(x, 1),
    lambda x, i, j: np.tril(x, -1),
    lambda x, i, j: np.diagonal(x) * 2.0,
    lambda x, i, j: np.diag(x) * 2.0,
    lambda x, i, j: np.diff(x),
    lambda x, i, j: np.roll(x, 1, axis=1),
    lambda x, i, j: np.roll(x, -1, 0),
    lambda x, i, j: np.stack([x, x.copy()], axis=-1),
    lambda x, i, j: np.concatenate([x, x * 2.0], axis=1),
    lambda x, i, j: x[i] * 1.0,
    lambda x, i, j: x[i, j] * 1.0,
    lambda x, i, j: np.ravel(x) * 1.0,
    lambda x, i, j: np.ravel(x + 1.0),
    lambda x, i, j: np.amax(x, axis=0),
    lambda x, i, j: np.concatenate([x[:1], x]),
    lambda x, i, j: scatter(x[0], (i, j), x.shape, np.float64),
    lambda x, i, j: scatter_rows(np.concatenate([x, x])[:4], i, x.shape, np.float64),
]
