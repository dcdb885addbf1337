"""Why a function runs eagerly, and the line of the user's code that is the reason."""

from __future__ import annotations

import dis
import linecache
import re
import types
from typing import Any, NamedTuple

from ...tracer.site import Site
from ..scope import all_code

__all__ = ["Failure", "definition", "reading"]


class Failure(NamedTuple):
    """Why a function cannot be compiled, and where."""

    reason: str
    site: Site | None

    def __str__(self) -> str:
        return f"{self.site}: it {self.reason}" if self.site else f"it {self.reason}"


def definition(function: Any) -> Site | None:
    """Where a function (or the function under transforms of it) is defined: the line of its `def`."""
    while not isinstance(function, types.FunctionType):
        for inner in ("function", "func", "__func__"):  # our transforms, functools.partial, methods
            if hasattr(function, inner):
                function = getattr(function, inner)
                break
        else:
            function = getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted
            if not isinstance(function, types.FunctionType):
                return None
    code = function.__code__
    line = code.co_firstlineno  # that of the first decorator
    for k in range(line, line + 50):
        if re.match(r"\s*(async\s+)?def\b", linecache.getline(code.co_filename, k)):
            return Site(code, 0, line if code.co_name == "<lambda>" else k)
    return Site(code, 0, line)


def reading(function: types.FunctionType, name: str) -> Site | None:
    """The first place where a function, or one defined in it, reads the enclosing variable `name`."""
    for code in all_code(function.__code__):
        for i in dis.get_instructions(code):
            reads = i.opname.startswith("LOAD_") and i.opname not in ("LOAD_CLOSURE", "LOAD_CONST")
            if reads and i.argval == name and i.positions and i.positions.lineno:
                return Site(code, i.offset, i.positions.lineno)
    return None
