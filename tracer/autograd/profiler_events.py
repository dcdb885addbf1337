"""Events of a profile: one for each operation, backward step, label and compiled call, and their averages."""

from __future__ import annotations

import json
import linecache
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...runtime.markup import table
from ..core.site import Site
from .profiler_tables import cells_of, table_of, time_text

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

NOWHERE = "(no line)"  # of a backward step whose forward was not profiled


class Interval(NamedTuple):
    """When an event began and ended, in microseconds of a clock that only goes on."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it took, in microseconds."""
        return self.end - self.start


class FunctionEvent:
    """Something that ran: its name and time, the user's line, the events inside it, and what it allocated.

    Times are microseconds, memory is bytes of new arrays (a view is none). `scope` is "op", "backward", "label" (of
    `record_function`), "function" (of a custom Function), "compiled" or "run" (a whole backward).
    """

    __slots__ = (
        "began", "cpu_children", "cpu_parent", "ended", "id", "input_shapes", "known", "made", "name", "scope",
        "sequence_nr", "sites", "thread", "thread_name",
    )  # fmt: skip

    name: str
    scope: str
    id: int
    cpu_parent: FunctionEvent | None
    sequence_nr: int
    made: int
    thread: int
    thread_name: str
    began: int
    ended: int

    def __init__(self, name: str, scope: str, number: int, parent: FunctionEvent | None) -> None:
        self.name, self.scope, self.id = name, scope, number
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.sites: tuple[Site, ...] = ()  # the user's lines, the innermost first
        self.input_shapes: list[Any] = []
        self.sequence_nr = -1  # of the node that the operation made, and that backward comes to
        self.made = 0  # bytes
        self.known: set[int] = set()  # while it runs: the ids of arrays that are not new to it
        self.thread, self.thread_name = 0, ""
        self.began = self.ended = 0  # ns

    @property
    def key(self) -> str:
        """The name, by which `key_averages` groups."""
        return self.name

    @property
    def count(self) -> int:
        """1."""
        return 1

    @property
    def time_range(self) -> Interval:
        """When it ran."""
        return Interval(self.began / 1e3, self.ended / 1e3)

    @property
    def cpu_time_total(self) -> float:
        """How long it took, with what ran inside it."""
        return (self.ended - self.began) / 1e3

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """How long it took, without the events inside it."""
        return (self.ended - self.began - sum([c.ended - c.began for c in self.cpu_children])) / 1e3

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the arrays that it made, with what ran inside it."""
        return self.made + sum([c.cpu_memory_usage for c in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of the arrays that it made, without the events inside it."""
        return self.made

    @property
    def is_backward(self) -> bool:
        """Whether it ran as part of a backward."""
        return self.scope in ("backward", "run") or any(a.scope == "run" for a in self.ancestors())

    @property
    def line(self) -> str:
        """The user's line, such as `model.py:12`; of a backward step that of its forward operation."""
        return str(self.sites[0]) if self.sites else NOWHERE

    @property
    def source(self) -> str:
        """The text of the user's line."""
        if not self.sites:
            return ""
        return linecache.getline(self.sites[0].code.co_filename, self.sites[0].line).strip()

    @property
    def stack(self) -> list[str]:
        """The user's lines, the innermost first: all that led here `with_stack=True`, else that one."""
        return [f"{os.path.basename(s.code.co_filename)}({s.line}): {s.code.co_name}" for s in self.sites]

    def ancestors(self) -> Iterator[FunctionEvent]:
        """The events that it ran inside of, the innermost first."""
        around = self.cpu_parent
        while around is not None:
            yield around
            around = around.cpu_parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} scope={self.scope} cpu_time={self.cpu_time_total:.3f}us "
            f"line={self.line} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg:
    """Events of one name (or one line, or one shape) together. An event inside another of its group counts in the total once."""

    key: str
    name: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    forward_time_total: float
    backward_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    source: str

    def __init__(self, key: str, first: FunctionEvent | None = None) -> None:
        self.key = self.name = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.forward_time_total = self.backward_time_total = 0.0  # without the events inside
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: list[Any] = [] if first is None else first.input_shapes
        self.stack: list[str] = [] if first is None else first.stack
        self.source = "" if first is None else first.source

    @property
    def cpu_time(self) -> float:
        """The mean time of a call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent, nested: bool) -> None:
        """Count an event, which is `nested` where it ran inside another of the group."""
        alone = event.self_cpu_time_total
        self.count += 1
        self.self_cpu_time_total += alone
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        if event.is_backward:
            self.backward_time_total += alone
        else:
            self.forward_time_total += alone
        if not nested:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us cpu_time={self.cpu_time:.3f}us "
            f"count={self.count} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """The events of a profile in the order in which they began, or their averages."""

    def __init__(self, events: Iterable[Any] = (), columns: frozenset[str] = frozenset()) -> None:
        super().__init__(events)
        self.columns = columns  # what its table shows beside times: "memory", "shapes", "stack", "line"

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_line: bool = False
    ) -> EventList:
        """The events of each name together; by line, one row for each line of the user's, forward and backward.

        `group_by_stack_n=1` tells the user's lines apart as well, a larger n more of the lines that led there.
        """
        columns = self.columns - {"shapes", "stack"}
        if group_by_line:
            line: Callable[[FunctionEvent], Any] = lambda e: (e.line, e.sites[0].code.co_filename if e.sites else "")
            return _grouped(self, line, columns | {"line"})
        columns |= {name for name, asked in (("shapes", group_by_input_shapes), ("stack", group_by_stack_n)) if asked}

        def group(event: FunctionEvent) -> Any:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            return (event.key, shapes, *event.stack[:group_by_stack_n])

        averages = _grouped(self, group, columns)
        for row in averages:
            row.stack = row.stack[:group_by_stack_n]
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        rows = _grouped(self, lambda event: ("Total",), self.columns)
        return rows[0] if rows else FunctionEventAvg("Total")

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:  # fmt: skip
        """The rows as text, the largest first by `sort_by`, such as "self_cpu_time_total", "cpu_memory_usage" or "count".

        Without it they stand in the order in which they first ran. Raises ValueError for a key that there is not.
        """
        rows: list[Any] = [
            e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None) is not None)
        ]
        widths = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        return table_of(rows, self.self_cpu_time_total, self.columns, sort_by, row_limit, widths, header)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a trace that chrome://tracing and https://ui.perfetto.dev open."""
        write_trace(self._single(), path)

    def _single(self) -> EventList:
        """The list itself, where it is one of events; averages cannot be put in time or grouped anew."""
        if any(isinstance(row, FunctionEventAvg) for row in self):
            raise TypeError("these rows are averages: ask the profile itself, or the list that prof.events() gives")
        return self

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        total = self.self_cpu_time_total
        return table(f"Self CPU time total: {time_text(total)}", *cells_of(list(self), total, self.columns))


