"""Function to function: gradients, compilation, comparison."""

from .gradient import grad, value_and_grad

__all__ = ["grad", "value_and_grad"]
