"""The text of an exported module: generated functions with checks, hints and docstrings around them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, NamedTuple

import numpy as np

from ...runtime.registry import ops
from .exported import CHECKS, PARTS, SECOND

__all__ = ["WIDTH", "Piece", "commented", "function_text", "hint", "module_text"]

WIDTH = 88  # ruff's own default
_OTHER_PATH = re.compile(r"return NotImplemented\b.*")

_OTHER = """
_OTHER_PATH = (
    "this input takes another path through `{}`: export it again with such an input"
)"""


class Piece(NamedTuple):
    """A function of the module."""

    name: str
    text: str  # as generated, with imports and under a name of the compiler's
    purpose: str
    expected: str  # the name of the table of what its arguments must be
    result: Any  # what it gave at the export


def function_text(piece: Piece, hints: dict[str, str], constants: set[str], label: str) -> str:
    """The text of one function: the generated body under a signature with hints, behind a check of its arguments."""
    (definition,) = [n for n in ast.parse(piece.text).body if isinstance(n, ast.FunctionDef)]
    positional = [a.arg for a in definition.args.args]
    keyword = [a.arg for a in definition.args.kwonlyargs if a.arg not in constants]
    names = [*positional, *keyword]
    parameters = (
        [f"{n}: {hints[n]}" for n in positional] + ["*"] * bool(keyword) + [f"{n}: {hints[n]}" for n in keyword]
    )
    lines = piece.text.splitlines()
    unused = {k for first, last in _unused(definition) for k in range(first, last + 1)}
    begin = definition.body[0].end_lineno or 0
    body = [line for k, line in enumerate(lines[begin:], begin + 1) if k not in unused]
    while body and not body[0].strip():
        del body[0]
    text = "\n".join(body)
    problem = f'raise ValueError(_OTHER_PATH.format("{label}"))'
    text = _OTHER_PATH.sub(problem, text)
    head = _call("def ", piece.name, parameters, f" -> {hint(piece.result)}:", "")
    check = _call("    ", "_check", [piece.expected, *(f"{n}={n}" for n in names)], "", "    ")
    doc = textwrap.indent("\n".join(textwrap.wrap(piece.purpose, WIDTH - 7)), "    ").lstrip()
    ends = "\n    " if "\n" in doc or len(doc) > WIDTH - 10 else ""
    gap = "\n\n" if text.lstrip().startswith("#") else "\n"
    return polished(f'{head}\n    """{doc}{ends}"""\n{check}{gap}{text}')


def _call(before: str, name: str, items: list[str], after: str, indent: str) -> str:
    line = f"{before}{name}({', '.join(items)}){after}"
    if len(line) <= WIDTH:
        return line
    listed = "".join(f"{indent}    {item},\n" for item in items)
    return f"{before}{name}(\n{listed}{indent}){after}"


def _unused(definition: ast.FunctionDef) -> list[tuple[int, int]]:
    """The lines that take out parts of arguments which nothing reads."""
    read = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    found = []
    for s in definition.body:
        plain = isinstance(s, ast.Assign) and isinstance(s.value, (ast.Subscript, ast.Attribute))
        if plain and isinstance(s.targets[0], ast.Name) and s.targets[0].id not in read:  # type: ignore[attr-defined]
            found.append((s.lineno, s.end_lineno or s.lineno))
    return found


def polished(text: str) -> str:
    """What ruff asks for: `_` for what nobody reads, no `--1`."""
    tree = ast.parse(text)
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    edits: list[tuple[int, int, int, bytes]] = []  # line, from, to, by what
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            unused = [e for e in node.elts if isinstance(e, ast.Name) and e.id not in read]
            edits.extend((e.lineno, e.col_offset, e.end_col_offset or 0, b"_") for e in unused)
        elif _negative(node) and _negative(node.operand) and isinstance(node.operand.operand, ast.Constant):  # type: ignore[attr-defined]
            edits.append((node.lineno, node.col_offset, node.operand.operand.col_offset, b""))  # type: ignore[attr-defined]
    lines = [line.encode() for line in text.split("\n")]
    for line, start, end, new in sorted(edits, reverse=True):
        lines[line - 1] = lines[line - 1][:start] + new + lines[line - 1][end:]
    return b"\n".join(lines).decode()


def _negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def hint(value: Any) -> str:
    """The type of a value, for a reader."""
    if isinstance(value, np.ndarray):
        return "np.ndarray"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}"
    if type(value) is tuple and value:
        return f"tuple[{', '.join(map(hint, value))}]"
    if type(value) is dict:
        return "dict[str, Any]" if all(isinstance(k, str) for k in value) else "dict[Any, Any]"
    if type(value) is list:
        return "list[Any]"
    if type(value) is np.random.Generator:
        return "np.random.Generator"
    return type(value).__name__ if type(value) in (float, complex, int, bool, str, bytes) else "Any"


def commented(text: str) -> str:
    """A text as comments."""
    return "\n".join(f"# {line}".rstrip() for line in text.rstrip().splitlines())


def table(name: str, entries: dict[str, Any]) -> str:
    """`NAME = {...}`, an entry a line, as `ruff format` keeps it."""
    return f"{name}: dict[str, Any] = {_literal(entries, '')}"


def _literal(value: Any, indent: str) -> str:
    line = _inline(value)
    if not isinstance(value, dict) and len(indent) + len(line) < WIDTH // 2:
        return line
    if isinstance(value, dict) and value:
        rows = "".join(f"{indent}    {_quoted(k)}: {_literal(v, indent + '    ')},\n" for k, v in value.items())
        return f"{{\n{rows}{indent}}}"
    if isinstance(value, (list, tuple)):
        rows = "".join(f"{indent}    {_literal(v, indent + '    ')},\n" for v in value)
        return f"[\n{rows}{indent}]" if isinstance(value, list) else f"(\n{rows}{indent})"
    return line


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)}: {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_inline, value))}{',' * (len(value) == 1)})"
    return _quoted(value)


def _quoted(value: Any) -> str:
    """A literal with double quotes."""
    if not isinstance(value, str):
        return repr(value)
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def _symmetric(body: str) -> str:
    """What the checks are told where a module takes matrices for symmetric, and so has symmetrised gradients."""
    taken = any(op.hermitian is not None and f"{op.path}(" in body for op in ops())
    return ", symmetric=True" if taken else ""


def _second_check(forward: str, second: dict[str, str], moved: tuple[str, ...], symmetric: str) -> str:
    """The check of the functions of second order, by what they are, where there are any."""
    if not second:
        return ""
    rows = "".join(f'        "{what}": {name},\n' for what, name in second.items())
    call = f'_check_products({forward}_grad, arguments, "{moved[0]}", "{moved[1]}", made{symmetric})'
    return f"    made = {{\n{rows}    }}\n    return {call} and fine\n"


def module_text(head: str, made: dict[str, Any], sources: str, tables: list[tuple[str, Any]], constants: list[str],
                functions: list[str], examples: str, names: tuple[str, str] | None, second: dict[str, str],
                moved: tuple[str, ...]) -> str:  # fmt: skip
    """The whole module; `names` are those of the function and its gradient, where it has one."""
    body = "\n\n\n".join(functions)
    scipy = "".join(f"import scipy.{part}\n" for part in ("linalg", "special") if f"scipy.{part}." in body)
    python = "".join(f"import {part}\n" for part in ("cmath", "math", "statistics") if re.search(rf"\b{part}\.", body))
    imports = f"{python}from typing import Any\n\nimport numpy as np\n{scipy}"
    parts = [
        f'"""{head}"""\n\nfrom __future__ import annotations\n\n{imports}',
        table("EXPORTED", made),
        f"\n# The source that this was made from:\n#\n{commented(sources)}",
        *(f"\n{table(name, entries)}" for name, entries in tables),
        *(["\n" + "\n".join(constants)] if constants else []),
    ]
    if "_OTHER_PATH." in body:
        parts.append(_OTHER)
    parts.append(f"\n\n{body}\n\n")
    parts.append(f"# What checks the arguments{', and the gradient' if names else ''}.\n\n")
    used = (PARTS + SECOND if second else PARTS) if names else CHECKS
    parts.append("\n\n".join(inspect.getsource(part) for part in used))
    if names is None:
        return "\n".join([*parts, f"\n{examples.rstrip()}\n"])
    forward, with_value = names
    symmetric = _symmetric(body)
    parts.append(f"\n{examples}\n")
    parts.append(
        "def check_gradient(arguments: dict[str, Any] | None = None) -> bool:\n"
        '    """Whether the gradient agrees with finite differences, at these arguments."""\n'
        "    arguments = example() if arguments is None else arguments\n"
        "    before = [np.copy(a) for a in _arrays(arguments)]\n"
        f"    gradient = {with_value}(**arguments)[1]\n"
        "    unchanged = _unchanged(arguments, before)\n"
        f"    fine = _check_gradient({forward}, arguments, _PATHS, gradient{symmetric})\n"
        f"    {'fine =' if second else 'return'} fine and unchanged\n"
        f"{_second_check(forward, second, moved, symmetric)}\n"
    )
    parts.append('if __name__ == "__main__":\n    raise SystemExit(0 if check_gradient() else 1)')
    return "\n".join(parts) + "\n"
