"""gradscribe.nn.functional, for type checkers."""

from ..learn.functional import *
