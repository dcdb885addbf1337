"""The base of Tensor: the value, and the node that made it, as `apply` and the graph see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...runtime.arrays import is_array
from ...runtime.errors import AutogradError
from ...unpatched import np
from .site import blame, user_asks
from .thread_state import LOCAL

__all__ = [
    "Operand", "alias", "cover", "follow", "install", "install_batched", "is_inference", "is_tensor_like", "is_volatile",
    "levels_of", "made_in_inference", "made_volatile", "may_be_saved", "plain_shape", "tensor_class", "wrap",
]  # fmt: skip

_new = object.__new__


_class = vars(object)["__class__"]


def _class_of(tensor: Any) -> Any:
    """The class of a Tensor as code sees it that asks: of the user's, inside a transform, that of the value."""
    return type(tensor._value) if LOCAL.depth and user_asks() else _class.__get__(tensor)


class Operand:
    """The value of a Tensor (array, NumPy scalar, or Python number: what NumPy gets) and its node.

    Inside a transform the user's code is told, where it asks for the class (`isinstance`, `match`), that of the value.
    """

    __slots__ = ("_node", "_value")

    _value: Any
    _node: Any
    __class__ = property(_class_of, _class.__set__)

    if TYPE_CHECKING:  # what a Tensor has beside these stands in tensor.py, above

        def __getattr__(self, name: str) -> Any: ...


tensor_class: Any = Operand


def install(cls: type[Any]) -> None:
    """Make `cls` the class of every Tensor (its module stands above this one)."""
    global tensor_class, inference_class, _volatile
    tensor_class = cls
    members = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    inference_class = type(cls.__name__, (cls,), members)
    _volatile = type(cls.__name__, (cls,), {**members, "_node": property(lambda tensor: None, _refused)})


# The class of the Tensors that inference mode makes: no other is looked at twice, since the plain path knows its class.
inference_class: Any = ()


def is_inference(tensor: Any) -> bool:
    """Whether a Tensor was made in inference mode."""
    return issubclass(type(tensor), inference_class)  # isinstance would ask for the class that users see


def made_in_inference(tensor: Any) -> Any:
    """A new Tensor, made an inference tensor."""
    tensor.__class__ = inference_class
    return tensor


def may_be_saved(tensor: Any) -> None:
    """Raise where a Tensor that backward needs was made in inference mode."""
    if is_inference(tensor):
        raise blame(
            AutogradError(
                "Inference tensors cannot be saved for backward, and this operation needs one there: it was made in "
                "gs.inference_mode(). Use x.clone(), made outside, or gs.no_grad() in place of inference mode."
            )
        )


# The class of volatile Tensors (of the older API), once there are any: what is computed from one is volatile, too. None of
# them has a node.
volatile_class: Any = ()
_volatile: Any = ()


def is_volatile(value: Any) -> bool:
    """Whether a value is a Tensor from which no history comes: `Variable(..., volatile=True)`."""
    return issubclass(type(value), volatile_class)


def made_volatile(tensor: Any) -> Any:
    """A Tensor, made volatile."""
    global volatile_class
    volatile_class = _volatile
    tensor._node = None
    tensor.__class__ = volatile_class
    return tensor


def _refused(tensor: Any, node: Any) -> None:
    if node is not None:
        raise blame(
            ValueError(
                "Variable can't be volatile and require_grad at the same time! Leave volatile=True away, which gs.no_grad() took "
                "the place of."
            )
        )


# The class of the Tensors of a function under vmap: batched.py, above, makes it. They say in `_levels` what they hide.
batched_class: Any = ()


def install_batched(cls: type[Any]) -> None:
    """Make `cls` the class of batched Tensors."""
    global batched_class
    batched_class = cls


def levels_of(value: Any) -> tuple[Any, ...]:
    """The vmaps whose axes a value hides: none but for a batched Tensor."""
    return value._levels if issubclass(type(value), batched_class) else ()


def plain_shape(tensor: Any) -> tuple[int, ...]:
    """The shape of a Tensor as plain numbers, without what it hides."""
    shape: tuple[int, ...] = getattr(tensor._value, "shape", ())
    return shape[len(tensor._levels) :] if issubclass(type(tensor), batched_class) else shape


def follow(tensor: Any, other: Any) -> None:
    """Let a Tensor, which takes over the value of another, hide what that hides."""
    cover(tensor, levels_of(other))


def cover(tensor: Any, levels: tuple[Any, ...]) -> None:
    """Let a Tensor hide its first axes, one for each of these vmaps."""
    if levels:
        tensor.__class__ = batched_class
        tensor._levels = levels
    elif issubclass(type(tensor), batched_class):
        tensor.__class__ = tensor_class


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a Tensor, an array, or a scalar of NumPy's."""
    return isinstance(value, (Operand, np.generic)) or is_array(value)


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
    if issubclass(type(tensor), batched_class):
        follow(made, tensor)
    return made
