"""Free sizes: once two sizes of an axis gave one graph, its source serves every size at which the function does the same.

A call at another size is an eager run under the recorder, which shows all that Python did with the size, also where no int
subclass can notice it (`5.0 < n`, `range(n)`). Where the graph is the same but for lengths, nothing is optimised, printed
or compiled: the known text is run on copies of the arguments and held against that eager run.

Lengths that follow from values, as that of `x[mask]`, are known once the text runs: one guard holds all of them to those
that were checked so, together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, map_values, type_of
from ....runtime.ir.known_ops import GETITEM, MEAN
from ....runtime.ir.opcodes import all_calls, is_effect, is_region
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.control import GUARD, SIZE
from ....runtime.rules.indexing import PRODUCTS, scatter_rows
from ..analysis.lengths import input_axis
from ..capture.sizes import Fixed
from ..passes.rewrite import key_of
from ..schedule.reuse import LARGE as REUSED
from ..schedule.reuse import ufunc_of
from ..schedule.signature import Signature
from ..schedule.tiles import LARGE as TILED
from .cache_key import GraphText, UnknownError

__all__ = ["Families", "Outline", "lengths_of", "outline_of", "with_lengths_guarded", "without_length_guard"]

_SCATTER_ROWS = require(scatter_rows)

MANY = 1024  # outlines that are remembered, and signatures


class Outline:
    """A digest that graphs of different sizes share, and the lengths of this one."""

    def __init__(self, key: Any, lengths: list[int]) -> None:
        self.key = key
        self.lengths = lengths  # of the axes, equal ones once, in the order in which the graph has them


def with_lengths_guarded(graph: Graph, fixed: Collection[Fixed], free: bool) -> Graph:
    """The graph with one guard for all lengths that follow from values, in the place of the last of them.

    Where lengths are not `free`, or the code took one of them for what it is, each is held to what it is.
    """
    guards = [call for call in graph.calls if _is_of_length(call)]
    if not guards:
        return graph
    inputs = set(graph.inputs)
    if not free or any(f.axis[0] not in inputs and input_axis(graph, *f.axis) is None for f in fixed):
        calls = [c.with_args((c.args[0], "index", c.args[2])) if _is_of_length(c) else c for c in graph.calls]
        return Graph(graph.inputs, calls, graph.outputs)
    *others, last = guards
    if others:
        own = _measured(graph)
        once = list({own.get(g.args[0], g.args[0]): g for g in guards[::-1]}.values())[::-1]
        sizes, lengths = tuple([g.args[0] for g in once]), tuple([g.args[2] for g in once])
        dropped, whole = set(others), _guard_of_lengths(sizes, lengths, last.site)
        calls = [whole if c is last else c for c in graph.calls if c not in dropped]
        return Graph(graph.inputs, calls, graph.outputs)
    return graph


def _guard_of_lengths(sizes: tuple[Value, ...], lengths: tuple[int, ...], site: Any) -> Call:
    """The guard of several lengths together, or of one."""
    size, length = (sizes, lengths) if len(sizes) > 1 else (sizes[0], lengths[0])
    return Call(GUARD, (size, "length", length), (Value(type_of(length)),), site)


def _measured(graph: Graph) -> dict[Value, Any]:
    """What tells sizes apart: two with the same are always equal, as those of `x[m]` and `y[m]`."""
    first: dict[Value, Value] = {}  # of each value the first that is computed alike
    known: dict[Any, Call] = {}
    masks: dict[Value, Value] = {}  # of each array of the elements that a mask takes, the mask
    own: dict[Value, Any] = {}
    for call in graph.calls:
        if call.op is GUARD or is_effect(call) or is_region(call):
            continue
        args = map_values(call.args, lambda v: first.get(v, v))
        same = known.setdefault((call.op, *map(key_of, args)), call)
        if same is not call:
            first.update(zip(call.outs, same.outs, strict=True))
        if call.op is GETITEM and isinstance(args[1], Value) and args[1].type.dtype == np.bool_:
            masks[call.outs[0]] = args[1]
        if call.op is SIZE:
            own[call.outs[0]] = (masks[args[0]], args[1]) if args[0] in masks and args[1] == 0 else same
    return own


def lengths_of(graph: Graph) -> Any:
    """Return the lengths that follow from values, as the one guard of them in a graph has them; None where there is none."""
    return next((call.args[2] for call in graph.calls if _is_of_length(call)), None)


def without_length_guard(graph: Graph) -> Graph:
    """The graph as it is for calls of any length that follows from values."""
    if lengths_of(graph) is None:
        return graph
    return Graph(graph.inputs, [call for call in graph.calls if not _is_of_length(call)], graph.outputs)


def _is_of_length(call: Call) -> bool:
    return call.op is GUARD and call.args[1] == "length"


def outline_of(graph: Graph, signature: Signature, name: str, rebuild: Any) -> Outline | None:
    """The outline of a captured graph, before the passes; None where it holds what cannot be compared."""
    text = _WithoutLengths(graph)
    try:
        lines = text.lines(name, graph, signature)
        lines += [
            f"{text.value(v)} {[(k, v.type.shape[k]) for k in sorted(axes)]}" for v, axes in signature.fixed.items()
        ]
    except UnknownError:
        return None
    codes = tuple([code for code, _, _ in text.codes.values()])
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "backslashreplace")).digest()
    return Outline((digest, codes, tuple(text.ops), rebuild), list(text.lengths))


class _WithoutLengths(GraphText):
    """A graph as text with a letter for each length, so that only equalities, ones and zeros among them show."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.lengths: dict[int, int] = {}
        self.ops: dict[Op, int] = {}
        self._sized = {v.type for c in all_calls(graph) if ufunc_of(c.op) or c.op.infix == "**" for v in c.outs}
        self._sized |= {v.type for c in all_calls(graph) if c.op.base is MEAN for v in c.reads}

    def call(self, call: Call) -> str:
        op = self.ops.setdefault(call.op, len(self.ops))
        left = " ".join(map(self.value, call.outs))
        args = call.args[:2] if _is_of_length(call) else call.args
        large = " large" if call.op is _SCATTER_ROWS and math.prod(call.reads[0].type.shape) >= PRODUCTS else ""
        return f"{left} = {op}{large} {call.backward}{call.quiet:d} {self.argument(args)} {self.site(call.site)}"

    def type(self, type: Type) -> str:
        """Dtype, lengths as letters, the order in memory, and how large an array is, where passes look at that."""
        if type.kind != "array":
            return f"{type.kind} {type.dtype.str}"
        found = self.types.get(type)
        if found is None:
            named = [n if n < 2 else f"n{self.lengths.setdefault(n, len(self.lengths))}" for n in type.shape]
            found = self.types[type] = f"{type.dtype.str} {named} {_order(type)} {self._scale(type)}"
        return found

    def _scale(self, type: Type) -> str:
        size = math.prod(type.shape) * type.dtype.itemsize
        if type not in self._sized or size < 4 * REUSED:
            return ""
        return f"large {type.shape[1:]}" if size >= TILED else "middling"


