"""Constant folding: a call of scalar constants is its result; the one number in `np.zeros(())` is nought."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ....runtime.errors import is_of_a_signal
from ....runtime.ir.graph import Call, Graph, Value, type_of
from ....runtime.ir.known_ops import GETITEM, ZEROS
from .rewrite import rewrite

__all__ = ["fold_constants"]


def fold_constants(graph: Graph) -> Graph:
    """The graph with calls on numbers alone computed now, where the result is a number and nothing warns."""

    noughts: set[Value] = set()  # arrays of one number, without axes

    def step(call: Call) -> Any:
        if call.op.base is ZEROS and type(call.args[0]) is tuple and not call.args[0]:
            noughts.add(call.outs[0])
        if call.op.base is GETITEM and call.args[0] in noughts and type(call.args[1]) is tuple and not call.args[1]:
            return ("is", (call.outs[0].type.dtype.type(0),)) if call.outs[0].type.kind == "scalar" else None
        if len(call.outs) != 1 or call.op.may_raise or call.op.effect or call.op.n_out != 1 or call.reads:
            return None
        if call.outs[0].type.kind == "array" or call.outs[0].type.dtype == np.dtype(object):
            return None
        args, kwargs = call.op.call_form(call.args)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore" if call.quiet else "raise"):
                warnings.simplefilter("error")
                result = call.op.fn(*args, **kwargs)
        except Exception as error:
            if is_of_a_signal(error):
                raise
            return None  # it is left to raise, or warn, where the user's line is
        return ("is", (result,)) if type_of(result) == call.outs[0].type else None

    return rewrite(graph, step)
