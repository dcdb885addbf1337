"""Print gast trees as text: source with few parentheses, aligned comments and wrapped lines, which parses back."""

import ast
import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from .expressions import ATOM, OR, TEST, TUPLE, YIELD, Expressions, escaped, rank_of
from .layout import Page

_NOTES = "gradscribe_notes"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def to_source(tree: ast.AST) -> str:
    """Return the source text of a gast or ast tree. Statements end with a newline, a lone expression does not."""
    page, plain = Page(), _plain(tree)
    _printer()(ast.Module([plain], []) if isinstance(plain, ast.stmt) else plain, page)
    return page.text() if isinstance(plain, ast.stmt | ast.Module | ast.Interactive) else page.code()


def note(statement: ast.AST, text: str, above: bool = False) -> None:
    """Print `text` as a comment behind the statement, or on a line of its own above it."""
    _notes(statement).append(("above" if above or "\n" in text else "behind", text))


def section(statement: ast.AST, text: str) -> None:
    """Print `text` as a heading: a comment above the statement, after a blank line where code stands before it."""
    _notes(statement).append(("section", text))


def fresh(statement: Any) -> Any:
    """Return the statement anew, for notes that the first is not to bear."""
    made = copy.copy(statement)
    if _NOTES in made.__dict__:
        made.__dict__[_NOTES] = list(made.__dict__[_NOTES])
    return made


def is_noted(statement: ast.AST) -> bool:
    """Whether a comment stands behind a statement."""
    return any(place == "behind" for place, _ in _notes(statement))


def _notes(node: ast.AST) -> list[tuple[str, str]]:
    return cast(list[tuple[str, str]], node.__dict__.setdefault(_NOTES, []))


