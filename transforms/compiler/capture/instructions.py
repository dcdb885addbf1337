"""What the instructions of a user's function say before it runs: what it stores, and what it asks about objects."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

from ....tracer.site import Site
from ..failure import Failure

__all__ = ["compares_objects", "only_for_super", "refused"]

_STORES = {
    "STORE_GLOBAL": "writes the global `{}`", "DELETE_GLOBAL": "deletes the global `{}`",
    "STORE_ATTR": "stores the attribute `{}`", "DELETE_ATTR": "deletes the attribute `{}`",
    "LOAD_BUILD_CLASS": "defines a class",
}  # fmt: skip
_PARTS = frozenset(["__closure__", "__code__", "__globals__", "__defaults__", "__kwdefaults__", "__annotations__"])
_PAST_ATTRIBUTES = ("__setattr__", "__delattr__", "__getattribute__")  # called on `object`, which no handle notices


@functools.lru_cache(256)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of one code object."""
    return tuple(dis.get_instructions(code))


def refused(code: types.CodeType, own: bool, method: bool) -> Failure | None:
    """What a capture could not notice; `own` tells the function from those in it, `method` that it may store into `self`."""
    found = instructions(code)
    for k, i in enumerate(found):
        words = _STORES.get(i.opname)
        if i.argval in _PAST_ATTRIBUTES:
            words = words or "uses `{}`"
        if i.opname == "LOAD_ATTR" and i.argval in _PARTS:
            words = "reads `{}`"
        if i.opname == "STORE_ATTR" and method and _into(found, k) == code.co_varnames[0]:
            words = None
        if i.opname == "STORE_DEREF" and own and i.argval in code.co_freevars:
            words = "writes the enclosing variable `{}`"
        if words is not None:
            line = i.positions.lineno if i.positions and i.positions.lineno else code.co_firstlineno
            return Failure(words.format(i.argval), Site(code, i.offset, line))
    return None


def _into(found: tuple[dis.Instruction, ...], k: int) -> Any:
    """The variable whose attribute instruction `k` stores: what was loaded last, or before `self.n += 1` began."""
    if found[k - 1].opname == "SWAP":
        name = found[k].argval
        reads = (j for j in range(k - 1, 1, -1) if found[j].argval == name and found[j - 1].opname == "COPY")
        k = next(reads, 1) - 1
    loaded = found[k - 1].argval
    return loaded[-1] if isinstance(loaded, tuple) and loaded else loaded


def compares_objects(code: types.CodeType) -> bool:
    """Whether code asks `a is b` of two things, neither of which is a constant."""
    found = instructions(code)
    return any(i.opname == "IS_OP" and found[k - 1].opname != "LOAD_CONST" for k, i in enumerate(found))


def only_for_super(code: types.CodeType) -> bool:
    """Whether a method reads `__class__`, the class that it is defined in, for `super()` alone."""
    before = None
    for i in instructions(code) if "__class__" in code.co_freevars else ():
        if i.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and i.argval == "__class__" and before != "super":
            return False
        before = i.argval
    return True
