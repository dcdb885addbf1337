"""Compare two printed texts: floats to a relative tolerance, everything else to the letter.

A float is a number with a point or an exponent, in lines that are not source. Source is told by its form (`source_lines`),
and so are what stands between backticks and a number that an operator joins to a name: there each letter counts.

What varies from run to run (times, shares, the last figures of differences) counts by its form alone. Where a number takes
more letters or fewer than the one that it is compared with, the columns around it shift: then a run of spaces counts as one
space, the rules of tables may be longer, and an array may break its lines elsewhere.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import textwrap
import warnings
from typing import NamedTuple

RTOL = 1e-9
FLOAT = "\0"  # stands for a float in a form

_VARIES = [
    (re.compile(r"(?<![\w.])\d[\d.]* (s|ms|µs)\b"), "TIME"),
    (re.compile(r"(?<![\w.])\d+\.\d\d%"), "SHARE"),
    (re.compile(r"(?<![\w.])\d[\d.]* times as fast"), "RATIO times as fast"),
    (re.compile(r"(peak memory of one gradient: eager) [\d.]+ \w+"), r"\1 BYTES"),
    (re.compile(r"(BYTES, compiled) [\d.]+ \w+"), r"\1 BYTES"),
    (re.compile(r"(?<![\w.])\d\.\de-(0[89]|[1-9]\d)(?![\w.])"), "FIGURE"),  # of a difference
]
_FLOAT = re.compile(
    r"(?<![\w.])(?:(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?(?!\d|\.\d)|\d+e[-+]?\d+j?\b(?!\.\d))", re.IGNORECASE
)
_END_OF_SENTENCE = re.compile(r"$|\s+[A-Za-z]")
_OPERATOR = r"(?:\*\*| \*\*? | // | / | @ | [-+] )"
_OPERAND_BEFORE = re.compile(rf"(?:\b[A-Za-z_]\w*|[)\]]){_OPERATOR}[-+]?$")
_OPERAND_AFTER = re.compile(rf"{_OPERATOR}[-+]?[A-Za-z_(\[]")
_QUOTED = re.compile(r"(`[^`]*`)")


class Form(NamedTuple):
    """A text with its floats taken out."""

    text: str
    floats: list[str]
    varies: bool


def differ(stated: str, printed: str, rtol: float = RTOL) -> bool:
    """Whether what was printed is not what was stated."""
    old, new = form(stated), form(printed)
    if len(old.floats) != len(new.floats):
        return True
    if old.text != new.text:
        shifted = any(len(a) != len(b) for a, b in zip(old.floats, new.floats, strict=True))
        if not (shifted or old.varies) or unaligned(old.text) != unaligned(new.text):
            return True
    return not all(close(a, b, rtol) for a, b in zip(old.floats, new.floats, strict=True))


def close(a: str, b: str, rtol: float) -> bool:
    """Whether two floats, as they are printed, agree; where none may differ, they are the same text."""
    if a == b or not rtol:
        return a == b
    x, y = float(a), float(b)
    return math.isfinite(x) and math.isfinite(y) and math.isclose(x, y, rel_tol=rtol)


# --- the form of a text ---------------------------------------------------------------------------------------------


def form(text: str) -> Form:
    """Take the floats out of the lines of output, and what varies; trailing spaces count nowhere."""
    lines, floats, varies = [line.rstrip() for line in text.rstrip().splitlines()], [], False
    source = source_lines(lines)
    for k, line in enumerate(lines):
        if k in source:
            lines[k] = f"{FLOAT * 2}{line}"  # so that no line of output is taken for it, nor loses its spaces
            continue
        pieces = _QUOTED.split(line)
        for i in range(0, len(pieces), 2):  # what stands between backticks is every second piece
            plain = pieces[i]
            for pattern, word in _VARIES:
                plain = pattern.sub(word, plain)
            varies |= plain != pieces[i]
            numbers = [number for number in _FLOAT.finditer(plain) if not _is_part_of_source(plain, number)]
            floats += [number[0] for number in numbers]
            for number in reversed(numbers):
                plain = plain[: number.start()] + FLOAT + plain[number.end() :]
            pieces[i] = plain
        lines[k] = "".join(pieces)
    return Form("\n".join(lines), floats, varies)


def _is_part_of_source(line: str, number: re.Match[str]) -> bool:
    """Whether an operator joins a number to a name or a bracket; and the last number of a sentence may be an int."""
    before, after = line[: number.start()], line[number.end() :]
    if _OPERAND_BEFORE.search(before) or _OPERAND_AFTER.match(after):
        return True
    return number[0].endswith(".") and bool(_END_OF_SENTENCE.match(after))


def unaligned(text: str) -> str:
    """A form without what aligns columns; lines of source keep all of it."""
    lines: list[str] = []
    open_brackets = 0
    for line in text.split("\n"):
        if line.startswith(FLOAT * 2):
            lines.append(line)
            open_brackets = 0
            continue
        plain = re.sub(r" +", " ", re.sub(r"-{3,}", "---", line)).strip()
        if open_brackets > 0:
            lines[-1] += " " + plain
        else:
            lines.append(plain)
        open_brackets = max(open_brackets + len(re.findall(r"[\[({]", plain)) - len(re.findall(r"[\])}]", plain)), 0)
    return "\n".join(re.sub(r"(?<=[\[({]) | (?=[\])}])", "", line) for line in lines)


# --- which lines are source -----------------------------------------------------------------------------------------

_COMPOUND = re.compile(r"(async |def |class |for |while |if |elif |else:|with |try:|except|finally:|match |@\w)")
_NODE_OF_A_GRAPH = re.compile(r"[-+ ]?%\d+\b")
_IMPORT = re.compile(r"\s*(import|from) ")
_SCALARS = re.compile(r"(bool_?|u?int\d*|float\d*|complex\d*|longdouble|clongdouble)$")
_TYPES = {"bool", "int", "float", "complex", "str", "Any", "object"}


def source_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines that are Python source, or nodes of a graph.

    A compound statement is source with all that is indented below it, and so are a statement that computes, a plain
    assignment beside one, and a comment.
    """
    found: set[int] = set()
    start = k = 0  # of a run of lines that no compound statement holds
    while k < len(lines):
        end = _end_of_block(lines, k) if _opens(lines, k) else k
        if end > k or not lines[k]:
            found.update(range(k, end), _computing(lines, start, k))
            start = end = max(end, k + 1)
        k = max(end, k + 1)
    return found | _computing(lines, start, k)


