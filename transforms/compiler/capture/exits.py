"""Exits from the Tensors of a capture: a guard where it is one small thing, else the end of the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.registry import require
from ....runtime.rules.control import guard, observed, size_of
from ..frontend.attempts import LoopRejected
from .sizes import Fixed

if TYPE_CHECKING:
    from ....tracer.core.site import Site
    from .capture import Capture

__all__ = ["guard_kind", "guard_sizes", "left"]

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
    if how == "iter" and ir is not None:
        capture.counted.fixed.setdefault(Fixed(capture.site(), (ir, 0)))
    if how in _VALUE_EXITS:
        if ir is None:
            return
        if ir in capture.counted.values:  # it is the same at each call of these lengths
            capture.counted.left(tensor, how)
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
        ):  # the exit itself is about to raise, which the code may catch
            capture.refuse(f"takes {how}() of a traced value that has none")
            return
        if how in ("int", "index") and capture._catching and ir.type.dtype.kind == "f":
            capture.refuse(f"takes {how}() of a traced value, which can raise, beside code that catches errors")
            return
        if isinstance(expect, (float, complex)):
            capture.findings.guards_numbers = True
        calls = capture.findings.graph.calls
        if capture.regions is not None:
            calls = capture.regions.root()
            if capture.regions.is_open(ir):
                raise LoopRejected(f"decides by {how}() of a value that each trip changes", capture.site())
        site = capture.site()
        calls.append(_guard(ir, how, expect, site))
        capture.decided[site] = capture.decided.get(site, 0) + 1
        if capture.decided[site] > MANY_TRIPS:
            why = f" ({capture.findings.unrolled[0]})" if capture.findings.unrolled else ""
            capture.refuse(f"decides more than {MANY_TRIPS:,} times here, in a loop that could not be kept{why}", site)
        return
    capture.numbers.leave(ir, how)
    if how in ("repr", "hash") and ir in capture.counted.values:
        capture.counted.left(tensor, how)
    elif how == "format":
        capture.messages.formatted(tensor, spec)
    elif how in _EXIT_WORDS:
        capture.refuse(_EXIT_WORDS[how])


def guard_kind(capture: Capture, call: Call) -> None:
    """Whether a result is real or complex is a guard, where the values decide; within a loop nothing can ask."""
    if capture.regions is not None and any(map(capture.regions.is_open, call.outs)):
        if call.outs[0].type.kind == "python":
            return
        raise LoopRejected("makes an array that is real or complex as its values are", capture.site())
    for out in call.outs:
        made = _guard(out, "iscomplexobj", out.type.dtype.kind == "c", capture.site())
        capture.findings.graph.calls.append(made)


def guard_sizes(capture: Capture, call: Call) -> None:
    """The lengths of results that depend on values are guards: code may have branched on them.

    One of 0 or 1 is held to what it is; of another the source can serve each that was checked.
    """
    if capture.regions is not None and any(map(capture.regions.is_open, call.outs)):
        raise LoopRejected("makes an array whose length depends on values", capture.site())
    for out in call.outs:
        for axis, length in enumerate(out.type.shape):
            size = capture.small(size_of, (out, axis), length)
            how = "length" if length > 1 else "index"
            capture.findings.graph.calls.append(_guard(size, how, length, capture.site()))


def _guard(value: Value, how: str, expect: Any, site: Site | None) -> Call:
    return Call(require(guard), (value, how, expect), (Value(value.type),), site)
