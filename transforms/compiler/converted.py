"""gs.converted: a function as it is while it is captured, its loops and branches as functions, to print."""

from __future__ import annotations

import functools
import linecache
import types
from typing import TYPE_CHECKING, Any

from ...tracer.core.site import pruned
from .frontend.functions import conversion
from .frontend.hooks import cached_by_code
from .frontend.operators import CONTROL
from .python.printer import note, section, to_source
from .source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["converted"]


@pruned
def converted(function: Callable[..., Any]) -> Source:
    """The source of `function` with its control flow converted, as it runs while gradscribe captures it.

    Each body of a loop and each branch is a function that takes the variables it changes and returns them; `__gs__` holds
    the operators that run them: as Python would, or once to be kept as a loop where a condition or a bound is traced. Above each
    stands the line it was made from. The text is that of the code that runs, and parses. A function that stays as it is
    gives one comment, which says why. Takes functions, methods, and what gradscribe's transforms made of them; TypeError
    for what has no Python code.

    >>> import gradscribe as gs
    >>> generator = eval("lambda: (yield)")
    >>> print(gs.converted(generator))
    # <lambda> stays as it is: it is a generator or a coroutine
    """
    plain = _plain(function)
    made = conversion(plain.__code__)
    if made.code is None:
        return Source(f"# {plain.__qualname__} stays as it is: {made.reason}")
    return _shown(plain.__code__)


def _plain(function: Any) -> types.FunctionType:
    """The Python function behind a method, a partial, or a transform."""
    found = function
    while type(found) is not types.FunctionType:
        if hasattr(type(found), "__gradscribe_transform__"):
            found = found.function
        elif isinstance(found, functools.partial):
            found = found.func
        elif isinstance(found, types.MethodType):
            found = found.__func__
        elif isinstance(call := getattr(type(found), "__call__", None), types.FunctionType):  # noqa: B004  # its class says
            found = call
        else:
            raise TypeError(f"gs.converted takes a function in Python, not {type(function).__name__}: {function!r}")
    return found


@cached_by_code(64)
def _shown(code: types.CodeType) -> Source:
    import gast  # loaded by the conversion

    tree = conversion(code).tree
    if not isinstance(tree, gast.FunctionDef):
        return Source(to_source(tree))
    for node in gast.walk(tree):
        if (line := getattr(node, "gs_of", None)) is not None:
            note(node, linecache.getline(code.co_filename, line).strip(), above=True)
    section(tree, f"{CONTROL}: the operators, which run these functions as Python would, or keep them")
    return Source(to_source(tree))
