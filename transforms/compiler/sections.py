"""How generated statements are set out: forward and backward sections, one np.errstate, and the user's lines as notes."""

from __future__ import annotations

import itertools
from typing import Any

import gast

from ...runtime.ir import Call
from .inlining import name_tree
from .naming import line_text
from .printer import note, section, to_source

__all__ = ["in_sections"]


def in_sections(statements: list[tuple[Any, Call]]) -> list[Any]:
    """The statements of a function, those of the backward part with NumPy's warnings off."""
    body: list[Any] = []
    labelled = any(call.backward for _, call in statements)
    groups = [(key, list(group)) for key, group in itertools.groupby(statements, lambda pair: _origin(pair[1]))]
    alone = [members[0][0] for key, members in groups if len(members) == 1 and key[0] == "forward"]
    lines = to_source(gast.Module(body=alone, type_ignores=[])).splitlines()
    printed = {"".join(line.split()) for line in lines}
    printed |= {"return" + "".join(line.partition(" = ")[2].split()) for line in lines}  # `out = x` is `return x`
    before: str | None = None
    quiet: Any = None
    for key, members in groups:
        part, site = key[0], key[2]
        first, call = members[0]
        if call.quiet:
            if quiet is None:
                quiet = gast.With(items=[_quietly()], body=[], type_comment=None)
                body.append(quiet)
            into = quiet.body
        else:
            quiet, into = None, body
        if labelled and part != before:
            section(quiet if into is not body and not into else first, part)
        before = part
        if site is not None:
            text = line_text(site.site)
            if (
                len(members) == 1 and "".join(text.split()) in printed
            ):  # the statement, or its forward twin, is the user's line
                note(first, str(site))
            else:
                note(first, f"{site}: {text}" if text else str(site), above=True)
        into.extend(statement for statement, _ in members)
    return body


def _origin(call: Call) -> tuple[str, bool, Any]:
    """What consecutive statements share under one note."""
    return ("backward" if call.backward else "forward", call.quiet, None if call.site is None else _Line(call.site))


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
