"""Reachability of a loop, a branch or a size from a function. Where none can be reached, nothing is converted."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from ...user_code.scope import all_code, is_user_class, is_user_function
from ..frontend.functions import has_control_flow

__all__ = ["reaches_control_flow", "reaches_sizes"]

_FAR = 200  # so many functions are looked at
_LOOPING = frozenset(["fixed_point"])  # what of ours loops
_SIZES = frozenset(["shape", "size", "len", "nbytes", "strides"])


def reaches_control_flow(function: Any) -> bool:
    """Whether the code of a function, or of what it names, can jump. Names are looked up, nothing is run."""
    return _reaches(function, lambda f: has_control_flow(f.__code__) or not _LOOPING.isdisjoint(_names_in(f)))


def reaches_sizes(function: Any) -> bool:
    """Whether a function, or what it names, asks for lengths."""
    return _reaches(function, lambda f: not _SIZES.isdisjoint(_names_in(f)))


def _reaches(function: Any, does: Callable[[types.FunctionType], bool]) -> bool:
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < _FAR:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for found in _functions_of(value):
            if does(found):
                return True
            waiting += _named_by(found)
    return len(seen) >= _FAR


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    """The user's functions that a value is, or whose methods it may run."""
    while hasattr(type(value), "__gradscribe_transform__"):
        value = value.function
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _functions_of(part)
    elif isinstance(value, types.MethodType):
        yield from _functions_of(value.__func__)
        yield from _functions_of(value.__self__)
    elif is_user_function(value):
        yield value
    elif isinstance(value, (list, tuple)) and len(value) < _FAR:
        for part in value:
            yield from _functions_of(part) if callable(part) else ()
    else:
        cls = value if isinstance(value, type) else type(value)
        if is_user_class(cls):
            for owner in cls.__mro__:
                for member in vars(owner).values():
                    found = getattr(member, "fget", None) or getattr(member, "__func__", member)
                    if is_user_function(found):
                        yield found


def _names_in(function: types.FunctionType) -> set[str]:
    return {name for code in all_code(function.__code__) for name in code.co_names}


def _named_by(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the names that a function reads."""
    names = _names_in(function)
    space = function.__globals__
    for name in names:
        value = space.get(name)
        if isinstance(value, types.ModuleType):
            yield from (vars(value)[n] for n in names if is_user_function(vars(value).get(n)))
        elif value is not None:
            yield value
    for cell in (function.__closure__ or (), *[function.__defaults__ or ()]):
        for one in cell:
            try:
                yield one.cell_contents if isinstance(one, types.CellType) else one
            except ValueError:
                continue
