"""Impurity by syntax: statements that no region may hold, and the names that they write into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import gast

from .names import own_nodes

__all__ = ["appends", "impurities", "written"]

_WORDS = {
    "Raise": "raises", "Try": "catches errors", "TryStar": "catches errors", "With": "enters a context",
    "Import": "imports", "ImportFrom": "imports", "ClassDef": "defines a class", "Delete": "deletes",
    "Yield": "yields", "YieldFrom": "yields", "Await": "awaits", "AsyncFor": "awaits", "AsyncWith": "awaits",
}  # fmt: skip


def impurities(nodes: Iterable[Any], own: set[str], declared: dict[str, str]) -> tuple[tuple[int, str], ...]:
    """Lines and reasons, in the order of the source."""
    found: dict[tuple[int, str], None] = {}
    for node in own_nodes(nodes):
        reason = _WORDS.get(type(node).__name__) or getattr(node, "gs_reason", None)
        if type(node) is gast.With and all(map(_is_quiet, node.items)):
            continue
        stored = isinstance(getattr(node, "ctx", None), (gast.Store, gast.Del))
        if isinstance(node, gast.Attribute) and stored:
            reason = f"stores the attribute `{node.attr}`"
        elif isinstance(node, gast.Name) and stored and node.id in declared:
            reason = f"writes the {'global' if declared[node.id] == 'global' else 'enclosing variable'} `{node.id}`"
        elif isinstance(node, gast.Subscript) and stored:
            name = _base(node)
            if name is None:
                reason = "writes into what is no variable"
            elif name not in own:
                reason = f"writes into `{name}`, which is not its own"
        if reason is not None:
            found[node.lineno, reason] = None
    return tuple(sorted(found))


def written(nodes: Iterable[Any], lists: set[str]) -> Iterator[str]:
    """The names of what is written into by subscript, or appended to."""
    for node in own_nodes(nodes):
        if isinstance(node, gast.Subscript) and isinstance(node.ctx, (gast.Store, gast.Del)):
            name = _base(node)
            if name is not None:
                yield name
        elif (name := appends(node)) in lists and name is not None:
            yield name


def appends(node: Any) -> str | None:
    """The name of the list that a statement `l.append(v)` appends to."""
    call = node.value if isinstance(node, gast.Expr) else None
    if not isinstance(call, gast.Call) or not isinstance(call.func, gast.Attribute) or call.func.attr != "append":
        return None
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], gast.Starred):
        return None
    return call.func.value.id if isinstance(call.func.value, gast.Name) else None


def _base(node: Any) -> str | None:
    while isinstance(node, gast.Subscript):
        node = node.value
    return node.id if isinstance(node, gast.Name) else None


def _is_quiet(item: Any) -> bool:
    """Whether a context is `np.errstate(...="ignore")`, in which the same numbers are computed."""
    call = item.context_expr
    name = getattr(getattr(call, "func", None), "attr", None) or getattr(getattr(call, "func", None), "id", None)
    return name == "errstate" and all(getattr(k.value, "value", None) == "ignore" for k in call.keywords)