def _plain(tree: ast.AST) -> ast.AST:
    """Convert a gast tree to an ast tree, which keeps the notes."""
    if not type(tree).__module__.startswith("gast"):
        return tree
    import gast

    plain: ast.AST = gast.gast_to_ast(tree)
    for old, new in zip(_statements(tree), _statements(plain), strict=True):
        new.__dict__.update({_NOTES: old.__dict__.get(_NOTES, [])})
    return plain


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a tree, which stand in blocks; expressions have none."""
    if isinstance(tree, ast.stmt):
        yield tree
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(tree, block, ())
        for node in inner if isinstance(inner, list) else ():
            yield from _statements(node)


@functools.cache
def _printer() -> Callable[[ast.AST, Page], object]:
    """Return the subclass of astunparse's Unparser; astunparse is imported when the first text is printed."""
    import astunparse

    return cast(Callable[[ast.AST, Page], object], type("Printer", (_Statements, astunparse.Unparser), {}))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class _Statements(Expressions):
    """The methods of astunparse's Unparser for statements that are done anew, with notes, docstrings, newer syntax."""

    _indent: int
    enter: Callable[[], None]
    leave: Callable[[], None]
    behind = ""  # the comment for the next line

    def fill(self, text: str = "") -> None:
        note, self.behind = ("", self.behind) if text == "@" else (self.behind, "")
        self.f.line(self._indent, text, note)

    def announce(self, node: ast.AST, first: bool = True) -> None:
        behind = []
        for place, text in node.__dict__.get(_NOTES, []):
            if place == "behind":
                behind.append(text)
                continue
            if place == "section" and not first:
                self.f.blank = max(self.f.blank, 1)
            self.f.comment(self._indent, text)
        self.behind = "; ".join(behind)

    def block(self, nodes: Sequence[ast.AST], documented: bool = False) -> None:
        before: ast.AST | None = None
        for node in nodes:
            doc = documented and before is None and isinstance(node, ast.Expr) and _is_text(node.value)
            if before:
                imports = (ast.Import, ast.ImportFrom)
                if isinstance(node, _DEFINITIONS) or isinstance(before, _DEFINITIONS):
                    self.f.blank = 1 if self._indent else 2
                elif not self._indent and isinstance(before, imports) and not isinstance(node, imports):
                    self.f.blank = 1
            self.announce(node, before is None)
            if doc:
                value = cast(ast.Constant, cast(ast.Expr, node).value)
                self.fill("u" if value.kind else "")
                self.write('"""' + escaped(str(value.value), '"""', "\n\t") + '"""')
                self.f.blank = 0 if self._indent else 1
            else:
                self.dispatch(node)
            before = node
        if not nodes:
            self.fill("pass")

    def body(self, node: Any, documented: bool = False) -> None:
        self.enter()
        self.block(node.body, documented)
        self.leave()
        if getattr(node, "orelse", []):
            self.fill("else")
            self.enter()
            self.block(node.orelse)
            self.leave()

    def _Module(self, t: ast.Module) -> None:
        if t.body:
            self.block(t.body, documented=True)

    def _Expr(self, t: ast.Expr) -> None:
        self.fill()
        self.dispatch(t.value, min(rank_of(t.value), YIELD) or TEST)

    def _Assign(self, t: ast.Assign) -> None:
        self.fill()
        for target in t.targets:
            self.dispatch(target, TUPLE)
            self.write(" = ")
        naked = any(isinstance(target, ast.Tuple) for target in t.targets) or not isinstance(t.value, ast.Tuple)
        self.dispatch(t.value, YIELD if naked else TEST)

    def _Return(self, t: ast.Return) -> None:
        self.fill("return " if t.value else "return")
        if t.value:
            self.dispatch(t.value, TUPLE)

    def _definition(self, t: Any, words: str) -> None:
        for decorator in t.decorator_list:
            self.fill("@")
            self.dispatch(decorator)
        self.fill(words + t.name)
        self.parameters(t)

    def parameters(self, t: Any) -> None:
        if getattr(t, "type_params", []):
            self.write("[")
            self.commas(t.type_params)
            self.write("]")

    def _FunctionDef(self, t: ast.FunctionDef | ast.AsyncFunctionDef, words: str = "def ") -> None:
        self._definition(t, words)
        self.write(f"({self.text(t.args)})")
        if t.returns:
            self.write(" -> ")
            self.dispatch(t.returns)
        self.body(t, documented=True)

    def _AsyncFunctionDef(self, t: ast.AsyncFunctionDef) -> None:
        self._FunctionDef(t, "async def ")

    def _ClassDef(self, t: ast.ClassDef) -> None:
        self._definition(t, "class ")
        if t.bases or t.keywords:
            self.write("(")
            self.commas([*t.bases, *t.keywords])
            self.write(")")
        self.body(t, documented=True)

    def _TypeAlias(self, t: Any) -> None:
        self.fill("type " + t.name.id)
        self.parameters(t)
        self.write(" = ")
        self.dispatch(t.value)

    def _TypeVar(self, t: Any, sign: str = "") -> None:
        self.write(sign + t.name)
        for word, value in ((": ", getattr(t, "bound", None)), (" = ", getattr(t, "default_value", None))):
            if value:
                self.write(word)
                self.dispatch(value)

    def _TypeVarTuple(self, t: Any) -> None:
        self._TypeVar(t, "*")

    def _ParamSpec(self, t: Any) -> None:
        self._TypeVar(t, "**")

    def _For(self, t: ast.For | ast.AsyncFor, word: str = "for ") -> None:
        self.fill(word)
        self.dispatch(t.target, TUPLE)
        self.write(" in ")
        self.dispatch(t.iter)
        self.body(t)

    def _AsyncFor(self, t: ast.AsyncFor) -> None:
        self._For(t, "async for ")

    def _While(self, t: ast.While) -> None:
        self.fill("while ")
        self.free(t.test)
        self.body(t)

    def _If(self, t: ast.If, word: str = "if ") -> None:
        self.fill(word)
        self.free(t.test)
        if len(t.orelse) == 1 and isinstance(t.orelse[0], ast.If):
            self.body(ast.If(t.test, t.body, []))
            self.announce(t.orelse[0])
            self._If(t.orelse[0], "elif ")
        else:
            self.body(t)

    def _withitem(self, t: ast.withitem) -> None:
        double = isinstance(t.context_expr, ast.Tuple) and not t.optional_vars  # `with (a, b):` holds two items
        self.write(f"({self.text(t.context_expr)})" if double else self.text(t.context_expr))
        if t.optional_vars:
            self.write(" as ")
            self.dispatch(t.optional_vars)

    def _TryStar(self, t: Any) -> None:
        self._Try(t, "*")

    def _Try(self, t: Any, star: str = "") -> None:
        self.fill("try")
        self.enter()
        self.block(t.body)
        self.leave()
        for handler in t.handlers:
            self.fill(f"except{star}" + (f" {self.text(handler.type)}" if handler.type else ""))
            self.write(f" as {handler.name}" if handler.name else "")
            self.body(handler)
        for word, nodes in (("else", t.orelse), ("finally", t.finalbody)):
            if nodes:
                self.fill(word)
                self.enter()
                self.block(nodes)
                self.leave()

    # match

    def _Match(self, t: ast.Match) -> None:
        self.fill("match ")
        self.free(t.subject)
        self.enter()
        for case in t.cases:
            self.fill("case ")
            self.dispatch(case.pattern)
            if case.guard:
                self.write(" if ")
                self.free(case.guard)
            self.body(case)
        self.leave()

    def _MatchValue(self, t: ast.MatchValue) -> None:
        self.dispatch(t.value)

    def _MatchSingleton(self, t: ast.MatchSingleton) -> None:
        self.write(repr(t.value))

    def _MatchSequence(self, t: ast.MatchSequence) -> None:
        self.write("[")
        self.commas(t.patterns)
        self.write("]")

    def _MatchStar(self, t: ast.MatchStar) -> None:
        self.write(f"*{t.name or '_'}")

    def _MatchMapping(self, t: ast.MatchMapping) -> None:
        items = [f"{self.text(k)}: {self.text(p)}" for k, p in zip(t.keys, t.patterns, strict=True)]
        self.write("{" + ", ".join(items + [f"**{t.rest}"] * bool(t.rest)) + "}")

    def _MatchClass(self, t: ast.MatchClass) -> None:
        items = [self.text(p) for p in t.patterns]
        items += [f"{name}={self.text(p)}" for name, p in zip(t.kwd_attrs, t.kwd_patterns, strict=True)]
        self.write(f"{self.text(t.cls, ATOM)}({', '.join(items)})")

    def _MatchAs(self, t: ast.MatchAs) -> None:
        self.write(f"{self.text(t.pattern, OR)} as {t.name}" if t.pattern else t.name or "_")

    def _MatchOr(self, t: ast.MatchOr) -> None:
        self.write(" | ".join(self.text(p, OR + 1) for p in t.patterns))
