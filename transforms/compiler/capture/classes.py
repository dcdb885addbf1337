"""Classes of the user's in a capture: each has a mirror, a subclass of it that notices reads of methods and values."""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....tracer.core.exits import leave
from ....tracer.core.tensor_base import Operand
from ...user_code.scope import ABSENT, Path, is_user_class, is_user_function, member, watched
from .definitions import Definitions
from .handles import EXITS
from .outside import generated, is_constant, is_plain_data, own_code

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Classes", "class_of_mirror"]

_UNSEEN = frozenset(
    ["__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__init_subclass__", "__del__", "__class__", "__new__",
     "__class_getitem__", "__set_name__", "__array_interface__", "__array_struct__", "__dlpack__", "__buffer__"]
)  # fmt: skip
_KEPT = frozenset(  # what Python writes into a class, and the mirror inherits
    ["__module__", "__qualname__", "__doc__", "__slots__", "__orig_bases__", "__parameters__", "__match_args__",
     "__abstractmethods__", "__dataclass_fields__", "__dataclass_params__", "__type_params__", "__protocol_attrs__",
     "_is_protocol", "_is_runtime_protocol"]
)  # fmt: skip
_LAZY = frozenset(  # of these, what changes by itself
    ["__dict__", "__weakref__", "__annotations__", "__firstlineno__", "__static_attributes__", "__annotate__",
     "__annotate_func__", "__annotations_cache__", "_abc_impl", "__slotnames__"]
)  # fmt: skip
_OF_TREES = frozenset(["__subclasses__", "__bases__", "__base__", "__mro__", "mro", "__dict__"])


class _Gone:
    """The base of a mirror once the capture is over."""


