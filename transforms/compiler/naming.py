"""The user's own names for values: what the source assigns at the place where an operation stands."""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import linecache
import types
from typing import Any

from ...runtime.ir import Call, Graph, Value
from ...tracer.site import Site

__all__ = ["Names", "line_text", "name_values"]

_RESERVED = frozenset([*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "np", "scipy", "_"])

# What generated text may call: literals, guards, and the bodies of our own ops.
_WRITTEN = frozenset(
    ["abs", "bool", "complex", "float", "int", "len", "range", "slice", "NotImplemented", "None", "True", "False"]
)


class Names:
    """Names that are unique, short and the same from run to run."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_RESERVED)

    def parameter(self, name: str) -> str:
        """The name of a parameter: the user's, also where a builtin is called so that generated text never writes."""
        if name in dir(builtins) and name not in _WRITTEN:
            return name
        return self.new(name)

    def new(self, wish: str) -> str:
        """`wish`, or `wish_2`, `wish_3` ... where it is taken."""
        name, k = wish, 1
        while name in self._taken:
            k += 1
            name = f"{wish}_{k}"
        self._taken.add(name)
        return name


def name_values(graph: Graph, given: dict[Value, str]) -> dict[Value, str]:
    """What the user (or a reader of the derivative) would call each value; values that nobody named are absent."""
    wishes = dict(given)
    for k, call in enumerate(graph.calls):
        if call.backward or call.site is None:
            continue
        if k + 1 < len(graph.calls) and _continues(call, graph.calls[k + 1]):
            continue  # one line of the user's that took several operations: the last one has the name
        for out, name in zip(call.outs, assigned_names(call.site, len(call.outs)), strict=False):
            if name is not None:
                wishes.setdefault(out, name)
    for v in list(all_values(graph)):
        if v not in wishes and v.cotangent_of is not None:
            primal = _primal_name(v, wishes)
            if primal is not None:
                wishes[v] = "d_" * primal[1] + primal[0]
    return wishes


def _primal_name(v: Value, wishes: dict[Value, str]) -> tuple[str, int] | None:
    depth = 0
    primal: Value | None = v
    seen: set[Value] = set()  # values that were merged may be cotangents of each other
    while primal is not None and primal not in wishes:
        if primal in seen:
            return None
        seen.add(primal)
        primal = primal.cotangent_of
        depth += 1
    if primal is None or depth == 0:
        return None
    return wishes[primal], depth


def all_values(graph: Graph) -> list[Value]:
    """Every value of a graph, in order."""
    found = list(graph.inputs)
    for call in graph.calls:
        found.extend(call.outs)
    return found


def _continues(call: Call, following: Call) -> bool:
    return following.site == call.site and not following.backward and any(v in call.outs for v in following.reads)


def assigned_names(site: Site, count: int) -> list[str | None]:
    """The names that the statement at `site` gives to the results of the operation there."""
    targets = _targets(site.code)
    positions = _positions(site.code)
    k = site.offset // 2
    if k >= len(positions):
        return [None] * count
    found = targets.get(positions[k])
    if found is None:
        return [None] * count
    return list(found) if len(found) == count else [None] * count


@functools.lru_cache(maxsize=512)
def _positions(code: types.CodeType) -> list[tuple[int | None, ...]]:
    return list(code.co_positions())


@functools.lru_cache(maxsize=512)
def _targets(code: types.CodeType) -> dict[tuple[int | None, ...], tuple[str | None, ...]]:
    """From the span of each assigned expression (line, end line, column, end column) to the names it is given."""
    import gast  # slow to load, needed only to compile

    found: dict[tuple[int | None, ...], tuple[str | None, ...]] = {}
    parsed = parse_code(code)
    if parsed is None:
        return found
    tree, shift = parsed
    for node in gast.walk(tree):
        if isinstance(node, gast.Assign) and len(node.targets) == 1:
            target, span = node.targets[0], node.value
        elif isinstance(node, (gast.AnnAssign, gast.NamedExpr)) and node.value is not None:
            target, span = node.target, node.value
        elif isinstance(node, gast.AugAssign):
            target, span = node.target, node
        else:
            continue
        place = (span.lineno + shift, span.end_lineno + shift, span.col_offset, span.end_col_offset)
        if isinstance(target, gast.Name):
            found[place] = (target.id,)
        elif isinstance(target, (gast.Tuple, gast.List)):
            found[place] = tuple([e.id if isinstance(e, gast.Name) else None for e in target.elts])
    return found


def parse_code(code: types.CodeType) -> tuple[Any, int] | None:
    """The gast tree of the source of a code object, and what to add to its line numbers; None without source."""
    import gast

    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):
        return None
    text, shift = "".join(lines), start - 1
    if lines[0][:1].isspace():
        text, shift = "if 1:\n" + text, start - 2
    try:
        return gast.parse(text), shift
    except SyntaxError:
        return None


def line_text(site: Site) -> str:
    """The user's line."""
    return linecache.getline(site.code.co_filename, site.line).strip()
