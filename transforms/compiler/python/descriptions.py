"""Descriptions in words: of the values that a function takes and gives, and of what it computes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from ....runtime.ir.graph import Value
from ....tracer.core.site import Site
from ..schedule.signature import children

__all__ = ["describe", "purpose_of"]

_Lengths = Callable[[Value], "list[str] | None"]  # what the lengths of an array are called

_ADDRESS: Any = object.__repr__  # says where in memory a thing is, which varies from run to run
_MANY = 4  # parts of one kind which are described one by one where their lengths have other letters
_OF = {
    "grad": "gradient of {}", "value_and_grad": "value and gradient of {}", "jacobian": "Jacobian of {}",
    "hessian": "Hessian of {}", "hvp": "Hessian of {} times a vector", "jvp": "value and directional derivative of {}",
    "slope": "gradient of {} along a vector", "vmap": "{} for each example",
}  # fmt: skip


def purpose_of(function: Any, place: Site | None) -> str:
    """What a function computes: the first line of its docstring, else where it stands; and which transforms of it."""
    kinds = []
    while hasattr(type(function), "__gradscribe_transform__"):
        kinds += [function.kind] if function.kind in _OF else []
        function = function.function
    name = getattr(function, "__name__", type(function).__name__)
    whole = f"`{name}`" if name.isidentifier() else "the lambda" if name == "<lambda>" else "a function"
    for kind in reversed(kinds):
        whole = _OF[kind].format(whole)
    whole = whole[:1].upper() + whole[1:]
    said = (inspect.getdoc(function) or "").partition("\n")[0].strip() if inspect.isroutine(function) else ""
    if said and not inspect.isbuiltin(function):
        return f"{whole}: {said}" if kinds else said
    return f"{whole}, {place}." if place is not None else f"{whole}."


def describe(tree: Any, lengths_of: _Lengths | None = None) -> str:
    """A value in words: of an array its dtype, and its lengths where they have names, else how many axes it has."""
    if isinstance(tree, Value):
        kind, dtype = tree.type.kind, tree.type.dtype.name
        if kind == "generator":
            return "a random generator"
        if tree.element is not None:
            return f"a list of {describe(tree.element, lengths_of)}"
        if kind == "array":
            lengths = None if lengths_of is None else lengths_of(tree)
            return f"{len(tree.type.shape)}-d {dtype}" if lengths is None else f"{dtype}[{', '.join(lengths)}]"
        return "a Python number" if kind == "python" else dtype
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {describe(v, lengths_of)}" for k, v in tree.items()) + "}"
    if hasattr(tree, "_fields") or (dataclasses.is_dataclass(tree) and not isinstance(tree, type)):
        parts = ", ".join(f"{key[1:]}: {describe(part, lengths_of)}" for key, part in children(tree) or ())
        return f"{type(tree).__name__}({parts})"
    if isinstance(tree, (list, tuple)):
        kinds = [describe(t, lengths_of) for t in tree]
        plain = {describe(t) for t in tree}
        if len(tree) > 1 and len(set(kinds)) == 1:
            return f"{len(tree)} times {kinds[0]}"
        if len(tree) > _MANY and len(plain) == 1:
            return f"{len(tree)} times {plain.pop()}"
        inner = ", ".join(kinds)
        return f"[{inner}]" if isinstance(tree, list) else f"({inner})"
    if type(tree).__repr__ is _ADDRESS:
        return getattr(tree, "__name__", None) or type(tree).__name__
    return getattr(tree, "__name__", None) or repr(tree)
