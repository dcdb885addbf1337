"""np.histogram2d, by np.bincount of the rectangle that each pair of numbers falls into: differentiable in the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import composed
from .counting import histogram_bin_edges


def bin_of(x: Any, edges: Any) -> Any:
    """How many edges are not above each number; the last edge belongs to the bin below it."""
    return np.searchsorted(edges, x, side="right") - (x == edges[-1])


@composed(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The counts (or the sums of the weights) in rectangles, and the edges along x and y."""
    of_x, of_y = bins if hasattr(bins, "__len__") and len(bins) == 2 else (bins, bins)
    limits = (None, None) if range is None else range
    edges = along_x, along_y = histogram_bin_edges(x, of_x, limits[0]), histogram_bin_edges(y, of_y, limits[1])
    rows, columns = len(along_x) + 1, len(along_y) + 1  # what lies outside stands first and last
    flat = bin_of(x, along_x) * columns + bin_of(y, along_y)
    counts = np.reshape(np.bincount(flat, weights, minlength=rows * columns), (rows, columns)).astype(float)
    found = counts[1:-1, 1:-1]
    if density:
        widths, heights = (e[1:] - e[:-1] for e in edges)
        found = found / widths[:, None] / heights / np.sum(found)
    return found, along_x, along_y
