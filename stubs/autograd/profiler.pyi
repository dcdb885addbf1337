"""gradscribe.autograd.profiler, for type checkers."""

from ..tracer.autograd.profiler import *
