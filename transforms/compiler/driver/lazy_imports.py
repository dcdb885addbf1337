"""Lazy imports of gs.compile: the modules that stand on gast, loaded when something is first compiled."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from ....runtime.ir.graph import Graph, Value
from ..analysis.effects import prints
from ..capture.numbers import NeededError, NumberNeededError
from ..capture.stored import holds_otherwise, snapshots
from ..capture.written import OverlapError, left_otherwise, writes_unasked, wrote_nothing
from ..schedule.signature import Signature
from .free_sizes import Families
from .specialise import Entry, Inputs, Unwritten, captured, difference

if TYPE_CHECKING:
    from ..schedule.program import Program

__all__ = [
    "Entry", "Families", "Inputs", "NeededError", "NumberNeededError", "OverlapError", "Unwritten", "captured",
    "difference", "holds_otherwise", "left_otherwise", "passes_of", "prints", "snapshots", "writes_unasked", "wrote_nothing",
]  # fmt: skip

# What most functions never need: a second path, a miss, an error in generated source, a difference from eager.
_LATER = {
    "joined": ".outcome_tree", "missed": ".misses", "located": ".tracebacks", "first_difference": ".statements",
    "Static": ".guards.static", "Native": ".native",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name], __package__), name)


def passes_of(options: dict[str, Any]) -> Optimised:
    """The passes that `gs.compile(f, passes=..., dump=..., fastmath=..., loop_memory=...)` asks for, as one function of a graph.

    Raises ValueError for a name that is no pass and for another `loop_memory` than "sqrt", OSError where the file cannot be
    written.
    """
    from ..passes import FAST_NAMES, NAMES
    from ..python.steps import STEPS as SHAPING
    from ..schedule.steps import STEPS

    if isinstance(options.get("dump"), str):
        open(options["dump"], "a", encoding="utf-8").close()
    only = options.get("passes")
    known = (*NAMES, *STEPS, *SHAPING)
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise ValueError(f"no pass is called {unknown[0]!r}; there are {', '.join(known)}")
    fastmath, loop_memory = bool(options.get("fastmath", False)), options.get("loop_memory")
    if loop_memory not in (None, "sqrt"):
        raise ValueError(f'loop_memory is None or "sqrt", not {loop_memory!r}')
    if not fastmath:
        late = [name for name in only or () if name in FAST_NAMES]
        if late:
            raise ValueError(f"the pass {late[0]!r} changes the last digits: it needs fastmath=True")
    steps = tuple(name for name in only or () if name in (*STEPS, *SHAPING)) or None
    return Optimised(only, options.get("dump", False), fastmath, loop_memory, steps)


class Optimised(NamedTuple):
    """The passes that a compiled function asked for, as a function of a graph, and the steps from there to the text."""

    only: tuple[str, ...] | None
    dump: bool | str
    fastmath: bool
    loop_memory: str | None = None
    steps: tuple[str, ...] | None = None  # None for all

    @property
    def key(self) -> str | None:
        """The key of these options among sources in the cache; None where such sources are not kept."""
        plain = self.only is None and not self.dump
        return f"{'fastmath' * self.fastmath} {self.loop_memory or ''}".strip() if plain else None

    def __call__(self, graph: Graph) -> Graph:
        return _optimised(self, graph)

    def show_schedule(self, graph: Graph, signature: Signature, name: str) -> None:
        """Dump the Program of a graph after each step of the schedule and of the target, where that is asked for."""
        if self.dump:
            from ..python.emit import shaped
            from ..schedule.show import shown
            from ..schedule.steps import program_of

            dumped = _Dump()

            def seen(step: str, program: Program) -> None:
                dumped.seen(step, shown(program).rstrip())

            shaped(program_of(graph, signature, name, self.steps, seen), signature, self.steps, seen)
            dumped.write(self.dump)


def _optimised(asked: Optimised, graph: Graph) -> Graph:
    from ..passes import optimise  # not loaded where the cache has the source

    only, dump, fastmath, loop_memory, _ = asked
    if not dump:
        return optimise(graph, only, None, fastmath, loop_memory)
    names: dict[Value, str] = {}
    dumped = _Dump()
    found = optimise(graph, only, lambda name, after: dumped.seen(name, after.text(names)), fastmath, loop_memory)
    dumped.write(dump)
    return found


class _Dump:
    """Texts after one step and the next: the first whole, then what changed."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.shown: list[str] = []

    def seen(self, name: str, text: str) -> None:
        self.texts.append(text)
        if len(self.texts) == 1:
            self.shown.append(f"after {name}:\n{text}\n")
            return
        before, after = (t.splitlines() for t in self.texts[-2:])
        lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
        self.shown.append("\n".join([f"after {name}:" + ("" if lines else " nothing changed"), *lines, ""]))

    def write(self, where: bool | str) -> None:
        whole = "\n".join(self.shown)
        if where is True:
            print(whole)
        else:
            with open(str(where), "a", encoding="utf-8") as file:
                file.write(whole + "\n")
