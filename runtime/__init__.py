"""The ground floor: ops, VJP rules and the IR. It knows NumPy and no Tensor."""

from . import rules as rules  # importing it fills the table
from .errors import (
    AutogradError,
    CompileError,
    ConvergenceError,
    DtypeError,
    EagerWarning,
    GradientLossError,
    NoRuleError,
    ShapeError,
    SingularPointError,
)
from .errors import VerifyError as VerifyError
from .ops import Kind, Op
from .registry import infix, lookup, op, ops, primitive, rule, undifferentiable

__all__ = [
    "AutogradError", "CompileError", "ConvergenceError", "DtypeError", "EagerWarning", "GradientLossError", "Kind",
    "NoRuleError", "Op",
    "ShapeError", "SingularPointError", "VerifyError", "infix", "lookup", "op", "ops", "primitive", "rule", "undifferentiable",
]  # fmt: skip
