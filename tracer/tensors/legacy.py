"""Legacy of PyTorch 0.1 to 0.3: attributes and methods that its tensors had, such as `volatile` and `reinforce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.errors import AutogradError
from ..core import tensor_base
from ..core.exits import warn_at_user
from ..core.site import blame
from ..core.thread_state import refuse
from .tensor import Tensor

__all__ = ["bind_stochastic", "stochastic"]

_find: Callable[[str], Any]


def bind_stochastic(find: Callable[[str], Any]) -> None:
    """State how a function of stochastic nodes is found by its name: they stand above Tensors, and are seldom needed."""
    global _find
    _find = find


def stochastic(name: str) -> Any:
    """Return a function of stochastic nodes."""
    return _find(name)


def _volatile(self: Any) -> bool:
    """Whether nothing that is computed from this has a history. Deprecated: `gs.no_grad()` took its place."""
    _warn_volatile()
    return tensor_base.is_volatile(self)


def _set_volatile(self: Any, value: bool) -> None:
    _warn_volatile()
    refuse("makes a Variable volatile")
    if not self.is_leaf:
        raise blame(AutogradError("volatile can only be set on leaf variables: use x.detach(), or gs.no_grad()"))
    if value and self._node is not None:
        raise blame(
            ValueError(
                "Variable can't be volatile and require_grad at the same time! Use gs.no_grad() where no history is wanted."
            )
        )
    if value:
        tensor_base.made_volatile(self)
    elif tensor_base.is_volatile(self):
        self.__class__ = tensor_base.tensor_class


def _warn_volatile() -> None:
    warn_at_user(
        "volatile is deprecated: compute under `with gs.no_grad():`, which took its place.", DeprecationWarning
    )


def _sampler(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return stochastic(name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`gs.autograd.stochastic.{name}` of this tensor."
    return method


setattr(Tensor, "volatile", property(_volatile, _set_volatile, doc=_volatile.__doc__))  # noqa: B010
for _name in ("bernoulli", "multinomial", "reinforce"):
    setattr(Tensor, _name, _sampler(_name))
