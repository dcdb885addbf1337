"""Samples of the rest of NumPy: quantiles without NaN, ufuncs of two results, methods of ufuncs, counting, polynomials' roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradscribe.runtime.rules import counting, creation, polynomials, ufuncs

from samples import RANKS, Sample, binary, question, reduction, running, unary

NAN = np.array([[1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]], bool)
PLACES = [0, 2, 1]
EDGES = [-2.0, -0.5, 0.5, 2.0]
EVEN_EDGES = [-2.0, -1.0, 0.0, 1.0, 2.0]


def holed(x: Any) -> Any:
    """The same numbers, some of them NaN."""
    return np.where(NAN[: x.shape[0], : x.shape[-1]], x, np.nan)


def dividing(x: Any, y: Any) -> Any:
    """Both results of np.divmod, each with its own weight."""
    quotient, rest = np.divmod(x, y)
    return 2.0 * quotient + 3.0 * rest


QUANTILES = [
    *[
        Sample(f, (((3, 4),),), RANKS, call=lambda x, f=f, a=a, **k: f(holed(x), *a, **k))
        for f, a in ((np.nanmedian, ()), (np.nanquantile, (0.3,)), (np.nanpercentile, (30.0,)))
    ],
    *[
        Sample(
            f, (((4,),), ((4, 2),)), tuple([{"axis": 0, "method": method} for method in methods]),
            call=lambda x, f=f, c=c, **k: f(x, [0.0, 0.35 * c, 1.0 * c], **k),
        )
        for f, c, methods in (
            (np.quantile, 1, ("hazen", "weibull", "inverted_cdf", "averaged_inverted_cdf", "nearest")),
            (np.percentile, 100, ("closest_observation", "interpolated_inverted_cdf", "normal_unbiased")),
            (np.nanquantile, 1, ("linear", "lower", "higher", "midpoint", "hazen", "weibull")),
            (np.nanpercentile, 100, ("interpolated_inverted_cdf", "median_unbiased", "normal_unbiased")),
        )
    ],
]  # fmt: skip

PAIRS = [
    binary(np.divmod, (2.1, 2.3), (0.6, 0.65), call=dividing),
    unary(np.modf, kinks=(-1.0, 0.0, 1.0), call=lambda x: np.modf(x)[0] * np.modf(x)[0] + np.modf(x)[1]),
    unary(np.frexp, (1.1, 1.9), call=lambda x: np.frexp(x)[0]),
    binary(np.nextafter),
    question(np.bitwise_count, integer=True),
    unary(np.i0, kinks=(0.0,), finite=True),
    unary(ufuncs.bessel_i, call=lambda x: ufuncs.bessel_i(1, x), finite=True),
    unary(ufuncs.bessel_i, call=lambda x: ufuncs.bessel_i(2, x), finite=True),
    Sample(np.unwrap, (((6,),), ((3, 4),)), ({}, {"axis": 0}), call=lambda x, **k: np.unwrap(4.0 * x, **k)),
    *(
        [
            Sample(np.matvec, (((3, 4), (4,)), ((2, 3, 4), (4,)), ((3, 4), (2, 4))), complex=True),
            Sample(np.vecmat, (((3,), (3, 4)), ((2, 3), (3, 4)), ((3,), (2, 3, 4))), complex=True),
        ]
        if hasattr(np, "matvec")
        else []
    ),
]

MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
AXES = ({}, {"axis": 1}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True})
METHODS = [
    *[
        Sample(f.reduce, (((3, 4),), ((2, 3, 4),)), AXES, call=lambda x, f=f, **k: f.reduce(x, **k))
        for f in (np.logaddexp, np.logaddexp2, np.hypot, np.fmax, np.fmin)
    ],
    *[
        Sample(
            f.reduce, (((3, 4),),), ({"axis": 1, "where": MASK, "initial": start}, {"initial": start}),
            call=lambda x, f=f, **k: f.reduce(x, **k),
        )
        for f, start in ((np.logaddexp, 0.5), (np.logaddexp2, 0.5), (np.hypot, 0.5), (np.fmax, -9.0), (np.fmin, 9.0))
    ],
    *[
        Sample(f.accumulate, (((6,),), ((3, 4),)), ({}, {"axis": -1}), call=lambda x, f=f, **k: f.accumulate(x, **k))
        for f in (np.maximum, np.minimum)
    ],
    Sample(
        ufuncs.latest, (((3, 4),),), call=lambda x: ufuncs.latest(x, np.maximum.accumulate(x, axis=1), 1),
        differentiable=False, order=0,
    ),
    Sample(
        np.add.reduceat, (((5,),), ((4, 3),)), ({}, {"axis": -1}), call=lambda x, **k: np.add.reduceat(x, PLACES, **k),
        complex=True,
    ),
    Sample(
        ufuncs.spread_pieces, (((3,),),), call=lambda g: ufuncs.spread_pieces(g, PLACES, 0, (4,), g.dtype), complex=True
    ),
]  # fmt: skip

COUNTS = [
    Sample(np.bincount, (((4,),),), call=lambda w: np.bincount([0, 2, 0, 1], w)),
    Sample(np.bincount, (((4,),),), call=lambda w: np.bincount([0, 2, 0, 1], w, minlength=5)),
    question(counting.counted, (((3, 4),),), call=lambda x: counting.counted(x, EDGES)),
    Sample(
        counting.weighted_count, (((6,),),), call=lambda w: counting.weighted_count(np.linspace(-2, 2, 6), EDGES, w)
    ),
    Sample(
        counting.evenly_weighted_count,
        (((6,),),),
        call=lambda w: counting.evenly_weighted_count(np.linspace(-2.5, 2, 6), EVEN_EDGES, w),
    ),
    Sample(counting.of_bin, (((3,),),), call=lambda g: counting.of_bin(g, np.linspace(-2.5, 2, 6), EDGES)),
    question(counting.unique_part, (((6,),),), call=lambda x: counting.unique_part(x, 1, None)),
    question(np.digitize, (((3, 4),),), call=lambda x: np.digitize(x, EDGES)),
    question(np.lexsort, (((3, 4),),)),
    question(np.isin, (((3, 4), (4,)),)),
    question(np.packbits, (((9,),),), call=lambda x: np.packbits(np.greater(x, 0))),
    question(np.unpackbits, (((3,),),), integer=True, call=lambda x: np.unpackbits(x.astype(np.uint8))),
    question(
        np.ravel_multi_index,
        (((3,),),),
        integer=True,
        domain=(0, 3),
        call=lambda x: np.ravel_multi_index((x, x), (4, 5)),
    ),
    question(np.unravel_index, (((3,),),), integer=True, domain=(0, 9), call=lambda x: np.unravel_index(x, (4, 5))),
    question(np.diag_indices_from, (((3, 3),),), call=lambda x: np.diag_indices_from(x)[0]),
    *[
        question(f, (((3, 4),),), kwargs=({}, {"k": 1}), call=lambda x, f=f, **k: f(x, **k)[1])
        for f in (np.tril_indices_from, np.triu_indices_from)
    ],
    question(np.ix_, (((3,),),), integer=True, call=lambda x: np.ix_(x, x)),
    Sample(
        polynomials.complex_roots,
        (((4,),),),
        domain=(1.0, 2.0),
        call=lambda p: np.abs(np.roots(p)),
        order=1,
        finite=True,
        empty=False,
    ),
    Sample(
        polynomials.complex_roots,
        (((3,),),),
        call=lambda x: np.roots(np.concatenate([[1.0, -6.0], 11.0 + 0.01 * x[:1], -6.0 + 0.01 * x[1:2]])),
    ),
]

ENDS = [
    Sample(np.diff, (((4,), (2,)), ((3, 4), (3, 1))), ({}, {"n": 2}), call=lambda x, p, **k: np.diff(x, prepend=p, **k)),
    Sample(np.diff, (((4,), ()), ((3, 4), (3, 2))), ({}, {"n": 2}), call=lambda x, p, **k: np.diff(x, append=p, **k)),
    Sample(np.trapezoid, (((3, 4), ()),), ({}, {"axis": 0}), call=lambda y, dx, **k: np.trapezoid(y, dx=dx, **k)),
    Sample(np.pad, (((3, 4), ()),), call=lambda x, v: np.pad(x, ((1, 0), (2, 1)), constant_values=v)),
    Sample(
        np.interp, (((4,), (3,)),), domain=((-0.9, 0.3), (0.0, 0.1)), kinks=(0.0,),
        call=lambda x, moved: np.interp(x, moved + np.linspace(-1.2, 1.0, 3), np.linspace(-1.2, 1.0, 3) ** 2),
    ),
    Sample(
        np.arange, (((), ()),), scoped=True, finite=True,
        call=lambda start, step: np.arange(start, start + 1.75 + 3.5 * np.abs(step), 0.5 + np.abs(step)),
    ),
    Sample(creation.count_sum, (((4,),),)),
]  # fmt: skip

HOLED = [
    *reduction(np.nanprod, {"axis": 1, "where": MASK}, {"initial": 2.0})[:1],
    Sample(np.nanprod, (((3, 4),),), ({}, {"axis": 0}), call=lambda x, **k: np.nanprod(holed(x), **k)),
    *running(np.nancumprod),
    Sample(
        np.nancumprod, (((3, 4),),), ({}, {"axis": 0}, {"axis": -1}), call=lambda x, **k: np.nancumprod(holed(x), **k)
    ),
]

SAMPLES_NUMPY: list[Sample] = [*QUANTILES, *PAIRS, *METHODS, *COUNTS, *ENDS, *HOLED]
