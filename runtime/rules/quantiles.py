"""Medians and quantiles: the cotangent of a rank goes to the one or two numbers at that rank."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, batched_reduction
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, forms, op, rule, singular_at
from .indexing import scatter, scatter_along
from .support import is_given, is_kept, normal_axes

opaque = Kind.opaque

_OPTIONS = "axis=None, out=None, overwrite_input=False, keepdims=False"
_NAN_OPTIONS = "axis=None, out=None, overwrite_input=False, keepdims=NoValue"
_METHODS = "axis=None, out=None, overwrite_input=False, method='linear', keepdims=False, *, weights=None"
_NAN_METHODS = "axis=None, out=None, overwrite_input=False, method='linear', keepdims=NoValue, *, weights=None"

op(np.median, f"x, {_OPTIONS}", opaque, memory=NEW)
rule(np.median, x=lambda g, x, axis, keepdims: unranked(g, x, 0.5, axis, keepdims, "linear", None))
singular_at(np.median, x=lambda x, axis: unsettled(x, 0.5, axis, "linear"))

op(np.quantile, f"x, q, {_METHODS}", opaque, memory=NEW)
rule(
    np.quantile,
    x=lambda g, x, q, axis, keepdims, method, weights: unranked(g, x, q, axis, keepdims, method, weights),
)
singular_at(np.quantile, x=lambda x, q, axis, method: unsettled(x, q, axis, method))

op(np.percentile, f"x, q, {_METHODS}", opaque, memory=NEW)
rule(
    np.percentile,
    x=lambda g, x, q, axis, keepdims, method, weights: unranked(
        g, x, np.true_divide(q, 100), axis, keepdims, method, weights
    ),
)
singular_at(np.percentile, x=lambda x, q, axis, method: unsettled(x, np.true_divide(q, 100), axis, method))

op(np.nanmedian, f"x, {_NAN_OPTIONS}", opaque, memory=NEW)
rule(np.nanmedian, x=lambda g, x, x_dtype, axis, keepdims: unranked_nan(g, x, x_dtype, 0.5, axis, keepdims, "linear", None))
singular_at(np.nanmedian, x=lambda x, axis: unsettled_nan(x, 0.5, axis, "linear"))

op(np.nanquantile, f"x, q, {_NAN_METHODS}", opaque, memory=NEW)
rule(
    np.nanquantile,
    x=lambda g, x, x_dtype, q, axis, keepdims, method, weights: unranked_nan(
        g, x, x_dtype, q, axis, keepdims, method, weights
    ),
)
singular_at(np.nanquantile, x=lambda x, q, axis, method: unsettled_nan(x, q, axis, method))

op(np.nanpercentile, f"x, q, {_NAN_METHODS}", opaque, memory=NEW)
rule(
    np.nanpercentile,
    x=lambda g, x, x_dtype, q, axis, keepdims, method, weights: unranked_nan(
        g, x, x_dtype, np.true_divide(q, 100), axis, keepdims, method, weights
    ),
)
singular_at(np.nanpercentile, x=lambda x, q, axis, method: unsettled_nan(x, np.true_divide(q, 100), axis, method))


def _kept(fn: Any, place: int) -> Any:
    """A form of `fn` that leaves its argument as it is where `overwrite_input`, at `place`, would let NumPy scramble it."""

    def form(*args: Any, **kwargs: Any) -> Any:
        asked = args[place] if len(args) > place else kwargs.pop("overwrite_input", False)
        return fn(*args[:place], *[False] * (len(args) > place), *args[place + 1 :], **kwargs) if asked else NotImplemented

    return form


_RANKED: dict[Any, int] = {
    np.median: 3, np.nanmedian: 3, np.quantile: 4, np.percentile: 4, np.nanquantile: 4, np.nanpercentile: 4,
}  # fmt: skip
for _ranked, _place in _RANKED.items():
    forms(_ranked)(_kept(_ranked, _place))


def lines(x: Any, axis: Any) -> tuple[Any, list[int]]:
    """`x` with the axes that are ranked as one, the last; and the order of axes in which it was flattened."""
    axes = normal_axes(axis, np.ndim(x))
    kept = [k for k in range(np.ndim(x)) if k not in axes]
    order = [*kept, *axes]
    flat = x if order == list(range(np.ndim(x))) else np.transpose(x, tuple(order))
    return flat if len(axes) == 1 else np.reshape(flat, (*[np.shape(x)[k] for k in kept], -1)), order


def unlined(found: Any, x_shape: Any, order: list[int]) -> Any:
    """Return to an array the shape that `lines` flattened."""
    if np.ndim(found) != len(order):
        found = np.reshape(found, [x_shape[k] for k in order])
    return found if order == list(range(len(order))) else np.transpose(found, np.argsort(order).tolist())


def rank_of(flat: Any) -> Any:
    """At which place along the last axis each number stands once they are sorted; NaN stands last."""
    return np.argsort(np.argsort(flat, axis=-1, kind="stable"), axis=-1)


def unkept(g: Any, axis: Any, keepdims: Any, ndim: int) -> Any:
    """The cotangent of a reduction without the axes that it kept."""
    return np.squeeze(g, tuple([a - ndim for a in normal_axes(axis, ndim)])) if is_kept(keepdims) else g


def unweighted(weights: Any) -> None:
    """Refuse weights, with which a quantile jumps from number to number."""
    if is_given(weights):
        raise NotImplementedError("quantiles with weights have no gradient rule; use np.sort and np.cumsum of the weights")


def unranked(g: Any, x: Any, q: Any, axis: Any, keepdims: Any, method: str, weights: Any) -> Any:
    """The cotangent of what lies at the ranks `q` (from 0 to 1) of sorted axes: it goes to the one or two numbers there."""
    unweighted(weights)
    if not np.size(x):
        return np.zeros_like(x)
    flat, order = lines(x, axis)
    ranked = np.argsort(flat, axis=-1, kind="stable")
    g = unkept(g, axis, keepdims, np.ndim(x))
    found: Any = None
    q = np.array(q) if isinstance(q, (list, tuple)) else q
    for k in np.ndindex(np.shape(q)):
        at, shares = taken_at(float(q[k] if k else q), np.shape(flat)[-1], method)
        v = np.stack([(g[k] if k else g) * share for share in shares], axis=-1)
        if np.ndim(flat) == 1:
            put = scatter(v, ranked[at], np.shape(flat), flat.dtype)
        else:
            put = scatter_along(v, ranked[..., at], -1, np.shape(flat), flat.dtype)
        found = put if found is None else found + put
    return unlined(np.zeros_like(flat) if found is None else found, np.shape(x), order)


def unsettled(x: Any, q: Any, axis: Any, method: str) -> Any:
    """Tell where a number at one of the ranks equals one that has another share, or none."""
    s = np.sort(lines(x, axis)[0], axis=-1)
    found: Any = False
    for one in np.ravel(q).tolist():
        at, shares = weighed(one, int(np.shape(s)[-1]), method)
        share = dict(zip(at, shares, strict=True)) if at[0] != at[1] else {at[0]: 1.0}
        for k in range(max(at[0] - 1, 0), min(at[1] + 1, int(np.shape(s)[-1]) - 1)):
            if share.get(k, 0.0) != share.get(k + 1, 0.0):
                found = found | (s[..., k] == s[..., k + 1])
    return found if found is False else np.expand_dims(found, normal_axes(axis, np.ndim(x)))


def weighed(q: float, n: int, method: Any) -> tuple[list[int], list[float]]:
    """Which of `n` sorted numbers a quantile takes, and what share of each: read off the quantile of the ranks themselves."""
    place = float(np.quantile(np.arange(float(n)), q, method=method))
    low = min(int(place), max(n - 2, 0))
    return [low, min(low + 1, n - 1)], [1.0 - (place - low), place - low]


_PARTS = (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 200, 1000)  # of which most quantiles that people ask for are so many


def taken_at(q: float, n: Any, method: Any) -> tuple[list[Any], list[Any]]:
    """Return what `weighed` does, in arithmetic of `n`, which may be a size, where `q` is a plain fraction."""
    parts = next((d for d in _PARTS if round(q * d) / d == q), None)
    if method != "linear" or parts is None:
        return weighed(q, int(n), method)
    whole, last = round(q * parts), n - 1
    if whole in (0, parts):
        return [last if whole else 0], [1.0]
    if parts == 2:
        return [last // 2, n // 2], [0.5, 0.5]
    place = last if whole == 1 else whole * last
    share = place % parts / parts
    return [place // parts, -(-place // parts)], [1.0 - share, share]


# Where NaN is left out, how many numbers are ranked is known to the values alone: every number is given its share.

_ENDS = {  # R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American Statistician 50 (1996) 361
    "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


def place_among(q: float, count: Any, method: str) -> Any:
    """The rank, between whole numbers, that a quantile takes of `count` sorted numbers."""
    if method in _ENDS:
        first, last = _ENDS[method]
        return np.clip(count * q + (first + q * (1 - first - last) - 1), 0, count - 1)
    place = (count - 1) * q
    if method in ("lower", "higher", "midpoint"):
        low, high = np.floor(place), np.ceil(place)
        return low if method == "lower" else high if method == "higher" else (low + high) / 2
    if method != "linear":
        raise NotImplementedError(f"np.nanquantile with method={method!r} has no gradient rule; use method='linear'")
    return place


def unranked_nan(
    g: Any, x: Any, x_dtype: Any, q: Any, axis: Any, keepdims: Any, method: str, weights: Any
) -> Any:  # fmt: skip
    """The same where NaN is left out."""
    unweighted(weights)
    if not np.size(x):
        return np.zeros_like(x)
    flat, order = lines(x, axis)
    valid, ranks = ~np.isnan(flat), rank_of(flat)
    count = np.sum(valid, axis=-1, keepdims=True)
    g = unkept(g, axis, keepdims, np.ndim(x))
    found: Any = 0
    q = np.array(q) if isinstance(q, (list, tuple)) else q
    for k in np.ndindex(np.shape(q)):
        place = place_among(float(q[k] if k else q), count, method)
        share = np.maximum(1 - np.abs(ranks - place), 0).astype(x_dtype)
        found = found + np.expand_dims(g[k] if k else g, -1) * np.where(valid, share, 0)
    return unlined(found, np.shape(x), order)


def unsettled_nan(x: Any, q: Any, axis: Any, method: str) -> Any:
    """Tell where a number at one of the ranks equals one that has another share, or none, where NaN is left out."""
    s = np.sort(lines(x, axis)[0], axis=-1)
    count, ranks = np.sum(~np.isnan(s), axis=-1, keepdims=True), np.arange(np.shape(s)[-1])
    found: Any = False
    for one in np.ravel(q).tolist():
        share = np.maximum(1 - np.abs(ranks - place_among(one, count, method)), 0)
        uneven = share[..., 1:] != share[..., :-1]
        found = found | np.any((s[..., 1:] == s[..., :-1]) & uneven, axis=-1)
    return np.expand_dims(found, normal_axes(axis, np.ndim(x)))


@batching(np.median, np.quantile, np.percentile, np.nanmedian, np.nanquantile, np.nanpercentile)
def batched_ranked(call: BatchedCall) -> Any:
    """As a reduction; several quantiles stand in front of the batch axis, and go behind it."""
    if not call.only("x"):
        return NotImplemented
    found = batched_reduction(call)
    several = int(np.ndim(call["q"])) if call.has("q") else 0
    return np.moveaxis(found, several, 0) if several else found
