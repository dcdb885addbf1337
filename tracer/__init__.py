"""The eager engine: Tensor, the dynamic graph behind it, and the walk backward."""

from . import inplace, methods, older, survivors  # which give Tensor its methods, and end transforms
from .graph import AccumulateGrad, Node
from .hooks import RemovableHandle
from .modes import enable_grad, is_grad_enabled, no_grad
from .tensor import Tensor, tensor

__all__ = [
    "AccumulateGrad",
    "Node",
    "RemovableHandle",
    "Tensor",
    "enable_grad",
    "inplace",
    "is_grad_enabled",
    "methods",
    "no_grad",
    "older",
    "survivors",
    "tensor",
]  # fmt: skip
