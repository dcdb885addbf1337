"""The events of a profile in Chrome's trace format, with an arrow from each operation to its backward.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

__all__ = ["trace_of", "write_trace"]


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
