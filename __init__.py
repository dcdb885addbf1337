"""gradscribe: exact gradients of NumPy functions, eagerly or as readable source."""

from __future__ import annotations

from .tracer import Tensor, enable_grad, is_grad_enabled, no_grad, tensor
from .transforms import grad, value_and_grad
__version__ = "0.1.0"
