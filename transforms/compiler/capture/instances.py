"""Instances and containers in a capture: handles whose every attribute is noticed, and copies of lists and dicts."""

from __future__ import annotations

import abc
import builtins
import contextlib
import enum
import functools
import sys
import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from copy import copy as _copied
from typing import TYPE_CHECKING, Any

from ....tracer.core.foreign import conversion
from ....tracer.core.tensor_base import Operand
from ....tracer.memory.survivors import as_stored, note, note_held, put_back
from ....tracer.protocols.interop import tensors_in
from ...user_code.namespaces import type_of
from ...user_code.scope import ABSENT, Path, is_partial, is_user_class, is_user_function, member, reader_of, watched
from .classes import Classes, class_of_mirror
from .definitions import Definitions
from .handles import OURS, handle_of
from .numbers import is_float
from .outside import is_constant, own_code, why_not
from .stored import Store

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["AS_THEY_ARE", "Instances", "watchable"]

MANY = 1000  # elements of lists and dicts, beyond which guards on each would cost too much

AS_THEY_ARE = (set, frozenset, enum.Enum, enum.EnumType)  # what is guarded, and needs nothing to stand for it
_CONTAINERS = frozenset([list, dict, deque, OrderedDict, defaultdict, Counter])
_FACTORIES = frozenset([None, int, float, list, dict, set])
_BASES = frozenset([object, abc.ABC, typing.Generic, typing.Protocol, types.SimpleNamespace])
_METACLASSES = (type, abc.ABCMeta, type(typing.Protocol))
_UNSEEN = ("__getattribute__", "__getattr__", "__init_subclass__", "__del__", "__class__")
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
    return conversion(value) is None


