"""gradscribe.autograd.graph, for type checkers."""

from ..tracer.autograd.graph import *
