"""autograd.misc: flattening of trees, optimisers, fixed points, functions of one graph."""

from __future__ import annotations

from . import optimizers
from .flatten import flatten
from .tracers import const_graph

__all__ = ["const_graph", "flatten", "optimizers"]
