"""Samples of scipy.linalg and scipy.signal, by `gradscribe.scipy`: SciPy's own functions take no Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradscribe.runtime.rules import row_products, scipy_linalg, scipy_signal
from gradscribe.scipy import linalg, signal

from samples import Sample
from samples_arrays import ROWS, S, spd, wide

BANDS = (4, 5)  # of a matrix with one diagonal below the main one, and two above


def dominant(x: Any) -> Any:
    """Bands of a matrix that is far from singular."""
    return x + np.array([0.0, 0.0, 9.0, 0.0])[:, None].astype(x.dtype)


SYSTEMS = [
    *[
        Sample(scipy_linalg.solve_triangular, ((S, (3, 2)), (S, (3,))),
               call=lambda x, y, k=k: linalg.solve_triangular(wide(x), y, **k),
               complex=True, finite=True, empty=False)
        for k in ({}, {"lower": True}, {"trans": 1}, {"trans": "C", "lower": True}, {"trans": "T", "unit_diagonal": True})
    ],
    Sample(scipy_linalg.solve_banded, ((BANDS, (5,)), (BANDS, (5, 2))),
           call=lambda x, y: linalg.solve_banded((1, 2), dominant(x), y),
           complex=True, finite=True, empty=False),
    Sample(scipy_linalg.solve_sylvester, ((S, (2, 2), (3, 2)),), call=lambda x, y, z: linalg.solve_sylvester(wide(x), y, z),
           finite=True, empty=False),
]  # fmt: skip

FUNCTIONS = [
    Sample(scipy_linalg.sqrtm, ((S,),), call=lambda x: linalg.sqrtm(spd(x)), finite=True, empty=False),
    Sample(scipy_linalg.expm, ((S,),), call=lambda x: linalg.expm(x), finite=True, empty=False),
]  # fmt: skip

CONVOLUTIONS = [
    Sample(scipy_signal.convolved, (((4, 5), (2, 3)), ((2, 3), (4, 5))), ({}, {"mode": "same"}, {"mode": "valid"}),
           call=signal.convolve, empty=False),
    Sample(scipy_signal.convolved, (((2, 4, 5), (2, 3, 3)),),
           call=lambda x, y: signal.convolve(x, y, axes=([2], [1]), dot_axes=([0], [0])),
           empty=False),
]  # fmt: skip

ROWS_ADDED = [
    Sample(row_products.multiply_rows, (((4, 3),), ((4, 2, 2),)),
           call=lambda v: row_products.multiply_rows(v, ROWS, (3, *v.shape[1:]), v.dtype)),
]  # fmt: skip

SAMPLES_SCIPY: list[Sample] = [*SYSTEMS, *FUNCTIONS, *CONVOLUTIONS, *ROWS_ADDED]
