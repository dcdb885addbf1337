"""The user's source in an exported module: a block of numbered lines, and comments that cite them."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import types
from typing import Any

__all__ = ["Sources", "source_hash"]

_ALONE = re.compile(r"( *)(# line \d+)")
_SITE = re.compile(r"# ([\w.-]+:\d+)(?:: .*)?$", re.MULTILINE)


class Sources:
    """The source of the functions that an export is made of, each line with a number."""

    def __init__(self, functions: list[types.FunctionType]) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}  # `model.py:5` -> the number of the line in the block
        for function in functions:
            first = function.__code__.co_firstlineno
            name = os.path.basename(function.__code__.co_filename)
            left_out = _docstring(function)
            for k, line in enumerate(source_of(function).rstrip().splitlines()):
                if k + 1 in left_out:
                    continue
                self.lines.append(line)
                if line.strip():
                    self.numbers.setdefault(f"{name}:{first + k}", len(self.lines))

    def block(self) -> str:
        """The lines as comments."""
        wide = len(str(len(self.lines)))
        rows = [f"# {k:{wide}}: {line}".rstrip() for k, line in enumerate(self.lines, 1)]
        return "\n".join(["# Made from these lines, which the comments below cite:", *map(_cut, rows)])

    def cited(self, text: str) -> str:
        """A text whose comments cite the block, in place of files that are not there."""

        def cite(found: re.Match[str]) -> str:
            number = self.numbers.get(found[1])
            return found[0] if number is None else f"# line {number}"

        return _behind(_SITE.sub(cite, text))


def _behind(text: str) -> str:
    """A text in which a citation stands behind the first of its statements, where there is room."""
    rows = text.split("\n")
    for k in range(len(rows) - 2, -1, -1):
        found = _ALONE.fullmatch(rows[k])
        if found is None or not rows[k + 1].startswith(found[1]) or rows[k + 1][len(found[1])] in " #)":
            continue
        row = f"{rows[k + 1]}  {found[2]}"
        if not rows[k + 1].endswith((":", "(", "[", "{")) and "  # " not in rows[k + 1] and len(row) <= 88:
            rows[k : k + 2] = [row]
    return "\n".join(rows)


def _docstring(function: types.FunctionType) -> range:
    """The lines of a function's docstring, which stands at the top of the module; none where it is all that there is."""
    try:
        (node,) = ast.parse(source_of(function)).body
    except (SyntaxError, ValueError):
        return range(0)
    body = getattr(node, "body", [])
    said = len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return range(body[0].lineno, (body[0].end_lineno or 0) + 1) if said and body[0].lineno > node.lineno else range(0)


def _cut(row: str) -> str:
    return row if len(row) <= 88 else f"{row[:84].rstrip()} ..."


def source_of(function: types.FunctionType) -> str:
    """The source of a function of the user."""
    try:
        return inspect.cleandoc("\n" + inspect.getsource(function))
    except (OSError, TypeError):
        return f"({function.__qualname__} has no source)"


def source_hash(functions: list[types.FunctionType]) -> str:
    """Return a hash of the source of these functions, in which comments and layout do not count."""
    parts = []
    for function in functions:
        text = source_of(function)
        try:
            parts.append(_dumped(ast.parse(text)))
        except SyntaxError:  # a lambda in the middle of an expression
            parts.append(text)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _dumped(node: Any) -> str:
    """A syntax tree as text, the same in each version of Python: newer ones have fields more, which are empty."""
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_dumped(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []
        ]
        return f"{type(node).__name__}({', '.join(fields)})"
    return f"[{', '.join(map(_dumped, node))}]" if isinstance(node, list) else repr(node)
