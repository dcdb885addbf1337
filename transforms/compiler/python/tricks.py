"""Tricks with buffers in print: a few words at the first of each kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from .printer import note

__all__ = ["note_tricks"]

_SELECTION = "np.where(mask, x, 0.0), without branches"
_OUT = "out=: written over an array that nobody reads again"
_DEL = "frees memory before more is taken"


def note_tricks(statements: Iterable[Any]) -> None:
    """Say behind the first statement of each kind what it is for."""
    said: set[str] = set()
    for statement in statements:
        for words in _tricks(statement):
            if words not in said:
                said.add(words)
                note(statement, words)


def _tricks(statement: Any) -> Iterable[str]:
    if isinstance(statement, gast.Delete):
        yield _DEL
    if isinstance(statement, (gast.Assign, gast.AugAssign, gast.Expr)):
        nodes = list(gast.walk(statement))
        if any(hasattr(node, "is_selection") for node in nodes):
            yield _SELECTION
        if any(isinstance(node, gast.keyword) and node.arg == "out" for node in nodes):
            yield _OUT
