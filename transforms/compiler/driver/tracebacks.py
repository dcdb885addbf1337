"""Tracebacks of errors in generated source, which show the generated line and, below it, the user's line that it came from."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ....tracer.core.site import Site, is_ours
from .statements import statements

if TYPE_CHECKING:
    from .specialise import Specialisation

__all__ = ["located"]


def located(error: Exception, specialisation: Specialisation) -> Exception:
    """`error` with a traceback without frames of ours, in which the user's line stands below the generated one."""
    kept: list[tuple[types.FrameType, int, int]] = []
    tb = error.__traceback__
    while tb is not None:
        filename = tb.tb_frame.f_code.co_filename
        if not is_ours(filename):
            kept.append((tb.tb_frame, tb.tb_lasti, tb.tb_lineno))
        if filename == specialisation.filename:
            site = site_of(specialisation, tb.tb_lineno)
            if site is not None:
                kept.append((_frame(site, tb.tb_frame.f_locals), -1, site.line))
        tb = tb.tb_next
    chain: types.TracebackType | None = None
    for frame, lasti, line in reversed(kept):
        chain = types.TracebackType(chain, frame, lasti, line)
    return error.with_traceback(chain)


def site_of(specialisation: Specialisation, line: int) -> Site | None:
    """The user's line that a line of the source came from."""
    for statement in statements(specialisation):
        if statement.first <= line <= statement.last:
            site: Site | None = statement.call.site
            return site
    return None


class _Raised(Exception):
    """The exception that is raised to make a frame."""


def _frame(site: Site, values: dict[str, Any]) -> types.FrameType:
    """A frame that stands at a line of the user's function, with the variables of the generated one."""
    code = site.code
    down = "\n" * (site.line - code.co_firstlineno)
    made = compile(f"{down}raise __raised__", code.co_filename, "exec").replace(
        co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno
    )
    try:
        exec(made, {"__raised__": _Raised()}, dict(values))
    except _Raised as raised:
        trace: Any = raised.__traceback__
    frame: types.FrameType = trace.tb_next.tb_frame
    return frame
