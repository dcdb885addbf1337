"""NumPy functions that are spelled out by others, beyond those of test_compositions.py: each with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
V, W = RNG.normal(size=5), RNG.uniform(0.5, 1.5, size=5)
M, N, S = RNG.normal(size=(3, 5)), RNG.uniform(0.5, 1.5, size=(3, 5)), RNG.normal(size=(3, 3))

MORE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cov, weighted": (lambda x, w: np.cov(x, aweights=w), (M, W)),
    "cov, repeated": (lambda x: np.cov(x, fweights=[1, 2, 1, 3, 1], bias=True), (M,)),
    "cov, both": (lambda x, w: np.cov(x, fweights=[1, 2, 1, 3, 1], aweights=w, ddof=2), (M, W)),
    "insert": (lambda x, v: np.insert(x, [1, 3], v), (V, W[:2])),
    "insert one": (lambda x: np.insert(x, 2, 3.5), (V,)),
    "insert several at one place": (lambda x, v: np.insert(x, -1, v), (V, W)),
    "insert unsorted places": (lambda x, v: np.insert(x, [3, 1, 3], v), (V, W[:3])),
    "insert rows": (lambda x, v: np.insert(x, 1, v, axis=0), (M, V)),
    "insert columns": (lambda x, v: np.insert(x, [1, 2], v, axis=1), (M, S[:, :2])),
    "insert a column": (lambda x, v: np.insert(x, 1, v, axis=1), (M, V[:3])),
    "insert columns at one": (lambda x, v: np.insert(x, [1], v, axis=1), (M, S)),
    "insert by slice": (lambda x: np.insert(x, slice(1, 4), 9.0), (V,)),
    "insert flat": (lambda x: np.insert(x, 4, [1.0, 2.0]), (M,)),
    "resize": (lambda x: np.resize(x, (4, 5)), (M,)),
    "resize smaller": (lambda x: np.resize(x, (2, 2)), (M,)),
    "piecewise": (lambda x: np.piecewise(x, [x < 0, x >= 0.5], [lambda x: x**2, lambda x: np.exp(x), 7.0]), (M,)),
    "piecewise with an argument": (
        lambda x, a: np.piecewise(x, [x < 0, x >= 0], [lambda x, a: x * a, lambda x, a: x + a], a),
        (V, np.float64(1.5)),
    ),
    "piecewise by one condition": (lambda x: np.piecewise(x, x < 0, [np.sin, np.cos]), (V,)),
    "piecewise of a number": (lambda x: np.piecewise(x, [x < 0, x >= 0], [np.sin, np.cos]), (np.array(0.3),)),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, 1]), (M,)),
    "astype": (lambda x: np.real(np.astype(x, np.complex128)), (M,)),
    "sort_complex": (lambda x: np.sort_complex(x).real, (V,)),
    "real_if_close": (lambda x: np.real_if_close(x * (1 + 0j)), (V,)),
    "trim_zeros": (lambda x: np.trim_zeros(np.concatenate([[0.0, 0.0], x, [0.0]])), (V,)),
    "unwrap": (lambda x: np.unwrap(x * 5), (M,)),
    "roots": (lambda p: np.roots(p).real, (np.array([1.0, -6.0, 11.0, -6.2]),)),
    "roots, complex": (lambda p: np.abs(np.roots(p)), (V,)),
    "poly": (lambda z: np.poly(z), (V,)),
    "poly of a matrix": (lambda z: np.poly(z), (S,)),
    "polyadd": (lambda p, q: np.polyadd(p, q[:3]), (V, W)),
    "polysub": (lambda p, q: np.polysub(p[:2], q), (V, W)),
    "polymul": (lambda p, q: np.polymul(p, q), (V, W)),
    "polydiv": (lambda p, q: np.polydiv(p, q[:2]), (V, W)),
    "polydiv, by a larger one": (lambda p, q: np.polydiv(p[:2], q), (V, W)),
    "polyder": (lambda p: np.polyder(p, 2), (V,)),
    "polyint": (lambda p: np.polyint(p, 2, [1.0, 2.0]), (V,)),
    "polyint, with a constant": (lambda p, k: np.polyint(p, 1, k), (V, np.float64(2.0))),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (V, W)),
    "polyfit weighted": (lambda x, y, w: np.polyfit(x, y, 1, w=w), (V, W, W[::-1].copy())),
    "polyfit of columns": (lambda x, y: np.polyfit(x, y.T, 1), (V, M)),
    "polyfit, cov": (lambda x, y: np.polyfit(x, y, 1, cov=True), (V, W)),
    "bincount": (lambda w: np.bincount([0, 2, 1, 0, 2], w), (V,)),
    "histogram weights": (lambda x, w: np.histogram(x, [-2.0, -0.5, 0.5, 2.0], weights=w)[0], (V, W)),
    "histogram range": (lambda x, w: np.histogram(x, 5, (-1, 2), weights=w)[0], (V, W)),
    "histogram density": (lambda x: np.histogram(x, 4, density=True), (M,)),
    "histogram2d weights": (lambda x, w: np.histogram2d(x, x[::-1], (3, [-2.0, 0.0, 2.0]), weights=w)[0], (V, W)),
    "histogramdd weights": (
        lambda x, w: np.histogramdd(np.stack([x, x**2, -x], axis=1), (3, 2, [-2.0, 0.0, 2.0]), weights=w)[0],
        (V, W),
    ),
    "histogramdd of one axis": (lambda x, w: np.histogramdd(x, 3, weights=w)[0], (V, W)),
    "histogramdd density": (lambda x: np.histogramdd([x, x**2, x[::-1]], 2, density=True)[0], (V,)),
    "histogram2d density": (lambda x: np.histogram2d(x, x**2, 3, density=True), (V,)),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 4), (M,)),
    "unique": (lambda x: np.unique(x), (M,)),
    "unique inverse": (lambda x: np.unique(x, return_inverse=True)[0], (M,)),
    "union1d": (lambda x, y: np.union1d(x, y), (V, W)),
    "setdiff1d": (lambda x, y: np.setdiff1d(x, y), (V, W)),
    "intersect1d": (lambda x: np.intersect1d(x, x[1:3]), (V,)),
    "setxor1d": (lambda x, y: np.setxor1d(x, y), (V, W)),
    "unique_counts": (lambda x: np.unique_counts(x)[0], (V,)),
    "unique_values": (lambda x: np.unique_values(x), (V,)),
    "nanmedian": (lambda x: np.nanmedian(np.where(x > 1.2, np.nan, x), axis=0), (M,)),
    "nanprod": (lambda x: np.nanprod(np.where(x > 1.2, np.nan, x), axis=1), (M,)),
    "reduce, subtract": (lambda x: np.subtract.reduce(x, axis=1), (M,)),
    "reduce, logaddexp": (lambda x: np.logaddexp.reduce(x), (M,)),
    "accumulate, divide": (lambda x: np.divide.accumulate(x, axis=1), (N,)),
    "reduceat, multiply": (lambda x: np.multiply.reduceat(x, [0, 2, 1], axis=1), (M,)),
    "reduceat, maximum": (lambda x: np.maximum.reduceat(x, [0, 3], axis=1), (M,)),
    "reduce, power": (lambda x: np.power.reduce(x), (N,)),
    "reduce, hypot of some": (
        lambda x: np.hypot.reduce(x, axis=1, where=np.array([True, False, True, True, False])),
        (M,),
    ),
    "reduce, arctan2 from a start": (lambda x: np.arctan2.reduce(x, axis=0, keepdims=True, initial=2.0), (M,)),
    "outer": (lambda x, y: np.arctan2.outer(x, y), (V, W)),
}

if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    MORE |= {
        "cumulative_sum": (lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (M,)),
        "cumulative_prod": (lambda x: np.cumulative_prod(x, axis=0), (M,)),
        "unstack": (lambda x: np.multiply(*np.unstack(x[:, :2], axis=1)), (M,)),
    }
