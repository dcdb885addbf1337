"""Docstrings of generated functions: the signature that one is specialised to, and what it returns."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Collection, Mapping
from typing import Any

from ....runtime.ir.graph import Graph, Value, primal_of, values_in
from ..schedule.signature import Signature
from ..schedule.stores import STORE

__all__ = ["describe", "specialised_to", "with_returns"]

_ADDRESS: Any = object.__repr__  # says where in memory a thing is, which varies from run to run
_NOTHING: Mapping[Any, Any] = {}
_WIDTH = 78  # of a docstring's first line, which stands behind four blanks and three quotes


def specialised_to(signature: Signature, graph: Graph) -> str:
    """The docstring: what the text is specialised to, parameters of one kind together, and what is stored after the call."""
    docstring = _specialised_to(signature, graph)
    if signature.stores:
        said = _listed("The last result is stored after the call: ", list(signature.stores))
        docstring = docstring.rstrip() + "\n\n    " + "\n    ".join(textwrap.wrap(said, 84)) + "\n    "
    return docstring


def _specialised_to(signature: Signature, graph: Graph) -> str:
    kinds: dict[str, list[str]] = {}
    for name, tree in zip(signature.arguments_named, signature.trees, strict=True):
        kinds.setdefault(describe(tree, signature.fixed), []).append(name)
    inputs = graph.inputs[len(graph.inputs) - len(signature.extras) :]
    for name, v in zip(signature.extras, inputs, strict=True):
        kinds.setdefault(describe(v, signature.fixed), []).append(name)
    if not kinds:
        return "Takes no arguments."
    whole = _listed("Specialised to ", [f"{', '.join(names)}: {kind}" for kind, names in kinds.items()])
    if len(whole) <= _WIDTH:
        return whole
    lines = [line for kind, names in kinds.items() for line in textwrap.wrap(f"{', '.join(names)}: {kind}", 80)]
    return "Specialised to these arguments.\n\n    " + "\n    ".join(lines) + "\n    "


def with_returns(docstring: str, graph: Graph, names: dict[Value, str]) -> str:
    """`docstring`, and what is returned: by the names it has in the text, a gradient by what it has the shape of."""
    inputs = set(graph.inputs)
    kinds: dict[str, list[str]] = {}
    like: dict[str, str] = {}  # names of gradients -> names of what they are like
    for v in dict.fromkeys(values_in(graph.outputs)):
        if v not in names:
            continue
        primal = primal_of(v)
        if primal in inputs and primal in names and v.type.kind == "array" and primal.type[:3] == v.type[:3]:
            like[names[v]] = names[primal]
        else:
            kinds.setdefault(describe(v), []).append(names[v])
    parts = [f"{', '.join(found)}: {kind}" for kind, found in kinds.items()]
    if like:
        parts.append(f"{', '.join(like)}: like {', '.join(like.values())}")
    written = dict.fromkeys(names[call.args[0]] for call in graph.calls if call.op is STORE)
    if written:
        docstring = docstring.rstrip() + f"\n\n    Writes into {', '.join(written)}.\n    "
    if not parts:
        return docstring
    lines = textwrap.wrap(_listed("Returns ", parts), 84)
    return docstring.rstrip() + "\n\n    " + "\n    ".join(lines) + "\n    "


def _listed(head: str, parts: list[str]) -> str:
    return head + "; ".join(parts) + "."


def describe(tree: Any, fixed: Mapping[Value, Collection[int]] = _NOTHING) -> str:
    """A value without its sizes, one text serving every size that it does not name; but for those that are `fixed`."""
    if isinstance(tree, Value):
        kind, dtype = tree.type.kind, tree.type.dtype.name
        if kind == "generator":
            return "a random generator"
        if tree.element is not None:
            return f"a list of {describe(tree.element)}"
        if kind == "array" and tree in fixed:
            lengths = [str(n) if k in fixed[tree] else ":" for k, n in enumerate(tree.type.shape)]
            return f"{dtype}[{', '.join(lengths)}]"
        if kind == "array":
            return f"{len(tree.type.shape)}-d {dtype}"
        return "a Python number" if kind == "python" else dtype
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {describe(v, fixed)}" for k, v in tree.items()) + "}"
    if hasattr(tree, "_fields"):
        return type(tree).__name__
    if isinstance(tree, (list, tuple)):
        kinds = {describe(t, fixed) for t in tree}
        if len(tree) > 1 and len(kinds) == 1:
            return f"{len(tree)} times {kinds.pop()}"
        return "(" + ", ".join(describe(t, fixed) for t in tree) + ")"
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return type(tree).__name__
    if type(tree).__repr__ is _ADDRESS:
        return getattr(tree, "__name__", None) or type(tree).__name__
    return getattr(tree, "__name__", None) or repr(tree)
