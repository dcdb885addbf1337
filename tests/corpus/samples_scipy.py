"""Samples of SciPy's modules besides scipy.special, by `gradscribe.scipy` or our op: SciPy's own functions take no Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft, ndimage, optimize, stats
from scipy import signal as filters
from scipy.spatial import distance

from gradscribe.runtime.rules import (
    distribution_functions,
    row_products,
    scipy_fft,
    scipy_filters,
    scipy_iterations,
    scipy_linalg,
    scipy_matrices,
    scipy_resampling,
    scipy_signal,
    scipy_sparse,
    scipy_splines,
    scipy_windows,
)
from gradscribe.scipy import linalg, signal

from samples import ONE_AXIS, SEVERAL_AXES, Options, Sample, dispatched
from samples_arrays import ROWS, S, spd, wide

BANDS = (4, 5)  # of a matrix with one diagonal below the main one, and two above


def dominant(x: Any) -> Any:
    """Bands of a matrix that is far from singular."""
    return x + np.array([0.0, 0.0, 9.0, 0.0])[:, None].astype(x.dtype)


def heavy(x: Any) -> Any:
    """A matrix whose rows LU takes as they stand."""
    return x + 6 * np.eye(*np.shape(x), dtype=x.dtype)


SYSTEMS = [
    *[
        Sample(scipy_linalg.solve_triangular, ((S, (3, 2)), (S, (3,))),
               call=lambda x, y, k=k: linalg.solve_triangular(wide(x), y, **k),
               complex=True, finite=True, empty=False)
        for k in ({}, {"lower": True}, {"trans": 1}, {"trans": "C", "lower": True}, {"trans": "T", "unit_diagonal": True})
    ],
    *[
        Sample(scipy_linalg.solve_factor, ((S, (3, 2)), (S, (3, 3))),
               call=lambda x, y, trans=trans, lower=lower: scipy_linalg.solve_factor(wide(x), y, trans, lower),
               complex=True, empty=False)
        for trans, lower in ((0, False), (1, True), (2, True))
    ],
    Sample(scipy_linalg.solve_cholesky, ((S, (3, 2)), (S, (3, 3))),
           call=lambda x, y: scipy_linalg.solve_cholesky(wide(x), y), empty=False),
    Sample(scipy_linalg.solve_banded, ((BANDS, (5,)), (BANDS, (5, 2))),
           call=lambda x, y: linalg.solve_banded((1, 2), dominant(x), y),
           complex=True, finite=True, empty=False),
    Sample(scipy_linalg.solve_sylvester, ((S, (2, 2), (3, 2)),), call=lambda x, y, z: linalg.solve_sylvester(wide(x), y, z),
           finite=True, empty=False),
]  # fmt: skip

FUNCTIONS = [
    Sample(scipy_linalg.sqrtm, ((S,),), call=lambda x: linalg.sqrtm(spd(x)), finite=True, empty=False),
    Sample(scipy_linalg.expm, ((S,),), call=lambda x: linalg.expm(x), finite=True, empty=False),
    Sample(scipy_matrices.logm, ((S,),), call=lambda x: linalg.logm(spd(x).astype(np.result_type(x, float))), finite=True,
           empty=False),
    *[Sample(scipy_matrices.lu_packed, ((shape,),), call=lambda x: scipy_matrices.lu_packed(heavy(x)), finite=True, empty=False)
      for shape in ((4, 4), (5, 3), (3, 5))],
    Sample(scipy_matrices.row_order, (((4, 3),),), call=scipy_matrices.row_order, differentiable=False, finite=True, empty=False),
    *[Sample(f, (((4,),),), call=lambda x, f=f: f(np.array([2, 3, 0, 1]) + 0 * x, 4), domain=(0.0, 1.0), integer=True,
             differentiable=False, empty=False)
      for f in (scipy_matrices.exchanges, scipy_matrices.order_of)],
]  # fmt: skip

PLACES = [
    Sample(optimize.linear_sum_assignment, (((3, 3),), ((3, 4),)), call=dispatched(optimize.linear_sum_assignment),
           differentiable=False, empty=False),
    Sample(stats.rankdata, (((5,),),), ({}, {"method": "min"}), call=dispatched(stats.rankdata), differentiable=False,
           empty=False),
    Sample(scipy_splines.smoothing_knots, (((9,),),),
           call=lambda y: scipy_splines.smoothing_knots(np.arange(y.size) * 1.0, y, None, 3, 0.05, "splrep"),
           differentiable=False, empty=False),
    Sample(scipy_filters.peaks, (((9,),),), call=lambda x: signal.find_peaks(x)[0], differentiable=False, empty=False),
]  # fmt: skip

CONVOLUTIONS = [
    Sample(scipy_signal.convolved, (((4, 5), (2, 3)), ((2, 3), (4, 5))), ({}, {"mode": "same"}, {"mode": "valid"}),
           call=signal.convolve, empty=False),
    Sample(scipy_signal.convolved, (((2, 4, 5), (2, 3, 3)),),
           call=lambda x, y: signal.convolve(x, y, axes=([2], [1]), dot_axes=([0], [0])),
           empty=False),
]  # fmt: skip

REAL = (fft.rfft, fft.ihfft, fft.rfft2, fft.rfftn, fft.ihfft2, fft.ihfftn)
TYPES: Options = ({}, {"axis": 0, "norm": "forward"}, {"n": 4, "norm": "ortho"}, {"n": 7})
UNUSUAL: Options = ({"n": 7, "orthogonalize": True}, {"norm": "ortho", "orthogonalize": False})  # ignored of complex x
HANKEL, FREQUENCIES = [[(f, dispatched(f)) for f in fs] for fs in ((fft.fht, fft.ifht), (fft.fftfreq, fft.rfftfreq))]
OF_ALL: Options = ({}, {"axes": (0,), "norm": "forward"}, {"s": (5, 3), "axes": (1, 0), "norm": "ortho"})


def some(options: Options, type: int) -> Options:
    """The options of a type of cosine transforms: all of the second, and of the others some."""
    return tuple([{"type": type, **o} for o in (options if type == 2 else options[type % 2 :: 2])])


FOURIER = [
    *[Sample(f, (((4, 3),), ((5,),)), ({}, {"axes": 0}), call=dispatched(f), complex=True)
      for f in (fft.fftshift, fft.ifftshift)],
    *[Sample(f, (((4, 5),), ((6, 3),)), ONE_AXIS, call=dispatched(f), complex=f not in REAL, empty=False)
      for f in (fft.fft, fft.ifft, fft.rfft, fft.ihfft, fft.irfft, fft.hfft)],
    *[Sample(f, (((2, 3, 4),), ((4, 3),)), SEVERAL_AXES, call=dispatched(f), complex=f not in REAL, empty=False)
      for f in (fft.fft2, fft.ifft2, fft.fftn, fft.ifftn, fft.rfft2, fft.rfftn, fft.irfft2, fft.irfftn, fft.hfft2, fft.hfftn,
                fft.ihfft2, fft.ihfftn)],
    *[Sample(f, (((4, 5),),), some(TYPES, t), call=dispatched(f), complex=True, empty=False)
      for f in (fft.dct, fft.idct, fft.dst, fft.idst) for t in (1, 2, 3, 4)],
    *[Sample(f, (((4, 5),),), ({"type": t, **o},), call=dispatched(f), empty=False)
      for f in (fft.dct, fft.idct, fft.dst, fft.idst) for t in (1, 2, 3) for o in UNUSUAL],
    *[Sample(f, (((4, 5),),), some(OF_ALL, t), call=dispatched(f), complex=True, empty=False)
      for f in (fft.dctn, fft.idctn, fft.dstn, fft.idstn) for t in (1, 2, 3, 4)],
    Sample(scipy_fft.ends_scaled, (((3, 4),), ((5,),)), ({}, {"step": 0}, {"step": -1}),
           call=lambda x, step=1: scipy_fft.ends_scaled(x, 0, step, 2), complex=True),
    *[Sample(f, (((3, 6),), ((5,),)), ({}, {"offset": 0.2, "bias": 0.3}),
             call=lambda x, call=call, **k: call(x, 0.1, 0.4, **k), empty=False) for f, call in HANKEL],
    *[Sample(f, (((),),), call=lambda d, call=call: call(5, d), domain=(0.3, 2.0)) for f, call in FREQUENCIES],
]  # fmt: skip

MODES: Options = ({}, {"mode": "same"}, {"mode": "valid"})
PLANES = (((4, 5), (2, 3)), ((2, 3), (4, 5)))
BY_TRANSFORMS = (filters.fftconvolve, filters.oaconvolve)
LFILTER, SAVGOL = map(dispatched, (filters.lfilter, filters.savgol_filter))


def stable(b: Any, a: Any, x: Any, **options: Any) -> Any:
    """A filter whose answer dies away."""
    return LFILTER(b, a * 0.2 + np.array([1.5, 0.0, 0.0]).astype(a.dtype), x, **options)


FILTERS = [
    *[Sample(f, PLANES, MODES, call=dispatched(f), complex=True, empty=False) for f in (filters.convolve, filters.correlate)],
    *[Sample(f, (((5,), (3,)),), ({"method": "direct"}, {"method": "fft", "mode": "valid"}), call=dispatched(f), empty=False)
      for f in (filters.convolve, filters.correlate)],
    Sample(filters.convolve2d, PLANES, MODES, call=dispatched(filters.convolve2d), complex=True, empty=False),
    *[Sample(f, PLANES, MODES, call=dispatched(f), empty=False) for f in BY_TRANSFORMS],
    *[Sample(f, (((2, 5), (1, 3)), ((1, 4), (2, 2))), ({"axes": -1}, {"axes": [1], "mode": "same"}), call=dispatched(f),
             complex=True, empty=False) for f in BY_TRANSFORMS],
    Sample(filters.lfilter, (((3,), (3,), (2, 6)), ((2,), (3,), (5,))), call=stable, complex=True, empty=False),
    Sample(filters.lfilter, (((4,), (3,), (6, 2)),), ({"axis": 0},), call=stable, empty=False),
    Sample(scipy_filters.lags, (((2, 5), (2, 5)),), call=lambda x, y: scipy_filters.lags(x, y, 3, -1), complex=True, empty=False),
    *[Sample(filters.detrend, (((6, 5),),), ({"type": "constant"}, {"axis": 0, "bp": [3]}), call=dispatched(filters.detrend),
             empty=False)],
    Sample(filters.savgol_filter, (((2, 7),), ((6,),)),
           ({}, {"mode": "mirror", "deriv": 1}, {"mode": "constant", "cval": 0.5}),
           call=lambda x, **k: SAVGOL(x, 5, 2, **k), finite=True, empty=False),
    Sample(filters.savgol_filter, (((6, 2),),), ({"axis": 0}, {"axis": 0, "mode": "wrap"}),
           call=lambda x, **k: SAVGOL(x, 4, 1, **k), finite=True, empty=False),
    Sample(scipy_filters.delayed, (((3,), (2, 5)),), call=lambda c, x: scipy_filters.delayed(c, x, -1), complex=True,
           empty=False),
]  # fmt: skip

BORDERS: Options = tuple([{"mode": mode} for mode in ("reflect", "mirror", "nearest", "wrap")]) + (
    {"mode": "constant", "cval": 0.3, "origin": -1},
)
IMAGES = [
    Sample(ndimage.correlate1d, (((4, 5), (3,)), ((4,), (2,))), BORDERS, call=dispatched(ndimage.correlate1d), empty=False),
    Sample(ndimage.correlate1d, (((4, 5), (3,)),), ({"axis": 0},), call=dispatched(ndimage.correlate1d), empty=False),
    Sample(ndimage.correlate, (((4, 5), (3, 2)),), BORDERS, call=dispatched(ndimage.correlate), empty=False),
    *[Sample(f, (((5, 4),), ((6,),)), call=lambda x, f=f, k=k, mode=mode: f(x, k, mode), empty=False)
      for f in (scipy_resampling.prefilter, scipy_resampling.prefilter_back) for k, mode in ((2, "mirror"), (3, "reflect"))],
    Sample(distance.squareform, (((6,),), ((1,),)), call=dispatched(distance.squareform), empty=False),
]  # fmt: skip

ROWS_ADDED = [
    Sample(row_products.multiply_rows, (((4, 3),), ((4, 2, 2),)),
           call=lambda v: row_products.multiply_rows(v, ROWS, (3, *v.shape[1:]), v.dtype)),
]  # fmt: skip

PATTERN = np.array([0, 1, 3, 1, 2, 3]), np.array([0, 2, 3, 3, 6])  # of a matrix of 4 x 4, one row of which is empty
FULL = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 1, 3, 6])  # of a triangle of 3 x 3


def on_diagonal(x: Any) -> Any:
    """Numbers of a triangle that is far from singular."""
    return x + np.array([3.0, 0.0, 3.0, 0.0, 0.0, 3.0]).astype(x.dtype)


FAMILIES = [
    sample
    for m in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    for sample in (
        Sample(distribution_functions.of_family, (((3,),), ((),)),
               call=lambda x, m=m: distribution_functions.of_family("gumbel_r", m, x, []), domain=(0.05, 0.95), finite=True),
        Sample(distribution_functions.of_family, (((3,), (3,)),), domain=((0.05, 0.95), (1.0, 2.0)), finite=True,
               call=lambda x, a, m=m: distribution_functions.of_family("skewnorm", m, x, [a])),
    )
]  # fmt: skip

WINDOWS = [
    *[Sample(getattr(filters.windows, name), ((),), call=lambda name=name: getattr(filters.windows, name)(5),
             differentiable=False) for name in scipy_windows.PLAIN],
    Sample(filters.firwin, ((),), call=lambda: filters.firwin(5, 0.3), differentiable=False),
    Sample(filters.get_window, ((),), call=lambda: filters.get_window("hann", 5), differentiable=False),
]  # fmt: skip

SPARSE = [
    *[Sample(scipy_sparse.compressed_product, (((6,), (4,)), ((6,), (4, 3))),
             call=lambda v, x, by=by: scipy_sparse.compressed_product(v, *PATTERN, (4, 4), by, x), complex=True, empty=False)
      for by in (False, True)],
    *[Sample(scipy_sparse.compressed_solve, (((6,), (3,)), ((6,), (3, 2))),
             call=lambda v, b, by=by: scipy_sparse.compressed_solve(on_diagonal(v), *FULL, (3, 3), by, b),
             complex=True, finite=True, empty=False)
      for by in (False, True)],
    *[Sample(scipy_iterations.iterated, (((6,), (3,)),),
             call=lambda v, b, inverse=inverse: scipy_iterations.iterated(
                 on_diagonal(v), *FULL, (3, 3), True, b, None, inverse, False, "gmres",
                 (("rtol", 2e-7 if v.dtype.char in "fF" else 1e-14),)),
             complex=True, finite=True, empty=False)
      for inverse in ([], [np.diag([0.3, 0.4, 0.3])])],
    Sample(scipy_iterations.iterated_back, (((6,), (3,)),),
           call=lambda v, b: scipy_iterations.iterated_back(
               on_diagonal(v), *FULL, (3, 3), False, b, [], False, "gmres", (("rtol", 1e-14),)),
           complex=True, finite=True, empty=False),
]  # fmt: skip

SAMPLES_SCIPY: list[Sample] = [
    *FILTERS,
    *IMAGES,
    *FOURIER,
    *SYSTEMS,
    *FUNCTIONS,
    *CONVOLUTIONS,
    *ROWS_ADDED,
    *SPARSE,
    *FAMILIES,
    *WINDOWS,
    *PLACES,
]