class Classes:
    """The mirrors of one capture, and the objects that were made of them."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._mirrors: dict[type, Any] = {}
        self._made: list[Any] = []
        self._enumerations: set[type] = set()
        self.asking = False

    def seen(self, cls: type, path: Path) -> Any:
        """Return the stand-in for a class: an enumeration itself, a mirror, or None where it cannot be followed."""
        capture = self.capture
        if isinstance(cls, enum.EnumType):
            if not self.enumeration(cls):
                return None
            capture.findings.reads[path] = cls
            return cls
        if is_plain_data(cls) and own_code(cls) is None:
            return None  # it runs as it is
        mirror = self.mirror(cls)
        if mirror is not None:
            capture.findings.reads[path] = cls
        return mirror

    def enumeration(self, cls: Any) -> bool:
        """Whether an enumeration is one of plain values, which are guarded then."""
        if cls in self._enumerations:
            return True
        if cls.__mro__[1:] != (enum.Enum, object):
            return False
        if any(
            is_user_function(getattr(found, "__func__", found)) or isinstance(found, property)
            for found in vars(cls).values()
        ):
            return False
        if not all(is_constant(one._value_) for one in cls):
            return False
        self._enumerations.add(cls)
        self.capture.findings.reads[Path(("defined", Definitions(cls), ""), words=cls.__qualname__)] = True
        for one in cls:
            self.capture.findings.reads[Path(("attribute", one, "_value_"), words=f"{cls.__name__}.{one.name}")] = (
                one._value_
            )
        return True

    def mirror(self, cls: type) -> Any:
        """The class that stands for `cls`; None where some of its code or values could not be noticed."""
        if cls not in self._mirrors:
            self._mirrors[cls] = None  # while it is being made, for a class that names itself
            if all(map(_can_be_followed, cls.__mro__)) and type(cls) in (type, abc.ABCMeta):
                self._mirrors[cls] = self._mirror(cls)
        return self._mirrors[cls]

    def _mirror(self, cls: type) -> Any:
        reads = self.capture.findings.reads
        for name in ("__name__", "__mro__"):
            reads[Path(("id", Path(("attribute", cls, name), words=f"{cls.__name__}.{name}"), ""))] = getattr(cls, name)
        space: dict[str, Any] = {
            "__gradscribe_mirror__": (cls,),
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
        }
        if not cls.__dictoffset__:
            space["__slots__"] = ()  # the layout is that of the class
        made = type.__new__(_metaclass(self, cls), cls.__name__, (cls,), space)
        self._mirrors[cls] = made
        for owner in filter(is_user_class, cls.__mro__):
            late = [name for name, found in vars(owner).items() if name in _LAZY or not hasattr(type(found), "__get__")]
            late = [name for name in late if name not in _KEPT]
            reads[Path(("defined", Definitions(owner, late), ""), words=owner.__qualname__)] = True
            for name, found in list(vars(owner).items()):
                if (
                    name not in _KEPT | _LAZY
                    and name not in vars(made)
                    and type(found) is not types.MemberDescriptorType
                ):
                    type.__setattr__(made, name, self._entry(cls, name, found, f"{owner.__name__}.{name}"))
        return made

    def _entry(self, cls: type, name: str, found: Any, words: str) -> Any:
        """Return the mirror's entry for one of a class."""
        capture = self.capture
        if isinstance(found, (staticmethod, classmethod)) and is_user_function(found.__func__):
            return type(found)(self.later(found.__func__))
        if isinstance(found, functools.cached_property):
            again = functools.cached_property(self.later(found.func))
            again.__set_name__(cls, name)
            return again
        if isinstance(found, property):
            return property(*[None if f is None else self.later(f) for f in (found.fget, found.fset, found.fdel)])
        if type(found) is types.FunctionType:
            if not generated(found):
                return self.leaving(found, EXITS[name]) if name in EXITS else self.later(found)
            for part in ("__code__", "__defaults__", "__kwdefaults__"):
                capture.findings.reads[Path(("id", Path(("attribute", found, part)), ""))] = getattr(found, part)
            return found
        return _Late(capture, found, Path(("attribute", cls, name), words=words))

    def later(self, function: Any) -> Any:
        """A method that is rebuilt when it is called: it may read its own class, which is not there yet."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return self.rebuilt(function)(*args, **kwargs)

        return functools.update_wrapper(call, function, updated=())

    def leaving(self, function: Any, how: str) -> Any:
        """A special method by which C code takes a plain number or array; `kept` is the method as code in scope calls it."""
        kept = self.later(function)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = kept(*args, **kwargs)
            return leave(result, how) if isinstance(result, Operand) else result

        call.kept = kept  # type: ignore[attr-defined]
        return functools.update_wrapper(call, function, updated=())

    def rebuilt(self, function: Any) -> Any:
        """A method over the scope of the capture; it may store attributes of the object that it is called on."""
        self.capture.contexts.add(function.__code__)
        return self.capture.scope.rebuild(function)

    def is_made(self, cls: type) -> bool:
        """Whether the mirror of a class is there."""
        return self._mirrors.get(cls) is not None

    def made(self, obj: Any) -> None:
        """An object of a mirror was made."""
        self._made.append(obj)

    def leaves(self, obj: Any) -> None:
        """An object becomes one of its own class, which holds plain arrays."""
        (cls,) = vars(type(obj)).get("__gradscribe_mirror__", (None,))
        if cls is not None:
            object.__setattr__(obj, "__class__", cls)
            for name, value in list(getattr(obj, "__dict__", {}).items()):
                vars(obj)[name] = self.capture.plain(value)
            for name in _slots(cls):
                if hasattr(obj, name):
                    object.__setattr__(obj, name, self.capture.plain(getattr(obj, name)))

    def inherited(self, obj: Any, after: type, name: str) -> Any:
        """Return the attribute `super().name` of an object of a mirror; the entries of all classes are guarded already."""
        (cls,) = vars(type(obj))["__gradscribe_mirror__"]
        found = member(cls, name, after)
        if type(found) is types.FunctionType and not generated(found) and is_user_function(found):
            return types.MethodType(self.rebuilt(found), obj)
        if isinstance(found, property) and is_user_function(found.fget):
            return types.MethodType(self.rebuilt(found.fget), obj)()
        if isinstance(found, functools.cached_property):  # which `_entry_can` has seen to be the user's
            if name not in vars(obj):
                vars(obj)[name] = types.MethodType(self.rebuilt(found.func), obj)()
            return vars(obj)[name]
        if found is ABSENT or (hasattr(type(found), "__get__") and not isinstance(found, (classmethod, staticmethod))):
            return getattr(super(after, obj), name)
        return self.inherited_by(type(obj), after, name)

    def inherited_by(self, mirror: Any, after: type, name: str) -> Any:
        """Return the attribute `super().name` in a class method, or of another kind than an object's alone."""
        cls = class_of_mirror(mirror)
        found = member(cls, name, after)
        if isinstance(found, (classmethod, staticmethod)) and is_user_function(found.__func__):
            function = self.rebuilt(found.__func__)
            return types.MethodType(function, mirror) if isinstance(found, classmethod) else function
        if type(found) is types.FunctionType and not generated(found) and is_user_function(found):
            return self.rebuilt(found)
        if found is not ABSENT and not hasattr(type(found), "__get__"):
            return self.capture.see(found, Path(("member", (cls, after), name), words=f"super().{name}"))
        return getattr(super(after, cls), name)

    def is_below(self, kind: type, cls: type) -> bool:
        """Whether a class is a subclass of another, mirrors aside."""
        self.asking, before = True, self.asking
        try:
            return issubclass(kind, cls)
        finally:
            self.asking = before

    def settle(self) -> None:
        """Objects that were made inside become objects of their own class, which hold plain arrays."""
        self.asking = True  # from now on mirrors are classes like any other
        for obj in self._made:
            self.leaves(obj)
        for mirror in filter(None, self._mirrors.values()):
            with contextlib.suppress(TypeError):  # of another layout: it goes with the garbage
                type.__setattr__(mirror, "__bases__", (_Gone,))  # the user's class has no such subclass any more


