"""gradscribe.utils.checkpoint, for type checkers."""

from ..tracer.core.checkpoint import *
