"""The rules, by family: importing this package fills the table (special.py waits until SciPy is imported)."""

from . import (
    assembling,
    compositions,
    control,
    convolution,
    counting,
    creation,
    differences,
    elementwise,
    histograms,
    indexing,
    linalg,
    matrix_forms,
    polynomials,
    quantiles,
    reductions,
    shaping,
    sorting,
    ufuncs,
)

__all__ = [
    "assembling", "compositions", "control", "convolution", "counting", "creation", "differences", "elementwise", "histograms",
    "indexing", "linalg", "matrix_forms", "polynomials", "quantiles", "reductions", "shaping", "sorting", "ufuncs",
]  # fmt: skip
