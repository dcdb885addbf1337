"""Handles of instances while a capture runs, which notice every read, store and special method."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....tracer.core.exits import leave
from ....tracer.core.tensor_base import Operand
from ...user_code.scope import is_user_function, member

if TYPE_CHECKING:
    from .instances import Instances

__all__ = ["EXITS", "OURS", "handle_of"]

# Special methods by which C code takes a plain number or array of an object, and the exit that this is.
EXITS = {"__float__": "float", "__complex__": "complex", "__array__": "array"}
OURS = frozenset(
    ["__new__", "__init__", "__post_init__", "__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getstate__",
     "__setstate__", "__subclasshook__", "__set_name__", "__sizeof__", "__dir__", "__class_getitem__", "__copy__",
     "__deepcopy__", "__replace__"]
)  # fmt: skip


def handle_of(instances: Instances, obj: Any) -> Any:
    """An object of a class of its own, below the class of `obj`, in which every read and every special method is ours."""
    cls: Any = type(obj)

    def read(self: Any, name: str) -> Any:
        return instances.attribute(obj, name) if self is handle else object.__getattribute__(self, name)

    def store(self: Any, name: str, value: Any) -> None:
        if self is not handle:
            return cls.__setattr__(self, name, value)  # type: ignore[no-any-return]
        found = member(cls, name)
        if instances.stores(obj, name, found, value):
            return None
        instances.capture.refuse(f"stores the attribute `{name}`")
        if isinstance(found, property) and is_user_function(found.fset):
            instances.capture.scope.rebuild(found.fset)(self, value)
        elif type(member(cls, "__setattr__")) is types.FunctionType:
            setattr(obj, name, instances.plain(value))
        else:
            setattr(obj, name, instances.plain(value) if instances.is_handle(value) else value)
            instances.stored.append((obj, name))
        return None

    def delete(self: Any, name: str) -> None:
        instances.capture.refuse(f"deletes the attribute `{name}`")
        delattr(obj, name)

    def reduce(self: Any, protocol: Any) -> Any:
        instances.capture.refuse(f"copies or pickles a {cls.__name__}")
        return obj.__reduce_ex__(protocol)

    def special(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self is not handle:
                return getattr(cls, name)(self, *args, **kwargs)
            result = instances._special(obj, name)(*args, **kwargs)
            if name in EXITS and isinstance(result, Operand):  # C code takes a plain number
                return leave(result, EXITS[name])
            return bool(result) if name == "__bool__" and isinstance(result, Operand) else result

        return call

    def equal(self: Any, other: Any) -> Any:
        return True if instances.plain(other) is obj else NotImplemented

    space: dict[str, Any] = {
        "__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__gradscribe_watched__": (obj,),
        "__getattribute__": read, "__setattr__": store, "__delattr__": delete, "__reduce_ex__": reduce,
    }  # fmt: skip
    for name in {name for owner in cls.__mro__[:-1] for name in vars(owner)} - OURS - set(space):
        if name.startswith("__") and name.endswith("__"):
            found = member(cls, name)
            if name == "__hash__" and found is None:
                space[name] = None
            elif type(found) in (types.FunctionType, types.WrapperDescriptorType, types.MethodDescriptorType):
                space[name] = special(name)
    space.setdefault("__eq__", equal)
    space.setdefault("__hash__", lambda self: hash(obj))
    below = type(cls)(cls.__name__, (cls,), space)
    new = types.SimpleNamespace.__new__ if isinstance(obj, types.SimpleNamespace) else object.__new__
    handle = new(below)
    if hasattr(obj, "__dict__") and not isinstance(obj, types.SimpleNamespace):
        object.__setattr__(handle, "__dict__", vars(obj))
    return handle
