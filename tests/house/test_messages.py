"""Every `raise` that a user can meet says what happened, and shows what it found or what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import house

# What a user calls; the compiler within says its reasons through these, and the rules of ops say NumPy's own words.
PUBLIC = (
    "__init__.py", "__main__.py", "compat", "explorer", "learn", "runtime/errors.py", "runtime/registry.py",
    "runtime/user_ops.py", "tracer/autograd", "tracer/core", "tracer/protocols", "tracer/random",
    "tracer/tensors", "transforms/checks",
    "transforms/derivatives", "transforms/exports", "transforms/why", "transforms/user_code", "transforms/compiler/compile.py",
    "transforms/compiler/driver", "transforms/compiler/explain.py", "transforms/compiler/source.py", "transforms/*.py",
)  # fmt: skip
# Errors that end a loop, are caught by our own code, or must be Python's own in every word.
WORDLESS = {
    "AttributeError", "AssertionError", "Foreign", "ImportError", "KeyError", "LoopRejected", "ModuleNotFoundError",
    "NotImplementedError", "StopIteration", "StopAsyncIteration", "SystemExit",
}  # fmt: skip
WORDS_OF_OTHERS = {  # what PyTorch, NumPy or the standard library say in these words, and people look for
    "sigma must be non-negative", "'{}' object cannot be interpreted as an integer", "float",
    "Cannot insert from an empty array!",
}  # fmt: skip
REMEDY = re.compile(
    r"\b("
    r"add|ask|at least|call|choose|compute|convert|create|define|do|draw|ensure|expected|expects|export|give|"
    r"has to|install|is a|is one|it is|leave|let|make|means?|must|name|needs?|not|only|or|pass|put|raise|rename|"
    r"required?|requires|return|returns|run|see|set|should|state|sum|takes?|try|use|wants|with|wrap|write"
    r")\b",
    re.IGNORECASE,
)


class Raise(NamedTuple):
    """A `raise` with words: where, of which class, and its text with `{}` for each value shown."""

    place: str
    error: str
    text: str


def text_of(node: ast.expr) -> str | None:
    """The words of a message as they stand in the code."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(v) or "" if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or "{}") + (text_of(node.right) or "{}")
    return None


def raises(source: str, name: str) -> Iterator[Raise]:
    """The raises of a file; those of a message that is made elsewhere are read there, or shown by the table of mistakes."""
    for node in house.nodes_of(source):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        error = ast.unparse(node.exc.func).rpartition(".")[2]
        parts = [text_of(a) for a in node.exc.args] or [""]
        if error not in WORDLESS and parts[0] is not None:
            yield Raise(f"{name}:{node.lineno}", error, parts[0])


def fault(one: Raise) -> str | None:
    """What a message lacks; None where it lacks nothing."""
    if one.text in WORDS_OF_OTHERS:
        return None
    if len(one.text.replace("{}", " value ").split()) < 3:
        return f"{one.place}: {one.error} says too little: {one.text!r}"
    if "{}" not in one.text and not REMEDY.search(one.text):
        return f"{one.place}: {one.error} shows neither what it found nor what to do: {one.text!r}"
    return None


def files() -> list[Path]:
    found: set[Path] = set()
    for part in PUBLIC:
        for path in house.ROOT.glob(part):
            found.update(path.rglob("*.py") if path.is_dir() else [path])
    return sorted(found)


def test_every_raise_says_what_happened_and_what_to_do() -> None:
    found = [
        one for path in files() for one in raises(path.read_text(encoding="utf-8"), str(path.relative_to(house.ROOT)))
    ]
    assert len(found) > 300
    faults = [problem for one in found if (problem := fault(one)) is not None]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "line", ["raise ValueError('bad')", "raise ShapeError('wrong shape here')", "raise gs.DtypeError()"]
)
def test_a_message_that_helps_nobody_is_found(line: str) -> None:
    assert [fault(one) for one in raises(line, "x.py")] != [None]
