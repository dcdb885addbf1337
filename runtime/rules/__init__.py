"""The rules, by family: importing this package registers what most programs use, and the rest when it is asked for."""

import functools
import importlib

from ..registry import when_imported
from . import casts, control, creation, elementwise, indexing, linalg, reductions, shaping, sorting, ufuncs

__all__ = ["casts", "control", "creation", "elementwise", "indexing", "linalg", "reductions", "shaping", "sorting", "ufuncs"]

_LATE = {  # rules that wait for the first function that is not known yet, by the module that has to be there for them
    "numpy": (
        "decompositions", "eigen", "least_squares", "norms", "matrix_forms", "polynomials", "quantiles", "differences",
        "convolution", "counting", "histograms", "assembling", "compositions", "python_math", "windows", "emath",
    ),
    "statistics": ("python_statistics",),
    "scipy.special": (
        "special", "special_integrals", "special_functions", "special_elliptic", "special_harmonics", "special_distributions",
        "special_noncentral",
    ),
    "numpy.fft": ("fft",), "numpy.polynomial": ("quadrature_nodes",),
    "scipy.fft": ("scipy_fft",),
    "scipy.linalg": ("scipy_linalg", "scipy_matrices"),
    "scipy.signal": ("scipy_signal", "scipy_filters", "scipy_windows", "scipy_spectra", "scipy_design"),
    "scipy.stats": (
        "distributions", "distribution_families", "distribution_functions", "distribution_moments", "scipy_statistics",
    ),
    "scipy.integrate": ("scipy_integrate",), "scipy.ndimage": ("scipy_ndimage", "scipy_resampling"),
    "scipy.spatial.distance": ("scipy_distance",),
    "scipy.interpolate": ("scipy_interpolate", "scipy_splines"), "scipy.optimize": ("scipy_optimize",),
    "scipy.sparse": ("row_products", "scipy_sparse", "scipy_sparse_forms", "scipy_iterations"),
}  # fmt: skip


def _load(names: tuple[str, ...]) -> None:
    for name in names:
        importlib.import_module(f".{name}", __name__)


for _module, _names in _LATE.items():
    when_imported(_module, functools.partial(_load, _names))
