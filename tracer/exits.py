"""leave: the one door by which a value goes out of a Tensor, into Python or into NumPy."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ..runtime.errors import AutogradError, GradientLossError
from .levels import refuse
from .modes import LOCAL
from .operand import Operand, levels_of
from .site import blame, is_library, is_ours
from .versions import own_array

__all__ = ["leave", "warn_at_user"]

_NUMBERS = frozenset(["float", "int", "complex", "index"])
_OUT = _NUMBERS | {"bool", "item", "tolist", "numpy", "array", "dlpack", "pickle"}  # by which a gradient can be lost


def leave(tensor: Operand, how: str, spec: str = "") -> Any:
    """The value of `tensor` on its way out; `how` names the exit (`bool`, `float`, `numpy`, `format` ...).

    Raises AutogradError where NumPy's array would lose a gradient without a word; warns where a number does.
    """
    if how not in ("iter", "repr", "format") and levels_of(tensor):
        refuse(tensor, how)
    recorder = LOCAL.recorder
    if recorder is not None:
        recorder.leave(tensor, how, spec)
    if LOCAL.watch is not None and how in _OUT:
        LOCAL.watch.leaves(tensor, how)
    value = tensor._value
    if tensor._node is not None:
        if how in _NUMBERS:
            warn_at_user(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: the number "
                "carries no gradient. Consider using tensor.detach() first, or keep the tensor.",
                UserWarning,
            )
        elif how == "numpy":
            raise blame(
                AutogradError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
            )
        elif how in ("array", "dlpack"):
            raise blame(
                GradientLossError(
                    "NumPy asked for the plain array of a Tensor that requires grad, and its gradient would be lost "
                    "(np.array([t]), a[:] = t, out=a, np.copyto ...). Can't call numpy() on Tensor that requires grad: "
                    "use tensor.detach().numpy(), np.stack([t0, t1]) in place of np.array, "
                    "or put the code into a function under gs.grad."
                )
            )
    if how in ("data", "numpy", "array", "dlpack") and type(value) is not np.ndarray:
        value = np.asarray(value) if LOCAL.depth else own_array(tensor)
    return value


def warn_at_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line, once per line under Python's default filters."""
    frame: Any = sys._getframe(1)
    while frame is not None and (is_ours(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    space = getattr(frame.f_globals, "real", frame.f_globals)  # a transform's stand before the real ones
    warnings.warn_explicit(
        message, category, frame.f_code.co_filename, frame.f_lineno,
        module=space.get("__name__", "<unknown>"), registry=space.setdefault("__warningregistry__", {}),
    )  # fmt: skip
