"""autograd.misc: flattening of trees, optimisers, fixed points."""

from __future__ import annotations

from . import optimizers
from .flatten import flatten

__all__ = ["flatten", "optimizers"]
