"""Answers of gs.why: which of cuts, zeros and blow-ups in a watched run explains one gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tracer.core.tensor_base import Operand
from ...tracer.core.watching import Event, Watch
from .cuts import cuts, cuts_on_the_way
from .nonfinite import nonfinite, of_the_value
from .report import Answer, state_of
from .zeros import Sent, zeros

__all__ = ["RESULT", "answer_for", "answer_for_result"]

RESULT = "the result"


def answer_for(
    watch: Watch, run: Any, root: Event | None, leaf: Any, name: str, gradient: Any, function: Any = None
) -> Answer:
    """The answer for the gradient of one leaf, which the user calls `name`, in one run of backward from `root`."""
    state = state_of(gradient)
    if state == "healthy":
        return Answer(name, state, gradient=gradient)
    sent = Sent(watch, run)
    event = watch.event_of(leaf)
    if state in ("NaN", "inf"):
        causes = nonfinite(sent, leaf, name, state == "NaN")
    elif state == "zero" or leaf in sent.shares:
        causes = zeros(sent, leaf, name) + cuts_on_the_way(watch.events, event, root, name)
    else:
        inner = {watch.event_of(node) for other in watch.arrived if other is not run for node in other.roots}
        causes = cuts(watch.events, event, root, name, function, inner)
    return Answer(name, state, tuple(dict.fromkeys(causes)), gradient)


def answer_for_result(watch: Watch, run: Any, root: Event | None, value: Any) -> Answer | None:
    """The answer for a result that is NaN or infinite, though the gradients are not."""
    state = state_of(value) if isinstance(value, (Operand, float, complex, np.generic, np.ndarray)) else "healthy"
    if root is None or state not in ("NaN", "inf"):
        return None
    return Answer(RESULT, state, tuple(of_the_value(Sent(watch, run), root)))
