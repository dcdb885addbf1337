"""Instructions of a user's function, read before it runs: its stores, and its questions about objects."""

from __future__ import annotations

import dis
import types
from collections.abc import Container

from ....tracer.core.site import Site, is_generated
from ..frontend.hooks import cached_by_code, instructions
from .failure import Failure

__all__ = ["compares_objects", "only_filled", "only_for_super", "reads_of_others", "refused", "stored_attributes"]

_STORES = {
    "STORE_GLOBAL": "writes the global `{}`", "DELETE_GLOBAL": "deletes the global `{}`",
    "STORE_ATTR": "stores the attribute `{}`", "DELETE_ATTR": "deletes the attribute `{}`",
    "LOAD_BUILD_CLASS": "defines a class",
}  # fmt: skip
_PARTS = frozenset(["__closure__", "__code__", "__globals__", "__defaults__", "__kwdefaults__", "__annotations__"])
_PAST_ATTRIBUTES = ("__setattr__", "__delattr__", "__getattribute__")  # called on `object`, which no handle notices


def refused(
    code: types.CodeType, own: bool, method: bool, outside: tuple[str, ...] = (), into: dict[str, Failure] | None = None
) -> Failure | None:
    """Return why code does what a capture could not notice; `own` tells the function from those in it.

    It may store into what a local variable holds, an object that it has made or the handle of one. `into` gets the names of
    the variables and attributes from outside whose attributes are stored, of a `method` also those of `self`, and what to
    say of it: the capture looks at what they are when they are read. `outside` are the free variables of the function.
    """
    found = instructions(code)
    for k, i in enumerate(found):
        words: str | None = _STORES.get(i.opname)
        if i.argval in _PAST_ATTRIBUTES:
            words = words or "uses `{}`"
        if i.opname == "LOAD_ATTR" and i.argval in _PARTS:
            words = "reads `{}`"
        if i.opname == "LOAD_ATTR" and i.argval == "__class__" and _asks_a_value(code, found[k - 1]):
            words = "reads `{}`, which is that of a Tensor where a value is traced; type(x) is known"
        if i.opname == "STORE_ATTR" and into is not None:
            holder = _holder(found, k, outside, code.co_varnames[0] if method else None)
            if holder is not None:
                line = i.positions.lineno if i.positions and i.positions.lineno else code.co_firstlineno
                into.setdefault(holder, Failure(str(words).format(i.argval), Site(code, i.offset, line)))
            if holder is not None or "LOAD_FAST" in found[_loaded(found, k)].opname:
                words = None
        if i.opname == "STORE_DEREF" and own and i.argval in code.co_freevars:
            words = "writes the enclosing variable `{}`"
        if words is not None:
            line = i.positions.lineno if i.positions and i.positions.lineno else code.co_firstlineno
            return Failure(words.format(i.argval), Site(code, i.offset, line))
    return None


def _asks_a_value(code: types.CodeType, loaded: dis.Instruction) -> bool:
    """Whether the class of a local value is asked for, which may be a number, and not that of `self`."""
    local = loaded.opname.startswith("LOAD_FAST") and loaded.argval != (code.co_varnames or ("",))[0]
    return local and not is_generated(code)


def _loaded(found: tuple[dis.Instruction, ...], k: int) -> int:
    """Return the place of the instruction that loaded the object into which `k` stores, also for `self.n += 1`."""
    if found[k - 1].opname == "SWAP":
        name = found[k].argval
        reads = (j for j in range(k - 1, 1, -1) if found[j].argval == name and found[j - 1].opname == "COPY")
        k = next(reads, 1) - 1
    return k - 1


def _holder(found: tuple[dis.Instruction, ...], k: int, outside: tuple[str, ...], first: str | None) -> str | None:
    """The name by which what instruction `k` stores into was read, of things from outside: `f`, `c` of `self.b.c`."""
    last = j = _loaded(found, k)
    while j > 0 and found[j].opname == "LOAD_ATTR":
        j -= 1
    root = found[j]
    if root.opname == "LOAD_GLOBAL" or (root.opname == "LOAD_DEREF" and root.argval in outside):
        return str(found[last].argval)
    if j < last and root.opname.startswith("LOAD_FAST") and root.argval == first:
        return str(found[last].argval)
    return None


@cached_by_code(256)
def stored_attributes(code: types.CodeType) -> frozenset[str]:
    """The names of the attributes that code stores."""
    return frozenset(i.argval for i in instructions(code) if i.opname == "STORE_ATTR")


def reads_of_others(code: types.CodeType, name: str, into: Container[str]) -> bool:
    """Whether code reads an attribute of anything but what stands under the names `into`."""
    found = instructions(code)
    for k, i in enumerate(found):
        if i.argval == name and i.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            before = found[k - 1] if found[k - 1].opname != "COPY" else found[k - 2]
            if before.argval not in into:
                return True
    return False


_LISTS = ("append", "extend", "insert", "appendleft")


@cached_by_code(256)
def only_filled(code: types.CodeType, name: str) -> tuple[bool, bool]:
    """Whether code does nothing with what stands under a name but `n.append(v)`, `n[k] = v` and the like; and whether it does.

    The name is that of a global, of an enclosing variable, or of an attribute.
    """
    found, fills = instructions(code), False
    for k, i in enumerate(found):
        if i.argval != name or i.opname not in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD"):
            continue
        after = found[k + 1 : k + 3]
        called = after and after[0].opname in ("LOAD_ATTR", "LOAD_METHOD") and after[0].argval in _LISTS
        simple = len(after) == 2 and after[0].opname in ("LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF") + _LOCALS
        if not called and not (simple and after[1].opname == "STORE_SUBSCR"):
            return False, True
        fills = True
    return True, fills


_LOCALS = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_SMALL_INT")


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
