"""Lists with one item for each trip of a loop: the calls that make them, and which are known to be of one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import COND
from ..passes.scans import Scan

if TYPE_CHECKING:
    from .walk import Lengths, Walk

__all__ = ["lengths_of_items", "note_lengths", "same_length"]


def same_length(walk: Walk, n: Any, stack: Any) -> bool:
    """Whether a loop that runs `n` times walks all of a list."""
    known: Lengths = walk.lists.lengths
    return stack in known and known[stack] == (known.get(n, n) if isinstance(n, Value) else n)


def note_lengths(walk: Walk, call: Call, inner: Sequence[Lengths]) -> None:
    """Learn how long the lists are that a call gives; `inner` is what is known in each arm, or in the body of a loop."""
    known: Lengths = walk.lists.lengths
    if call.op is COND:
        for out, *results in zip(call.outs, *[arm.outputs for arm in call.args[0]], strict=True):
            found = [None if v is None else part.get(v) for v, part in zip(results, inner, strict=True)]
            if any(found) and all(found[k] is not None or results[k] is None for k in range(2)):
                known[out] = (call, *found)
        return
    scan = Scan(call)
    length: Any = call
    if scan.test is None:
        length = known.get(scan.n, scan.n) if scan.n is not None else known.get(scan.xs[0].given, call)
    known[scan.trips] = length
    for y in scan.ys:
        known[y.out] = length
        if y.value in inner[0]:
            walk.lists.items[y.out] = (call, inner[0][y.value])


def lengths_of_items(walk: Walk, scan: Scan) -> Lengths:
    """Return the known lengths of lists, and values of ints, that a trip takes from lists."""
    return {x.param: walk.lists.items[x.given] for x in scan.xs if x.given in walk.lists.items}
