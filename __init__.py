"""gradscribe: exact gradients of NumPy functions, eagerly or as readable source."""

from __future__ import annotations

from .runtime import (
    AutogradError,
    CompileError,
    DtypeError,
    EagerWarning,
    GradientLossError,
    Kind,
    NoRuleError,
    ShapeError,
    VerifyError,
    op,
    rule,
)
from .tracer import Tensor, autograd, enable_grad, is_grad_enabled, no_grad, tensor
from .transforms import compile, grad, jacobian, source, value_and_grad, vjp

__version__ = "0.1.0"

__all__ = [
    "AutogradError", "CompileError", "DtypeError", "EagerWarning", "GradientLossError", "Kind", "NoRuleError",
    "ShapeError", "Tensor", "VerifyError", "autograd", "compile", "enable_grad", "grad", "is_grad_enabled", "jacobian", "no_grad",
    "op", "rule", "source", "tensor", "value_and_grad", "vjp",
]  # fmt: skip
