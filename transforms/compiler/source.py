"""gs.source: the generated source of a function, to print, or to look at in a notebook; and the graph behind it."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...runtime.ir.draw import ShownGraph
from ...tracer.core.site import pruned
from .driver.compiled import TARGETS, Compiled
from .driver.generated import Specialisation
from .driver.statements import statements
from .frontend.user_names import line_text
from .schedule.program import Program
from .schedule.show import shown

__all__ = ["Source", "UserLine", "graph", "program", "source"]


class UserLine(NamedTuple):
    """A line of the user's; it prints as `model.py:6: r = x @ w`."""

    path: str
    line: int
    text: str
    shown: str

    def __str__(self) -> str:
        return f"{self.shown}: {self.text}" if self.text else self.shown


Lines = dict[int, UserLine]


class Source(str):
    """Source text, in Python or in C (of the native target), which knows its file and the user's line behind each of its lines.

    `print` shows it, and so does the prompt; a notebook highlights it. `path` is the file in which it lies: `b path:12` sets
    a breakpoint in pdb. It is None of text that no process runs yet.
    """

    path: str | None
    language: str
    _lines: Lines | Callable[[], Lines]

    def __new__(
        cls, text: str, path: str | None = None, lines: Lines | Callable[[], Lines] = dict, language: str = "Python"
    ) -> Source:
        """A text; `lines` is found out when somebody asks."""
        self = super().__new__(cls, text)
        self.path, self._lines, self.language = path, lines, language
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Source, (str(self), self.path, self._known(), self.language)

    def _known(self) -> Lines:
        if callable(self._lines):
            self._lines = self._lines()
        return self._lines

    def line_of(self, line: int) -> UserLine | None:
        """The user's line that a line of this text, counted from 1, comes from; None where it comes from none."""
        rows = self.splitlines()
        if not 1 <= line <= len(rows):
            raise IndexError(f"the source has the lines 1 to {len(rows)}, and not {line}")
        while line < len(rows) and rows[line - 1].lstrip().startswith("#"):
            line += 1  # a comment stands above what it is about
        return self._known().get(line)

    def lines_from(self, line: int, path: str | os.PathLike[str] | None = None) -> list[int]:
        """The lines of this text that come from one of the user's lines, in the file `path` where there are several."""
        wanted = None if path is None else os.path.abspath(path)
        return [
            k for k, found in self._known().items()
            if found.line == line and wanted in (None, os.path.abspath(found.path))
        ]  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the text into a file, as a whole or not at all; the path."""
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(self)
            os.chmod(name, 0o644)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
        return target

    def diff(self, other: str, context: int = 3) -> Source:
        """Return the difference to another source, as `diff -u` shows it; empty where they are the same."""
        rows = difflib.unified_diff(self.splitlines(), other.splitlines(), "this", "other", n=context, lineterm="")
        return Source("".join(f"{row}\n" for row in rows))

    def _repr_html_(self) -> str:
        try:
            from pygments import highlight  # Jupyter brings it along
            from pygments.formatters import HtmlFormatter
            from pygments.lexers import get_lexer_by_name
        except ImportError:
            import html

            return f"<pre>{html.escape(self)}</pre>"
        return str(highlight(str(self), get_lexer_by_name(self.language.lower()), HtmlFormatter(noclasses=True)))

    def __repr__(self) -> str:
        return str(self)


def source_of(specialisation: Specialisation) -> Source:
    """The source of a specialisation."""

    def lines() -> Lines:
        found: Lines = {}
        for statement in statements(specialisation):
            site = statement.call.site
            if site is not None:
                user = UserLine(site.code.co_filename, site.line, line_text(site), str(site))
                found |= dict.fromkeys(range(statement.first, statement.last + 1), user)
        return dict(sorted(found.items()))

    return Source(specialisation.text, specialisation.filename, lines)


class ShownProgram(Program):
    """A Program that prints as text."""

    __slots__ = ()

    def __str__(self) -> str:
        return shown(self)

    __repr__ = __str__


@pruned
def source(function: Any, *args: Any, **kwargs: Any) -> Source:
    """The source that `gs.compile(function)` runs for these arguments.

    `function` is a plain function, `gs.grad(f)`, or what `gs.compile` returned. Raises CompileError, with the reason
    and the line, for a function that runs eagerly. With `target="native"` it is the C that this target builds, which begins with
    a page that all kernels share and that is not shown; CompileError says why a function has none. (An argument of the
    function that is called `target` goes to the function, unless it is one of these words.)

    >>> import numpy as np, gradscribe as gs
    >>> def f(x):
    ...     return np.sum(x * x)
    >>> "(x * x).sum()" in gs.source(f, np.ones(3))
    True
    """
    target = kwargs.get("target")
    asked = kwargs.pop("target") if type(target) is str and target in TARGETS else "numpy"
    specialisation = _compiled(function).specialisation(*args, **kwargs)
    return source_of(specialisation) if asked == "numpy" else _in_c(specialisation)


def _in_c(specialisation: Specialisation) -> Source:
    """The C of a specialisation."""
    from .driver.native import c_source  # most programs need none of it

    return Source(c_source(specialisation), language="C")


@pruned
def graph(function: Any, *args: Any, **kwargs: Any) -> ShownGraph:
    """The graph that this source was written from, after the passes; raises CompileError as `gs.source` does."""
    found = _compiled(function).specialisation(*args, **kwargs)
    return ShownGraph(found.graph, {v: found.signature.name_of(v) for v in found.graph.inputs})


@pruned
def program(function: Any, *args: Any, **kwargs: Any) -> ShownProgram:
    """The Program that this source prints: its statements in order, with what each writes over; raises as `gs.source` does."""
    return ShownProgram(*_compiled(function).specialisation(*args, **kwargs).program())


def _compiled(function: Any) -> Compiled:
    return function if isinstance(function, Compiled) else Compiled(function, {"verify": False})
