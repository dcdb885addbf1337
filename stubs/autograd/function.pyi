"""gradscribe.autograd.function, for type checkers."""

from ..tracer.autograd.function import *
