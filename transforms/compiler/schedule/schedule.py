"""Schedule: the calls of a graph, or of a region, in the order in which they run, and who reads, keeps and overwrites what."""

from __future__ import annotations

from collections.abc import Collection

from ....runtime.ir.graph import Call, Graph, Value, values_in
from .reuse import last_writers, reads_first, reused
from .stores import stored_late, written_early
from .tiles import tiled
from .weak import is_plain_size, weak_numbers

__all__ = ["Schedule"]


class Schedule:
    """What every target knows of a graph before it writes the first call.

    In a region that is not `steady` nothing is known of the strides. The inputs that are its `own` may be written over. What a
    loop over tiles computes anew gets its name among `names`.
    """

    def __init__(self, graph: Graph, names: dict[Value, str], steady: bool = True, own: Collection[Value] = ()) -> None:
        self.steady, self.own = steady, own
        graph = reads_first(graph)
        self.graph, self.tiles = tiled(graph, names) if steady else (graph, {})
        calls = self.graph.calls
        self.kept = {v for tiles in self.tiles.values() for v in tiles.given} | stored_late(self.graph)
        self.outputs = set(values_in(self.graph.outputs))
        self.maker = {v: call for call in calls for v in call.outs}
        self.uses: dict[Value, int] = {}
        self.users: dict[Value, list[Call]] = {}
        for call in calls:
            for v in call.reads:
                self.uses[v] = self.uses.get(v, 0) + 1
                self.users.setdefault(v, []).append(call)
        for v in values_in(self.graph.outputs):
            self.uses[v] = self.uses.get(v, 0) + 2  # an output is a name of its own in the return
        self.place = {call: k for k, call in enumerate(calls)}
        self.last = {v: self.place[users[-1]] for v, users in self.users.items()}
        over = reused(self.graph, written_early(self.graph), own).items()
        self.over = {call: v for call, v in over if call not in self.tiles and (steady or v in own)}
        self.buffers = set(self.over.values())
        self.written = last_writers(self.graph)
        self.weak = weak_numbers(self.graph)
        self.plain_sizes = {v for v in self.weak if is_plain_size(self.maker[v], self.users.get(v, []))}

    def last_user(self, v: Value) -> Call | None:
        """Return the last call that reads a value."""
        users = self.users.get(v)
        return None if users is None else users[-1]

    def is_last(self, v: Value, call: Call) -> bool:
        """Whether a call is the last to read an array, and nothing that stays shares its memory."""
        return v not in self.kept and self.written.get(v) is call
