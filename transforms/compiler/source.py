"""gs.source: the generated text of a function, to print, or to look at in a notebook; and the graph behind it."""

from __future__ import annotations

from typing import Any

from ...runtime.ir.graph import Graph
from .driver.compiled import Compiled

__all__ = ["Source", "graph", "source"]


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


def graph(function: Any, *args: Any, **kwargs: Any) -> Graph:
    """The graph that this source was written from, after the passes; raises CompileError as `gs.source` does."""
    return _compiled(function).specialisation(*args, **kwargs).graph


def _compiled(function: Any) -> Compiled:
    return function if isinstance(function, Compiled) else Compiled(function, {"verify": False})
