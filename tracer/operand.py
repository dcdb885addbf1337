"""What `apply` and the graph see of a Tensor: a value and the node that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Operand", "alias", "install", "is_inference", "tensor_class", "wrap"]

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
    global tensor_class
    tensor_class = cls


inference_class: Any = ()  # the class of the Tensors that inference mode makes


def is_inference(tensor: Any) -> bool:
    """Whether a Tensor was made in inference mode."""
    return isinstance(tensor, inference_class)


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
