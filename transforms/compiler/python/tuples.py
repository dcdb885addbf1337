"""Tuples, the last step: which short assignments are one in the text, `a, b = x[0], x[1]`."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import gast

from ....runtime.ir.graph import Call
from ..frontend.user_names import line_text
from ..schedule.program import (
    Assign,
    Effect,
    Fork,
    If,
    Loop,
    Program,
    Return,
    Statement,
    Tiled,
    Unpack,
    reads_of,
    straight,
    writes_of,
)
from .entries import Block, Entries, Path, each_statement, entries_of
from .layout import WIDTH
from .lines import Line, Lines
from .quiet import may_warn
from .variables import about, mentions, name_of, pairs_of, plain
from .widths import is_sum_of_names, width

__all__ = ["is_start", "parts_of", "tuples"]

_BACK = 6  # statements that another may come before
_ALIKE = 32  # columns of a value that shares a statement with others of its form
_NAMED = (gast.Attribute, gast.Name, gast.Subscript)
_STARTS = frozenset(["eye", "float32", "float64", "full_like", "ones", "ones_like", "zeros", "zeros_like"])


def tuples(program: Program, lengths: Mapping[str, int]) -> Program:
    """Return the program whose short assignments of one line of the user's, or of one kind, are one, where they fit on a line.

    `lengths` are those of the variables that the text is for: `a, b = x` is that of all parts of one.
    """
    entries = entries_of(program.body)
    joins = _Joins(lengths, _stands_apart(entries))
    returned = [s.lines.variables for s in straight(program.body) if isinstance(s, Return)]
    joins.block(entries, 4, frozenset[str]().union(*returned))
    return program._replace(body=joins.statements(program.body)) if joins.pairs else program


class _Joins:
    """Lines that are one with an earlier line of their block."""

    def __init__(self, lengths: Mapping[str, int], apart: bool) -> None:
        self.lengths = lengths
        self.apart = apart  # whether what is quiet stands in a `with`
        # By their trees: a line with others in it, None for what stands in such.
        self.lines: dict[int, Line | None] = {}
        self.pairs: list[tuple[Any, Any]] = []  # the tree of a line, and that of one that it takes in

    def block(self, entries: Entries, indent: int, results: Collection[str] = ()) -> None:
        """Join the lines of a block, and those of the blocks in it; `results` are the variables that the function returns."""
        made: Entries = []
        first: list[Any] = []
        for tree, call in entries:
            if isinstance(tree, Block):
                inner = self.column(indent, call) + 4
                self.block(tree.body, inner)
                self.block(tree.orelse, inner)
            elif isinstance(tree, Path):
                self.block(tree.entries, indent + 4)
            for k in _before_which(made, (tree, call)):
                joined = _joined(made[k], (tree, call), self.column(indent, call), results)
                if joined is not None:
                    made[k] = joined
                    self.lines |= {id(first[k]): joined, id(tree): None}
                    self.pairs.append((first[k], tree))
                    break
            else:
                made.append((tree, call))
                first.append(tree)
        for start, line in zip(first, made, strict=True):
            if line[0] is not start and (whole := self.taken_apart(line[0])) is not None:
                whole.parts = parts_of(line)
                self.lines[id(start)] = whole, line[1]

    def column(self, indent: int, call: Call) -> int:
        """Where a line begins in a block of such an indent."""
        return indent + 4 * (self.apart and call.quiet and indent == 4)

    def taken_apart(self, tree: Any) -> Any:
        """Return `a, b = x` for `a, b = x[0], x[1]`, where these are all parts of `x`; None of another assignment."""
        values = [value for _, value in pairs_of(tree)]
        places = [v.slice.value for v in values if isinstance(v, gast.Subscript) and isinstance(v.slice, gast.Constant)]
        if not values or places != list(range(len(values))):
            return None
        of = {name_of(v.value) for v in values}
        (name,) = of if len(of) == 1 else (None,)
        if name is None or self.lengths.get(name) != len(values):
            return None
        return gast.Assign(targets=tree.targets, value=values[0].value, type_comment=None)

    def statements(self, body: list[Statement]) -> list[Statement]:
        """Return the statements with these lines; what is one with another stands right behind it."""
        alone: dict[int, Assign] = {}  # by the tree of their one line
        made: list[Statement] = []
        for statement in body:
            changed = self.statement(statement)
            if isinstance(changed, Assign) and isinstance(statement, Assign) and len(statement.lines or ()) == 1:
                alone[id(statement.lines[0][0])] = changed
            made.append(changed)
        last: dict[Assign, Assign] = {}
        for first, second in self.pairs:
            before, behind = alone.get(id(first)), alone.get(id(second))
            if before is not None and behind is not None:
                beside = dataclasses.replace(behind, beside=True)
                made = _moved(made, last.get(before, before), behind, beside)
                last[before] = beside
        return made

    def statement(self, statement: Statement) -> Statement:
        """Return a statement with these lines."""
        lines = statement.lines
        match statement:
            case Unpack():
                return statement
            case Loop():
                fields = ("before", "opening", "asking", "fetched", "closing")
                lines = lines._replace(**{field: self.of(getattr(lines, field)) for field in fields})
                test = statement.test and statement.test._replace(body=self.statements(statement.test.body))
                return dataclasses.replace(statement, test=test, body=self.statements(statement.body), lines=lines)
            case If():
                closing = self.of(lines.closing[0]), self.of(lines.closing[1])
                whole = None if lines.whole is None else self.of(lines.whole)
                lines = lines._replace(before=self.of(lines.before), closing=closing, whole=whole)
                then, orelse = (
                    arm._replace(body=self.statements(arm.body)) for arm in (statement.then, statement.orelse)
                )
                return dataclasses.replace(statement, then=then, orelse=orelse, lines=lines)
            case Fork():
                lines = lines._replace(before=self.of(lines.before))
                return dataclasses.replace(statement, body=self.statements(statement.body), lines=lines)
            case Tiled() | Return():
                return dataclasses.replace(statement, lines=lines._replace(before=self.of(lines.before)))
        return dataclasses.replace(statement, lines=self.of(lines or ()))

    def of(self, lines: Lines) -> Lines:
        """Return these lines as they are by now."""
        return tuple(
            line for line in [self.lines.get(id(tree), (tree, call)) for tree, call in lines] if line is not None
        )


def _stands_apart(entries: Entries) -> bool:
    """Whether the statements that are to give no warnings stand in a `with np.errstate`."""
    each = list(each_statement(entries))
    return may_warn((tree for tree, call in each if call.quiet), each)


def _moved(body: list[Statement], before: Statement, behind: Assign, beside: Assign) -> list[Statement]:
    """Return the statements with one of them, and what is nested in it alone, behind an earlier one, as `beside`.

    Of what has no line between them, as a length that is named with others, what it reads comes before both.
    """
    start, end = body.index(before), body.index(behind)
    needed, moving, earlier = set(reads_of(behind)), list[Statement](), list[Statement]()
    for statement in reversed(body[start + 1 : end]):
        if not isinstance(statement, (Assign, Effect)) or needed.isdisjoint(writes_of(statement)):
            continue
        if statement.nested or not statement.lines:
            (moving if statement.nested else earlier).insert(0, statement)
            needed.update(reads_of(statement))
    staying = [statement for statement in body[start + 1 : end] if statement not in (*moving, *earlier)]
    return [*body[:start], *earlier, before, *moving, beside, *staying, *body[end + 1 :]]


def _before_which(made: Entries, entry: tuple[Any, Call]) -> Iterator[int]:
    """The places of statements that another could be one with: the last, and those of its line that it may come before."""
    statement, call = entry
    reads = frozenset[str]().union(*[mentions(value) for _, value in pairs_of(statement)])
    for k in range(len(made) - 1, max(len(made) - 1 - _BACK, -1), -1):
        yield k
        between, other = made[k]
        pairs = pairs_of(between)
        if not pairs or call.site is None or _place(call) != _place(other) or other.quiet != call.quiet:
            return
        if any(c.op.may_raise or c.op.effect for c in (call, other)) or not reads.isdisjoint(name for name, _ in pairs):
            return
        if any(isinstance(node, gast.keyword) and node.arg == "out" for _, value in pairs for node in gast.walk(value)):
            return


def _joined(
    before: tuple[Any, Call], entry: tuple[Any, Call], column: int, results: Collection[str]
) -> tuple[Any, Call] | None:
    """Two assignments as one; None where that is not one that a person would write."""
    (first, call), (second, other) = before, entry
    if call.backward != other.backward or call.quiet != other.quiet:
        return None
    left, right = pairs_of(first), pairs_of(second)
    if not left or not right:
        return None
    names = {name for name, _ in left}
    if any(name in names or not names.isdisjoint(mentions(value)) for name, value in right):
        return None
    pairs = [*left, *right]
    alike = len({_kind(value) for _, value in pairs}) == 1 and _kind(pairs[0][1]) is not None
    if not alike and not (_place(call) == _place(other) and _belongs(pairs, call, results)):
        return None
    targets = gast.Tuple(elts=[_stored(name) for name, _ in pairs], ctx=gast.Store())
    value = gast.Tuple(elts=[value for _, value in pairs], ctx=gast.Load())
    if column + width(targets) + len(" = ") + width(value) - 4 > WIDTH:
        return None
    owner = call if _place(call) == _place(other) else about(call)
    made = gast.Assign(targets=[targets], value=value, type_comment=None)
    made.parts = (*parts_of(before), *parts_of(entry))
    return made, owner


def parts_of(line: Line) -> Lines:
    """Return the assignments that a line was made of, or it alone."""
    return tuple(getattr(line[0], "parts", (line,)))


def is_start(value: Any) -> bool:
    """Whether a value is what a sum starts from: zeros, a number, or a variable as it is."""
    return _kind(value) == "start"


def _kind(value: Any) -> str | None:
    """Return the kind of a short value: the start of a loop, or an item of something; None of what is computed."""
    if isinstance(value, gast.List):
        return None if value.elts else "start"
    if isinstance(value, gast.Call) and isinstance(value.func, gast.Attribute):
        called = value.func.value
        return "start" if name_of(called) == "np" and value.func.attr in _STARTS else None
    if isinstance(value, (gast.Constant, gast.Name)):
        return "start"
    if isinstance(value, gast.Subscript) and isinstance(value.value, gast.Name):
        return "item" if isinstance(value.slice, (gast.Constant, gast.Name)) else None
    return None


def _belongs(pairs: list[tuple[str, Any]], call: Call, results: Collection[str]) -> bool:
    """Whether assignments of one line of the user's are one: the user's, results, or short ones of the same form."""
    if all(name in results for name, _ in pairs) or _is_users(pairs, call):
        return True
    forms = {_form(value) if width(value) <= _ALIKE else None for _, value in pairs}
    return len(forms) == 1 and None not in forms


def _form(value: Any) -> str | None:
    """Return the form of a short computation, without the names in it and NumPy's functions; None of anything else."""
    if isinstance(value, gast.Compare):
        return "compared" if all(map(_word, (value.left, *value.comparators))) else None
    if isinstance(value, gast.BinOp):
        parts, form = [value.left, value.right], type(value.op).__name__
    elif isinstance(value, gast.UnaryOp):
        parts, form = [value.operand], type(value.op).__name__
    elif isinstance(value, gast.Call) and name_of(getattr(value.func, "value", None)) == "np" and not value.keywords:
        parts, form = value.args, "np"
    elif isinstance(value, gast.Attribute) and value.attr == "T" and not isinstance(value.value, _NAMED):
        return _form(value.value)
    else:
        return None
    forms = [_word(part) or _form(part) for part in parts]
    return None if None in forms else f"{form}{forms}"


def _word(part: Any) -> str | None:
    """The kind of an operand: a number, a variable or a part of one, or one such more or less than another."""
    if isinstance(part, gast.Constant):
        return "number"
    return "name" if isinstance(part, _NAMED) or is_sum_of_names(part) else None


def _is_users(pairs: list[tuple[str, Any]], call: Call) -> bool:
    """Whether the user has assigned all these variables in one statement, or those whose cotangents lead to them."""
    if call.site is None:
        return False
    try:
        body = ast.parse(line_text(call.site)).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or not isinstance(body[0].value, ast.Tuple):
        return False
    (target, *others) = body[0].targets
    if others or not isinstance(target, ast.Tuple):
        return False
    names = {t.id for t in target.elts if isinstance(t, ast.Name)}
    if call.backward:
        return all(name.startswith("d_") for name, _ in pairs)
    return all(plain(name) in names for name, _ in pairs)


def _place(call: Call) -> Any:
    return None if call.site is None else (call.site.code.co_filename, call.site.line)


def _stored(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
