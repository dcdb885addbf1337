"""Variable, of PyTorch 0.1 to 0.3: the class that is Tensor today."""

from __future__ import annotations

from typing import Any

from ....runtime.arrays import is_plain_array
from ....runtime.errors import AutogradError
from ....unpatched import np
from ...core.exits import warn_at_user
from ...core.site import blame
from ...core.tensor_base import Operand, made_volatile, wrap
from ...core.thread_state import LOCAL, refuse
from ...tensors.tensor import Tensor

__all__ = ["Variable"]


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Operand)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        return _made(data, requires_grad, volatile)


class Variable(metaclass=_Meta):
    """A Tensor on the memory of `data`, an array or a Tensor, without the history of that. Deprecated: `gs.tensor`.

    Every Tensor is an instance. With `volatile=True` nothing that is computed from it has a history, whatever else goes
    into it; `gs.no_grad()` took the place of that. Raises TypeError for data that is neither, ValueError where both
    `requires_grad` and `volatile` are asked for, AutogradError for a value that is differentiated in a transform.

    >>> import warnings
    >>> import numpy as np
    >>> import gradscribe as gs
    >>> warnings.simplefilter("ignore", DeprecationWarning)
    >>> x = gs.autograd.Variable(np.array([1.0, 2.0]), requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    >>> isinstance(gs.tensor(1.0), gs.autograd.Variable)
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Tensor:  # type: ignore[misc]
        made: Tensor = _made(data, requires_grad, volatile)
        return made


def _made(data: Any, requires_grad: bool, volatile: bool) -> Any:
    successor = "gs.tensor(array, requires_grad=...) makes what it made, and every Tensor is a Variable"
    if volatile:
        successor = "compute under `with gs.no_grad():`, which took the place of volatile=True"
    warn_at_user(f"Variable is deprecated: {successor}.", DeprecationWarning)
    refuse("makes a Variable; gs.no_grad() and x.detach() are known")
    if volatile and requires_grad:
        raise blame(
            ValueError(
                "Variable can't be volatile and require_grad at the same time! One keeps all history, the other none: choose."
            )
        )
    if isinstance(data, Operand):
        if LOCAL.depth and data._node is not None:
            raise blame(
                AutogradError(
                    "Variable(x) of a value that is differentiated would cut its gradient off inside a transform: leave "
                    "Variable away, x records what is done to it; or write x.detach()"
                )
            )
        made = data.detach()
    elif is_plain_array(data) or isinstance(data, np.generic):
        if data.dtype.kind not in "biufc":
            raise blame(TypeError(f"a Variable holds numbers, but the array has dtype {data.dtype}"))
        made = wrap(np.asarray(data))
    elif data is None:
        made = wrap(np.empty(0))
    else:
        raise blame(
            TypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}: give an array, or gs.tensor({data!r})"
            )
        )
    return made_volatile(made) if volatile else made.requires_grad_() if requires_grad else made
