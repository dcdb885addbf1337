"""gs.source: the generated text of a function, to print, or to look at in a notebook; and the graph behind it."""

from __future__ import annotations

from typing import Any

from ...runtime.ir.graph import Graph
from ...tracer.core.site import pruned
from .driver.compiled import Compiled
from .schedule.lower import program_of
from .schedule.program import Program
from .schedule.show import shown

__all__ = ["Source", "graph", "program", "source"]


class Source(str):
    """Python source text: `print` shows it, a notebook highlights it."""

    def _repr_html_(self) -> str:
        try:
            from pygments import highlight  # Jupyter brings it along
            from pygments.formatters import HtmlFormatter
            from pygments.lexers import PythonLexer
        except ImportError:
            import html

            return f"<pre>{html.escape(self)}</pre>"
        return str(highlight(str(self), PythonLexer(), HtmlFormatter(noclasses=True)))

    def __repr__(self) -> str:
        return str(self)


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
    and the line, for a function that runs eagerly.

    >>> import numpy as np, gradscribe as gs
    >>> def f(x):
    ...     return np.sum(x * x)
    >>> "(x * x).sum()" in gs.source(f, np.ones(3))
    True
    """
    return Source(_compiled(function).specialisation(*args, **kwargs).text)


@pruned
def graph(function: Any, *args: Any, **kwargs: Any) -> Graph:
    """The graph that this source was written from, after the passes; raises CompileError as `gs.source` does."""
    return _compiled(function).specialisation(*args, **kwargs).graph


@pruned
def program(function: Any, *args: Any, **kwargs: Any) -> ShownProgram:
    """The Program that this source prints: its statements in order, with what each writes over; raises as `gs.source` does."""
    found = _compiled(function).specialisation(*args, **kwargs)
    return ShownProgram(*program_of(found.graph, found.signature, found.function.__name__))


def _compiled(function: Any) -> Compiled:
    return function if isinstance(function, Compiled) else Compiled(function, {"verify": False})
