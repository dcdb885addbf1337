"""Cotangents: cast to the shape of their value, shown in the user's convention, and added up where they meet."""

from __future__ import annotations

from _thread import RLock
from typing import Any

from ...runtime.arrays import is_plain_array, own_memory
from ...runtime.errors import AutogradError, DtypeError
from ...runtime.registry import require
from ...runtime.rules.support import summed
from ...unpatched import np
from .dispatch import apply
from .site import blame
from .tensor_base import Operand, wrap
from .thread_state import LOCAL
from .versions import bump

__all__ = ["ADDING", "UNDEFINED", "add_to", "fit", "may_be_grad", "outward"]


class Undefined:
    """A cotangent that is None, where a sum may come to stand: adding gives a buffer of its own."""

    def __add__(self, other: Any) -> Any:
        return own_memory(other) if is_plain_array(other) else other


UNDEFINED = Undefined()


def fit(g: Any, meta: tuple[tuple[int, ...], Any]) -> Any:
    """A cotangent in the shape and dtype of what it belongs to: summed over broadcast axes, cast, the real part taken."""
    shape, dtype = meta
    if isinstance(g, Operand) and not LOCAL.slow:  # whose lengths nobody follows
        value = g._value
        if getattr(value, "shape", None) == shape and value.dtype == dtype:
            return g
    elif hasattr(g, "dtype") and g.shape == shape and g.dtype == dtype:
        return g
    if np.shape(g) != shape:
        g = summed(g, shape)
        if np.shape(g) != shape:
            g = np.broadcast_to(g, shape)
    if not hasattr(g, "dtype"):  # a Python number: -1j * np.float64(2) is one
        g = np.asarray(g)[()]
    found = g.dtype
    if found != dtype:
        if found.kind == "c" and dtype.kind != "c":
            g = np.real(g)
            found = g.dtype
        if found != dtype:
            if isinstance(g, Operand) and not hasattr(g._value, "dtype"):  # a Python number has no `astype`
                g = apply(require(np.complex128 if found.kind == "c" else np.float64), (g,), {})
            g = g.astype(dtype)
    return g


def outward(g: Any) -> Any:
    """A cotangent as users see it (PyTorch's convention), or back: rules are the transpose without a conjugate."""
    return np.conj(g) if g.dtype.kind == "c" else g


def may_be_grad(tensor: Any, value: Any) -> None:
    """Raise where `value` cannot be the gradient of `tensor`."""
    if value is tensor:
        raise blame(AutogradError("can't assign Variable as its own grad: assign a copy, x.detach().clone()"))
    if not isinstance(value, Operand):
        raise blame(TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__!r}"))
    if np.shape(value._value) != np.shape(tensor._value):
        raise blame(
            AutogradError(
                f"assigned grad has data of a different size: shape {np.shape(value._value)}, "
                f"but the tensor has shape {np.shape(tensor._value)}"
            )
        )
    if np.result_type(value._value) != tensor.dtype:
        raise blame(
            DtypeError(
                f"assigned grad has data of a different type: dtype {value.dtype}, "
                f"but the tensor has dtype {tensor.dtype}"
            )
        )


def add_to(holder: Any, g: Any) -> None:
    """Add a user-side gradient to `holder.grad` (a leaf's node, or a tensor that retains its gradient)."""
    with ADDING:
        _add_to(holder, g if isinstance(g, Operand) else wrap(g))


ADDING = RLock()  # threads meet at the leaves; the same thread may come back, since finalisers run anywhere


def _add_to(holder: Any, new: Any) -> None:
    old = holder.grad
    if old is None:
        if not is_plain_array(new._value):
            new._value = np.asarray(new._value)
        elif new._node is None:
            new._value = own_memory(new._value)
        holder.grad = new
    elif new._node is None and old._node is None and not LOCAL.grad:
        old._value += new._value
        bump(old._value, "backward()")
    else:
        holder.grad = old + new
