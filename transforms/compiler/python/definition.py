"""A shaped Program as the definition of a function, by sections: it writes down what the steps of the target have decided."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable
from typing import Any

import gast

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call
from ..frontend.user_names import line_text
from ..schedule.program import Program, Unpack
from ..schedule.signature import Signature
from ..schedule.stores import section_of
from .entries import Block, Entries, Path, TileLoop, each_statement
from .printer import is_noted, note, section, to_source
from .quiet import may_warn
from .variables import each_node, name_tree

__all__ = ["definition"]


def definition(
    program: Program, signature: Signature, name: str, said: str, entries: Entries, before: str | None = None
) -> Any:
    """The definition of a function: the docstring `said`, what takes its arguments apart, and its statements, by sections.

    `entries` are those of its program, anew; `before` is the section that all of them stand in, where they are
    a part of another function.
    """
    body: list[Any] = [gast.Expr(value=gast.Constant(value=said, kind=None))]
    body += [line for s in program.body if isinstance(s, Unpack) for line in s.lines or ()]
    note_tricks(made for made, _ in each_statement(entries))
    body.extend(_Layout(entries, quietly=before is not None, before=before).lines())
    last = program.body[-1].lines
    if last.owner is None:
        body.append(gast.Return(value=last.value))
    return gast.FunctionDef(
        name=name, args=_arguments(signature), body=body, decorator_list=[], returns=None, type_comment=None,
        **({"type_params": []} if "type_params" in gast.FunctionDef._fields else {}),
    )  # fmt: skip


def _arguments(signature: Signature) -> Any:
    """The parameter list as gast has it."""

    def parameter(name: str) -> Any:
        return gast.Name(id=name, ctx=gast.Param(), annotation=None, type_comment=None)

    positional = [parameter(n) for n in signature.arguments_named[: signature.positional]]
    keyword = [parameter(n) for n in (*signature.arguments_named[signature.positional :], *signature.extras)]
    return gast.arguments(
        args=positional, posonlyargs=[], vararg=None, kwonlyargs=keyword, kw_defaults=[None] * len(keyword),
        kwarg=None, defaults=[],
    )  # fmt: skip


# Sections: forward and backward, one np.errstate, the user's lines as comments, words on tricks.
class _Layout:
    """The layout of a function, or of a loop or a branch in it: the backward part stands with NumPy's warnings off.

    `before` is the section that goes on in it. Within the statement of a call there are no sections; `known` are the lines
    of the user's that stand elsewhere, and `said` those that a comment has named, by section. A comment names a line where
    its statements begin, once in a section; a statement that is the user's line needs none.
    """

    def __init__(
        self, statements: Entries, inside: TileLoop | None = None, quietly: bool = False, before: str | None = None,
        within: Call | None = None, known: Collection[str] = (), said: set[tuple[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        labelled = any(call.backward for _, call in each_statement(statements)) if inside is None else inside.mixed
        self.labelled = (labelled or before is not None) and within is None
        self.groups = _groups(statements)
        self.printed = _printed(statements, inside).union(known)
        self.known, self.said = known, set() if said is None else said
        self.within = within
        self.before = before
        self.quietly = quietly or PLACE.module is not None  # CuPy warns of nothing, and has no np.errstate
        self.quiet: Any = None  # the `with np.errstate` that goes on
        self.asked = False  # whether it is known if they need one
        self.statements = statements
        self.body: list[Any] = []

    def lines(self) -> list[Any]:
        """Return the statements."""
        for place, (key, members) in enumerate(self.groups):
            part, first = _beginning(key[0], members[0][0])
            into = self._block_for(place)
            if self.labelled and part != self.before:
                section(self.quiet if into is not self.body and not into else first, part)
            self.before = part
            self._comment(place, first)
            for statement, call in members:
                into.extend(self._with_inner(statement, call, key))
        return self.body

    def _block_for(self, place: int) -> list[Any]:
        """Return the statements that a group goes behind: those of a `with np.errstate`, where NumPy could warn in it."""
        if not self.groups[place][1][0][1].quiet or self.quietly:
            self.quiet, self.asked = None, False
        elif not self.asked and self._may_warn(place):
            self.quiet = gast.With(items=[_quietly()], body=[], type_comment=None)
            self.body.append(self.quiet)
        block: list[Any] = self.body if self.quiet is None else self.quiet.body
        return block

    def _may_warn(self, place: int) -> bool:
        """Whether NumPy could warn in this group, or those behind it that are to be quiet as well; asked once for all of them."""
        self.asked = True
        groups = itertools.takewhile(_is_quiet, self.groups[place:])
        asked = (made for _, members in groups for made, _ in each_statement(members))
        return may_warn(asked, list(each_statement(self.statements)))

    def _comment(self, place: int, first: Any) -> None:
        """Name the user's line of a group at its first statement, where that is due."""
        (part, _, site, _), members = self.groups[place]
        if site is None or (part, site) in self.said:
            return
        self.said.add((part, site))
        text = line_text(site.site)
        if part in ("forward", "writes") and "".join(text.split()) in self.printed:
            return
        goes_on = any((part, site) == (other[0], other[2]) for other, _ in self.groups[place + 1 : place + 2])
        behind = len(members) == 1 and isinstance(members[0][0], _SIMPLE) and not (goes_on or is_noted(first))
        note(first, f"{site}: {text}" if text else str(site), above=not behind)

    def _with_inner(self, statement: Any, call: Call, key: Any) -> list[Any]:
        """Return a statement with those in it."""
        off = call.quiet or self.quietly
        if isinstance(statement, TileLoop):
            inner = _Layout(statement.entries, statement, off, None, self.within, self.known, self.said)
            statement.node.body.extend(inner.lines())
            return [*statement.before, statement.node]
        if isinstance(statement, Path):
            inner = _Layout(statement.entries, before=self.before if self.labelled else None, said=self.said.copy())
            statement.node.body.extend((*inner.lines(), statement.result))
            return [statement.node]
        if not isinstance(statement, Block):
            return [statement]
        node = statement.node
        for lines, arm in ((statement.body, node.body), (statement.orelse, node.orelse)):
            said = self.said.copy() if isinstance(node, gast.If) else {(key[0], key[2])}  # a loop has lines of its own
            arm.extend(_Layout(lines, None, off, None, call, self.printed, said).lines())
        node.body = node.body or [gast.Pass()]
        return [node]


