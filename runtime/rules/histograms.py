"""np.histogram2d and np.histogramdd, by np.bincount of the box that each point falls into: differentiable in the weights."""

from __future__ import annotations

import math
from typing import Any

from ...unpatched import np
from ..registry import composed
from .counting import histogram_bin_edges


def bin_of(x: Any, edges: Any) -> Any:
    """How many edges are not above each number; the last edge belongs to the bin below it."""
    return np.searchsorted(edges, x, side="right") - (x == edges[-1])


def counted(columns: list[Any], edges: list[Any], density: Any, weights: Any) -> Any:
    """The counts (or the sums of the weights) in boxes, of points given by their coordinates."""
    sizes = [len(e) + 1 for e in edges]  # what lies outside stands first and last
    flat = bin_of(columns[0], edges[0])
    for x, e, size in zip(columns[1:], edges[1:], sizes[1:], strict=True):
        flat = flat * size + bin_of(x, e)
    counts = np.reshape(np.bincount(flat, weights, minlength=math.prod(sizes)), tuple(sizes)).astype(float)
    found = counts[(slice(1, -1),) * len(edges)]
    if density:
        total = np.sum(found)
        for k, e in enumerate(edges):
            found = found / np.reshape(e[1:] - e[:-1], (-1, *(1,) * (len(edges) - k - 1)))
        found = found / total
    return found


@composed(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The counts (or the sums of the weights) in rectangles, and the edges along x and y."""
    of_x, of_y = bins if hasattr(bins, "__len__") and len(bins) == 2 else (bins, bins)
    limits = (None, None) if range is None else range
    edges = [histogram_bin_edges(x, of_x, limits[0]), histogram_bin_edges(y, of_y, limits[1])]
    return counted([x, y], edges, density, weights), *edges


@composed(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The counts (or the sums of the weights) in boxes, and the edges along each axis; `sample` has a point a row."""
    if not hasattr(sample, "shape"):
        columns = list(sample)
    else:
        columns = [sample] if np.ndim(sample) == 1 else [sample[:, k] for k in np.arange(np.shape(sample)[1]).tolist()]
    of_each = bins if hasattr(bins, "__len__") else [bins] * len(columns)
    limits = [None] * len(columns) if range is None else range
    if len(of_each) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    edges = [histogram_bin_edges(x, n, limit) for x, n, limit in zip(columns, of_each, limits, strict=True)]
    return counted(columns, edges, density, weights), edges
