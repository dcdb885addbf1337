"""Python's lock in a kernel, which lets go of it in long work: where it is taken back, before each line that needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .values import product

__all__ = ["counted", "with_lock", "worked"]

_NEEDS = re.compile(r"\b(?:hold|again|boxed|fresh|scalar|array_of_one|new_array|Py[A-Z]\w+)\(")
_LETS_GO = re.compile(r"^\s*WORK\(")
_COMMENT = re.compile(r"/\*.*?\*/")


def with_lock(chunks: Sequence[list[str]]) -> list[list[str]]:
    """Return the lines of a kernel with `back(f);` before each that needs the lock where it may be away."""
    held = True
    made: list[list[str]] = []
    for chunk in chunks:
        walk = _Walk(chunk, held)
        made.append(walk.made)
        held = walk.held
    return made


def counted(lines: Sequence[str]) -> list[str]:
    """Return the lines of a function behind what counts its work, if they count any."""
    return ["int64_t work = 0;", *lines] if any(map(_LETS_GO.match, lines)) else list(lines)


def worked(dims: tuple[str, ...], operations: int = 1) -> list[str]:
    """Return the line that counts the work of operations on all elements; none where the lengths are fixed."""
    return [] if all(d.isdigit() for d in dims) else [f"WORK({product((*dims, str(operations)))});"]


class _Walk:
    """One walk through lines whose blocks are whole; `held` says whether the lock is held for certain."""

    def __init__(self, lines: Sequence[str], held: bool) -> None:
        self.made: list[str] = []
        self.held = held
        plain = [_COMMENT.sub("", line).strip() for line in lines]
        ends = _ends(plain)
        opened: list[bool] = []  # of each block: whether the lock is held where it is passed by
        for unit in _units(plain):
            first = plain[unit.start]
            if first.startswith("}"):
                before = opened.pop()
                if first.endswith("{"):  # of the other arm
                    opened.append(self.held)
                    self.held = before
                    self.made += lines[unit.start : unit.stop]
                    continue
                self.held = self.held and before
            if not self.held and any(_NEEDS.search(plain[k]) for k in unit):
                indent = len(lines[unit.start]) - len(lines[unit.start].lstrip())
                self.made.append(" " * indent + "back(f);")
                self.held = True
            if plain[unit.stop - 1].endswith("{"):
                if plain[unit.stop - 1].startswith("for") and any(
                    map(_LETS_GO.match, plain[unit.start : ends[unit.stop - 1]])
                ):
                    self.held = False  # in its next trip
                opened.append(self.held)
            if _LETS_GO.match(first):
                self.held = False
            self.made += lines[unit.start : unit.stop]


def _ends(plain: Sequence[str]) -> dict[int, int]:
    """Where the block ends that a line opens."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for k, line in enumerate(plain):
        if line.startswith("}") and opened:
            found[opened.pop()] = k
        if line.endswith("{"):
            opened.append(k)
    return found


def _units(plain: Sequence[str]) -> Iterator[range]:
    """Lines between which nothing can stand: a head and its statement, an `if` and an `else` without braces."""
    k = 0
    while k < len(plain):
        start = k
        while k + 1 < len(plain) and (
            not plain[k].endswith((";", "{", "}"))
            or (plain[k + 1].startswith("else") and not plain[k + 1].endswith("{"))
        ):
            k += 1
        k += 1
        yield range(start, k)