def _order(type: Type) -> tuple[Any, ...]:
    """Return the layout of an array: the order and the signs of its strides, and whether it has gaps."""
    size, shape, strides = type.dtype.itemsize, type.shape, type.strides
    rows = all(s == size * math.prod(shape[k + 1 :]) for k, s in enumerate(strides) if shape[k] != 1)
    columns = all(s == size * math.prod(shape[:k]) for k, s in enumerate(strides) if shape[k] != 1)
    ranks = sorted(range(len(strides)), key=lambda k: -abs(strides[k]))
    return rows, columns, () if rows or columns else (*ranks, *[(s > 0) - (s < 0) for s in strides])


class _Family:
    """The graphs of one outline: their sources, each with the lengths that it was first written for, and the free axes.

    The sources differ where passes look at how large an array is: each is right at all lengths, and the nearest serves.
    """

    def __init__(self) -> None:
        self.sources: list[tuple[list[int], Any]] = []  # lengths and specialisation
        self.free: set[int] = set()
        self.fixed = False  # whether the source depends on the lengths

    def nearest(self, lengths: list[int]) -> tuple[list[int], Any]:
        """The source whose lengths are nearest, by their ratios."""
        ratios = [sum(abs(math.log(a / b)) for a, b in zip(own, lengths, strict=True)) for own, _ in self.sources]
        return self.sources[ratios.index(min(ratios))]


def _differing(some: list[int], others: list[int]) -> set[int]:
    return {k for k, (a, b) in enumerate(zip(some, others, strict=True)) if a != b}


class Families:
    """The outlines of a compiled function, with the axes in which each is known to be free."""

    def __init__(self) -> None:
        self._families: dict[Any, _Family] = {}
        self._signatures: set[Any] = set()
        self._refused: set[Any] = set()

    def serving(self, outline: Outline | None) -> Any:
        """The specialisation whose source serves a graph, or None where that is not known."""
        family = None if outline is None else self._families.get(outline.key)
        if outline is None or family is None or family.fixed:
            return None
        lengths, specialisation = family.nearest(outline.lengths)
        return specialisation if _differing(lengths, outline.lengths) <= family.free else None

    def has_several(self, outline: Outline) -> bool:
        """Whether graphs of an outline have given different sources, of which one may not be right at all lengths."""
        return outline.key in self._families and len(self._families[outline.key].sources) > 1

    def may_serve(self, key: Any) -> bool:
        """Whether arguments, by their signature, are those of a call that was seen, but for lengths."""
        return key not in self._refused and _without_lengths(key) in self._signatures

    def refuse(self, key: Any) -> None:
        """There is no source for these arguments, and no room for one."""
        _bounded(self._refused).add(key)

    def learn(self, outline: Outline | None, specialisation: Any, key: Any) -> None:
        """A graph was written down, and gave this specialisation, or passed its check as one of it."""
        _bounded(self._signatures).add(_without_lengths(key))
        if outline is None:
            return
        family = _bounded(self._families).setdefault(outline.key, _Family())
        for lengths, known in family.sources:
            family.free |= _differing(lengths, outline.lengths)
            if known is specialisation:
                return
        family.sources.append((outline.lengths, specialisation))

    def fix(self, outline: Outline) -> None:
        """The source of these graphs depends on the sizes."""
        if outline.key in self._families:
            self._families[outline.key].fixed = True


def _bounded(known: Any) -> Any:
    """A set or dict, emptied where it has grown beyond all measure."""
    if len(known) > MANY:
        known.clear()
    return known


def _without_lengths(key: Any) -> Any:
    """The signature of arguments, of arrays their dtypes and numbers of axes alone."""
    *rest, leaves = key
    return (*rest, tuple([(v[0], len(v[1])) if isinstance(v, tuple) and len(v) == 3 else v for v in leaves]))