def _computing(lines: list[str], start: int, end: int) -> set[int]:
    """Which of a run of lines are source: in whole statements if it parses, else line by line."""
    found = {k for k in range(start, end) if _NODE_OF_A_GRAPH.match(lines[k]) or lines[k].lstrip().startswith("# ")}
    run = "\n".join(lines[start:end])
    whole = _parses(_apart(run))
    parts = [(start, whole)] if whole else [(k, _parses(_apart(lines[k]))) for k in range(start, end)]
    assigned: set[int] = set()
    for first, tree in parts:
        for statement in tree.body if tree else ():
            spans = range(first + statement.lineno - 1, first + (statement.end_lineno or statement.lineno))
            if not _shows(statement):
                found.update(spans)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                assigned.update(spans)
    beside = {k for k in found if not _IMPORT.match(lines[k])}
    while new := {k for k in assigned - beside if {k - 1, k + 1} & beside}:
        beside |= new
    return found | beside


def _opens(lines: list[str], k: int) -> bool:
    """Whether a compound statement begins at a line, the brackets of which may close some lines later."""
    if not _COMPOUND.match(lines[k].lstrip()):
        return False
    for end in range(k + 1, min(k + 40, len(lines)) + 1):
        head = textwrap.dedent("\n".join(lines[k:end]))
        first = re.match(r"elif |else:|except|finally:", head)
        opening = {"elif ": "if 0: pass\n", "else:": "if 0: pass\n"}.get(first[0], "try: pass\n") if first else ""
        if head.startswith("@"):
            head += "\ndef f():"
        if _parses(f"{opening}{head} pass") or _parses(opening + head):
            return True
        if lines[end - 1].endswith(":") or head.count("(") + head.count("[") + head.count("{") == 0:
            return False
    return bool(re.match(r"(async )?def \w+\($", lines[k].lstrip()))  # an excerpt that ends within


def _end_of_block(lines: list[str], k: int) -> int:
    """The line after all that is indented below line k: closing brackets count as indented, blank lines at the end do not."""
    depth = len(lines[k]) - len(lines[k].lstrip())
    end = k + 1
    for j in range(k + 1, len(lines)):
        line = lines[j]
        if not line:
            continue
        if len(line) - len(line.lstrip()) <= depth and not re.match(r"\s*[\])}]", line):
            break
        end = j + 1
    return end


def _apart(text: str) -> str:
    """A text with commas between values that stand side by side: `x -0.5`, `x [0.5]`, `[0.5] [1.5]`."""
    return re.sub(
        r"""(\w+|[.'"\])}]) (?=[-+][\d.]|[\[({])""",
        lambda match: match[0] if keyword.iskeyword(match[1]) else f"{match[1]}, ",
        textwrap.dedent(text),
    )


def _parses(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "0.5is": what is printed is not for us to mend
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _shows(node: ast.AST) -> bool:
    """Whether a statement or an expression shows values and computes nothing.

    `loss = 0.5`, `x: [1.0, 2.0]` and `Point(x=0.5)` do; `0.5 * x`, `x = f(0.5)[0]` and `return 0.5` do not.
    """
    match node:
        case ast.Expr(value) | ast.Starred(value) | ast.Assign(_, value):
            return _shows(value)
        case ast.AnnAssign(_, annotation, None):
            return _shows(annotation)
        case ast.AnnAssign(_, annotation, value):
            return isinstance(annotation, ast.Name) and annotation.id not in _TYPES and _shows(value)
        case ast.Constant() | ast.Name():
            return True
        case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts):
            return all(map(_shows, parts))
        case ast.Dict(keys, values):
            return all(key is not None and _shows(key) for key in keys) and all(map(_shows, values))
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            return isinstance(operand, ast.Constant | ast.Name) and _shows(operand)
        case ast.BinOp(left, ast.Add() | ast.Sub(), right):  # a complex number, or two numbers side by side
            return not any(isinstance(n, ast.Name) for side in (left, right) for n in ast.walk(side)) and (
                _shows(left) and _shows(right)
            )
        case ast.Compare(_, [ast.Is() | ast.IsNot() | ast.In()], [right]):  # "the slope is 0.5"
            return isinstance(right, ast.Constant)
        case ast.Call(called, arguments, keywords):  # the repr of an object
            shown = [*arguments, *(k.value for k in keywords if k.arg != "dtype")]
            plain = isinstance(called, ast.Name) or (isinstance(called, ast.Attribute) and _SCALARS.match(called.attr))
            return bool(plain) and all(_shows(a) and not isinstance(a, ast.Name) for a in shown)
    return False
