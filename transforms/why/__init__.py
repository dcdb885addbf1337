"""gs.why: the op, the variable and the line that made a gradient None, zero, NaN or infinite."""

from .ask import why

__all__ = ["why"]
