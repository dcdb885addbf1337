"""The syntax tree of a function from its source, and the code of a tree; only where that source is the code that runs."""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import inspect
import linecache
import types
from collections.abc import Iterator
from typing import Any

import gast

from ....tracer.core.site import source_lines
from .nodes import function as define
from .operators import CONTROL

__all__ = ["NoSource", "code_of", "tree_of"]

_FUTURE = functools.reduce(int.__or__, [getattr(__future__, n).compiler_flag for n in __future__.all_feature_names])
_FUTURE &= ~__future__.nested_scopes.compiler_flag & ~__future__.generators.compiler_flag


class NoSource(Exception):
    """Why there is no tree of a function."""


def tree_of(code: types.CodeType, asserts: bool = False) -> Any:
    """The gast node (FunctionDef or Lambda) of a code object, with the lines of its file and without decorators.

    Raises NoSource where there is no source, or where it compiles to something else: the file has changed since. With
    `asserts`, code whose assertions pytest has rewritten is taken for its source.
    """
    for plain in _candidates(code):
        tree = gast.ast_to_gast(plain)
        if isinstance(tree, gast.FunctionDef):
            tree.decorator_list, tree.type_params = [], []
        try:
            made = code_of(tree, code, ())
            same = _alike(made, code) or (asserts and _differs_by_asserts(made, code))
        except SyntaxError:  # its closure is not what it seems
            continue
        if same:
            return tree
    raise NoSource("the source that is there is not what runs")


def code_of(tree: Any, original: types.CodeType, extra: tuple[str, ...] = (CONTROL,)) -> types.CodeType:
    """The code of a function's tree, closed over the same variables as `original` and those of `extra`."""
    inner = gast.copy_location(gast.Expr(value=tree), tree) if isinstance(tree, gast.Lambda) else tree
    private = _class_with_private_names(tree, original)
    if private is not None:
        options: dict[str, Any] = {"type_params": []} if "type_params" in gast.ClassDef._fields else {}
        inner = gast.ClassDef(name=private, bases=[], keywords=[], body=[inner], decorator_list=[], **options)
        inner = gast.copy_location(inner, tree)
    free = [n for n in dict.fromkeys([*original.co_freevars, *extra]) if private is None or n != "__class__"]
    body = [inner]
    name = getattr(inner, "name", None)
    if name is not None and name not in free:
        body.insert(0, gast.Global(names=[name]))  # so that it is no variable of what encloses it
    module = gast.Module(body=[define("enclosing", free, body, tree)], type_ignores=[])
    lowered = gast.gast_to_ast(gast.fix_missing_locations(module))
    compiled = compile(lowered, original.co_filename, "exec", flags=original.co_flags & _FUTURE, dont_inherit=True)
    within = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    if private is not None:
        within = next(c for c in within.co_consts if isinstance(c, types.CodeType))
    found = [c for c in within.co_consts if isinstance(c, types.CodeType) and c.co_name == original.co_name]
    if not found:
        raise NoSource("its source does not compile to a function")
    return found[-1]  # before it may come functions in its defaults


def _class_with_private_names(tree: Any, original: types.CodeType) -> str | None:
    """The class in whose body a function with names like `__x` stands: Python puts its name before them."""
    names = {str(v) for n in gast.walk(tree) for f in ("id", "attr", "name", "arg") if (v := getattr(n, f, None))}
    if not any(n.startswith("__") and not n.endswith("__") for n in names):
        return None
    outer = original.co_qualname.rpartition(".")[0]
    stem = outer.rpartition(".")[2]
    return stem if stem.isidentifier() else None


def _candidates(code: types.CodeType) -> Iterator[Any]:
    """The trees whose code may be that of `code`, by name and place; the likeliest first."""
    wanted: Any = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    for tree in _trees(code):
        nodes: list[Any] = [n for n in ast.walk(tree) if type(n) is wanted]
        for node in nodes:
            first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
            if first == code.co_firstlineno and getattr(node, "name", code.co_name) == code.co_name:
                yield node


def _trees(code: types.CodeType) -> Iterator[ast.AST]:
    """The source of a function as `inspect` cuts it out, and that of its whole file."""
    try:
        lines, start = source_lines(code)
    except (OSError, TypeError, IndentationError, SyntaxError, RecursionError):
        raise NoSource("it has no source") from None
    text, shift = "".join(lines), start - 1
    if lines[0][:1].isspace():
        text, shift = "if 1:\n" + text, start - 2
    try:
        tree: ast.AST = ast.parse(text)
    except SyntaxError:
        if code.co_name != "<lambda>":
            raise NoSource("its source cannot be read by itself") from None
    else:
        yield ast.increment_lineno(tree, shift)
    if code.co_name == "<lambda>":
        whole = "".join(linecache.getlines(code.co_filename))
        found = _whole(whole)
        if found is not None:
            yield found


@functools.lru_cache(maxsize=8)
def _whole(text: str) -> ast.AST | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _alike(made: types.CodeType, real: types.CodeType) -> bool:
    """Whether two code objects do the same, to their constants and those of the functions in them."""
    parts = ("co_varnames", "co_cellvars", "co_freevars", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount")
    if any(getattr(made, part) != getattr(real, part) for part in parts):
        return False
    if (made.co_flags ^ real.co_flags) & ~inspect.CO_NESTED:
        return False
    ours, theirs = _steps(made), _steps(real)
    if len(ours) != len(theirs):
        return False
    for x, y in zip(ours, theirs, strict=True):
        if isinstance(x[1], types.CodeType) and isinstance(y[1], types.CodeType):
            if not _alike(x[1], y[1]):
                return False
        elif x[1] == made.co_qualname and y[1] == real.co_qualname and x[::2] == y[::2]:
            continue  # of a class, in its body
        elif x[::2] != y[::2] or type(x[1]) is not type(y[1]) or repr(x[1]) != repr(y[1]):
            return False
    return True


def _differs_by_asserts(made: types.CodeType, real: types.CodeType) -> bool:
    """Whether pytest has put its own statements into a function, in place of assertions, and all else is the same."""
    if not any("@pytest_ar" in c.co_names for c in (real, *_inner(real))):
        return False
    counts = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars")
    if any(getattr(made, part) != getattr(real, part) for part in counts):
        return False
    names = {n for c in (made, *_inner(made)) for n in (*c.co_varnames, *c.co_names)}
    return names <= {n for c in (real, *_inner(real)) for n in (*c.co_varnames, *c.co_names)} | {"AssertionError"}


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _inner(const)


# Which of these stand in a call depends on what its module imports. RESUME has the line where a definition begins.
_PASSING = frozenset(["PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "RESUME", "COPY_FREE_VARS", "MAKE_CELL", "NOP"])
_SAME = {"LOAD_METHOD": "LOAD_ATTR"}


def _steps(code: types.CodeType) -> list[tuple[Any, ...]]:
    """The instructions as (name, what it refers to, place): jumps refer to the number of an instruction."""
    number: dict[int, int] = {}
    kept: list[dis.Instruction] = []
    for i in dis.get_instructions(code):
        number[i.offset] = len(kept)
        if i.opname not in _PASSING:
            kept.append(i)
    jumps = frozenset([*dis.hasjrel, *dis.hasjabs])
    exact = code.co_name == "<lambda>"
    found: list[tuple[Any, ...]] = []
    for i in kept:
        place = (i.positions if exact else i.positions.lineno) if i.positions else None
        refers = number.get(i.argval) if i.opcode in jumps else i.argval
        found.append((_SAME.get(i.opname, i.opname), refers, place))
    return found
