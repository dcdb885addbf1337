"""What `apply` and the graph see of a Tensor: a value and the node that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runtime.errors import AutogradError
from .site import blame

__all__ = ["Operand", "alias", "install", "is_inference", "made_in_inference", "may_be_saved", "tensor_class", "wrap"]

_new = object.__new__


class Operand:
    """The value of a Tensor (array, NumPy scalar, or Python number: what NumPy gets) and its node."""

    __slots__ = ("_node", "_value")

    _value: Any
    _node: Any

    if TYPE_CHECKING:  # what a Tensor has beside these stands in tensor.py, above

        def __getattr__(self, name: str) -> Any: ...


tensor_class: Any = Operand


def install(cls: type[Operand]) -> None:
    """Make `cls` the class of every Tensor (its module stands above this one)."""
    global tensor_class, inference_class
    tensor_class = cls
    members = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    inference_class = type(cls.__name__, (cls,), members)


# The class of the Tensors that inference mode makes: no other is looked at twice, since the plain path knows its class.
inference_class: Any = ()


def is_inference(tensor: Any) -> bool:
    """Whether a Tensor was made in inference mode."""
    return isinstance(tensor, inference_class)


def made_in_inference(tensor: Any) -> Any:
    """A new Tensor, made an inference tensor."""
    tensor.__class__ = inference_class
    return tensor


def may_be_saved(tensor: Any) -> None:
    """Raise where a Tensor that backward needs was made in inference mode."""
    if isinstance(tensor, inference_class):
        raise blame(
            AutogradError(
                "Inference tensors cannot be saved for backward, and this operation needs one there: it was made in "
                "gs.inference_mode(). Use x.clone(), made outside, or gs.no_grad() in place of inference mode."
            )
        )


def wrap(value: Any, node: Any = None) -> Any:
    """A Tensor of a value, made by `node` (None: a constant)."""
    made = _new(tensor_class)
    made._value = value
    made._node = node
    return made


def alias(tensor: Any) -> Any:
    """The same value (and the same value of the IR) without the graph behind it."""
    made = wrap(tensor._value)
    ir = getattr(tensor, "_ir", None)
    if ir is not None:
        made._ir = ir
    return made
