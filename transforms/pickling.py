"""Pickles of transforms: by name, by their parts, or in cloudpickle's bytes."""

from __future__ import annotations

import functools
import importlib
import io
import linecache
import pickle
import sys
import types
from _thread import _local  # threading.local: the rest of threading is slow to import
from typing import Any

__all__ = ["packed", "reduced", "unpacked"]

_HOMES = ("cloudpickle", "joblib.externals.cloudpickle")  # joblib brings one along


class _Within(_local):
    """Whether this thread is writing cloudpickle's bytes of a transform."""

    bytes = False


_within = _Within()


def reduced(transform: Any) -> Any:
    """Return the result of a transform's `__reduce__`.

    What bears its name in a module goes by this name, and what can be imported goes by its parts. All else, and what stands in
    `__main__`, which is another module in each process, goes as cloudpickle writes it, which takes functions along.
    """
    name = getattr(transform, "__qualname__", "")  # a partial has none
    named = bool(name) and _found(transform.__module__, name) is transform
    if named and not _travels(transform.__module__):
        return name
    if _within.bytes:  # a function may name the transform that was made of it: so it is there before its parts are
        return _blank, (type(transform),), (transform.function, transform.options), None, None, _fill
    parts = _remade, (type(transform), transform.function, transform.options)
    if not named and _problem(parts, _Importable) is None:
        return parts
    if _carrier() is not None:
        return unpacked, packed(transform, _name_of(transform))
    if named:
        return name
    problem = _problem(parts, pickle.Pickler)
    if problem is None:
        return parts
    if hasattr(transform.function, "__gradscribe_transform__"):  # which has said it
        raise problem
    raise pickle.PicklingError(
        f"gs.{transform.kind} of {name or transform.function!r} cannot be pickled, because the function cannot: {problem}. "
        "Define the function at the top level of a module, or install cloudpickle (pip install cloudpickle), with which "
        "gradscribe sends functions as they are."
    )


def _found(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _travels(module: str) -> bool:
    """Whether the functions of a module are not to be imported where they arrive."""
    if module == "__main__":
        return True
    homes = [sys.modules.get(home) for home in _HOMES]
    told = {name for home in homes if home is not None for name in home.list_registry_pickle_by_value()}
    return any(module == name or module.startswith(f"{name}.") for name in told)


class _Importable(pickle.Pickler):
    """Refuses what would be looked for in `__main__`."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (types.FunctionType, type)) and _travels(obj.__module__):
            raise pickle.PicklingError(f"{obj.__qualname__} stands in {obj.__module__}")
        return NotImplemented


def _problem(parts: Any, pickler: type[pickle.Pickler]) -> Exception | None:
    """Why a pickler cannot write this; arrays are not copied for the question."""
    try:
        pickler(io.BytesIO(), protocol=5, buffer_callback=lambda _: None).dump(parts)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return error
    return None


def _carrier() -> Any:
    """The Pickler of cloudpickle, or None; one that is installed while Python runs is found."""
    for home in _HOMES:
        try:
            return _carrier_of(importlib.import_module(home))
        except ImportError:
            continue
    return None


@functools.cache
def _carrier_of(module: types.ModuleType) -> Any:
    """A Pickler of cloudpickle that also notes in which files the functions stand that it takes along."""

    class Carrier(module.Pickler):  # type: ignore[name-defined]
        def __init__(self, file: Any) -> None:
            super().__init__(file)
            self.files: set[str] = set()

        def reducer_override(self, obj: Any) -> Any:
            if type(obj) is types.CodeType:  # cloudpickle 3.1.3 gives it the name of no file, and so no source
                return _in_file, (*self.dispatch_table[types.CodeType](obj), obj.co_filename)
            made = super().reducer_override(obj)
            if type(obj) is types.FunctionType and made is not NotImplemented:
                self.files.add(obj.__code__.co_filename)
            return made

    return Carrier


def packed(thing: Any, what: str) -> tuple[bytes, dict[str, str]]:
    """Return a thing in cloudpickle's bytes, and the text of its functions' files: who has no such file compiles from that."""
    carrier_of = _carrier()
    if carrier_of is None:
        raise pickle.PicklingError(f"{what} travels by cloudpickle, which is not installed: pip install cloudpickle")
    file = io.BytesIO()
    carrier = carrier_of(file)
    _within.bytes = True
    try:
        carrier.dump(thing)
    except Exception as error:
        raise pickle.PicklingError(
            f"{what} cannot be pickled: the function holds what cannot be sent to another process: {error}"
        ) from error
    finally:
        _within.bytes = False
    texts = {name: "".join(linecache.getlines(name)) for name in sorted(carrier.files)}
    return file.getvalue(), {name: text for name, text in texts.items() if text}


def unpacked(data: bytes, texts: dict[str, str]) -> Any:
    """Return the thing of such bytes; a file that reads otherwise here, of another version, is not what the code was made of."""
    for name, text in texts.items():
        if "".join(linecache.getlines(name)) != text:
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return pickle.loads(data)


def _name_of(transform: Any) -> str:
    return f"gs.{transform.kind} of {getattr(transform, '__qualname__', transform.function)!r}"


def _in_file(make: Any, args: tuple[Any, ...], filename: str) -> types.CodeType:
    """A code object, of the file that it was written in."""
    return make(*args).replace(co_filename=filename)  # type: ignore[no-any-return]


def _blank(cls: Any) -> Any:
    return cls.__new__(cls)


def _fill(transform: Any, parts: tuple[Any, dict[str, Any]]) -> None:
    transform.__init__(*parts)


def _remade(cls: Any, function: Any, options: dict[str, Any]) -> Any:
    return cls(function, options)