def _beginning(part: str, first: Any) -> tuple[str, Any]:
    """Return the section that a group stands in, and the tree of its first statement."""
    if isinstance(first, TileLoop):
        return "forward and backward" if first.mixed else part, first.before[0] if first.before else first.node
    return part, first.node if isinstance(first, (Path, Block)) else first


_SIMPLE = (gast.Assign, gast.AugAssign, gast.Expr, gast.Return)  # statements of one line, behind which there is room


def _is_quiet(group: tuple[Any, Entries]) -> bool:
    return bool(group[1][0][1].quiet)


def _printed(statements: list[tuple[Any, Call]], inside: TileLoop | None) -> set[str]:
    """The user's lines that are statements of the text, or the first lines of such, without blanks."""
    found: set[str] = set()
    alone = []
    for key, group in _groups(statements):
        (first, _), *others = group
        if isinstance(first, Block):
            found |= _printed(first.body, None) | _printed(first.orelse, None)
        if isinstance(first, (Path, Block)):
            found.add(_header(first.node))
        elif not others and key[0] in ("forward", "writes") and not isinstance(first, TileLoop):
            alone.append(first)
    lines = to_source(gast.Module(body=alone, type_ignores=[])).splitlines()
    if inside is not None:  # the user's line, but for the slices
        lines = [line.replace(f"[{inside.tile}]", "") for line in lines]
    found |= {"".join(line.split()) for line in lines}
    return found | {"return" + "".join(line.partition(" = ")[2].split()) for line in lines}  # `out = x` is `return x`


