"""The rules, by family: importing this package fills the table (special.py waits until SciPy is imported)."""

from . import (
    compositions,
    control,
    convolution,
    creation,
    differences,
    elementwise,
    indexing,
    linalg,
    reductions,
    shaping,
    sorting,
)

__all__ = [
    "compositions", "control", "convolution", "creation", "differences", "elementwise", "indexing", "linalg", "reductions",
    "shaping", "sorting",
]  # fmt: skip
