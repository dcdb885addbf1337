"""gradscribe.autograd.grad_mode, for type checkers."""

from ..tracer.autograd.grad_mode import *
