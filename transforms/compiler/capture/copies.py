"""Copies of arrays with the same strides and overlaps, so that a run on them gives the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....runtime.arrays import is_cupys, is_plain_array

__all__ = ["copied", "with_copies"]


def with_copies(values: dict[Any, Any]) -> dict[Any, Any]:
    """The same values, arrays copied with the strides and overlaps that they have."""
    copies = iter(_copies([v for v in values.values() if is_plain_array(v)]))
    return {k: next(copies) if is_plain_array(v) else v for k, v in values.items()}


def copied(array: Any) -> Any:
    """A copy of one array, with the strides that it has."""
    return _copies([array])[0]


def _copies(arrays: list[Any]) -> list[Any]:
    """Copies with the same strides, those of overlapping arrays in one memory: either tells in the bits of a matmul."""
    if any(map(is_cupys, arrays)):  # without gaps, or they are not compiled
        others = iter(_copies([a for a in arrays if not is_cupys(a)]))
        return [a.copy("K") if is_cupys(a) else next(others) for a in arrays]
    bounds = [np.lib.array_utils.byte_bounds(a) for a in arrays]
    ordered = sorted(bounds)
    if all(low[1] <= high[0] for low, high in itertools.pairwise(ordered)) and all(
        a.flags.c_contiguous for a in arrays
    ):
        return [a.copy() for a in arrays]
    made: list[Any] = [None] * len(arrays)
    for k, array in enumerate(arrays):
        if made[k] is None:
            group = [j for j in range(k, len(arrays)) if made[j] is None and _touches(arrays, k, j)]
            alone = len(group) == 1 and array.flags.c_contiguous
            for j, copied in zip(group, [array.copy()] if alone else _in_one([arrays[j] for j in group]), strict=True):
                made[j] = copied
    return made


def _touches(arrays: list[Any], k: int, j: int) -> bool:
    """Whether array `j` overlaps with `k`, or with what lies between them in the list and overlaps with it."""
    return k == j or any(
        np.may_share_memory(arrays[i], arrays[j]) for i in range(k, j) if i == k or _touches(arrays, k, i)
    )


def _in_one(arrays: list[Any]) -> list[Any]:
    """Copies of arrays in one memory, each at its place."""
    bounds = [np.lib.array_utils.byte_bounds(a) for a in arrays]
    low = min(b[0] for b in bounds)
    memory = np.empty(max(b[1] for b in bounds) - low, np.uint8)
    made = []
    for array in arrays:
        offset = array.__array_interface__["data"][0] - low
        copied = np.ndarray(array.shape, array.dtype, memory, offset, array.strides) if array.size else array
        copied[...] = array
        made.append(copied)
    return made
