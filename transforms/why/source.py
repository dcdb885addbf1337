"""Source of an operation: the user's line, the operands' texts, and where a name is read."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import operator
import sys
import types
from typing import Any

import numpy as np

from ...runtime.registry import lookup, ops_of
from ...runtime.rules.indexing import index_set
from ...tracer.core.site import Site
from ...tracer.core.watching import Event
from ..compiler.frontend.user_names import span_of

__all__ = [
    "assigned", "derived_from", "first_argument", "line_at", "operand", "quoted", "reads_of", "within", "written_call",
]  # fmt: skip

_INDEXED = ops_of(operator.getitem, index_set)


def line_at(filename: str, line: int) -> str:
    """The text of a line, without indentation."""
    return linecache.getline(filename, line).strip()


def operand(event: Event, k: int, i: int = -1) -> str:
    """Return the user's text of argument `k` (element `i` of it, if that is a sequence) of an operation; "" if unknown."""
    site = event.site
    node = None if site is None or derived_from(event) is not None else _expression(site)
    if site is None or node is None:
        return ""
    if event.op is not None and k < len(event.op.params) and event.op.params[k].variadic:
        k, i = k + max(i, 0), -1
    if event.op is not None and not _computes(node, event.op, site.code.co_filename):
        return _subject(node, event, k, site.code.co_filename)
    found = _operand(node, event.op, k, site)
    if isinstance(found, (ast.List, ast.Tuple)) and 0 <= i < len(found.elts):
        found = found.elts[i]
    if isinstance(found, ast.Starred):
        return ""
    return "" if found is None else _text(found)


def quoted(variable: str, otherwise: str = "its argument") -> str:
    """A name or an expression of the user's between backticks; other words where there is none."""
    return f"`{variable}`" if variable else otherwise


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else ""


_SIGNS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.MatMult: "matmul", ast.USub: "negative", ast.UAdd: "positive",
    ast.Gt: "greater", ast.Lt: "less", ast.GtE: "greater_equal", ast.LtE: "less_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal", ast.Invert: "invert", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
}  # fmt: skip


def within(event: Event) -> str:
    """The call of the user's inside of which an operation ran that nobody wrote: `F.softmax`; "" where it was written."""
    node = None if event.site is None or event.op is None else _expression(event.site)
    if event.site is None or not isinstance(node, ast.Call) or _computes(node, event.op, event.site.code.co_filename):
        return ""
    return _text(node.func)


def first_argument(event: Event) -> str:
    """The first argument of the call inside of which an operation ran; "" where it has none, or is a method."""
    node = None if event.site is None else _expression(event.site)
    if event.site is None or not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
        return ""
    function = node.func
    is_method = isinstance(function, ast.Attribute) and not _is_module(function.value, event.site.code.co_filename)
    return "" if is_method else _text(node.args[0])


def _computes(node: ast.AST, op: Any, filename: str) -> bool:
    """Whether an expression is a call of an op, by its function, as a method or by a sign."""
    key = str(op.path).rpartition(".")[2]
    sign = getattr(node, "op", None)
    if isinstance(node, ast.Compare):
        sign = node.ops[0]
    if sign is not None:
        return _SIGNS.get(type(sign)) == key or (isinstance(node, ast.AugAssign) and key in ("getitem", "index_set"))
    if not isinstance(node, ast.Call):
        return key in ("getitem", "index_set", "real", "imag", "transpose", "matrix_transpose")
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    name = _parsed(filename)[1].get(name) or name
    spelled = {key, op.name}
    if name in spelled or name.removesuffix("_") == key:
        return True
    return any(
        (known := lookup(getattr(module, name, None))) is not None and known.base is op.base
        for module in (np, np.linalg, sys.modules.get("scipy.special"))
    )


def _subject(node: ast.AST, event: Event, k: int, filename: str) -> str:
    """Return the object of a method call, where it alone has a gradient: `x` of `x.masked_fill(...)`."""
    tracked = [given.slot[0] for given in event.inputs if given.tracked]
    function = node.func if isinstance(node, ast.Call) else None
    if tracked != [k] or not isinstance(function, ast.Attribute) or _is_module(function.value, filename):
        return ""
    return _text(function.value)


def derived_from(event: Event) -> Event | None:
    """The operation that an event is part of the derivative of: nobody wrote the event itself."""
    found = None
    while event.parent is not None and event.parent.op is not None:
        found = event = event.parent
    return found


def written_call(site: Site | None) -> str:
    """Return the function that a line calls, as the user wrote it: `gs.stop_gradient`, `x.detach`."""
    node = None if site is None else _expression(site)
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _operand(node: ast.AST, op: Any, k: int, site: Site) -> ast.AST | None:
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[k] if k < 2 else None
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Compare):
        return (node.left, node.comparators[0])[k] if k < 2 else None
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Subscript) and op is not None and op.base in _INDEXED and k == 0:
            return node.target.value
        return (node.target, node.value)[k] if k < 2 else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return {0: node.targets[0].value, 2: node.value}.get(k)
    if isinstance(node, ast.Subscript):
        return node.value if k == 0 else None
    if isinstance(node, ast.Attribute):
        return node.value if k == 0 else None
    return _argument(node, op, k, site) if isinstance(node, ast.Call) else None


