"""The eager engine: Tensor, the dynamic graph behind it, and the walk backward."""

from __future__ import annotations

import importlib

from .core.graph import AccumulateGrad, Node
from .core.hooks import RemovableHandle
from .core.thread_state import enable_grad, is_grad_enabled, no_grad
from .memory import masked, survivors  # `out=` of operations, and the end of transforms
from .tensors import inplace, legacy, methods  # which give Tensor its methods
from .tensors.tensor import Tensor, tensor

__all__ = [
    "AccumulateGrad", "Node", "RemovableHandle", "Tensor", "enable_grad", "inplace", "is_grad_enabled", "legacy", "masked",
    "methods", "no_grad", "survivors", "tensor",
]  # fmt: skip

legacy.bind_stochastic(lambda name: getattr(importlib.import_module(".autograd.legacy.stochastic", __name__), name))
