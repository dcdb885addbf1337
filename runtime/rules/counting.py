"""Counting and sets: positions and counts have no gradient; weights, and the values that remain, do."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import alone
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, composed, jumps, op, primitive, rule, undifferentiable
from ..result_types import BY_VALUE, RUN
from .support import literal

opaque = Kind.opaque

for _fn, _signature in (
    (np.digitize, "x, bins, right=False"), (np.lexsort, "keys, axis=-1"),
    (np.isin, "x, test_elements, assume_unique=False, invert=False, *, kind=None"),
    (np.packbits, "x, /, axis=None, bitorder='big'"), (np.unpackbits, "x, /, axis=None, count=None, bitorder='big'"),
    (np.ravel_multi_index, "multi_index, dims, mode='raise', order='C'"),
):  # fmt: skip
    undifferentiable(_fn, _signature, opaque, memory=NEW)
batching(np.digitize, np.isin)(alone)  # each element by itself, where all examples share the table
undifferentiable(np.diag_indices_from, "x", Kind.creation, n_out=None, memory=MAY)  # the same array for each axis
for _triangle in (np.tril_indices_from, np.triu_indices_from):
    undifferentiable(_triangle, "x, k=0", Kind.creation, n_out=2)
undifferentiable(
    np.ix_, "*xs", Kind.creation, n_out=None, memory=MAY,
    types=lambda xs: BY_VALUE if any(getattr(x, "dtype", None) == np.bool_ for x in xs) else RUN,
)  # fmt: skip
undifferentiable(np.unravel_index, "indices, shape, order='C'", opaque, n_out=None, memory=NEW)

op(np.bincount, "x, weights=None, minlength=0", opaque, memory=NEW, types=BY_VALUE)
rule(np.bincount, x=None, weights=lambda g, x: np.take(g, x))


# Histograms: the counts do not move, the edges move with the least and the greatest number.


@composed(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Evenly spaced edges, from the least number to the greatest."""
    if np.ndim(bins) == 1:
        return literal(bins, a)
    if isinstance(bins, str):
        raise NotImplementedError(f"np.histogram with bins={bins!r} has no gradient rule; give the number of bins, or the edges")
    low, high = (np.min(a), np.max(a)) if range is None else (literal(range[0], a), range[1])
    if range is None and not bool(low != high):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, int(bins) + 1)


@primitive("x, edges", opaque)
def counted(x: Any, edges: Any) -> Any:
    """How many numbers lie between two edges."""
    out = np.histogram(x, edges)[0]
    return out


rule(counted, x=None, edges=None)


@primitive("x, edges, weights", opaque)
def weighted_count(x: Any, edges: Any, weights: Any) -> Any:
    """The sums of the weights of the numbers between two edges."""
    out = np.histogram(x, edges, weights=weights)[0]
    return out


@primitive("x, edges, weights", opaque)
def evenly_weighted_count(x: Any, edges: Any, weights: Any) -> Any:
    """The same between edges at equal distances, added up in the order in which NumPy does it there."""
    out = np.histogram(x, len(edges) - 1, (edges[0], edges[-1]), weights=weights)[0]
    return out


@primitive("g, x, edges", opaque)
def of_bin(g: Any, x: Any, edges: Any) -> Any:
    """For each number what `g` holds for its bin; zero outside."""
    k = np.where(x == edges[-1], len(edges) - 2, np.searchsorted(edges, x, "right") - 1)
    out = np.where((x >= edges[0]) & (x <= edges[-1]), g[np.clip(k, 0, len(edges) - 2)], 0).astype(g.dtype)
    return out


rule(weighted_count, x=None, edges=None, weights=lambda g, x, edges: of_bin(g, x, edges))
rule(evenly_weighted_count, x=None, edges=None, weights=lambda g, x, edges: of_bin(g, x, edges))
jumps(lambda x, edges: np.searchsorted(edges, x, "right"), weighted_count, evenly_weighted_count)
rule(of_bin, g=lambda g, x, edges: weighted_count(x, edges, g), x=None, edges=None)


@composed(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The counts (or the sums of the weights) between the edges, and the edges."""
    edges = histogram_bin_edges(a, bins, range)
    count = weighted_count if np.ndim(bins) else evenly_weighted_count
    found = counted(a, edges) if weights is None else count(a, edges, weights)
    if density:
        found = found / (edges[1:] - edges[:-1]) / np.sum(found)
    return found, edges


# Sets. Of equal elements the first stands for all, and takes the cotangent.


@primitive("x, which, axis", opaque, types=BY_VALUE)
def unique_part(x: Any, which: Any, axis: Any) -> Any:
    """Of the different elements: where the first of each is (1), which one each element is (2), how often it occurs (3)."""
    out = np.unique(x, True, True, True, axis=axis)[which]
    return out


rule(unique_part, x=None)


@composed(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements, sorted, and what was asked for besides."""
    if not equal_nan:
        raise NotImplementedError("np.unique with equal_nan=False has no gradient rule; leave NaN out before: x[~np.isnan(x)]")
    found = [np.take(np.ravel(ar) if axis is None else ar, unique_part(ar, 1, axis), axis=0 if axis is None else axis)]
    for k, asked in enumerate((return_index, return_inverse, return_counts), 1):
        if asked:
            found.append(unique_part(ar, k, axis))
    return found[0] if len(found) == 1 else tuple(found)


@composed(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """The different elements of both."""
    return np.unique(np.concatenate((ar1, ar2), axis=None))


@composed(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The different elements of the first that the second lacks."""
    ar1 = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return ar1[np.isin(ar1, ar2, invert=True)]


@composed(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The different elements that both have; those of the first stand for them."""
    if return_indices:
        raise NotImplementedError("np.intersect1d with return_indices has no gradient rule; use np.isin")
    ar1 = np.sort(np.ravel(ar1)) if assume_unique else np.unique(ar1)
    return ar1[np.isin(ar1, ar2)]


@composed(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The different elements that only one of both has."""
    both = [np.ravel(a) if assume_unique else np.unique(a) for a in (ar1, ar2)]
    return np.sort(np.concatenate([a[np.isin(a, b, invert=True)] for a, b in (both, both[::-1])]))


def _of_unique(name: str, *flags: str) -> None:
    def part(x: Any) -> Any:
        found = np.unique(x, **dict.fromkeys(flags, True))  # type: ignore[call-overload]
        return type(getattr(np, name)(np.zeros(1)))(*found) if flags else found

    part.__doc__ = f"`np.{name}`, by np.unique."
    composed(getattr(np, name))(part)


_of_unique("unique_all", "return_index", "return_inverse", "return_counts")
_of_unique("unique_counts", "return_counts")
_of_unique("unique_inverse", "return_inverse")
_of_unique("unique_values")
