"""leave, by which every value goes out of a Tensor, into Python or into NumPy."""

from __future__ import annotations

import sys
import warnings
from opcode import opmap
from typing import Any

from ...runtime.arrays import is_plain_array
from ...runtime.errors import AutogradError, GradientLossError
from ...unpatched import np
from .graph import AccumulateGrad, reached_from
from .levels import refuse_one_value
from .losses import loss, read_from_outside
from .site import blame, is_library, is_ours
from .tensor_base import levels_of
from .thread_state import LOCAL, RUNNING, Era
from .versions import own_array

__all__ = ["is_ended", "is_followed", "is_numpys", "leave", "told", "warn_at_user"]

_NUMBERS = frozenset(["float", "int", "complex", "index"])
_OUT = _NUMBERS | {
    "step",
    "bool",
    "item",
    "tolist",
    "numpy",
    "array",
    "dlpack",
    "pickle",
}  # by which a gradient can be lost
_LOSES = frozenset(
    ["float", "complex", "item", "tolist", "numpy", "array", "dlpack", "pickle"]
)  # int and bool are steps
_BINARY_OP, _REMAINDER = opmap["BINARY_OP"], frozenset([6, 19])  # `%` and `%=`


def leave(tensor: Any, how: str, spec: str = "") -> Any:
    """Return the value of `tensor` on its way out; `how` names the exit (`bool`, `float`, `numpy`, `format` ...; a `step`
    has the slope 0: `round`, `floor`).

    Inside a transform GradientLossError where the value depends on what is differentiated and its gradient would be lost,
    unless the user has switched gradients off. Bare Tensors raise where NumPy's array would lose a gradient without a word, and
    warn where a number does, as PyTorch's do.
    """
    if how not in ("iter", "repr", "format") and levels_of(tensor):
        refuse_one_value(tensor, how)
    value = tensor._value
    node = tensor._node
    if node is not None and how in _OUT:
        if not LOCAL.depth and is_ended(node):
            node = None  # of a transform that is over: it counts as its number
        elif how in _LOSES and is_followed(node) and not _formats(how):
            raise loss(how)
        elif how in _LOSES and LOCAL.depth:
            refuse_outside(node)
    recorder = LOCAL.recorder
    if recorder is not None:
        recorder.left(tensor, "float" if how == "step" else how, spec)
    if LOCAL.watch is not None and how in _OUT:
        LOCAL.watch.leaves(tensor, how)
    if node is not None and not LOCAL.depth and not is_followed(node):
        if how in _NUMBERS or how == "step":
            warn_at_user(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: the number "
                "carries no gradient. Consider using tensor.detach() first, or keep the tensor.",
                UserWarning,
            )
        elif not LOCAL.grad and how in ("numpy", "array"):
            pass  # no_grad has cut the gradient, by name
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
    if how in ("data", "numpy", "array", "dlpack") and not is_plain_array(value):
        value = np.asarray(value) if LOCAL.depth else own_array(tensor)
    return value


def told(tensor: Any, key: Any) -> Any:
    """Return a text, a hash or a rounded number, of which the transform remembers that it is this value's: it may be a key."""
    if LOCAL.era is not None and tensor._node is not None:
        LOCAL.era.told.add(key)
    return key


def is_ended(node: Any) -> bool:
    """Return whether a node belongs to transforms that are over, and to nothing else."""
    leaves = [end for end in reached_from([node]).ends if type(end) is AccumulateGrad]
    return bool(leaves) and all(type(found.inner) is Era and found.inner.over for found in leaves)


def refuse_outside(node: Any) -> None:
    """Raise where the forward of a Function, which runs without recording, takes up a node that it was not given."""
    if node is None or LOCAL.alone is None or node in LOCAL.alone[1]:
        return
    name = LOCAL.alone[0]
    given = "backward gives those of the arguments alone"
    raise blame(read_from_outside(f"the forward of `{name}`", given, f"{name}.apply"))


def is_followed(node: Any) -> bool:
    """Return whether a transform that runs wants the gradient behind a node: here, or in the thread that began this one."""
    if LOCAL.depth:
        return LOCAL.grad
    leaves = [end.inner for end in reached_from([node]).ends if type(end) is AccumulateGrad]
    return any(type(era) is Era and not era.over for era in leaves)


def is_numpys(tensor: Any) -> bool:
    """Return whether a Tensor means what NumPy's value does: in a transform, here or in the thread that began this one."""
    if LOCAL.depth:
        return True
    return bool(RUNNING) and tensor._node is not None and is_followed(tensor._node)


def _formats(how: str) -> bool:
    """Return whether a float is only asked for text: `"%.3f" % t`, which no other exit tells."""
    if how != "float":
        return False
    frame: Any = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_lasti < 0:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == _BINARY_OP and code[at + 1] in _REMAINDER


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