def _grouped(events: EventList, key: Callable[[FunctionEvent], Any], columns: frozenset[str]) -> EventList:
    """One average for each value of `key`, whose first part names it."""
    rows: dict[Any, FunctionEventAvg] = {}
    keys = {event.id: key(event) for event in events._single()}
    for event in events:
        group = keys[event.id]
        row = rows.get(group)
        if row is None:
            row = rows[group] = FunctionEventAvg(group[0], event)
        row.add(event, any(keys.get(around.id) == group for around in event.ancestors()))
    return EventList(rows.values(), columns)


# Chrome's trace format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
def trace_of(events: Iterable[Any]) -> dict[str, Any]:
    """The trace as the object that JSON writes: complete events (X), thread names (M) and arrows (s, f)."""
    events = list(events)
    pid = os.getpid()
    start = min((event.began for event in events), default=0)
    made: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "gradscribe"}},
    ]
    for tid, name in {event.thread: event.thread_name for event in events}.items():
        made.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})
    forward: dict[int, dict[str, Any]] = {}
    for event in events:
        place = {"pid": pid, "tid": event.thread, "ts": (event.began - start) / 1e3}
        args: dict[str, Any] = {"line": event.line}
        if event.source:
            args["source"] = event.source
        if event.input_shapes:
            args["shapes"] = event.input_shapes
        if event.made:
            args["bytes"] = event.made
        if event.sequence_nr >= 0:
            args["sequence"] = event.sequence_nr
        whole = {"ph": "X", "name": event.name, "cat": event.scope, **place, "dur": (event.ended - event.began) / 1e3}
        made.append({**whole, "args": args})
        if event.sequence_nr < 0:
            continue
        if event.scope != "backward":
            forward[event.sequence_nr] = place
        elif event.sequence_nr in forward:
            arrow = {"name": "backward of", "cat": "backward of", "id": event.id}
            made.append({"ph": "s", **arrow, **forward[event.sequence_nr]})
            made.append({"ph": "f", "bp": "e", **arrow, **place})
    return {"traceEvents": made, "displayTimeUnit": "ms"}


def write_trace(events: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write the trace to a file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace_of(events), file)
