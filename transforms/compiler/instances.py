"""What a capture reads of instances and containers: handles whose every attribute is noticed, and copies of lists and dicts."""

from __future__ import annotations

import abc
import builtins
import contextlib
import functools
import sys
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...tracer.operand import Operand
from ..scope import ABSENT, Path, is_user_class, is_user_function, member, watched
from .outside import is_constant, why_not

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Instances", "watchable"]

MANY = 1000  # elements of lists and dicts, beyond which guards on each would cost too much

_BASES = frozenset([object, abc.ABC, typing.Generic, typing.Protocol, types.SimpleNamespace])
_METACLASSES = (type, abc.ABCMeta, type(typing.Protocol))
_UNSEEN = ("__getattribute__", "__getattr__", "__init_subclass__", "__del__", "__class__")
_OURS = frozenset(
    ["__new__", "__init__", "__post_init__", "__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getstate__",
     "__setstate__", "__subclasshook__", "__set_name__", "__sizeof__", "__dir__", "__class_getitem__", "__copy__",
     "__deepcopy__", "__replace__"]
)  # fmt: skip
_OF_OBJECTS = frozenset([*vars(object), "__dict__", "__weakref__"]) - {"__doc__", "__class__"}


def watchable(value: Any) -> bool:
    """Whether reads of an object's attributes can all be noticed: a plain instance of the user's own classes."""
    cls = type(value)
    if type(cls) not in _METACLASSES or cls is object:
        return False
    for owner in cls.__mro__:
        if owner in _BASES:
            continue
        if not is_user_class(owner) or any(name in vars(owner) for name in _UNSEEN):
            return False
    return True


