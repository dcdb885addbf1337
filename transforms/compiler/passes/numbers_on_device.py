"""Numbers that are spread, where CuPy computes: its `broadcast_to` takes arrays alone, so an array full of them is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import BROADCAST_TO
from ....runtime.ops import Kind
from ....runtime.registry import require
from .rewrite import rewrite

__all__ = ["numbers_on_device"]


def numbers_on_device(graph: Graph) -> Graph:
    """The graph with `np.full(shape, number)` in place of `np.broadcast_to(number, shape)`."""
    numbers: set[Value] = set()  # what follows from constants alone, as the text computes it

    def is_number(x: Any) -> bool:
        if isinstance(x, Value):
            return x.type.kind in ("scalar", "python") or x in numbers
        return isinstance(x, (int, float, complex, np.generic))

    def step(call: Call) -> list[Call] | None:
        scalar = call.op.kind in (Kind.elementwise, Kind.linear) and all(out.type.shape == () for out in call.outs)
        if scalar and all(map(is_number, call.reads)):
            numbers.update(call.outs)
        if call.op.base is not BROADCAST_TO or not is_number(call.args[0]):
            return None
        number, shape = call.args[:2]
        full, dtype = require(np.full), call.outs[0].type.dtype
        known = not isinstance(number, Value) and np.asarray(number).dtype == dtype
        args = full.bind(shape, number, None if known else dtype)
        return [Call(full, args, call.outs, call.site, call.backward, call.quiet)]

    return rewrite(graph, step)
