"""Function to function: gradients, compilation, comparison."""

from .compiler.compiled import compile
from .gradient import grad, value_and_grad
from .source import Source, source
from .vjp import jacobian, vjp

__all__ = ["Source", "compile", "grad", "jacobian", "source", "value_and_grad", "vjp"]
