"""Volatile Tensors, of PyTorch 0.1 to 0.3: nothing that is computed from one has a history."""

from __future__ import annotations

from typing import Any

from ...runtime.errors import AutogradError
from .site import blame
from .tensor_base import is_volatile
from .thread_state import LOCAL, refuse

__all__ = ["among"]


def among(arguments: Any) -> bool:
    """Whether a volatile Tensor stands among the arguments of an operation, so that its results are volatile."""
    listed = [e for a in arguments if type(a) in (list, tuple) for e in a]
    if not any(map(is_volatile, (*arguments, *listed))):
        return False
    refuse("computes with a volatile Variable, which gs.no_grad() took the place of")
    if LOCAL.levels:
        raise blame(
            AutogradError("a volatile Variable met gs.vmap, which knows none: give its .data, and use gs.no_grad()")
        )
    return True
