"""gradscribe.distributed, for type checkers."""

from ..scale import *
