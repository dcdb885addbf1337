"""How generated gradients read beside those by hand: the functions of `tests/corpus/readable`.

For each: the lines of the generated source over those by hand (one counting rule for both: each statement is a line, and so
is the head of a loop, a branch or a function; comments, blank lines, docstrings and imports are none), the assigned names
that are anonymous, expressions that are computed again though nothing that they read has changed, statements in loops, and
the time of a call of both, interleaved, the fastest of each.

Run: python benchmarks/readability.py [--tiny] [--no-times] [--show NAME ...]
"""

from __future__ import annotations

import ast
import inspect
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests" / "corpus")]

from timing import interleaved, is_tiny, per_call

import gradscribe as gs

from readable.collection import Case, cases

ANONYMOUS = re.compile(r"(t|u|v|s|tmp|temporary|kept)(_\d+)?")
FREE = ("shape", "T", "size", "ndim", "dtype")  # attributes that cost nothing


class Row(NamedTuple):
    """What is said of one function; each pair is of the generated source and of that by hand."""

    name: str
    lines: tuple[int, int]
    anonymous: float
    repeated: tuple[int, int]
    in_loops: tuple[int, int]
    seconds: tuple[float, float] | None

    @property
    def longer(self) -> float:
        """The lines of the generated source over those by hand."""
        return self.lines[0] / self.lines[1]

    @property
    def slower(self) -> float:
        """The time of the compiled function over that by hand."""
        assert self.seconds is not None
        return self.seconds[0] / self.seconds[1]


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements but docstrings and imports."""
    for node in ast.walk(tree):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not docstring and not isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node


def in_loops(tree: ast.AST) -> int:
    """The number of statements within loops; those of a loop in a loop count once."""
    inside = {id(s) for loop in ast.walk(tree) if isinstance(loop, (ast.For, ast.While)) for s in statements(loop)}
    inside -= {id(loop) for loop in outermost(tree)}
    return len(inside)


def outermost(tree: ast.AST) -> Iterator[ast.stmt]:
    """The loops that stand in no other."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.For, ast.While)):
            yield child
        else:
            yield from outermost(child)


def assigned(tree: ast.AST) -> set[str]:
    """The names of local variables."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} - {
        "_"
    }


def anonymous(tree: ast.AST, users: set[str]) -> list[str]:
    """The local variables that say nothing, where the user had no such names."""
    found = sorted(assigned(tree))
    return [name for name in found if ANONYMOUS.fullmatch(name) and name.split("_")[0] not in users]


class Repeats(ast.NodeVisitor):
    """Counts expressions that are computed again though no variable in them was assigned or written since."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.seen: set[str] = set()
        self.found: list[str] = []

    def expression(self, node: ast.AST) -> None:
        """Count what is repeated within an expression: the widest parts, and not what they consist of."""
        if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp)):
            return
        if isinstance(node, (ast.BinOp, ast.Call, ast.Compare)) and not self.is_free(node):
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
            key = f"{ast.dump(node)} {[self.versions.get(name, 0) for name in names]}"
            if key in self.seen:
                self.found.append(ast.unparse(node))
                return
            self.seen.add(key)
        for child in ast.iter_child_nodes(node):
            self.expression(child)

    def is_free(self, node: ast.AST) -> bool:
        """Whether an expression is of shapes or constants alone, or makes a new array to be written into."""
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if re.search(r"zeros|ones|full|empty|eye|range|len|enumerate|zip|reversed|append|pop|arange", called):
                return True
        arrays = [
            n
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and n.id not in ("np", "len", "scipy") and not self.is_shape(node, n)
        ]
        return not arrays

    @staticmethod
    def is_shape(node: ast.AST, name: ast.Name) -> bool:
        """Whether a name is read for its shape alone."""
        for parent in ast.walk(node):
            if (
                isinstance(parent, ast.Attribute)
                and parent.value is name
                and parent.attr in FREE
                and parent.attr != "T"
            ):
                return True
            if isinstance(parent, ast.Call) and name in parent.args and ast.unparse(parent.func) == "len":
                return True
        return False

    def store(self, target: ast.AST) -> None:
        """A variable has another value from here on."""
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.versions[node.id] = self.versions.get(node.id, 0) + 1

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.versions, self.seen = (self.versions, self.seen), {}, set()
        self.block(node.body)
        self.versions, self.seen = outer

    def visit_For(self, node: ast.For) -> None:
        self.expression(node.iter)
        self.loop(node)

    def visit_While(self, node: ast.While) -> None:
        self.expression(node.test)
        self.loop(node)

    def loop(self, node: ast.For | ast.While) -> None:
        """What a loop assigns has another value in each trip, and behind it."""
        for name in assigned(node):
            self.versions[name] = self.versions.get(name, 0) + 1
        self.branch(node.body)
        for name in assigned(node):
            self.versions[name] = self.versions.get(name, 0) + 1

    def branch(self, body: list[ast.stmt]) -> None:
        before = set(self.seen)
        self.block(body)
        self.seen = before

    def visit_If(self, node: ast.If) -> None:
        self.expression(node.test)
        self.branch(node.body)
        self.branch(node.orelse)

    def visit_With(self, node: ast.With) -> None:
        self.block(node.body)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self.store(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.expression(node.value)
        self.store(node.target)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.expression(node.value)


def repeated(tree: ast.AST) -> list[str]:
    """The expressions that are computed again."""
    visitor = Repeats()
    visitor.visit(tree)
    return visitor.found


def text_of(function: Any) -> str:
    """The source of a function, with that of the helpers in its module."""
    module = inspect.getmodule(function)
    parts: dict[str, str] = {}
    waiting = [function]
    while waiting:
        helper = waiting.pop()
        text = parts[helper.__name__] = inspect.getsource(helper)
        names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        helpers = [getattr(module, name, None) for name in sorted(names - parts.keys())]
        waiting += [h for h in helpers if inspect.isfunction(h) and h.__module__ == function.__module__]
    return "\n".join(parts.values())


def names_of_user(case: Case) -> set[str]:
    """The identifiers of a function and its helpers."""
    nodes = list(ast.walk(ast.parse(text_of(case.function))))
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}


