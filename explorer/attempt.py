"""One attempt at the page of a file as it stands, in a process of its own: the page, or the user's error with its line.

`main` writes `page.html` or `error.json` into a folder, and into `files.json` which files of the user's were imported.
A process of its own sees every module as it was saved, and may fail or hang by itself.
"""

from __future__ import annotations

import json
import linecache
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from .report import is_users, page, report_data
from .targets import Call, Target, UsageError, arguments_by_name, call_of, last_function, load, of

__all__ = ["Choice", "main", "told"]

AROUND = 2  # lines of the user's before and behind the one at fault


class Choice(NamedTuple):
    """What is to be shown: the target as it stands on the command line, and its options."""

    target: str
    args: str | None = None
    of: str | None = None
    argnums: str | None = None


def attempt(choice: Choice) -> str:
    """Return the page of what a file says now."""
    target = last_function(choice.target) if choice.target.endswith(".py") else load(choice.target)
    call = _call(target, choice.args)
    plain = choice.of is None and choice.argnums is None
    function = target.function if plain else of(target, choice.of, choice.argnums)
    return page(report_data(function, call.args, call.kwargs))


def _call(target: Target, text: str | None) -> Call:
    """The arguments: those of the command line, or what the file calls as the function calls its parameters."""
    found = arguments_by_name(target) if text is None else None
    return call_of(target, text) if found is None else found


def told(error: BaseException) -> dict[str, Any]:
    """Return what the page says of an error: its words, and the user's lines that it went through, the last one first."""
    frames = [
        (f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 0, "<module>"))
    kind = type(error).__name__
    said = str(error) if isinstance(error, UsageError) else f"{kind}: {getattr(error, 'msg', None) or error}"
    return {"said": said, "frames": [_frame(*frame) for frame in reversed(frames)]}


def _frame(path: str, line: int, name: str) -> dict[str, Any]:
    linecache.checkcache(path)
    rows = linecache.getlines(path)
    first = max(1, line - AROUND)
    return {
        "path": path, "line": line, "in": "" if name == "<module>" else name, "first": first,
        "rows": [row.rstrip("\n") for row in rows[first - 1 : line + AROUND]],
    }  # fmt: skip


def main(folder: str, choice: str) -> None:
    """Write the page of a choice, which is JSON, or what went wrong."""
    place = Path(folder)
    try:
        (place / "page.html").write_text(attempt(Choice(**json.loads(choice))), encoding="utf-8")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit of the user's among them
        (place / "error.json").write_text(json.dumps(told(error)), encoding="utf-8")
    files = {
        file for module in list(sys.modules.values()) if isinstance(file := getattr(module, "__file__", None), str)
    }
    (place / "files.json").write_text(json.dumps(sorted(filter(is_users, files))), encoding="utf-8")
