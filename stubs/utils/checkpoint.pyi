"""gradscribe.utils.checkpoint, for type checkers."""

from ..tracer.memory.checkpoint import *
