"""Printing as an op, the text of a message as another, and a silent print for checks that run a program again."""

from __future__ import annotations

from typing import Any

from ..ops import Kind
from ..registry import undifferentiable
from ..result_types import UNKNOWN

__all__ = ["PRINTS", "TEXT", "silent", "text"]


def text(parts: tuple[Any, ...]) -> str:
    """An f-string: plain text, and pairs of a value and its format specification."""
    return "".join([part if isinstance(part, str) else format(*part) for part in parts])


def silent(*values: Any, sep: Any = " ", end: Any = "\n", flush: Any = False) -> None:
    """Print nothing."""


TEXT = undifferentiable(text, "parts", Kind.opaque, path="text", types=UNKNOWN)
PRINTS = frozenset(
    [
        undifferentiable(function, r"*values, sep=' ', end='\n', flush=False", Kind.opaque, path="print", effect=True)
        for function in (print, silent)
    ]
)
