"""gradscribe.autograd.stochastic, for type checkers."""

from ..tracer.autograd.legacy.stochastic import *
