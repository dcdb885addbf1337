"""The eager engine: Tensor, the dynamic graph behind it, and the walk backward."""

from . import autograd, inplace, methods, older  # the last three give Tensor its methods
from .backward import backward, grad
from .graph import AccumulateGrad, Node
from .hooks import RemovableHandle
from .modes import enable_grad, is_grad_enabled, no_grad
from .tensor import Tensor, tensor

__all__ = [
    "AccumulateGrad",
    "Node",
    "RemovableHandle",
    "Tensor",
    "autograd",
    "backward",
    "enable_grad",
    "grad",
    "inplace",
    "is_grad_enabled",
    "methods",
    "no_grad",
    "older",
    "tensor",
]  # fmt: skip
