"""autograd.builtins: Python's own, since Tensors may stand in any container; isinstance and type see a Tensor's value."""

from __future__ import annotations

import builtins
from typing import Any

from ...tracer.core.tensor_base import Operand
from ...transforms.user_code.namespaces import type_of

__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def isinstance(x: Any, classes: Any) -> bool:  # autograd's name
    """Whether `x`, or the value of the Tensor `x`, is an instance of one of the classes."""
    listed = classes if builtins.isinstance(classes, builtins.tuple) else (classes,)
    classes = builtins.tuple([builtins.type if c is type_of else c for c in listed])
    return builtins.isinstance(x, classes) or (
        builtins.isinstance(x, Operand) and builtins.isinstance(x._value, classes)
    )


type = type_of
dict: builtins.type[Any] = builtins.dict
list: builtins.type[Any] = builtins.list
tuple: builtins.type[Any] = builtins.tuple
