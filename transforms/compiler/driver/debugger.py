"""Debuggers: they step from the user's line into generated source, past gradscribe's own frames."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["TRACED_BY", "skipping_ours"]

_PACKAGE = __name__.partition(".")[0]
_LAYERS = ("runtime", "tracer", "transforms", "learn", "fit", "scale", "compat", "explorer")
_SKIPPED = frozenset([_PACKAGE, *(f"{_PACKAGE}.{layer}*" for layer in _LAYERS)])  # not the modules of generated source
TRACED_BY = "trace_dispatch"  # the name of what bdb, under pdb and others, gives to sys.settrace


def skipping_ours(trace: Any, _: None = None) -> Any:
    """Let the debugger behind a trace function skip frames of ours, from the one that calls on; the trace function.

    bdb's own `skip` says which modules are not stepped into. Breakpoints in our files stop as ever.
    """
    debugger = getattr(trace, "__self__", None)
    if debugger is not None and hasattr(debugger, "skip"):
        debugger.skip = {*(debugger.skip or ()), *_SKIPPED}
    frame = sys._getframe(1)
    if frame.f_code.co_filename not in getattr(debugger, "breaks", ()):
        frame.f_trace = None
    return trace
