"""The rules, by family: importing this package registers what most programs use, registry.py the rest when it is asked for."""

from . import casts, control, creation, elementwise, indexing, linalg, reductions, shaping, sorting, ufuncs

__all__ = ["casts", "control", "creation", "elementwise", "indexing", "linalg", "reductions", "shaping", "sorting", "ufuncs"]
