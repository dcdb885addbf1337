"""Functions as they stand: what the variables around a function hold now, for a backward that runs later."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

from ...runtime.errors import GradientLossError
from .site import blame

__all__ = ["Standing", "as_it_stands", "stored_around"]


def as_it_stands(function: Any) -> Any:
    """Return a function that a later change of the variables around it does not reach: `for k in ...: f(lambda v: v * k)`.

    So do the functions that it reads from such variables. Variables that one of them stores into (`nonlocal`) stay shared.
    """
    if type(function) is functools.partial:
        return functools.partial(as_it_stands(function.func), *function.args, **function.keywords)
    if type(function) is not types.FunctionType or not function.__closure__:
        return function
    shared: set[int] = set()
    _reach(function, shared, {})
    return _copied(function, shared, {})


class Standing:
    """The variables that a user's function reads around it, so that a later run can tell whether it would read others."""

    __slots__ = ("held",)

    def __init__(self, function: Any) -> None:
        self.held: list[tuple[str, types.CellType, Any]] = []
        function = getattr(function, "__func__", function)
        if type(function) is types.FunctionType and function.__closure__:
            shared: set[int] = set()
            seen: dict[int, Any] = {}
            _reach(function, shared, seen)
            self.held = [
                (name, cell, _held(cell))
                for inner in seen.values()
                for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True)
                if id(cell) not in shared and _held(cell) is not _UNBOUND
            ]

    def check(self, what: str) -> None:
        """Raise GradientLossError where a variable has changed since: `what` would give the derivative of another function."""
        for name, cell, before in self.held:
            now = _held(cell)
            if now is not before and not (type(now) is type(before) and type(now) in _PLAIN and now == before):
                raise blame(
                    GradientLossError(
                        f"{what} reads `{name}`, which has changed since the call that it is the derivative of: the gradient "
                        f"would be another function's. Bind it where the function is made ({name}={name} among its "
                        "arguments, or a function that makes it), or pass it."
                    )
                )


_PLAIN = frozenset([int, float, complex, bool, str])


def _reach(function: types.FunctionType, stored: set[int], seen: dict[int, Any]) -> None:
    """Add the variables that a function, or one that it reads, stores into."""
    if id(function) in seen:
        return
    seen[id(function)] = function
    own = stored_around(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in own:
            stored.add(id(cell))
        elif type(inner := _held(cell)) is types.FunctionType:
            _reach(inner, stored, seen)


def _copied(function: types.FunctionType, shared: set[int], made: dict[int, Any]) -> types.FunctionType:
    if id(function) in made:
        return made[id(function)]  # type: ignore[no-any-return]
    cells = function.__closure__ or ()
    kept = [c if id(c) in shared or _held(c) is _UNBOUND else types.CellType() for c in cells]
    code, space = function.__code__, function.__globals__
    copy = types.FunctionType(code, space, function.__name__, function.__defaults__, tuple(kept) if cells else None)
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__module__,
    )
    copy.__dict__, copy.__doc__, copy.__annotations__ = function.__dict__, function.__doc__, function.__annotations__
    made[id(function)] = copy
    for cell, new in zip(cells, kept, strict=True):
        if new is not cell:
            value = _held(cell)
            has = type(value) is types.FunctionType and value.__closure__
            new.cell_contents = _copied(value, shared, made) if has else value
    return copy


_UNBOUND = object()


def _held(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNBOUND


@functools.lru_cache(1024)
def stored_around(code: types.CodeType) -> tuple[str, ...]:
    """The variables of enclosing functions that code, or a function within it, assigns to or deletes."""
    stored, parts = set(), [code]
    for part in parts:
        stored |= {i.argval for i in dis.get_instructions(part) if i.opname in ("STORE_DEREF", "DELETE_DEREF")}
        parts += [c for c in part.co_consts if isinstance(c, types.CodeType)]
    return tuple([n for n in code.co_freevars if n in stored])
