"""The rules, by family: importing this package fills the table (special.py waits until SciPy is imported)."""

from . import control, creation, differences, elementwise, indexing, linalg, reductions, shaping, sorting

__all__ = [
    "control", "creation", "differences", "elementwise", "indexing", "linalg", "reductions", "shaping", "sorting",
]  # fmt: skip
