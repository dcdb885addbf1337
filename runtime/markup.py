"""Markup for notebooks: tables and paragraphs of texts that are never markup themselves."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["paragraph", "preformatted", "table"]


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; the lines of a cell stay lines."""

    def row(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align: left">{_text(cell)}</{tag}>' for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{_text(caption)}</caption><thead>{row('th', head)}</thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{_text(text)}</p>"


def preformatted(text: str) -> str:
    """Return a text as it stands, in letters of one width."""
    return f"<pre>{html.escape(text)}</pre>"


def _text(value: object) -> str:
    return "<br>".join(map(html.escape, str(value).splitlines()))
