"""gradscribe: exact gradients of NumPy functions, eagerly or as readable source."""

from __future__ import annotations

import numpy as _numpy  # noqa: F401  # before all else: benchmarks/import_time.py gave 1.5 behind typing, 1.22 here

# isort: split
import importlib
import sys
from typing import TYPE_CHECKING, Any

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
from .transforms import grad, value_and_grad

if TYPE_CHECKING:
    from .transforms.compare import compare
    from .transforms.compiler.compiled import compile
    from .transforms.source import source
    from .transforms.vjp import jacobian, vjp

__version__ = "0.1.0"

__all__ = [
    "AutogradError", "CompileError", "DtypeError", "EagerWarning", "GradientLossError", "Kind", "NoRuleError",
    "ShapeError", "Tensor", "VerifyError", "autograd", "compare", "compile", "enable_grad", "grad", "is_grad_enabled",
    "jacobian", "no_grad", "op", "rule", "source", "tensor", "value_and_grad", "vjp",
]  # fmt: skip

sys.modules[f"{__name__}.autograd"] = autograd  # so that `import gradscribe.autograd` works

# Loaded on first use, so that importing gradscribe stays quick.
_LATER = {"compare": "compare", "compile": "compiler.compiled", "jacobian": "vjp", "source": "source", "vjp": "vjp"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".transforms.{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
