"""Zeros: where a cotangent became zero in a run of backward, the nodes that got one and gave none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...tracer.core.graph import Pick
from ...tracer.core.tensor_base import Operand
from ...tracer.core.watching import Event, Watch
from .networks import cancelled, flat
from .paths import key_of, name_of_op, node_of
from .report import Cause, cause_at, largest
from .slopes import SELECTS, zero_words
from .source import assigned, operand, quoted

__all__ = ["Sent", "Share", "array_of", "zeros"]


class Share(NamedTuple):
    """The part that one use of a value gave to its cotangent."""

    node: Any  # the node that used the value
    number: int  # which of its edges
    g: Any  # None where it gave none


class Sent:
    """The cotangents of one run of backward, by the node that received them."""

    def __init__(self, watch: Watch, run: Any) -> None:
        self.watch = watch
        self.arrived = watch.arrived.get(run, {})
        self.given = watch.given.get(run, {})
        self.shares: dict[Any, list[Share]] = {}
        for node, given in self.given.items():
            for number, (edge, g) in enumerate(zip(node.edges, given.gave, strict=False)):
                self.shares.setdefault(edge, []).append(Share(node, number, array_of(g)))
        for edge in list(self.shares):
            if type(edge) is Pick:  # what came to one result came to the node
                self.shares.setdefault(edge.parent, []).extend(self.shares[edge])

    def got(self, node: Any) -> list[Any]:
        """The cotangents that a node went on with, one for each result, those that are None left out."""
        given = self.given.get(node)
        found = self.arrived.get(node) if given is None else given.got
        return [array_of(g) for g in (found if isinstance(found, (list, tuple)) else [found]) if g is not None]

    def event(self, node: Any) -> Event:
        """The operation of a node."""
        return self.watch.event_of(node)

    def slot(self, share: Share) -> tuple[int, int]:
        """Which argument of its operation a share belongs to."""
        places = getattr(share.node, "places", None)
        slots = share.node.plan.slots if places is None else [(k, -1) for k, edge in places if edge is not None]
        return slots[share.number] if share.number < len(slots) else (0, -1)


def array_of(g: Any) -> Any:
    """A cotangent as a plain array; None where there is none."""
    if g is None:
        return None
    return np.asarray(g._value if isinstance(g, Operand) else g)


def zeros(sent: Sent, leaf: Any, name: str) -> list[Cause]:
    """The nodes at which the cotangents on the way to `leaf` became zero, in the order of the program."""
    found: list[tuple[int, Cause]] = []
    seen: set[Any] = set()
    stack = [leaf]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        shares = sent.shares.get(node, [])
        if any(s.g is not None and s.g.any() for s in shares):
            found.append(_lost_there(sent, node, shares, name))
            continue
        if not shares and node is not leaf:
            found.append(_seed(sent, node))
        for share in shares:
            if any(g.any() for g in sent.got(share.node)):
                found.append(_blocked(sent, share))
            else:
                stack.append(share.node)
    found.sort(key=lambda one: one[0])
    return list(dict.fromkeys(cause for _, cause in found))


def _blocked(sent: Sent, share: Share) -> tuple[int, Cause]:
    """A node that got a cotangent and gave none for one of its arguments."""
    event, slot = sent.event(share.node), sent.slot(share)
    op = name_of_op(event)
    variable = operand(event, *slot)
    if share.g is not None and share.g.size == 0:
        return _empty(sent, event, slot)
    if (within := flat(event)) is not None:
        return sent.watch.events.index(event), within
    if event.op is not None and key_of(event) in SELECTS:
        other = _zeroed_in_part(sent, share.node)
        if other is not None:
            return other
    got = sent.got(share.node)
    words = quoted(variable)
    if event.op is None or share.g is None:
        reason = f"the backward of {op} gave {'None' if share.g is None else 'zeros'} for {words}"
        advice = "look at what its backward returns for this argument."
    else:
        reason, advice = zero_words(event, slot, got[0], words)
    told = f"{reason}. {_arrives(got)}"
    return sent.watch.events.index(event), cause_at(event, op, variable, told, advice)


def _arrives(got: list[Any]) -> str:
    size = max(map(largest, got))
    return f"The cotangent that arrives there is {f'not zero (at most {size:.3g})' if size else 'not finite'}."


def _zeroed_in_part(sent: Sent, node: Any) -> tuple[int, Cause] | None:
    """Return the node that made zeros of a part of a cotangent, behind nodes that merely select: a maximum elsewhere, a mask."""
    shares = sent.shares.get(node, [])
    for share in shares:
        if share.g is None or share.g.all():
            continue
        event, slot = sent.event(share.node), sent.slot(share)
        if event.op is not None and key_of(event) in SELECTS:
            above = _zeroed_in_part(sent, share.node)
            if above is not None:
                return above
        variable = operand(event, *slot)
        words = quoted(variable)
        got = sent.got(share.node)
        reason, advice = zero_words(event, slot, got[0], words, part=True)
        told = f"{reason}. {_arrives(got)}"
        return sent.watch.events.index(event), cause_at(event, name_of_op(event), variable, told, advice)
    return None


def _empty(sent: Sent, event: Event, slot: tuple[int, int]) -> tuple[int, Cause]:
    """Nothing arrives because there is nothing: the selection above is empty."""
    made = next((given.event for given in event.inputs if given.slot == slot), event)
    while made.op is not None and made.inputs:
        above = made.inputs[0].event
        if not above.results or np.size(above.results[0]):
            break
        made = above
    variable = operand(made, 0) or assigned(made)
    words = f"of `{variable}`" if variable else "here"
    reason = (
        f"what {name_of_op(made)} selects {words} is empty: the mask is false everywhere, or the range has no elements."
    )
    advice = "check the mask (mask.any()) at these arguments."
    return sent.watch.events.index(made), cause_at(made, name_of_op(made), variable, reason, advice)


def _lost_there(sent: Sent, node: Any, shares: list[Share], name: str) -> tuple[int, Cause]:
    """Cotangents that are not zero came to a node, which went on with zero: they cancel, or a hook replaced them."""
    event = sent.event(node_of(node))
    variable = assigned(event) if event.how != "leaf" else name
    words = quoted(variable, f"what {name_of_op(event)} gives")
    full = [s for s in shares if s.g is not None and s.g.any()]
    last = max((sent.event(s.node) for s in full), key=sent.watch.events.index)
    arrived = array_of(sent.arrived.get(node)) if not isinstance(sent.arrived.get(node), list) else None
    if arrived is not None and arrived.any() and event.how != "leaf":
        reason = f"a hook on {words} gave zero in place of the cotangent that arrived (at most {largest(arrived):.3g})."
        return sent.watch.events.index(event), cause_at(event, "hook", variable, reason, "look at its hooks.")
    sites = [sent.event(s.node).site for s in full]
    lines = sorted({site.line for site in sites if site is not None})
    where = f" (line{'s' * (len(lines) != 1)} {', '.join(map(str, lines))})" if lines else ""
    if len(full) == 1 and np.iscomplexobj(full[0].g):
        reason = (
            f"the cotangent that comes back to {words}{where} is imaginary, and that is real: its real part is zero."
        )
    elif (within := cancelled(last)) is not None:
        return sent.watch.events.index(last), within
    elif len(full) == 1:
        reason = f"the cotangent that comes back to {words}{where} adds up to zero over what it was broadcast along: it cancels."
    else:
        reason = f"the cotangents that its {len(full)} uses send back to {words}{where} add up to zero: they cancel."
    return sent.watch.events.index(last), cause_at(
        last, name_of_op(last), variable, reason, f"the result does not change with {words}: that may be right."
    )


def _seed(sent: Sent, node: Any) -> tuple[int, Cause]:
    event = sent.event(node_of(node))
    reason = "backward was given a gradient of zero for the result, so that all others are zero."
    return sent.watch.events.index(event), cause_at(
        event, name_of_op(event), assigned(event), reason, "pass another one."
    )
