"""gradscribe.autograd.functional, for type checkers."""

from ..tracer.autograd.functional import *