def _argument(node: ast.Call, op: Any, k: int, site: Site) -> ast.AST | None:
    params = () if op is None else op.params
    given = {word.arg: word.value for word in node.keywords}
    if k < len(params) and params[k].name in given:
        return given[params[k].name]
    function, filename = node.func, site.code.co_filename
    if isinstance(function, ast.Attribute) and function.attr != "apply" and not _is_module(function.value, filename):
        if k == 0:
            return function.value  # a method
        k -= 1
    if any(isinstance(a, ast.Starred) for a in node.args[: k + 1]):
        return None
    return node.args[k] if k < len(node.args) else None


def _is_module(node: ast.AST, filename: str) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in _parsed(filename)[1] or _is_known_module(node.id, filename))


def _is_known_module(name: str, filename: str) -> bool:
    """Whether a global of the module in this file (a cell's is `__main__`) is a module: `F = gs.functional`."""
    homes = [m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get("__file__") == filename]
    return any(isinstance(vars(m).get(name), types.ModuleType) for m in (*homes, sys.modules["__main__"]))


def _expression(site: Site) -> ast.AST | None:
    """The expression (or the statement that writes) which the instruction at a site computes."""
    nodes = _parsed(site.code.co_filename)[0]
    span = span_of(site)
    found = nodes.get(span)
    if isinstance(found, ast.Subscript) and isinstance(found.ctx, ast.Store):
        for parent in nodes.get(("statement", span[0]), ()):
            if isinstance(parent, ast.Assign) and any(t is found for t in parent.targets):
                return parent
            if isinstance(parent, ast.AugAssign) and parent.target is found:
                return parent
    return found


def _parsed(filename: str) -> tuple[dict[Any, Any], dict[str, str]]:
    """The expressions of a file by their spans, its statements by their lines, and what it imports: as what, under which name."""
    return _parsed_text("".join(linecache.getlines(filename)))


@functools.lru_cache(maxsize=64)
def _parsed_text(text: str) -> tuple[dict[Any, Any], dict[str, str]]:
    nodes: dict[Any, Any] = {}
    imported = dict.fromkeys(("np", "numpy", "gs", "scipy"), "")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return nodes, imported
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imported |= {(a.asname or a.name).partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, (ast.expr, ast.AugAssign)):
            nodes.setdefault((node.lineno, node.end_lineno, node.col_offset, node.end_col_offset), node)
        if isinstance(node, ast.stmt):
            nodes.setdefault(("statement", node.lineno), []).append(node)
    return nodes, imported


def reads_of(function: Any, label: str) -> tuple[str, int, list[tuple[int, int]]] | None:
    """The file and first line of a function, and where it reads `label` (`w`, `params['w']`): line, line of the `if` around.

    The second number is 0 where no branch is around. None without source.
    """
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    if code is None:
        return None
    filename, first = code.co_filename, code.co_firstlineno
    wanted = ast.dump(ast.parse(label, mode="eval").body) if label.isprintable() else ""
    found: list[tuple[int, int]] = []
    for top in _functions(filename, first, code.co_name):
        _look(top, wanted, 0, found)
        return filename, top.lineno, sorted(found)
    return None


def _functions(filename: str, first: int, name: str) -> list[Any]:
    statements = [n for key, found in _parsed(filename)[0].items() if key[0] == "statement" for n in found]
    defined = [
        n for n in statements
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == name
        and min([n.lineno, *[d.lineno for d in n.decorator_list]]) == first
    ]  # fmt: skip
    lambdas = [n for key, n in _parsed(filename)[0].items() if isinstance(n, ast.Lambda) and key[0] == first]
    return [*defined, *lambdas]


def _look(node: ast.AST, wanted: str, around: int, found: list[tuple[int, int]]) -> None:
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), ast.Load) and ast.dump(node) == wanted:
        found.append((node.lineno, around))
        return
    branches = (ast.If, ast.IfExp, ast.While, ast.For, ast.Match)
    for field, value in ast.iter_fields(node):
        inner = node.lineno if isinstance(node, branches) and field in ("body", "orelse", "cases") else around
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _look(child, wanted, inner, found)


def assigned(event: Event) -> str:
    """The name that the user's statement gives to the result of an operation; "" where it gives none."""
    site = event.site
    if site is None or derived_from(event) is not None:
        return ""
    for statement in _parsed(site.code.co_filename)[0].get(("statement", site.line), ()):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if isinstance(targets[0], (ast.Name, ast.Subscript, ast.Attribute)) and not isinstance(statement, ast.For):
            return ast.unparse(targets[0])
    return ""
