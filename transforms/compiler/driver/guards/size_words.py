"""The sizes that one text serves, in words: `x: float64[n, 3] for n = 2, 5`."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["with_free_sizes"]

_LENGTHS = re.compile(r"(?<=\[)\d+(?:, \d+)*(?=\])")
_LETTERS = ("n", "m", "k", "p", "q", "r", "s")


def with_free_sizes(signatures: Sequence[str]) -> list[str]:
    """The signatures that one text serves: `x: float64[n, 3]; n = 2, 5, 7`, where they differ in lengths alone.

    >>> with_free_sizes(["x: int64[2, 3]", "x: int64[5, 3]"])
    ['x: int64[n, 3] for n = 2, 5']
    """
    kinds: dict[str, list[list[str]]] = {}
    for text in signatures:
        lengths = [n for found in _LENGTHS.findall(text) for n in found.split(", ")]
        form = _LENGTHS.sub(lambda m: re.sub(r"\d+", "{}", m[0]), text.replace("{", "{{").replace("}", "}}"))
        kinds.setdefault(form, []).append(lengths)
    return [_merged(form, rows) for form, rows in kinds.items()]


def _merged(form: str, rows: list[list[str]]) -> str:
    columns = list(zip(*rows, strict=True))
    free = list(dict.fromkeys(c for c in columns if len(set(c)) > 1))
    letters = [c for c in _LETTERS if f"{c}: " not in form] + [f"n{k}" for k in range(2, len(free))]
    named = dict(zip(free, letters, strict=False))
    shown = form.format(*[named.get(c, c[0]) for c in columns])
    if not free:
        return shown
    sizes = list(zip(*free, strict=True))
    values = [s[0] if len(s) == 1 else f"({', '.join(s)})" for s in sizes]
    left = [*values[:6], f"... ({len(values)} in all)"] if len(values) > 7 else values
    names = ", ".join(named.values())
    return f"{shown} for {names if len(free) == 1 else f'({names})'} = {', '.join(left)}"
