"""Sections of generated source: forward and backward, one np.errstate, and the user's lines as notes."""

from __future__ import annotations

from typing import Any

import gast

from ....runtime.ir.graph import Call
from ..frontend.user_names import line_text
from ..schedule.stores import section_of
from .blocks import Block, Fork, TileLoop, each_statement
from .inlining import name_tree
from .printer import note, section, to_source
from .selections import note_selections

__all__ = ["in_sections"]


def in_sections(
    statements: list[tuple[Any, Call]], inside: TileLoop | None = None, quietly: bool = False, before: str | None = None,
    within: Call | None = None, known: set[str] | None = None,
) -> list[Any]:  # fmt: skip
    """The statements of a function, or of a loop or a branch in it, those of the backward part with NumPy's warnings off.

    `before` is the section that goes on in them. Within the statement of a call there are no sections; `known` are the lines
    of the user's that stand elsewhere.
    """
    body: list[Any] = []
    labelled = any(call.backward for _, call in each_statement(statements)) if inside is None else inside.mixed
    labelled = (labelled or before is not None) and within is None
    groups = _groups(statements)
    printed = _printed(statements, inside) | (known or set())
    quiet: Any = None
    noted: tuple[bool, Any] = (within is not None, _line(within))
    for place, (key, members) in enumerate(groups):
        part, site = key[0], key[2]
        first, call = members[0]
        begins = site is not None and any(_is_loop_of(site, group) for group in groups[place + 1 : place + 2])
        if isinstance(first, TileLoop):
            part = "forward and backward" if first.mixed else part
            first = first.before[0]
        elif isinstance(first, (Fork, Block)):
            first = first.node
        if call.quiet and not quietly:
            if quiet is None:
                quiet = gast.With(items=[_quietly()], body=[], type_comment=None)
                body.append(quiet)
            into = quiet.body
        else:
            quiet, into = None, body
        if labelled and part != before:
            section(quiet if into is not body and not into else first, part)
            noted = (within is not None, _line(within))
        before = part
        forked = isinstance(members[0][0], (Fork, Block))
        if site is not None and not ((forked or noted[0]) and site == noted[1]):  # the arms of one line have one note
            text = line_text(site.site)
            if not begins and len(members) == 1 and "".join(text.split()) in printed:
                note(first, str(site))  # the statement, or its forward twin, is the user's line
            else:
                note(first, f"{site}: {text}" if text else str(site), above=True)
        noted = noted if site is None else (forked, site)
        for statement, call in members:
            if isinstance(statement, TileLoop):
                inner = in_sections(statement.entries, statement, call.quiet or quietly, within=within, known=known)
                statement.node.body.extend(inner)
                into.extend((*statement.before, statement.node))
            elif isinstance(statement, Fork):
                inner = in_sections(statement.entries, before=part if labelled else None)
                statement.node.body.extend((*inner, statement.result))
                into.append(statement.node)
            elif isinstance(statement, Block):
                node, off = statement.node, call.quiet or quietly
                node.body.extend(in_sections(statement.body, quietly=off, within=call, known=printed) or [gast.Pass()])
                node.orelse.extend(in_sections(statement.orelse, quietly=off, within=call, known=printed))
                into.append(node)
            else:
                note_selections(statement)
                into.append(statement)
    return body


def _is_loop_of(site: Any, group: tuple[Any, list[tuple[Any, Call]]]) -> bool:
    """Whether a group is a loop or a branch that stands under the note of what is before it."""
    key, members = group
    return bool(key[2] == site) and isinstance(members[0][0], (Fork, Block))


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
    for k in range(1, len(keys) - 1):
        if keys[k][2] is None and keys[k][3] is None:
            after = next((key for key in keys[k + 1 :] if key[2] is not None or key[3] is not None), None)
            if after is not None and keys[k - 1] == after and after[:2] == keys[k][:2]:
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