class Instances:
    """The handles and copies of one capture; what was stored into them is in the user's objects when it ends."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.over = False
        self._elements = 0
        self._seen: set[Path] = set()  # attributes of objects that were read
        self._handles: dict[int, tuple[Any, Any, dict[str, Any]]] = {}  # the object, its handle, what it had at first
        self._real: dict[int, Any] = {}  # of the handle: the object
        self._words: dict[int, str] = {}
        self._defined: set[type] = set()  # classes of plain data that are guarded already
        self._sets: list[tuple[Any, tuple[Any, ...], Path]] = []
        self.stored: list[tuple[Any, str]] = []  # attributes that the code stored: the object, the name
        self._containers: dict[int, Any] = {}  # of the copy: the container
        self._copies: dict[int, tuple[Any, Any, list[Any], Path]] = {}  # the container, its copy, what that began with

    @functools.cached_property
    def classes(self) -> Classes:
        """The mirrors of classes, once the code meets one."""
        return Classes(self.capture)

    def seen(self, value: Any, path: Path) -> Any:
        """Return the stand-in for an instance, a bound method, a partial or a container; other values themselves."""
        kind = type(value)
        known = self._copies.get(id(value))
        if id(value) in self._containers:
            return value
        if known is not None:
            self.capture.findings.reads.setdefault(Path(("id", path, "")), value)
            return known[1]
        if kind in _CONTAINERS or isinstance(value, tuple):
            return self._copy(value, path)
        if kind in (set, frozenset) and len(value) <= MANY and all(map(is_constant, value)):
            self.capture.findings.reads[path] = value
            names = self.capture.findings.reads[Path(("keys", value, ""), words=path.words, parent=path)] = tuple(value)
            self._sets.append((value, names, path))
            note_held(value)
            return value
        if isinstance(value, type) and is_user_class(value):
            note_held(value)
            mirror = self.classes.seen(value, path)
            return value if mirror is None else mirror
        if isinstance(value, enum.Enum) and self.classes.enumeration(kind):
            self.capture.findings.reads[path] = value
            return value
        if kind is types.MethodType and is_user_function(value.__func__) and watchable(value.__self__):
            self._followed(value.__func__, path)
            self.capture.findings.reads[path] = value
            return self.capture.scope.rebuild(value)
        if is_partial(value):
            self.capture.findings.reads[path] = value
            return self.capture.scope.rebuild(value)
        if watchable(value):
            self.capture.findings.reads[path] = value
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
            capture.findings.reads[Path(("id", Path(("attribute", value, part)), ""))] = getattr(value, part)
        capture.findings.reads[Path(("keys", value.keywords, ""), words="keywords")] = tuple(value.keywords)
        args = [capture.see(a, Path(("item", value.args, k), words=names[k])) for k, a in enumerate(value.args)]
        keywords = {k: capture.see(v, Path(("item", value.keywords, k), words=k)) for k, v in value.keywords.items()}
        return value.func, tuple(args), keywords

    def of_class(self, cls: type) -> None:
        """Guards on all that a class of plain data defines: its generated code runs as it is."""
        for owner in cls.__mro__:
            if owner.__module__ in ("builtins", "typing", "abc", "collections.abc") or owner in self._defined:
                continue
            self._defined.add(owner)
            self.capture.findings.reads[Path(("defined", Definitions(owner), ""), words=owner.__qualname__)] = True
            for found in vars(owner).values():
                function = getattr(found, "__func__", found)
                for part in ("__code__", "__defaults__", "__kwdefaults__") * (type(function) is types.FunctionType):
                    self.capture.findings.reads[Path(("id", Path(("attribute", function, part)), ""))] = getattr(
                        function, part
                    )

    # containers
    def _copy(self, value: Any, path: Path) -> Any:
        """A list, dict or tuple of what its elements are seen as."""
        capture = self.capture
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        named = isinstance(value, tuple) and type(value) is not tuple
        self._elements += len(keys)
        if self._elements > MANY or not all(map(is_constant, keys)) or (named and not hasattr(type(value), "_fields")):
            return value
        if getattr(value, "default_factory", None) not in _FACTORIES:
            return value
        if named and (reason := own_code(type(value))) is not None:
            capture.refuse(reason)
        capture.findings.reads[Path(("id", path, ""))] = value
        capture.findings.reads[Path(("keys", value, ""), words=path.words, parent=path)] = tuple(keys)
        copy: Any = [] if isinstance(value, tuple) else _copied(value)
        if not isinstance(value, tuple):
            copy.clear()
        if not isinstance(value, tuple):
            self._copies[id(value)] = (value, copy, [], path)
            self._containers[id(copy)] = value
        for k in keys:
            element = capture.see(value[k], Path(("item", value, k), words=f"{path.words}[{k!r}]", parent=path))
            if isinstance(copy, dict):
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
        value = self.capture.stored.plain(self.capture.generators.plain(value))
        if isinstance(value, Operand):
            caller = getattr(value, "_caller", None)
            return caller if caller is not None else value if value._node is not None else value._value
        if id(value) in self._containers:
            return self._containers[id(value)]
        if type(value) in (types.FunctionType, types.MethodType):
            value = as_stored(value)
            owner = getattr(value, "__self__", None)
            return types.MethodType(value.__func__, self._real[id(owner)]) if id(owner) in self._real else value
        if "__gradscribe_mirror__" in vars(type(value)):
            self.classes.leaves(value)
            return value
        if isinstance(value, type):
            return class_of_mirror(value)
        if type(value) is list:
            value[:] = map(self.plain, value)
        elif type(value) is dict:
            value.update({k: self.plain(v) for k, v in value.items()})
        return tuple(map(self.plain, value)) if type(value) is tuple else value

    def is_handle(self, value: Any) -> bool:
        """Whether a value is a handle or a copy, or a method of one, which no object of the user's may hold."""
        if type(value) is types.MethodType:
            return id(value.__self__) in self._real
        return id(value) in self._real or id(value) in self._containers

    @property
    def done(self) -> bool:
        """Whether the run has stored into an object, or changed a set, that it did not make; copies can be thrown away."""
        return bool(self.stored) or any(tuple(names) != elements for names, elements, _ in self._sets)

    @property
    def changed(self) -> bool:
        """Whether the run has stored into an object, or changed a container, that it did not make."""
        return self.done or any(
            len(now := _contents(copy)) != len(before) or any(a is not b for a, b in zip(now, before, strict=True))
            for _, copy, before, _ in self._copies.values()
        )

    def settle(self) -> None:
        """The run is over: what it did to copies happens to the user's containers, and handles become their objects."""
        self.over = True
        if self.capture.failed is not None:
            put_back(self._real | self._containers)
        if "classes" in vars(self):
            self.classes.settle()
        forgotten = self.capture.abandoned  # then the function runs once more, on the containers as they are
        for container, copy, before, path in () if forgotten else list(self._copies.values()):
            now = _contents(copy)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            self.capture.refuse(f"changes `{path.words}`, a {type(container).__name__} that it did not make", path=path)
            note(container)
            if isinstance(container, dict):
                plain = {k: self.plain(v) for k, v in copy.items()}
                container.clear()
                container.update(plain)
            else:
                container.clear()
                container.extend([self.plain(v) for v in copy])
        for names, elements, path in self._sets:
            if tuple(names) != elements:
                self.capture.refuse(f"changes `{path.words}`, a set that it did not make", path=path)
        for obj, name in self.stored:
            note(obj, name)
            if isinstance(member(type(obj), name), types.MemberDescriptorType):
                setattr(obj, name, self.plain(getattr(obj, name)))
        for obj, handle, had in self._handles.values():
            own = getattr(obj, "__dict__", {})
            for name, value in list(own.items()):
                if had.get(name, ABSENT) is not value:
                    self.capture.refuse(f"stores the attribute `{name}`")
                    note(obj, name)
                    if (plain := self.plain(value)) is not value:
                        own[name] = plain
            if self.capture.failed is not None:
                note_held(obj)
            slots = any(vars(owner).get("__slots__") for owner in type(obj).__mro__)
            if hasattr(obj, "__dict__") and not slots and not isinstance(obj, types.SimpleNamespace):
                with contextlib.suppress(TypeError):  # of another layout: it goes on standing for the object
                    object.__setattr__(handle, "__class__", type(obj))

    def stores(self, obj: Any, name: str, found: Any, value: Any) -> bool:
        """Note that the code stores an attribute, if it is a plain one that it has not read, or read as an array or a number.

        Those are inputs, numbers from the second call on. `found` is what the class has under the name.
        """
        capture = self.capture
        path = Path(("attribute", obj, name))
        now = getattr(obj, name, None)
        number = type(now) is int or is_float(now)  # what changes from call to call becomes an input, as others do
        read = path in self._seen and not number and path not in capture.findings.arrays
        plain = found is ABSENT or isinstance(found, types.MemberDescriptorType) or not hasattr(type(found), "__set__")
        if self.over or capture.failed is not None or read or not plain:
            return False
        if member(type(obj), "__setattr__") is not object.__setattr__:
            return False
        capture.stored.note(Store("attribute", obj, name, f"`{self._words[id(obj)]}.{name}`"), value)
        return True

    # instances
    def handle(self, obj: Any, words: str = "self") -> Any:
        """Return the handle of an instance while the capture runs; objects that cannot be watched stay as they are."""
        known = self._handles.get(id(obj))
        if known is not None:
            return known[1]
        if self.over or watched(obj) is not ABSENT or not watchable(obj):
            return obj
        self._words[id(obj)] = words
        self.capture.findings.reads[Path(("attribute", obj, "__class__"), words=f"{words}.__class__")] = type(obj)
        made = handle_of(self, obj)
        self._handles[id(obj)] = (obj, made, dict(getattr(obj, "__dict__", {})))
        self._real[id(made)] = obj
        return made

    def attribute(self, obj: Any, name: str) -> Any:
        """Return the attribute that code in the capture gets for `obj.name`, found as Python finds it."""
        if self.over:
            return getattr(obj, name)
        cls = type(obj)
        found = member(cls, name)
        if name == "__class__":
            code = sys._getframe(2).f_code
            if code is not type_of.__code__ and (code not in self.capture.findings.codes or _compares(cls, code)):
                return cls
            mirror = self.classes.mirror(cls)
            if mirror is None:
                self.capture.refuse(f"takes the class of a {cls.__name__}")
            return mirror or cls
        if name in _OF_OBJECTS:
            return self._special(obj, name)
        words = f"{self._words[id(obj)]}.{name}"
        path = Path(("attribute", obj, name), words=words)
        stored = self.capture.stored.value(obj, name)
        if stored is not ABSENT and self.capture.failed is None:
            return stored
        self._seen.add(path)
        own = getattr(obj, "__dict__", {})
        if isinstance(found, property):
            return self._computed(obj, found, Path(("attribute", cls, name), words=words), name, obj)
        if name in own and not hasattr(type(found), "__set__"):
            return self.capture.see(own[name], path)
        if found is ABSENT or (isinstance(found, types.MemberDescriptorType) and not hasattr(obj, name)):
            self.capture.findings.reads[Path(("absent", obj, name), words=words)] = True
            return getattr(obj, name)  # raises
        if type(found) is types.FunctionType or hasattr(type(found), "__gradscribe_transform__"):
            return self._bound(obj, found, Path(("method", obj, name), words=words))
        if isinstance(found, functools.cached_property) and is_user_function(found.func) and "__dict__" in dir(obj):
            return self._cached(obj, found, name)
        if isinstance(found, classmethod) and self.classes.mirror(cls) is not None:
            return getattr(self.classes.mirror(cls), name)
        if hasattr(type(found), "__get__") and not isinstance(found, (staticmethod, types.MemberDescriptorType)):
            return self._unfollowed(obj, name, f"reads `{name}` of a {cls.__name__}, a {type(found).__name__}")
        return self.capture.see(getattr(obj, name), path)

    def inherited(self, obj: Any, after: type, name: str) -> Any:
        """Return the attribute `super().name` in a method that `after` defines."""
        found, above = member(type(obj), name, after), builtins.super(after, obj)
        path = Path(("member", (type(obj), after), name), words=f"super().{name}")
        if isinstance(found, property):
            return self._computed(above, found, path, name, obj)
        if type(found) is types.FunctionType:
            return self._bound(obj, found, path)
        if found is not ABSENT and not hasattr(type(found), "__get__"):
            return self.capture.see(found, path)
        mirror = self.classes.mirror(type(obj))
        if mirror is not None and isinstance(found, (classmethod, staticmethod)):
            return self.classes.inherited_by(mirror, after, name)
        return self._unfollowed(above, name, f"reads `{name}` of super(), which is no method")

    def super(self, *args: Any) -> Any:
        """`super()` as methods in the capture see it, or `super(after, first)`."""
        if len(args) == 1:
            self.capture.refuse("calls super() with one argument")
            return builtins.super(self.plain(args[0]))
        frame = sys._getframe(1)
        after, first = args or (frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]])
        after, obj = class_of_mirror(after), watched(first)
        cls = class_of_mirror(first if isinstance(first, type) else type(first)) if obj is ABSENT else type(obj)
        if self.over or not isinstance(after, type) or not issubclass(cls, after):
            return builtins.super(after, first)  # which raises, where it is no instance
        if obj is not ABSENT:
            return _Super(functools.partial(self.inherited, obj, after))
        if self.classes.mirror(cls) is type(first):
            return _Super(functools.partial(self.classes.inherited, first, after))
        if self.classes.mirror(cls) is first:
            return _Super(functools.partial(self.classes.inherited_by, first, after))
        reason = f"calls super() of a {cls.__name__}, whose class it could not notice"
        return _Super(lambda name: self._unfollowed(builtins.super(after, first), name, reason))

    def _bound(self, obj: Any, function: Any, path: Path) -> Any:
        self._followed(function, path)
        self.capture.findings.reads[path] = function
        if type(function) is types.FunctionType:
            self.capture.contexts.add(function.__code__)  # it may store attributes of the handle, which notices them
        return types.MethodType(self.capture.scope.stand_in(function), self.handle(obj))

    def _followed(self, function: Any, path: Path) -> None:
        reason = why_not(function, path.name)
        if reason is not None:
            self.capture.refuse(reason)

    def _computed(self, holder: Any, found: property, path: Path, name: str, obj: Any) -> Any:
        """The value of a property of `obj`, which is read as `holder.name`."""
        self.capture.findings.reads[path] = found
        if is_user_function(found.fget):
            return self._bound(obj, found.fget, Path(("attribute", found, "fget"), words=path.words))()
        return self._unfollowed(holder, name, f"reads `{name}`, a property that it cannot follow")

    def _cached(self, obj: Any, found: Any, name: str) -> Any:
        """A cached property that is read for the first time: stored as Python does, it is an attribute from then on."""
        value = self._bound(obj, found.func, Path(("attribute", found, "func"), words=name))()
        if any(t._node is not None for t in tensors_in(value)):
            self.capture.refuse(f"caches `{name}`, which depends on what is differentiated, in a {type(obj).__name__}")
            vars(obj)[name] = value
        else:
            vars(obj)[name] = self._handles[id(obj)][2][name] = self.plain(value)
            self.capture.postponed = True
        note(obj, name)
        return value

    def _special(self, obj: Any, name: str) -> Any:
        """A special method, which Python looks up on the class."""
        cls = type(obj)
        found = member(cls, name)
        if self.over or type(found) is not types.FunctionType or name in OURS:
            return self._unfollowed(obj, name, f"uses `{name}` of a {cls.__name__}")
        return self._bound(obj, found, Path(("attribute", cls, name), words=f"{self._words[id(obj)]}.{name}"))

    def _unfollowed(self, obj: Any, name: str, reason: str) -> Any:
        if self.over:
            return getattr(obj, name)
        self.capture.refuse(reason)  # first: what the code has stored until now is stored then
        read = reader_of(type(obj), name)  # the user's code, as eager mode runs it
        return self.capture.scope.stand_in(getattr(obj, name) if read is None else read(obj))


class _Super:
    """The result of `super()`: attributes of the classes that come after `cls`."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_read", read)

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, "_read")(name)


def _compares(cls: type, code: types.CodeType) -> bool:
    """Whether code is a comparison that dataclasses wrote, which takes the class to compare it and for nothing else."""
    fields = getattr(cls, "__dataclass_fields__", None)
    return fields is not None and set(code.co_names) <= {"__class__", "NotImplemented", *fields}


def _contents(container: Any) -> list[Any]:
    return [part for pair in container.items() for part in pair] if isinstance(container, dict) else list(container)
