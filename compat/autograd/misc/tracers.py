"""autograd.misc.tracers: functions whose graph does not change from call to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....transforms.user_code.scope import as_it_runs
from ..wrap_util import wraps

__all__ = ["const_graph", "const_graph_unary"]


def const_graph_unary(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one argument, said to do the same at each call. It is called each time; `gs.compile` makes use of that."""
    return lambda x: as_it_runs(fun)(x)


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`fun` with these first arguments and keywords, said to do the same at each call."""

    @wraps(fun)
    def constant(*rest: Any) -> Any:
        return as_it_runs(fun)(*args, *rest, **kwargs)

    return constant
