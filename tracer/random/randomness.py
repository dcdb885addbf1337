"""Random states that a function may draw from: noted before it runs, and set back so that it draws the same numbers again."""

from __future__ import annotations

import contextlib
import random
import types
from collections.abc import Iterator
from typing import Any

from ...unpatched import np
from .generator import current

__all__ = ["GENERATORS", "as_drawn", "random_states", "read_by"]

GENERATORS: Any = (np.random.Generator, np.random.RandomState, random.Random)


@contextlib.contextmanager
def as_drawn(states: list[tuple[Any, Any]]) -> Iterator[None]:
    """Random numbers come as they came then, and go on afterwards as if none had been drawn."""
    now = [(source, source[0]()) for source, _ in states]
    try:
        for (_, put), state in states:
            put(state)
        yield
    finally:
        for (_, put), state in now:
            put(state)


def random_states(function: Any, given: list[Any]) -> list[tuple[Any, Any]]:
    """The states of the global generators, of those `given` and of what the function reads: each as ((get, set), state)."""
    given = [value for value in (current(), *given, *read_by(function)) if isinstance(value, GENERATORS)]
    sources: list[tuple[Any, Any]] = [
        (np.random.get_state, np.random.set_state), (random.getstate, random.setstate)
    ]  # fmt: skip
    for g in {id(g): g for g in given}.values():
        if isinstance(g, np.random.Generator):
            bits = g.bit_generator
            sources.append((lambda bits=bits: bits.state, lambda state, bits=bits: setattr(bits, "state", state)))
        elif isinstance(g, np.random.RandomState):
            sources.append((g.get_state, g.set_state))
        else:
            sources.append((g.getstate, g.setstate))
    return [(source, source[0]()) for source in sources]


def read_by(function: Any) -> list[Any]:
    """Return the values that a function reads from outside: closure, defaults, globals, and the attributes of its `self`."""
    found: list[Any] = []
    if isinstance(function, types.MethodType):
        found += vars(function.__self__).values() if hasattr(function.__self__, "__dict__") else ()
        function = function.__func__
    if isinstance(function, types.FunctionType):
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):
                found.append(cell.cell_contents)
        found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        space = getattr(function.__globals__, "real", function.__globals__)  # a transform's stand before the real ones
        found += [space[n] for n in function.__code__.co_names if n in space]
    return found
