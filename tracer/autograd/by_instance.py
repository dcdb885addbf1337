"""Functions of the older style, of PyTorch 0.1 to 0.3: `MyFunction(...)(x)`, where the instance is what `ctx` is today."""

from __future__ import annotations

from typing import Any

from ...runtime.errors import AutogradError
from ..core.context import FunctionCtx
from ..core.site import blame
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL, grad_mode, refuse

__all__ = ["call"]


def call(instance: Any, args: tuple[Any, ...]) -> Any:
    """Call an instance: run its forward, and put its backward into the graph."""
    cls = type(instance)
    if not cls._by_instance():
        raise blame(
            AutogradError(
                "Legacy autograd function with non-static forward method is deprecated, and a call of an instance is for such a "
                f"one: this one has static methods, so call {cls.__name__}.apply(...)."
            )
        )
    if "_behind" in vars(instance):
        raise blame(
            AutogradError(
                f"each Function object is meant to be used only once, and this {cls.__name__} was called before and keeps what "
                f"that call saved: make another, {cls.__name__}(...)(x); or make its methods static and call apply"
            )
        )
    refuse(f"calls an instance of {cls.__name__}; a Function with static methods, called by apply, is known")
    node = cls._node()
    node.begin(args, f"{cls.__name__}Backward")
    FunctionCtx.__init__(instance, node)
    node.ctx = instance
    instance.needs_input_grad = tuple([isinstance(x, Operand) and x._node is not None for x in args])
    forward = LOCAL.method_in_scope(cls, "forward", True) if LOCAL.depth else cls.forward
    plain = [x.detach() if isinstance(x, Operand) and not LOCAL.depth else x for x in args]
    with grad_mode(False):
        output = forward(instance, *plain)
    own = {id(p): x for p, x in zip(plain, args, strict=True) if p is not x}

    def given(value: Any) -> Any:
        return tuple([given(v) for v in value]) if type(value) is tuple else own.get(id(value), value)

    for name in ("to_save", "dirty_tensors", "non_differentiable"):
        setattr(instance, name, given(getattr(instance, name)))
    return node.finish(args, given(output))
