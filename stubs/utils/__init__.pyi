"""gradscribe.utils, for type checkers."""

from . import checkpoint as checkpoint
