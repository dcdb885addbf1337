"""The text of an exported module: generated functions with checks, hints and docstrings around them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime.registry import ops
from ..compiler.python.spelling import SCIPY
from .exported import CHECK, CHECKS, PARTS, SECOND

__all__ = ["WIDTH", "Module", "Piece", "Script", "function_text", "helper_texts", "hint"]

WIDTH = 88  # ruff's own default
_OTHER_PATH = re.compile(r"return NotImplemented\b.*")

_PLACE = re.compile(r", [\w.-]+:\d+")  # of a function in the user's file
_UNTYPED = "  # type: ignore[import-untyped,unused-ignore]"
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
    part: tuple[str, int] | None = None  # of what another function gives, and which of its results


def function_text(piece: Piece, hints: dict[str, str], constants: set[str], label: str) -> str:
    """The text of one function: the generated body under a signature with hints, behind a check of its arguments."""
    *_, definition = [n for n in ast.parse(piece.text).body if isinstance(n, ast.FunctionDef)]
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
    text = _declared("\n".join(body), definition, piece.result)
    problem = f'raise ValueError(_OTHER_PATH.format("{label}"))'
    text = _OTHER_PATH.sub(problem, text)
    result = hint(piece.result)
    if len(result) > WIDTH - len(") -> :"):
        result = f"tuple[{hint(piece.result[0])}, Any]" if len(piece.result) == 2 else "tuple[Any, ...]"
    head = _call("def ", piece.name, parameters, f" -> {result}:", "")
    if piece.part is not None:
        whole, place = piece.part
        given = [*positional, *(f"{n}={n}" for n in keyword)]
        value = _call("    return ", whole, given, f"[{place}]", "    ")
        return f'{head}\n    """{_doc(piece.purpose)}"""\n{value}'
    check = _call("    ", "_check", [piece.expected, *(f"{n}={n}" for n in names)], "", "    ")
    gap = "\n\n" if text.lstrip().startswith("#") else "\n"
    return polished(f'{head}\n    """{_doc(piece.purpose)}"""\n{check}{gap}{text}')


def helper_texts(text: str) -> list[str]:
    """The functions that a generated function calls, with hints."""
    *helpers, _ = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    lines, found = text.splitlines(), []
    for definition in helpers:
        head = _call("def ", definition.name, [f"{a.arg}: Any" for a in definition.args.args], " -> Any:", "")
        said = _PLACE.sub("", ast.get_docstring(definition) or "")
        body = "\n".join(lines[definition.body[0].end_lineno or 0 : definition.end_lineno])
        found.append(polished(f'{head}\n    """{_doc(said)}"""\n{body}'))
    return found


def _doc(text: str) -> str:
    """A docstring, wrapped."""
    doc = textwrap.indent("\n".join(textwrap.wrap(text, WIDTH - 10)), "    ").lstrip()
    return f"{doc}\n    " if "\n" in doc else doc


def _declared(text: str, definition: ast.FunctionDef, result: Any) -> str:
    """The body with a declaration of the result, if that is one array or number, and no argument.

    A type checker may not see it from what computes it.
    """
    last = definition.body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    if not isinstance(last, ast.Return) or last.value is None or not isinstance(result, (np.ndarray, np.generic)):
        return text
    read = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name)}
    if isinstance(last.value, ast.Name):
        name = last.value.id
        given = {a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)}
        return text if name in given else f"    {name}: {hint(result)}\n{text}"
    name = next(n for n in ("out", "result", "value", "returned") if n not in read)
    head, _, value = text.rpartition(f"{' ' * last.col_offset}return ")
    indent = " " * last.col_offset
    return f"    {name}: {hint(result)}\n{head}{indent}{name} = {value.rstrip()}\n{indent}return {name}"


def _call(before: str, name: str, items: list[str], after: str, indent: str) -> str:
    line = f"{before}{name}({', '.join(items)}){after}"
    if len(line) <= WIDTH:
        return line
    inner = f"{indent}    {', '.join(items)}"
    if len(inner) <= WIDTH:
        return f"{before}{name}(\n{inner}\n{indent}){after}"
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
    """Rewrite a module as ruff asks for: `_` for values that nobody reads, no `--1`."""
    tree = ast.parse(text)
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    edits: list[tuple[int, int, int, bytes]] = []  # line, from, to, by what
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            unused = [e for e in node.elts if isinstance(e, ast.Name) and e.id not in read]
            edits.extend((e.lineno, e.col_offset, e.end_col_offset or 0, b"_") for e in unused)
        elif _negative(node) and _negative(node.operand) and isinstance(node.operand.operand, ast.Constant):  # type: ignore[attr-defined]
            edits.append((node.lineno, node.col_offset, node.operand.operand.col_offset, b""))  # type: ignore[attr-defined]
    lines = [line.encode() for line in _lists_declared(text).split("\n")]
    for line, start, end, new in sorted(edits, reverse=True):
        lines[line - 1] = lines[line - 1][:start] + new + lines[line - 1][end:]
    return b"\n".join(lines).decode()


def _lists_declared(text: str) -> str:
    """A text in which empty lists say that they hold anything, at their first mention."""
    declared: set[str] = set()

    def declare(found: re.Match[str]) -> str:
        first = found[2] not in declared
        declared.add(found[2])
        return f"{found[1]}{found[2]}: list[Any] = []" if first else found[0]

    return re.sub(r"^( +)(\w+) = \[\]$", declare, text, flags=re.MULTILINE)


def _negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def hint(value: Any) -> str:
    """The type of a value, for a reader."""
    if isinstance(value, np.ndarray):
        return "np.ndarray"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}"
    if type(value) is tuple and value:
        kinds = list(map(hint, value))
        return f"tuple[{kinds[0]}, ...]" if len(kinds) > 2 and len(set(kinds)) == 1 else f"tuple[{', '.join(kinds)}]"
    if type(value) is dict:
        return "dict[str, Any]" if all(isinstance(k, str) for k in value) else "dict[Any, Any]"
    if type(value) is list:
        return "list[Any]"
    if type(value) is np.random.Generator:
        return "np.random.Generator"
    return type(value).__name__ if type(value) in (float, complex, int, bool, str, bytes) else "Any"


def table(name: str, entries: dict[str, Any], kind: str = "") -> str:
    """`NAME = {...}` as `ruff format` keeps it: on one line, or an entry a line."""
    line = f"{name}{kind} = {_inline(entries)}"
    return line if len(line) <= WIDTH else f"{name}{kind} = {_literal(entries, '')}"


def _literal(value: Any, indent: str, before: int = 0) -> str:
    """A value as it stands behind `before` letters and in front of a comma: on one line where it fits."""
    line = _inline(value)
    if before and len(indent) + before + len(line) < WIDTH:
        return line
    if isinstance(value, dict) and value:
        keys = {k: f"{_quoted(k)}: " for k in value}
        rows = "".join(
            f"{indent}    {keys[k]}{_literal(v, indent + '    ', len(keys[k]))},\n" for k, v in value.items()
        )
        return f"{{\n{rows}{indent}}}"
    if isinstance(value, (list, tuple)) and value:
        rows = "".join(f"{indent}    {_literal(v, indent + '    ', 1)},\n" for v in value)
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
    """Return the option of the checks for a module that takes matrices for symmetric, whose gradients are symmetrised."""
    taken = any(op.hermitian is not None and f"{op.path}(" in body for op in ops())
    return ", symmetric=True" if taken else ""


def _second_check(forward: str, second: dict[str, str], moved: tuple[str, ...], symmetric: str) -> str:
    """The check of the functions of second order, by what they are, where there are any."""
    if not second:
        return ""
    rows = "".join(f'        "{what}": {name},\n' for what, name in second.items())
    call = f'_check_products({forward}_grad, arguments, "{moved[0]}", "{moved[1]}", made{symmetric})'
    return f"    made = {{\n{rows}    }}\n    return {call} and fine\n"


class Script(NamedTuple):
    """The functions of a module that checks itself."""

    examples: str
    names: tuple[str, str] | None  # of the function and its gradient, where it has one
    paths: dict[str, Any]
    second: dict[str, str]
    moved: tuple[str, ...]


class Module(NamedTuple):
    """The parts of an exported module."""

    head: str
    made: dict[str, Any]
    sources: str
    tables: list[tuple[str, Any]]
    constants: list[str]
    functions: list[str]

    def text(self, script: Script | None = None) -> str:
        """The whole module."""
        body = "\n\n\n".join(self.functions)
        entries = [entry for _, table in self.tables for entry in table.values()]
        flat = all(type(e) is str and e[0] != "=" and ">" not in e and e != "Generator" for e in entries)
        check = CHECK if flat else CHECKS
        helpers = check if script is None else CHECKS
        scipy = "".join(f"import {module}{_UNTYPED}\n" for module in SCIPY if f"{module}." in body)
        python = [f"import {part}\n" for part in ("cmath", "math", "statistics") if re.search(rf"\b{part}\.", body)]
        end = "\n" if "\n" in self.head else ""
        nested = any(type(entry) is not str for entry in entries)
        parts = [
            f'"""{self.head}{end}"""\n\n{"".join(python)}from typing import Any\n\nimport numpy as np\n{scipy}\n{self.sources}\n',
            table("EXPORTED", self.made),
            *(table(name, held, ": dict[str, Any]" * nested) for name, held in self.tables),
            *([table("_PATHS", script.paths, ": dict[str, Any]")] if script is not None and script.paths else []),
            *self.constants,
        ]
        if "_OTHER_PATH." in body:
            parts.append(_OTHER)
        parts.append(f"\n\n{body}\n\n")
        if script is not None and script.names is not None:
            helpers = (*CHECKS, *PARTS, *(SECOND if script.second else ()))
        sources = [_without_blocks(inspect.getsource(part), entries) for part in helpers]
        parts.append("\n\n".join(source.replace("_check_flat(", "_check(") for source in sources))
        text = "\n".join(parts)
        return text if script is None else f"{text}{_scripted(script, body)}"


def _without_blocks(source: str, entries: list[Any]) -> str:
    """The source of a check without what it does for instances, trees and constants, where no entry is one."""
    kinds = {
        "isinstance(expected, dict) and ": any(_holds(e, _is_instance) for e in entries),
        "isinstance(expected, (dict": any(type(e) is not str for e in entries),
        "expected.startswith(": any(_holds(e, lambda leaf: type(leaf) is str and leaf[0] == "=") for e in entries),
    }
    (definition,) = ast.parse(source).body
    lines = source.splitlines(keepends=True)
    for s in reversed(definition.body if definition.name == "_check_argument" else []):  # type: ignore[attr-defined]
        if isinstance(s, ast.If) and not all(kinds.get(k, True) for k in kinds if ast.unparse(s.test).startswith(k)):
            del lines[s.lineno - 1 : s.end_lineno]
    return "".join(lines)


def _holds(entry: Any, asked: Callable[[Any], bool]) -> bool:
    """Whether a part of an entry of the table is such a one."""
    parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, (list, tuple)) else ()
    return asked(entry) or any(_holds(part, asked) for part in parts)


def _is_instance(entry: Any) -> bool:
    return isinstance(entry, dict) and str(next(iter(entry), "")).startswith(".")


def _scripted(script: Script, body: str) -> str:
    """Return the last lines of a module that checks itself."""
    if script.names is None:
        return f"\n\n{script.examples.rstrip()}\n"
    forward, with_value = script.names
    symmetric = _symmetric(body)
    return (
        f"\n\n{script.examples}\n\n"
        "def check_gradient(arguments: dict[str, Any] | None = None) -> bool:\n"
        '    """Whether the gradient agrees with finite differences, at these arguments."""\n'
        "    arguments = example() if arguments is None else arguments\n"
        "    before = [np.copy(a) for a in _arrays(arguments)]\n"
        f"    gradient = {with_value}(**arguments)[1]\n"
        "    unchanged = _unchanged(arguments, before)\n"
        f"    fine = _check_gradient({forward}, arguments, _PATHS, gradient{symmetric})\n"
        f"    {'fine =' if script.second else 'return'} fine and unchanged\n"
        f"{_second_check(forward, script.second, script.moved, symmetric)}\n\n"
        'if __name__ == "__main__":\n    raise SystemExit(0 if check_gradient() else 1)\n'
    )
