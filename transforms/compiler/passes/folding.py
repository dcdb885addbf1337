"""Constant folding: a call of scalar constants is its result."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, type_of
from .rewrite import rewrite

__all__ = ["fold_constants"]


def fold_constants(graph: Graph) -> Graph:
    """The graph with calls on numbers alone computed now, where the result is a number and nothing warns."""

    def step(call: Call) -> Any:
        if len(call.outs) != 1 or call.op.may_raise or call.op.effect or call.op.n_out != 1 or call.reads:
            return None
        if call.outs[0].type.kind == "array" or call.outs[0].type.dtype == np.dtype(object):
            return None
        args, kwargs = call.op.call_form(call.args)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore" if call.quiet else "raise"):
                warnings.simplefilter("error")
                result = call.op.fn(*args, **kwargs)
        except Exception:
            return None  # it is left to raise, or warn, where the user's line is
        return ("is", (result,)) if type_of(result) == call.outs[0].type else None

    return rewrite(graph, step)
