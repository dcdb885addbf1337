"""Exits from the Tensors of a capture: a guard where it is one small thing, else the end of the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.known_ops import GETITEM, SIZED_BY_VALUE, WHERE
from ....runtime.registry import require
from ....runtime.rules.control import guard, observed, size_of
from ..frontend.attempts import LoopRejected

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["guard_sizes", "left", "sized_by_value"]

MANY_TRIPS = 1_000  # of a loop that is unrolled, by decisions: each takes about 5 ms to write down
_VALUE_EXITS = frozenset(["bool", "int", "float", "complex", "index", "item"])
_EXIT_WORDS = {
    "repr": "prints a traced value", "tolist": "takes a traced value as a list",
    "numpy": "takes the plain array of a traced value", "data": "takes the plain array of a traced value",
    "array": "hands a traced value to code that takes plain arrays", "dlpack": "hands a traced value out by dlpack",
    "pickle": "pickles a traced value", "hash": "uses a traced value as a key of a dict, or in a set",
    "memory": "asks where a traced value lies in memory", "flags": "reads the memory flags of a traced value",
}  # fmt: skip


def left(capture: Capture, tensor: Any, how: str, spec: str) -> None:
    """A value leaves a Tensor by the exit `how`."""
    ir = getattr(tensor, "_ir", None)
    if how in _VALUE_EXITS:
        if ir is None:
            return
        value = tensor._value
        if how == "item" and np.size(value) != 1:
            return
        capture.numbers.leave(ir, how)
        if capture.failed is not None:
            return
        try:
            expect = observed(value, how)
        except (
            TypeError,
            ValueError,
            OverflowError,
        ):  # the exit itcapture is about to raise, which the code may catch
            capture.refuse(f"takes {how}() of a traced value that has none")
            return
        if how in ("int", "index") and capture._catching and ir.type.dtype.kind == "f":
            capture.refuse(f"takes {how}() of a traced value, which can raise, beside code that catches errors")
            return
        if isinstance(expect, (float, complex)):
            capture.has_number_guards = True
        calls = capture.graph.calls
        if capture.regions is not None:
            calls = capture.regions.root()
            if capture.regions.is_open(ir):
                raise LoopRejected(f"decides by {how}() of a value that each trip changes", capture.site())
        site = capture.site()
        calls.append(Call(require(guard), (ir, how, expect), (Value(ir.type),), site))
        capture.decided[site] = capture.decided.get(site, 0) + 1
        if capture.decided[site] > MANY_TRIPS:
            why = f" ({capture.unrolled[0]})" if capture.unrolled else ""
            capture.refuse(f"decides more than {MANY_TRIPS:,} times here, in a loop that could not be kept{why}", site)
        return
    capture.numbers.leave(ir, how)
    if how == "format":
        capture.messages.formatted(tensor, spec)
    elif how in _EXIT_WORDS:
        capture.refuse(_EXIT_WORDS[how])


def guard_sizes(capture: Capture, outs: tuple[Value, ...]) -> None:
    """The lengths of results that depend on values are guards: code may have branched on them."""
    if capture.regions is not None and any(map(capture.regions.is_open, outs)):
        raise LoopRejected("makes an array whose length depends on values", capture.site())
    for out in outs:
        for axis, length in enumerate(out.type.shape):
            size = capture.small(size_of, (out, axis), length)
            capture.graph.calls.append(
                Call(require(guard), (size, "index", length), (Value(size.type),), capture.site())
            )


def sized_by_value(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether the shape of a result depends on values: a mask as index, nonzero, and their like."""
    if op.fn in SIZED_BY_VALUE:
        return True
    if op.base is WHERE:
        return len(args) == 1 or args[1] is None
    if op.base is not GETITEM:
        return False
    parts = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(p, Value) and p.type.dtype == np.bool_ for p in parts)
