"""Attention: each query takes the mean of the values, weighted by how well their keys fit it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime.errors import AutogradError, DtypeError, ShapeError
from .dropout import dropout
from .shared import arrays
from .softmaxes import softmax

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False, *, generator: Any = None,
) -> Any:  # fmt: skip
    """Return `softmax(query @ key.T * scale) @ value` (Vaswani et al., 2017).

    Of (..., l, d), (..., s, d) and (..., s, e) it is (..., l, e). `attn_mask`, which broadcasts to (..., l, s), says where a key
    may be looked at (bool), or is added to the scores (float); a query that may look at none gives zeros. `is_causal` lets
    query k look at the keys up to k. `scale` is 1 / sqrt(d) by default. With `dropout_p` weights are dropped, always, from
    `generator` or gradscribe's own. With `enable_gqa` heads of queries share one of keys and values (axis -3). Raises ShapeError
    (a RuntimeError) where shapes disagree.

    >>> import numpy as np, gradscribe as gs
    >>> x = np.eye(2)
    >>> gs.functional.scaled_dot_product_attention(x, x, x, is_causal=True, scale=np.log(3.0))
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    """
    q, k, v = arrays(query, key, value)
    if min(np.ndim(q), np.ndim(k), np.ndim(v)) < 2:
        raise ShapeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{np.ndim(q)} key.dim: {np.ndim(k)} and value.dim: {np.ndim(v)} instead."
        )
    if np.shape(q)[-1] != np.shape(k)[-1] or np.shape(k)[-2] != np.shape(v)[-2]:
        raise ShapeError(
            "Expected size of query and key to agree in the last dimension, and of key and value in the one before, but got "
            f"query {np.shape(q)}, key {np.shape(k)} and value {np.shape(v)}."
        )
    if attn_mask is not None and is_causal:
        raise ShapeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not 0 <= dropout_p <= 1:
        raise AutogradError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa:
        k, v = _repeated(k, q), _repeated(v, q)
    scores = (q * (1 / math.sqrt(int(np.shape(q)[-1])) if scale is None else scale)) @ np.swapaxes(k, -1, -2)
    if is_causal:
        allowed = np.tril(np.ones_like(scores, dtype=bool, shape=np.shape(scores)[-2:]))
        weights = softmax(np.where(allowed, scores, -np.inf), dim=-1)
    elif attn_mask is not None:
        weights = _masked(scores, attn_mask)
    else:
        weights = softmax(scores, dim=-1)
    return (dropout(weights, dropout_p, generator=generator) if dropout_p else weights) @ v


def _masked(scores: Any, attn_mask: Any) -> Any:
    """The weights under a mask; zero of a query that may look at no key."""
    (mask,) = arrays(attn_mask)
    if mask.dtype.kind not in "bf":
        raise DtypeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype} and  query.dtype: {scores.dtype} instead."
        )
    scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    none = np.all(scores == -np.inf, axis=-1, keepdims=True)
    return np.where(none, 0, softmax(np.where(none, 0, scores), dim=-1))


def _repeated(x: Any, q: Any) -> Any:
    heads, own = np.shape(q)[-3], np.shape(x)[-3]
    if heads % own:
        raise ShapeError(
            f"Number of heads in key and value must divide the number of heads in query: {own} and {heads}"
        )
    return np.repeat(x, heads // own, axis=-3)
