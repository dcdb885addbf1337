"""gradscribe.autograd.variable, for type checkers."""

from ..tracer.autograd.legacy.variable import *
