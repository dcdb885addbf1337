"""Class patterns of a `match`, rewritten: `case float(v)` asks isinstance, which a traced value answers like its number."""

from __future__ import annotations

import functools
from typing import Any

import gast

__all__ = ["ask_by_isinstance"]

SUBJECT = "__gs_subject__"  # the name of what a `match` looks at
_SELF_MATCHING = frozenset(["bool", "bytes", "complex", "dict", "float", "int", "list", "set", "str", "tuple"])


def ask_by_isinstance(tree: Any) -> None:
    """Write `case float(v)` as `case v if isinstance(subject, float)`, which a traced value answers as its number would."""
    for node in gast.walk(tree):
        if isinstance(node, gast.Match) and any(list(map(_ask, node.cases))):
            name = gast.Name(id=SUBJECT, ctx=gast.Store(), annotation=None, type_comment=None)
            kept = gast.NamedExpr(target=gast.copy_location(name, node.subject), value=node.subject)
            node.subject = gast.copy_location(kept, node.subject)


def _ask(case: Any) -> bool:
    pattern, name = case.pattern, None
    if isinstance(pattern, gast.MatchAs) and pattern.pattern is not None:
        pattern, name = pattern.pattern, pattern.name
    parts = pattern.patterns if isinstance(pattern, gast.MatchOr) else [pattern]
    if not all(isinstance(p, gast.MatchClass) and not p.kwd_patterns for p in parts):
        return False
    inner = [q for p in parts for q in p.patterns]
    takes_itself = len(parts) == 1 and isinstance(parts[0].cls, gast.Name) and parts[0].cls.id in _SELF_MATCHING
    if inner and not (
        takes_itself
        and name is None
        and len(inner) == 1
        and isinstance(inner[0], gast.MatchAs)
        and inner[0].pattern is None
    ):
        return False
    load = functools.partial(gast.Name, ctx=gast.Load(), annotation=None, type_comment=None)
    classes = [p.cls for p in parts]
    tested = classes[0] if len(classes) == 1 else gast.Tuple(elts=classes, ctx=gast.Load())
    asked = gast.Call(func=load(id="isinstance"), args=[load(id=SUBJECT), tested], keywords=[])
    guard = asked if case.guard is None else gast.BoolOp(op=gast.And(), values=[asked, case.guard])
    for n in (guard, *gast.walk(asked)):
        gast.copy_location(n, pattern)
    case.guard = guard
    case.pattern = inner[0] if inner else gast.copy_location(gast.MatchAs(pattern=None, name=name), pattern)
    return True
