"""The user's function as it travels: in bytes, with all that it reads from outside, told from others by their digest."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import pickle
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..tracer.core.site import is_ours, library_of
from ..transforms.compiler.driver.compiled import Compiled
from ..transforms.pickling import packed, unpacked
from ..transforms.transform import Transform
from ..transforms.trees import flatten, unflatten

__all__ = ["Box", "Program", "Running", "running"]

_PROGRAMS = 8  # that a worker remembers
_lock = threading.Lock()
_known: OrderedDict[str, Running] = OrderedDict()
_registering = threading.RLock()


class Box:
    """A value that Dask passes on as it is, without looking for tasks in it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return Box, (self.value,)

    def __dask_tokenize__(self) -> Any:
        return id(self)  # the keys beside it are unique, and a digest of its content takes time


class Program:
    """A transform of the user's function, the trees of its arguments, and how its shards are taken: in bytes."""

    data: bytes
    texts: dict[str, str]
    digest: str

    def __init__(self, transform: Any, trees: list[Any], options: dict[str, Any]) -> None:
        name = f"{transform.kind} of {getattr(transform, '__qualname__', transform.function)!r}"
        self.data, self.texts = _by_value((transform, trees, options), name)
        self.digest = hashlib.sha256(self.data).hexdigest()


def _by_value(thing: Any, name: str) -> tuple[bytes, dict[str, str]]:
    """Return the bytes of a thing: what stands in the user's modules goes along, since workers may have others, or none."""
    transform, trees, options = thing
    home, others = _user_modules([transform.function, *trees, options["weight"]])
    try:
        with _sent(home | others):
            return packed(thing, f"gs.distributed.{name}")
    except pickle.PicklingError:
        if not others:
            raise
    with _sent(home):  # the workers import the others
        return packed(thing, f"gs.distributed.{name}")


@contextlib.contextmanager
def _sent(modules: set[str]) -> Iterator[None]:
    """Let cloudpickle send what stands in these modules, in place of its name."""
    cloudpickle = importlib.import_module("cloudpickle")
    with _registering:
        new = modules - cloudpickle.list_registry_pickle_by_value() - {"__main__"}
        new = {name for name in new if name in sys.modules}
        for name in new:
            cloudpickle.register_pickle_by_value(sys.modules[name])
        try:
            yield
        finally:
            for name in new:
                cloudpickle.unregister_pickle_by_value(sys.modules[name])


def _user_modules(things: list[Any]) -> tuple[set[str], set[str]]:
    """Return the module of the first of some functions, and the user's other modules that they reach by the names they read."""
    home: set[str] = set()
    others: set[str] = set()
    seen: set[int] = set()
    left = things[::-1]
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.ModuleType):
            if _is_users(value.__name__):
                others.add(value.__name__)
            continue
        while isinstance(value, (Transform, functools.partial)):
            if isinstance(value, functools.partial):
                left += [*value.args, *value.keywords.values()]
            value = value.func if isinstance(value, functools.partial) else value.function
        if isinstance(value, types.MethodType):
            left += [value.__func__, value.__self__]
        elif isinstance(value, types.FunctionType):
            if not home and not is_ours(value.__code__.co_filename):
                home.add(value.__module__)
            elif _is_users(value.__module__):
                others.add(value.__module__)
            left += _read_by(value)
        elif isinstance(value, type):
            if _is_users(value.__module__):
                others.add(value.__module__)
                left += [v for v in vars(value).values() if isinstance(v, (types.FunctionType, type))]
        elif _is_users(type(value).__module__):
            left += [type(value), *getattr(value, "__dict__", {}).values()]
    return home, others - home


def _read_by(function: types.FunctionType) -> list[Any]:
    """Return what a function reads from outside: globals, attributes of modules among them, closures, defaults."""
    found = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty yet
            found.append(cell.cell_contents)
    names = set(_names(function.__code__))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [v for v in values if isinstance(v, types.ModuleType) and _is_users(v.__name__)]
    return found + values + [vars(module)[name] for module in modules for name in names if name in vars(module)]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_users(name: Any) -> bool:
    """Whether a module is the user's, not one of a library that workers have, too."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return bool(file) and not is_ours(str(file)) and library_of(str(file)) is None


class _Noted(Compiled):
    """A compiled function on a worker: what it warns of is told to who asked, whose screen it is."""

    notes: list[str]

    def _warn(self, message: str) -> None:
        if message not in self.notes:
            self.notes.append(message)


class Running:
    """A program where it runs: compiled once for each signature."""

    def __init__(self, transform: Transform, trees: list[Any], options: dict[str, Any]) -> None:
        self.transform, self.trees, self.options = transform, trees, options
        self.function: Callable[..., Any] = self.transform
        self.notes: list[str] = []
        if self.options["compile"] is not None:
            compiled = _Noted(self.transform, self.options["compile"])
            compiled.notes = self.notes
            self.function = compiled
        self._structures = [flatten(tree) for tree in self.trees]
        self._signatures: set[Any] = set()
        self._lock = threading.Lock()

    def arguments(self, leaves: list[list[Any]]) -> list[Any]:
        """Return the arguments of the function, of the leaves of each."""
        trees = zip(self._structures, leaves, strict=True)
        return [unflatten(structure, given) for (_, structure), given in trees]

    def __call__(self, leaves: list[list[Any]]) -> Any:
        """Call the function; of the threads that bring a new signature one compiles, and the others wait."""
        signature = tuple([_signature(leaf) for given in leaves for leaf in given])
        if signature in self._signatures:
            return self.function(*self.arguments(leaves))
        with self._lock:
            found = self.function(*self.arguments(leaves))
            self._signatures.add(signature)
        return found


def _signature(leaf: Any) -> Any:
    return (getattr(leaf, "shape", None), str(getattr(leaf, "dtype", type(leaf))), getattr(leaf, "strides", None))


def running(program: Program) -> Running:
    """Return a program as it runs on this worker."""
    with _lock:
        found = _known.get(program.digest)
        if found is None:
            found = _known[program.digest] = Running(*unpacked(program.data, program.texts))
            while len(_known) > _PROGRAMS:
                _known.popitem(last=False)
        _known.move_to_end(program.digest)
    return found
