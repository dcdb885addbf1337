"""Ops that the compiler looks for, to compare with the `base` of a call's op, which its operator and other forms share."""

from __future__ import annotations

import operator
from typing import Any

from ...unpatched import np
from ..registry import ops_of, require

__all__ = [
    "ADD", "BROADCAST_TO", "COMPARISONS", "COPY", "DIVIDE", "EXPAND_DIMS", "FLOAT", "GETITEM", "MATMUL", "MAXIMUM", "MEAN",
    "MINIMUM", "MULTIPLY", "NEGATIVE", "POWER", "REPEAT", "SIZED_BY_VALUE", "SQRT", "SQUARE",
    "SQUEEZE", "SUBTRACT", "SUM", "SWAPAXES", "TRANSPOSE", "WHERE", "ZEROS",
]  # fmt: skip

ADD, SUBTRACT, MULTIPLY, DIVIDE = map(require, (np.add, np.subtract, np.multiply, np.divide))
NEGATIVE, POWER, SQUARE, SQRT = map(require, (np.negative, np.power, np.square, np.sqrt))
MAXIMUM, MINIMUM, WHERE, FLOAT = map(require, (np.maximum, np.minimum, np.where, float))
SUM, MEAN, MATMUL = map(require, (np.sum, np.mean, np.matmul))
GETITEM, TRANSPOSE, SWAPAXES = map(require, (operator.getitem, np.transpose, np.swapaxes))
EXPAND_DIMS, SQUEEZE, BROADCAST_TO, COPY = map(require, (np.expand_dims, np.squeeze, np.broadcast_to, np.copy))
REPEAT, ZEROS = require(np.repeat), require(np.zeros)

COMPARISONS = ops_of(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)

# Functions, the shape of whose result depends on the values of the arguments; some are ops only where a user makes them so.
SIZED_BY_VALUE: frozenset[Any] = frozenset(
    [np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract, np.repeat, np.bincount, np.trim_zeros,
     np.union1d, np.intersect1d, np.setdiff1d]
)  # fmt: skip