def class_of_mirror(value: Any) -> Any:
    """Return the class of the user's that a mirror stands for; other values as they are."""
    (cls,) = vars(value).get("__gradscribe_mirror__", (value,)) if isinstance(value, type) else (value,)
    return cls


def _slots(cls: type) -> Iterator[str]:
    """The attributes of objects of a class that have places of their own."""
    for owner in cls.__mro__:
        yield from [name for name, found in vars(owner).items() if type(found) is types.MemberDescriptorType]


class _Late:
    """A value of a class, noticed when it is read."""

    def __init__(self, capture: Capture, value: Any, path: Path) -> None:
        self.capture, self.value, self.path = capture, value, path

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        return self.capture.see(self.value, self.path)


def _can_be_followed(owner: type) -> bool:
    if owner in (object, abc.ABC) or owner.__module__ == "typing":
        return True
    if not is_user_class(owner):
        return False
    special = [vars(owner)[name] for name in _UNSEEN & vars(owner).keys()]
    if not all(isinstance(found, types.FunctionType) and generated(found) for found in special):  # frozen dataclasses
        return False
    return all(_entry_can(name, found) for name, found in vars(owner).items() if name not in _KEPT | _LAZY)


def _entry_can(name: str, found: Any) -> bool:
    if isinstance(found, (staticmethod, classmethod)):
        return is_user_function(found.__func__)
    if isinstance(found, property):
        return all(f is None or is_user_function(f) for f in (found.fget, found.fset, found.fdel))
    if type(found) is functools.cached_property:
        return is_user_function(found.func)
    if isinstance(found, types.FunctionType):
        return (
            is_user_function(found) and not set(vars(found)) - {"__wrapped__", "__isabstractmethod__"}
        ) or generated(found)
    return not hasattr(type(found), "__get__") or isinstance(
        found, (types.GetSetDescriptorType, types.MemberDescriptorType)
    )


def _metaclass(classes: Classes, cls: type) -> Any:
    """The class of one mirror."""
    capture = classes.capture

    def call(mirror: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(cls, "__abstractmethods__", ()):
            capture.refuse(f"makes an object of `{cls.__name__}`, which is abstract")
            return cls(*args, **kwargs)  # which raises
        obj = type.__call__(mirror, *args, **kwargs)
        if type(obj) is mirror:
            classes.made(obj)
        return obj

    def check(mirror: Any, obj: Any) -> bool:
        if isinstance(obj, Operand):
            return isinstance(obj._value, cls)
        real = watched(obj)
        kind = type(obj if real is ABSENT else real)
        capture.findings.reads[Path(("id", Path(("attribute", kind, "__mro__")), ""))] = kind.__mro__
        if type(cls) is not type and cls not in kind.__mro__:
            capture.refuse(f"asks for an instance of `{cls.__name__}`, where others can register")
        return classes.is_below(kind, cls)

    def below(mirror: Any, kind: Any) -> bool:
        if classes.asking:  # an abstract class asks all that are below it
            return bool(type.__subclasscheck__(mirror, kind))
        if type(cls) is not type:
            capture.refuse(f"asks for a subclass of `{cls.__name__}`, where others can register")
        (real,) = vars(kind).get("__gradscribe_mirror__", (kind,))
        return classes.is_below(real, cls)

    def read(mirror: Any, name: str) -> Any:
        if name in _OF_TREES and sys._getframe(1).f_code in capture.findings.codes:
            capture.refuse(f"reads `{name}` of a class")
            found = getattr(cls, name)
            if name != "__subclasses__":
                return found
            return lambda: [c for c in found() if "__gradscribe_mirror__" not in vars(c)]
        return type.__getattribute__(mirror, name)

    def store(mirror: Any, name: str, value: Any) -> None:
        if not classes.is_made(cls) or name in _LAZY:  # typing.Generic writes into what is below it, copyreg its cache
            return type.__setattr__(mirror, name, value)
        capture.refuse(f"stores the attribute `{name}`")
        setattr(cls, name, capture.plain(value))
        return type.__setattr__(mirror, name, value)

    def delete(mirror: Any, name: str) -> None:
        capture.refuse(f"deletes the attribute `{name}`")
        delattr(cls, name)

    space = {
        "__call__": call, "__getattribute__": read, "__instancecheck__": check, "__subclasscheck__": below,
        "__setattr__": store, "__delattr__": delete,
        "__hash__": lambda mirror: hash(cls),
        "__eq__": lambda mirror, other: other is mirror or other is cls,
    }  # fmt: skip
    return type(type(cls).__name__, (type(cls),), space)
