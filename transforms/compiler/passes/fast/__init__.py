"""Fast passes, for `fastmath=True`: they reassociate, each with its conditions in its first lines."""

from __future__ import annotations

from .factors import factors
from .logs import logs
from .powers import powers
from .products import products
from .scalars import scalars
from .support import decided

__all__ = ["FAST", "decided"]

FAST = (logs, products, powers, factors, scalars)