class Instances:
    """The handles and copies of one capture; what was stored into them is in the user's objects when it ends."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.over = False
        self._elements = 0
        self._handles: dict[int, tuple[Any, Any, dict[str, Any]]] = {}  # the object, its handle, what it had at first
        self._real: dict[int, Any] = {}  # of the handle: the object
        self._words: dict[int, str] = {}
        self.stored: list[tuple[Any, str]] = []  # attributes that the code stored: the object, the name
        self._containers: dict[int, Any] = {}  # of the copy: the container
        self._copies: dict[int, tuple[Any, Any, list[Any], Path]] = {}  # the container, its copy, what that began with

    def seen(self, value: Any, path: Path) -> Any:
        """What stands for an instance, a bound method, a partial or a container; `value` itself where none of these."""
        kind = type(value)
        known = self._copies.get(id(value))
        if id(value) in self._containers:
            return value
        if known is not None:
            self.capture.reads.setdefault(Path(("id", path, "")), value)
            return known[1]
        if kind is list or kind is dict or isinstance(value, tuple):
            return self._copy(value, path)
        if kind is types.MethodType and is_user_function(value.__func__) and watchable(value.__self__):
            self._followed(value.__func__, path)
            self.capture.reads[path] = value
            return self.capture.scope.rebuild(value)
        if kind is functools.partial:
            self.capture.reads[path] = value
            return self.capture.scope.rebuild(value)
        if watchable(value):
            self.capture.reads[path] = value
            return self.handle(value, path.words)
        return value

    def partial(self, value: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """The function of a partial, and its arguments as they are seen."""
        capture = self.capture
        if capture.failed is not None:
            return value.func, value.args, value.keywords
        code = getattr(value.func, "__code__", None)
        names = code.co_varnames if code is not None else ()
        names = (*names[: len(value.args)], *[f"arg{k}" for k in range(len(names), len(value.args))])
        for part in ("args", "keywords"):
            capture.reads[Path(("id", Path(("attribute", value, part)), ""))] = getattr(value, part)
        capture.reads[Path(("keys", value.keywords, ""), words="keywords")] = tuple(value.keywords)
        args = [capture.see(a, Path(("item", value.args, k), words=names[k])) for k, a in enumerate(value.args)]
        keywords = {k: capture.see(v, Path(("item", value.keywords, k), words=k)) for k, v in value.keywords.items()}
        return value.func, tuple(args), keywords

    # containers
    def _copy(self, value: Any, path: Path) -> Any:
        """A list, dict or tuple of what its elements are seen as."""
        capture = self.capture
        keys: list[Any] = list(value) if type(value) is dict else list(range(len(value)))
        named = isinstance(value, tuple) and type(value) is not tuple
        self._elements += len(keys)
        if self._elements > MANY or not all(map(is_constant, keys)) or (named and not hasattr(type(value), "_fields")):
            return value
        capture.reads[Path(("id", path, ""))] = value
        capture.reads[Path(("keys", value, ""), words=path.words, parent=path)] = tuple(keys)
        copy: Any = [] if type(value) is not dict else {}
        if not isinstance(value, tuple):
            self._copies[id(value)] = (value, copy, [], path)
            self._containers[id(copy)] = value
        for k in keys:
            element = capture.see(value[k], Path(("item", value, k), words=f"{path.words}[{k!r}]", parent=path))
            if type(copy) is dict:
                copy[k] = element
            else:
                copy.append(element)
        if isinstance(value, tuple):
            copy = type(value)._make(copy) if named else tuple(copy)  # type: ignore[attr-defined]
            self._copies[id(value)] = (value, copy, [], path)
            self._containers[id(copy)] = value
        self._copies[id(value)][2].extend(_contents(copy))
        return copy

    def plain(self, value: Any) -> Any:
        """The user's object that a handle, a copy or an input stands for."""
        if id(value) in self._real:
            return self._real[id(value)]
        if isinstance(value, Operand):
            caller = getattr(value, "_caller", None)
            return caller if caller is not None else value if value._node is not None else value._value
        if id(value) in self._containers:
            return self._containers[id(value)]
        if type(value) is list:
            value[:] = map(self.plain, value)
        elif type(value) is dict:
            value.update({k: self.plain(v) for k, v in value.items()})
        return tuple(map(self.plain, value)) if type(value) is tuple else value

    def stands(self, value: Any) -> bool:
        """Whether a value is a handle or a copy, which no object of the user's may hold."""
        return id(value) in self._real or id(value) in self._containers

    def settle(self) -> None:
        """The run is over: what it did to copies happens to the user's containers, and handles become their objects."""
        self.over = True
        for container, copy, before, path in list(self._copies.values()):
            now = _contents(copy)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            self.capture.fail(f"changes `{path.words}`, a {type(container).__name__} that it did not make", path=path)
            if type(container) is dict:
                plain = {k: self.plain(v) for k, v in copy.items()}
                container.clear()
                container.update(plain)
            else:
                container[:] = [self.plain(v) for v in copy]
        for obj, name in self.stored:
            if isinstance(member(type(obj), name), types.MemberDescriptorType):
                setattr(obj, name, self.plain(getattr(obj, name)))
        for obj, handle, had in self._handles.values():
            own = getattr(obj, "__dict__", {})
            for name, value in list(own.items()):
                if had.get(name, ABSENT) is not value:
                    self.capture.fail(f"stores the attribute `{name}`")
                    if (plain := self.plain(value)) is not value:
                        own[name] = plain
            slots = any(vars(owner).get("__slots__") for owner in type(obj).__mro__)
            if hasattr(obj, "__dict__") and not slots and not isinstance(obj, types.SimpleNamespace):
                with contextlib.suppress(TypeError):  # of another layout: it goes on standing for the object
                    object.__setattr__(handle, "__class__", type(obj))

    # instances
    def handle(self, obj: Any, words: str = "self") -> Any:
        """What stands for an instance while the capture runs; objects that cannot be watched stay as they are."""
        known = self._handles.get(id(obj))
        if known is not None:
            return known[1]
        if self.over or watched(obj) is not ABSENT or not watchable(obj):
            return obj
        self._words[id(obj)] = words
        self.capture.reads[Path(("attribute", obj, "__class__"), words=f"{words}.__class__")] = type(obj)
        made = _handle(self, obj)
        self._handles[id(obj)] = (obj, made, dict(getattr(obj, "__dict__", {})))
        self._real[id(made)] = obj
        return made

    def attribute(self, obj: Any, name: str) -> Any:
        """What code in the capture gets for `obj.name`, found as Python finds it."""
        if self.over:
            return getattr(obj, name)
        cls = type(obj)
        found = member(cls, name)
        if name == "__class__":
            if sys._getframe(2).f_code in self.capture.codes and not _compares(cls, sys._getframe(2).f_code):
                self.capture.fail(f"takes the class of a {cls.__name__}")
            return cls
        if name in _OF_OBJECTS:
            return self._special(obj, name)
        words = f"{self._words[id(obj)]}.{name}"
        path = Path(("attribute", obj, name), words=words)
        own = getattr(obj, "__dict__", {})
        if isinstance(found, property):
            return self._computed(obj, found, Path(("attribute", cls, name), words=words), name)
        if name in own and not hasattr(type(found), "__set__"):
            return self.capture.see(own[name], path)
        if found is ABSENT or (isinstance(found, types.MemberDescriptorType) and not hasattr(obj, name)):
            self.capture.reads[Path(("absent", obj, name), words=words)] = True
            return getattr(obj, name)  # raises
        if type(found) is types.FunctionType or hasattr(type(found), "__gradscribe_transform__"):
            return self._bound(obj, found, Path(("method", obj, name), words=words))
        if hasattr(type(found), "__get__") and not isinstance(found, (staticmethod, types.MemberDescriptorType)):
            return self._unfollowed(obj, name, f"reads `{name}` of a {cls.__name__}, a {type(found).__name__}")
        return self.capture.see(getattr(obj, name), path)

    def inherited(self, obj: Any, after: type, name: str) -> Any:
        """What `super().name` is in a method that `after` defines."""
        found = member(type(obj), name, after)
        path = Path(("member", (type(obj), after), name), words=f"super().{name}")
        if isinstance(found, property):
            return self._computed(obj, found, path, name)
        if type(found) is types.FunctionType:
            return self._bound(obj, found, path)
        self.capture.fail(f"reads `{name}` of super(), which is no method")
        return getattr(builtins.super(after, obj), name)

    def super(self, *args: Any) -> Any:
        """`super()` as methods in the capture see it."""
        frame = sys._getframe(1)
        if args:
            self.capture.fail("calls super() with arguments")
            return builtins.super(*map(self.plain, args))
        first, cls = frame.f_locals[frame.f_code.co_varnames[0]], frame.f_locals["__class__"]
        obj = watched(first)
        return builtins.super(cls, first) if obj is ABSENT or self.over else _Super(self, cls, obj)

    def _bound(self, obj: Any, function: Any, path: Path) -> Any:
        self._followed(function, path)
        self.capture.reads[path] = function
        return types.MethodType(self.capture.scope.stand_in(function), self.handle(obj))

    def _followed(self, function: Any, path: Path) -> None:
        reason = why_not(function, path.name)
        if reason is not None:
            self.capture.fail(reason)

    def _computed(self, obj: Any, found: property, path: Path, name: str) -> Any:
        self.capture.reads[path] = found
        if is_user_function(found.fget):
            return self._bound(obj, found.fget, Path(("attribute", found, "fget"), words=path.words))()
        return self._unfollowed(obj, name, f"reads `{name}`, a property that it cannot follow")

    def _special(self, obj: Any, name: str) -> Any:
        """A special method, which Python looks up on the class."""
        cls = type(obj)
        found = member(cls, name)
        if self.over or type(found) is not types.FunctionType or name in _OURS:
            return self._unfollowed(obj, name, f"uses `{name}` of a {cls.__name__}")
        return self._bound(obj, found, Path(("attribute", cls, name), words=f"{self._words[id(obj)]}.{name}"))

    def _unfollowed(self, obj: Any, name: str, reason: str) -> Any:
        if not self.over:
            self.capture.fail(reason)
        return getattr(obj, name)