def _groups(statements: list[tuple[Any, Call]]) -> list[tuple[Any, list[tuple[Any, Call]]]]:
    """Return consecutive statements in groups, with what those of one have in common; one between two of a line belongs to it."""
    keys = [_origin(entry) for entry in statements]
    following = list(keys)  # for each: the next that is of a line or stands alone
    for k in reversed(range(len(keys) - 1)):
        following[k] = following[k + 1] if _is_of_none(keys[k + 1]) else keys[k + 1]
    for k in range(1, len(keys) - 1):
        if _is_of_none(keys[k]):
            after = following[k]
            if not _is_of_none(after) and keys[k - 1] == after and after[:2] == keys[k][:2]:
                keys[k] = after
    found: list[tuple[Any, list[tuple[Any, Call]]]] = []
    for key, entry in zip(keys, statements, strict=True):
        if not found or found[-1][0] != key:
            found.append((key, []))
        found[-1][1].append(entry)
    return found


def _origin(entry: tuple[Any, Call]) -> tuple[str, bool, Any, Any]:
    """Return what the statements under one note have in common: section, warnings, line; a loop stands alone."""
    statement, call = entry
    site = _line(call)
    alone = id(statement) if isinstance(statement, (TileLoop, Path, Block)) else None
    return (section_of(call), call.quiet, site, alone)


def _is_of_none(key: tuple[str, bool, Any, Any]) -> bool:
    """Whether a statement is of no line of the user's, and does not stand alone."""
    return key[2] is None and key[3] is None


def _header(node: Any) -> str:
    """The first line of a branch or a loop, without blanks."""
    bare = type(node)(**{**node.__dict__, "body": [gast.Pass()], "orelse": []})
    return "".join(to_source(gast.Module(body=[bare], type_ignores=[])).partition(":\n")[0].split()) + ":"


def _line(call: Call | None) -> _Line | None:
    return None if call is None or call.site is None else _Line(call.site)


class _Line:
    """A site, equal to others on its line: a comprehension has code of its own."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.place = (site.code.co_filename, site.line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Line) and self.place == other.place

    def __hash__(self) -> int:
        return hash(self.place)

    def __str__(self) -> str:
        return str(self.site)


def _quietly() -> Any:
    off = gast.keyword(arg="all", value=gast.Constant(value="ignore", kind=None))
    return gast.withitem(
        context_expr=gast.Call(func=name_tree("np.errstate"), args=[], keywords=[off]), optional_vars=None
    )


# Tricks with buffers, and sums from -0.0: a few words at the first of each kind.
_SELECTION = "np.where(mask, x, 0.0), without branches"
_OUT = "out=: written over an array that nobody reads again"
_DEL = "frees memory before more is taken"
_SEED = "a sum from -0.0 keeps the sign of a zero"


def note_tricks(statements: Iterable[Any]) -> None:
    """Say behind the first statement of each kind what it is for."""
    said: set[str] = set()
    for statement in statements:
        for words in _tricks(statement):
            if words not in said:
                said.add(words)
                note(statement, words)


def _tricks(statement: Any) -> Iterable[str]:
    if isinstance(statement, gast.Delete):
        yield _DEL
    if isinstance(statement, (gast.Assign, gast.AugAssign, gast.Expr, gast.Return)):
        nodes = each_node(statement)
        if any(hasattr(node, "is_selection") for node in nodes):
            yield _SELECTION
        if any(isinstance(node, gast.keyword) and node.arg == "out" for node in nodes):
            yield _OUT
        if any(map(_is_seed, nodes)):
            yield _SEED


def _is_seed(node: Any) -> bool:
    """Whether an expression is -0.0, for a sum to start from."""
    if not (isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.args):
        return False
    start = node.args[-1]
    if isinstance(start, gast.UnaryOp) and isinstance(start.op, gast.USub):
        return isinstance(start.operand, gast.Constant) and start.operand.value == 0.0
    value = start.value if isinstance(start, gast.Constant) else None
    return type(value) is float and value == 0.0 and math.copysign(1.0, value) < 0
