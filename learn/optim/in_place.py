"""Methods of optimisers that change tensors: what compiles functions does not look into them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...tracer.modes.thread_state import refuse
from ...transforms.user_code.scope import ABSENT, IN_PLACE, watched

__all__ = ["in_place"]


def in_place(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which makes a compiled function that calls it run eagerly, and works on the optimiser itself."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(
            f"calls `{method.__name__}` of {type(self).__name__}, which changes tensors in place; "
            "`params, state = optimizer.update(params, grads, state)` compiles"
        )
        real = watched(self)
        return method(self if real is ABSENT else real, *args, **kwargs)

    setattr(run, IN_PLACE, True)
    return run
