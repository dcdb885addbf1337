"""autograd.tracer: the value behind a Tensor, and whether something is one."""

from __future__ import annotations

from typing import Any

from ...tracer.core.exits import leave
from ...tracer.core.tensor_base import Operand as Box
from .extend import notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]


def getval(x: Any) -> Any:
    """The value behind a Tensor, without its gradient; anything else as it is."""
    return leave(x, "data") if isinstance(x, Box) else x


def isbox(x: Any) -> bool:
    """Whether `x` is a Tensor."""
    return isinstance(x, Box)