class _Super:
    """What `super()` gives: attributes of the classes that come after `cls`."""

    __slots__ = ("_read",)

    def __init__(self, instances: Instances, cls: type, obj: Any) -> None:
        object.__setattr__(self, "_read", functools.partial(instances.inherited, obj, cls))

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, "_read")(name)


def _compares(cls: type, code: types.CodeType) -> bool:
    """Whether code is a comparison that dataclasses wrote, which takes the class to compare it and for nothing else."""
    fields = getattr(cls, "__dataclass_fields__", None)
    return fields is not None and set(code.co_names) <= {"__class__", "NotImplemented", *fields}


def _contents(container: Any) -> list[Any]:
    return [part for pair in container.items() for part in pair] if type(container) is dict else list(container)


def _handle(instances: Instances, obj: Any) -> Any:
    """An object of a class of its own, below the class of `obj`, in which every read and every special method is ours."""
    cls: Any = type(obj)

    def read(self: Any, name: str) -> Any:
        return instances.attribute(obj, name) if self is handle else object.__getattribute__(self, name)

    def store(self: Any, name: str, value: Any) -> None:
        if self is not handle:
            return cls.__setattr__(self, name, value)  # type: ignore[no-any-return]
        instances.capture.fail(f"stores the attribute `{name}`")
        found = member(cls, name)
        if isinstance(found, property) and is_user_function(found.fset):
            instances.capture.scope.rebuild(found.fset)(self, value)
        elif type(member(cls, "__setattr__")) is types.FunctionType:
            setattr(obj, name, instances.plain(value))
        else:
            setattr(obj, name, instances.plain(value) if instances.stands(value) else value)
            instances.stored.append((obj, name))
        return None

    def delete(self: Any, name: str) -> None:
        instances.capture.fail(f"deletes the attribute `{name}`")
        delattr(obj, name)

    def reduce(self: Any, protocol: Any) -> Any:
        instances.capture.fail(f"copies or pickles a {cls.__name__}")
        return obj.__reduce_ex__(protocol)

    def special(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self is not handle:
                return getattr(cls, name)(self, *args, **kwargs)
            return instances._special(obj, name)(*args, **kwargs)

        return call

    def equal(self: Any, other: Any) -> Any:
        return True if instances.plain(other) is obj else NotImplemented

    space: dict[str, Any] = {
        "__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__gradscribe_watched__": (obj,),
        "__getattribute__": read, "__setattr__": store, "__delattr__": delete, "__reduce_ex__": reduce,
    }  # fmt: skip
    for name in {name for owner in cls.__mro__[:-1] for name in vars(owner)} - _OURS - set(space):
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
