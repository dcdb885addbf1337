"""The part of the compiler that stands on gast: what gs.compile loads when something is first compiled."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from typing import Any

from ...runtime.ir import Graph, Value
from .misses import missed
from .specialise import Entry, Inputs, captured, difference
from .statements import first_difference
from .tracebacks import located

__all__ = ["Entry", "Inputs", "captured", "difference", "first_difference", "located", "missed", "passes_of"]


def passes_of(options: dict[str, Any]) -> Callable[[Graph], Graph]:
    """The passes that `gs.compile(f, passes=..., dump=...)` asks for, as one function of a graph.

    Raises ValueError for a name that is no pass, OSError where the file cannot be written.
    """
    from .passes import NAMES

    if isinstance(options.get("dump"), str):
        open(options["dump"], "a", encoding="utf-8").close()
    only = options.get("passes")
    unknown = [name for name in only or () if name not in NAMES]
    if unknown:
        raise ValueError(f"no pass is called {unknown[0]!r}; there are {', '.join(NAMES)}")
    return functools.partial(_optimised, only, options.get("dump", False))


def _optimised(only: tuple[str, ...] | None, dump: bool | str, graph: Graph) -> Graph:
    from .passes import optimise  # not loaded where the cache has the text

    if not dump:
        return optimise(graph, only)
    names: dict[Value, str] = {}
    texts: list[str] = []
    shown: list[str] = []

    def seen(name: str, after: Graph) -> None:
        texts.append(after.text(names))
        if len(texts) == 1:
            shown.append(f"after {name}:\n{texts[0]}\n")
            return
        lines = list(difflib.unified_diff(texts[-2].splitlines(), texts[-1].splitlines(), lineterm="", n=1))[2:]
        shown.append("\n".join([f"after {name}:" + ("" if lines else " nothing changed"), *lines, ""]))

    found = optimise(graph, only, seen)
    whole = "\n".join(shown)
    if dump is True:
        print(whole)
    else:
        with open(dump, "a", encoding="utf-8") as file:
            file.write(whole + "\n")
    return found
