"""Docstrings of generated functions: what one computes, the signature that it is specialised to, and what it returns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....runtime.ir.graph import Graph, Value, primal_of, values_in
from ..schedule.signature import Signature, children, describe
from ..schedule.stores import STORE
from .shared_lengths import Axis, SharedLengths

__all__ = ["Docstring"]

_WIDTH = 84  # of a line, behind four blanks
_LETTERS = ("n", "m", "k", "p", "q", "r", "s")


class Docstring:
    """The docstring of one generated function, which learns what is returned once that is written."""

    def __init__(
        self, signature: Signature, graphs: Sequence[Graph], paths: int = 0, alike: Iterable[tuple[Value, Value]] = ()
    ) -> None:
        """`graphs` are what the text computes, as captured and as optimised.

        Of a tree, `paths` is how many it knows, and `alike` are its inputs with those that its paths have in their place.
        """
        self.signature = signature
        self.graphs = graphs
        self.paths = paths
        self.inputs = [v for tree in signature.trees for v in _leaves(tree)]
        outside = graphs[0].inputs if graphs else []
        self.inputs += outside[len(outside) - len(signature.extras) :]
        shared = SharedLengths(graphs)
        for one, other in alike:
            shared.same(one, other)
        for graph in graphs:
            for v in values_in(graph.outputs):
                if (primal := _like(v, graph)) is not None:
                    shared.same(primal, v)
        self.letters = _lettered(self.inputs, shared, signature)

    def text(self, graphs: Iterable[Graph], names: dict[Value, str]) -> str:
        """The whole; `names` are those of values in the text, and `graphs` what it computes, of a tree each path."""
        parts = [_filled(self.signature.purpose), self._takes()]
        if self.paths:
            parts.append(f"Knows {self.paths} paths; a call that takes another gives NotImplemented.")
        stores = self.signature.stores
        if stores:
            parts.append(textwrap.fill(_listed("The last result is stored after the call: ", list(stores)), _WIDTH))
        said = {self._gives(graph, names) for graph in graphs}
        parts += said.pop() if len(said) == 1 else ()
        lines = "\n\n".join(part for part in parts if part).splitlines()
        return "\n".join([*lines[:1], *[f"    {line}".rstrip() for line in lines[1:]]]) + "\n    " * (len(lines) > 1)

    def _takes(self) -> str:
        kinds: dict[str, list[str]] = {}
        trees = [*self.signature.trees, *self.inputs[len(self.inputs) - len(self.signature.extras) :]]
        for name, tree in zip(self.signature.parameters, trees, strict=True):
            kinds.setdefault(describe(tree, self.letters.of), []).append(name)
        if not kinds:
            return "Takes no arguments."
        rows = [f"{', '.join(names)}: {kind}" for kind, names in kinds.items()]
        whole = _listed("Specialised to ", rows)
        if len(whole) <= _WIDTH:
            return whole
        return "\n".join(
            ["Specialised to these arguments.", *[part for row in rows for part in textwrap.wrap(row, _WIDTH)]]
        )

    def _gives(self, graph: Graph, names: dict[Value, str]) -> tuple[str, ...]:
        """Say which arguments are written into, and name the results; of a gradient, the argument that it is like."""
        kinds: dict[str, list[str]] = {}
        like: dict[str, str] = {}  # names of gradients -> names of what they are like
        for v in dict.fromkeys(values_in(graph.outputs)):
            if v not in names:
                continue
            primal = _like(v, graph)
            if primal is not None and primal in names:
                like[names[v]] = names[primal]
            else:
                kinds.setdefault(describe(v, self.letters.of), []).append(names[v])
        parts = [f"{', '.join(found)}: {kind}" for kind, found in kinds.items()]
        if like:
            parts.append(f"{', '.join(like)}: like {', '.join(dict.fromkeys(like.values()))}")
        written = list(dict.fromkeys(names[call.args[0]] for call in graph.calls if call.op is STORE))
        found = [f"Writes into {', '.join(written)}."] * bool(written)
        found += [textwrap.fill(_listed("Returns ", parts), _WIDTH)] * bool(parts)
        return tuple(found)


def _like(v: Value, graph: Graph) -> Value | None:
    """The argument of which an array is the gradient, and so has its shape."""
    primal = primal_of(v)
    gradient = primal in graph.inputs and v.type.kind == "array" and primal.type[:3] == v.type[:3]
    return primal if gradient else None


class _Letters:
    """The letters for lengths of arguments, and the numbers of those that the text is specialised to."""

    def __init__(self, shared: SharedLengths, fixed: Mapping[Axis, str], named: Mapping[Axis, str]) -> None:
        self.shared, self.fixed, self.named = shared, fixed, named

    def of(self, v: Value) -> list[str] | None:
        """The lengths of an array; None where one of them has no name."""
        roots = [self.shared.root((v, k)) for k in range(len(v.type.shape))]
        found = [self.fixed.get(root) or self.named.get(root) for root in roots]
        return [name for name in found if name is not None] if None not in found else None


def _lettered(inputs: Sequence[Value], shared: SharedLengths, signature: Signature) -> _Letters:
    fixed = {shared.root((v, axis)): str(v.type.shape[axis]) for v, axes in signature.fixed.items() for axis in axes}
    axes = [(v, k) for v in inputs if v.type.kind == "array" for k in range(len(v.type.shape))]
    roots = dict.fromkeys(root for axis in axes if (root := shared.root(axis)) not in fixed)
    letters = [c for c in _LETTERS if c not in signature.parameters] + [f"n{k}" for k in range(2, 2 + len(roots))]
    return _Letters(shared, fixed, dict(zip(roots, letters, strict=False)))


def _filled(purpose: str) -> str:
    """Say on one line what a function computes; else give the user's docstring on lines of its own."""
    head, colon, said = purpose.partition("`: ")
    whole = len(purpose) <= _WIDTH - len('"""') or not colon
    return textwrap.fill(purpose, _WIDTH) if whole else f"{head}`.\n\n{textwrap.fill(said, _WIDTH)}"


def _leaves(tree: Any) -> list[Value]:
    parts = children(tree)
    return [leaf for _, part in parts for leaf in _leaves(part)] if parts else [tree] if isinstance(tree, Value) else []


def _listed(head: str, parts: list[str]) -> str:
    return head + "; ".join(parts) + "."