def seconds_of(case: Case, compiled: Any) -> tuple[float, float]:
    """The fastest call of the compiled function and of that by hand."""
    for _ in range(3):  # what is checked at the first calls is checked by then
        compiled(*case.args)
    (once,) = interleaved(1, per_call(lambda: case.by_hand(*case.args), 1))
    rounds, repeats = (1, 1) if is_tiny() else (40, max(1, int(0.002 / once.least)))
    ours, theirs = interleaved(
        rounds, per_call(lambda: compiled(*case.args), repeats), per_call(lambda: case.by_hand(*case.args), repeats)
    )
    return ours.least, theirs.least


def row(case: Case, timed: bool) -> Row:
    """Measure one function."""
    differentiated = case.differentiated()
    ours = ast.parse(str(gs.source(differentiated, *case.args)))
    theirs = ast.parse(text_of(case.by_hand))
    pair = [(len(list(statements(tree))), len(repeated(tree)), in_loops(tree)) for tree in (ours, theirs)]
    (lines, again, looped), (lines_by_hand, again_by_hand, looped_by_hand) = pair
    return Row(
        case.function.__name__,
        (lines, lines_by_hand),
        len(anonymous(ours, names_of_user(case))) / max(1, len(assigned(ours))),
        (again, again_by_hand),
        (looped, looped_by_hand),
        seconds_of(case, gs.compile(differentiated)) if timed else None,
    )


def table(rows: list[Row]) -> str:
    """The rows, and their median and worst."""
    head = f"{'':<24}{'lines':>7}{'hand':>6}{'ratio':>7}{'anonymous':>11}{'repeated':>10}{'hand':>6}{'in loops':>10}{'hand':>6}"
    timed = rows[0].seconds is not None
    shown = [head + (f"{'µs':>9}{'hand':>9}{'ratio':>7}" if timed else "")]
    for r in rows:
        text = f"{r.name:<24}{r.lines[0]:>7}{r.lines[1]:>6}{r.longer:>7.2f}{r.anonymous:>11.0%}"
        text += f"{r.repeated[0]:>10}{r.repeated[1]:>6}{r.in_loops[0]:>10}{r.in_loops[1]:>6}"
        if r.seconds is not None:
            text += f"{1e6 * r.seconds[0]:>9.1f}{1e6 * r.seconds[1]:>9.1f}{r.slower:>7.2f}"
        shown.append(text)
    for word, of in (("median", statistics.median), ("worst", max)):
        text = f"{word:<24}{'':>13}{of([r.longer for r in rows]):>7.2f}{of([r.anonymous for r in rows]):>11.0%}"
        text += f"{of([r.repeated[0] for r in rows]):>10g}{'':>6}{of([r.in_loops[0] for r in rows]):>10g}{'':>6}"
        if timed:
            text += f"{'':>18}{of([r.slower for r in rows]):>7.2f}"
        shown.append(text)
    return "\n".join(shown)


def show(case: Case) -> None:
    """Print both sources of a function, and what the table counts in the generated one."""
    text = str(gs.source(case.differentiated(), *case.args))
    print(text, "\n# by hand\n" + text_of(case.by_hand), sep="\n")
    print("# anonymous:", *anonymous(ast.parse(text), names_of_user(case)))
    print("# repeated:", *repeated(ast.parse(text)), sep="\n#   ")


if __name__ == "__main__":
    if "--show" in sys.argv:
        wanted = sys.argv[sys.argv.index("--show") + 1 :]
        for case in cases():
            if case.function.__name__ in wanted:
                show(case)
    else:
        print(table([row(case, "--no-times" not in sys.argv) for case in cases()]))
