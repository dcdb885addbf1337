"""gradscribe.nn.utils, for type checkers."""

from ..learn.nn.utils import *
