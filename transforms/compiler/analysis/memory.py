"""Aliases: which values of a graph may lie in the same memory, by the memory facts of the ops."""

from __future__ import annotations

from ....runtime.ir.graph import Call, Value, values_in

__all__ = ["is_view", "makes_new_memory", "shares_with"]


def makes_new_memory(call: Call) -> bool:
    """Whether the results of a call lie in memory of their own, which nothing else sees and which may be written."""
    return call.op.memory_of(call.args).how == "new"


def is_view(call: Call) -> bool:
    """Whether the one result of a call is a view of an array that it reads, or a number of it."""
    return len(call.outs) == 1 and call.op.memory_of(call.args).how == "view"


def shares_with(call: Call) -> list[Value]:
    """The values in whose memory the results of a call may lie."""
    return list(values_in(call.op.shares(call.args)))
