"""Failures: why a function runs eagerly, and the line of the user's code that is the reason."""

from __future__ import annotations

import dis
import re
import types
from collections.abc import Iterable
from typing import NamedTuple

from ....tracer.core.site import Site, definition
from ...user_code.scope import Path, all_code

__all__ = ["Failure", "instead", "read_at", "reading"]


class Failure(NamedTuple):
    """Why a function cannot be compiled, and where."""

    reason: str
    site: Site | None
    passing: bool = False  # whether it holds for this call alone: a test has put something in a library's place

    def __str__(self) -> str:
        return f"{self.site}: it {self.reason}" if self.site else f"it {self.reason}"


def reading(function: types.FunctionType, name: str) -> Site | None:
    """The first place where a function, or one defined in it, reads the enclosing variable `name`."""
    for code in all_code(function.__code__):
        for i in dis.get_instructions(code):
            reads = i.opname.startswith("LOAD_") and i.opname not in ("LOAD_CLOSURE", "LOAD_CONST")
            if reads and i.argval == name and i.positions and i.positions.lineno:
                return Site(code, i.offset, i.positions.lineno)
    return None


_READS = {
    "global": ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"),
    "cell": ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
    "attribute": ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"),
}


def read_at(path: Path, codes: Iterable[types.CodeType]) -> Site | None:
    """The first line in `codes` that reads what stands at `path`; of a function's own parts, its definition."""
    while path.parent is not None:
        path = path.parent
    kind, holder, name = path
    if isinstance(holder, types.FunctionType) and name.startswith("__"):
        return definition(holder)
    home = holder.get("__file__") if isinstance(holder, dict) else None
    for code in sorted(codes, key=lambda c: (c.co_filename != home, c.co_filename, c.co_firstlineno)):
        for i in dis.get_instructions(code):
            if (
                i.opname in _READS.get(kind, _READS["attribute"])
                and i.argval == name
                and i.positions
                and i.positions.lineno
            ):
                return Site(code, i.offset, i.positions.lineno)
    return None


_INSTEAD = (
    ("changes tensors in place", "make the optimizer without tensors, and let the function return what it updates"),
    ("specialisations already", "pass what varies as arrays or floats, or raise max_specialisations"),
    ("report it|another result compiled", "please report it"),
    ("turns a traced float", "stay within NumPy in place of taking the number"),
    ("comes after an effect", "np.where in place of `if`; else decide, and print, outside the function"),
    ("one generator of", "read it in one place alone"),
    ("random|Generator|whose result differs", "draw the numbers outside, and pass them as arguments"),
    ("prints a traced|formats a traced|hash|key of a dict", "make text and keys of values outside the function"),
    ("takes .* traced|hands a traced|flags of a traced|pickles a traced|grad mode", "stay within NumPy, or do it outside"),
    ("writes in place", "write into an array made inside (y = x.copy())"),
    ("`where=`", "np.where(condition, new, old)"),
    ("stores the|changes `|deletes the|writes the", "return the value, and store it after the call"),
    ("subclass of ndarray|array of dtype", "pass a plain array of numbers in native byte order (np.asarray)"),
    ("a Tensor;", "pass arrays"),
    ("called with a .* of .*; pass|read .* once, outside", ""),
    ("called with a function", "pass a plain function"),
    ("called with a", "pass its arrays and numbers, also in a dict, list, tuple or dataclass"),
    ("unknown origin|could not notice|does not look into|does not follow|has a default", "pass it as an argument"),
    ("attributes of its own|could change unseen|class|partial", "pass what it holds as arguments, to a plain function"),
    ("apart|pickles|^uses `__|^reads `.* of a |super\\(\\)", "use plain methods, properties and functions"),
    ("hook|version counter", "compile without it"),
    ("not an op that|an op that gs.op", "write it with NumPy functions that have a rule here"),
    ("catches errors", "test for the error before, or catch it outside"),
    ("parameters whose names", "give the parameters other names"),
    ("reaches outside|setting of NumPy|^calls `", "leave it outside the function, or do it after the call"),
)  # fmt: skip


def instead(failure: Failure) -> str:
    """Return the remedy for a function that runs eagerly for this reason; may be empty."""
    return next((words for pattern, words in _INSTEAD if re.search(pattern, failure.reason)), "")
