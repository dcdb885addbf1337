"""Sections of generated source: forward and backward, one np.errstate, the user's lines as comments, words on tricks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import gast

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call
from ..frontend.user_names import line_text
from ..schedule.stores import section_of
from .blocks import Block, Entries, Fork, TileLoop, each_statement
from .inlining import name_tree
from .printer import is_noted, note, section, to_source

__all__ = ["in_sections", "note_tricks"]


def in_sections(
    statements: Entries, inside: TileLoop | None = None, quietly: bool = False, before: str | None = None,
    within: Call | None = None, known: set[str] | None = None, said: set[tuple[str, Any]] | None = None,
) -> list[Any]:  # fmt: skip
    """The statements of a function, or of a loop or a branch in it, those of the backward part with NumPy's warnings off.

    `before` is the section that goes on in them. Within the statement of a call there are no sections; `known` are the lines
    of the user's that stand elsewhere, and `said` those that a comment has named, by section. A comment names a line where
    its statements begin, once in a section; a statement that is the user's line needs none.
    """
    body: list[Any] = []
    labelled = any(call.backward for _, call in each_statement(statements)) if inside is None else inside.mixed
    labelled = (labelled or before is not None) and within is None
    groups = _groups(statements)
    printed = _printed(statements, inside) | (known or set())
    said = set() if said is None else said
    quiet: Any = None
    quietly = quietly or PLACE.module is not None  # CuPy warns of nothing, and has no np.errstate
    for place, (key, members) in enumerate(groups):
        part, site = key[0], key[2]
        first, call = members[0]
        if isinstance(first, TileLoop):
            part = "forward and backward" if first.mixed else part
            first = first.before[0] if first.before else first.node
        elif isinstance(first, (Fork, Block)):
            first = first.node
        if call.quiet and not quietly:
            if quiet is None and _may_warn(itertools.takewhile(_is_quiet, groups[place:])):
                quiet = gast.With(items=[_quietly()], body=[], type_comment=None)
                body.append(quiet)
        else:
            quiet = None
        into = body if quiet is None else quiet.body
        if labelled and part != before:
            section(quiet if into is not body and not into else first, part)
        before = part
        if site is not None and (key[0], site) not in said:
            said.add((key[0], site))
            text = line_text(site.site)
            if key[0] not in ("forward", "writes") or "".join(text.split()) not in printed:
                goes_on = any((key[0], site) == (other[0], other[2]) for other, _ in groups[place + 1 : place + 2])
                behind = len(members) == 1 and isinstance(members[0][0], _SIMPLE) and not (goes_on or is_noted(first))
                note(first, f"{site}: {text}" if text else str(site), above=not behind)
        for statement, call in members:
            if isinstance(statement, TileLoop):
                inner = in_sections(statement.entries, statement, call.quiet or quietly, None, within, known, said)
                statement.node.body.extend(inner)
                into.extend((*statement.before, statement.node))
            elif isinstance(statement, Fork):
                inner = in_sections(statement.entries, before=part if labelled else None, said=said.copy())
                statement.node.body.extend((*inner, statement.result))
                into.append(statement.node)
            elif isinstance(statement, Block):
                node, off = statement.node, call.quiet or quietly
                for lines, arm in ((statement.body, node.body), (statement.orelse, node.orelse)):
                    again = (
                        said.copy() if isinstance(node, gast.If) else {(key[0], site)}
                    )  # a loop has lines of its own
                    arm.extend(in_sections(lines, None, off, None, call, printed, again))
                node.body = node.body or [gast.Pass()]
                into.append(node)
            else:
                into.append(statement)
    return body


_SIMPLE = (gast.Assign, gast.AugAssign, gast.Expr, gast.Return)  # statements of one line, behind which there is room


def _is_quiet(group: tuple[Any, Entries]) -> bool:
    return bool(group[1][0][1].quiet)


# Functions and methods that move numbers and compute none, and those that fill an array with a number.
_SILENT = frozenset(
    ["append", "array", "broadcast_to", "concatenate", "copy", "diag", "diagonal", "empty", "empty_like", "enumerate",
     "expand_dims", "eye", "flip", "len", "list", "moveaxis", "ones", "ones_like", "pop", "range", "ravel", "repeat",
     "reshape", "reverse", "reversed", "roll", "squeeze", "stack", "swapaxes", "tile", "transpose", "where", "zeros",
     "zeros_like", "zip"]
)  # fmt: skip
_FILLING = frozenset(["full", "full_like", "float64", "float32"])
_SILENT_NODES = (
    gast.Assign, gast.Attribute, gast.Constant, gast.Expr, gast.For, gast.List, gast.Load, gast.Name, gast.Pass, gast.Return,
    gast.Slice, gast.Store, gast.Subscript, gast.Tuple, gast.USub, gast.keyword,
)  # fmt: skip


def _may_warn(groups: Iterable[tuple[Any, Entries]]) -> bool:
    """Whether NumPy could warn in any of these statements: it computes, and does not only move numbers."""
    made = [made for _, members in groups for made, _ in each_statement(members)]
    return any(_casts(statement) or not all(map(_is_silent, gast.walk(statement))) for statement in made)


def _casts(statement: Any) -> bool:
    """Whether more than a number is stored in an array, whose dtype may be another."""
    targets = getattr(statement, "targets", ())
    stored = any(isinstance(target, gast.Subscript) for target in targets)
    return stored and not isinstance(_bare(statement.value), gast.Constant)


def _is_silent(node: Any) -> bool:
    """Whether this part of a statement, but for what stands in it, can give no warning."""
    if isinstance(node, gast.UnaryOp):
        return isinstance(node.op, gast.USub)
    if not isinstance(node, gast.Call):
        return isinstance(node, _SILENT_NODES)
    called = to_source(node.func).rpartition(".")[2]
    if called in _FILLING:
        return any(isinstance(a, gast.Constant) and abs(a.value) < 100 for a in map(_bare, node.args))
    return called in _SILENT and not any(keyword.arg in ("dtype", "out") for keyword in node.keywords)


def _bare(node: Any) -> Any:
    """A number without its sign."""
    return node.operand if isinstance(node, gast.UnaryOp) else node


def _printed(statements: list[tuple[Any, Call]], inside: TileLoop | None) -> set[str]:
    """The user's lines that are statements of the text, or the first lines of such, without blanks."""
    found: set[str] = set()
    alone = []
    for key, group in _groups(statements):
        (first, _), *others = group
        if isinstance(first, Block):
            found |= _printed(first.body, None) | _printed(first.orelse, None)
        if isinstance(first, (Fork, Block)):
            found.add(_header(first.node))
        elif not others and key[0] in ("forward", "writes") and not isinstance(first, TileLoop):
            alone.append(first)
    lines = to_source(gast.Module(body=alone, type_ignores=[])).splitlines()
    if inside is not None:  # the user's line, but for the slices
        lines = [line.replace(f"[{inside.tile}]", "") for line in lines]
    found |= {"".join(line.split()) for line in lines}
    return found | {"return" + "".join(line.partition(" = ")[2].split()) for line in lines}  # `out = x` is `return x`


def _groups(statements: list[tuple[Any, Call]]) -> list[tuple[Any, list[tuple[Any, Call]]]]:
    """What consecutive statements have in common, and those; what stands between two of one line belongs to it."""
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
    """What consecutive statements share under one note; a loop stands alone."""
    statement, call = entry
    site = _line(call)
    alone = id(statement) if isinstance(statement, (TileLoop, Fork, Block)) else None
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


# Tricks with buffers: a few words at the first of each kind.
_SELECTION = "np.where(mask, x, 0.0), without branches"
_OUT = "out=: written over an array that nobody reads again"
_DEL = "frees memory before more is taken"


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
        nodes = list(gast.walk(statement))
        if any(hasattr(node, "is_selection") for node in nodes):
            yield _SELECTION
        if any(isinstance(node, gast.keyword) and node.arg == "out" for node in nodes):
            yield _OUT
