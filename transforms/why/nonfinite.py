"""Origins of NaN and infinity: a forward value that was not finite, or a derivative that is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tracer.core.watching import Event
from .blowups import backward_words, forward_words
from .paths import ancestors, key_of, name_of_op
from .report import Cause, cause_at
from .source import assigned, operand, quoted
from .zeros import Sent, Share, array_of

__all__ = ["finite", "nonfinite", "of_the_value"]


def finite(value: Any) -> bool:
    """Whether all numbers in a value (an array, a list of them) are finite."""
    if type(value) in (list, tuple):
        return all(finite(v) for v in value)
    if not isinstance(value, (np.ndarray, np.generic, float, complex)):
        return True
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def nonfinite(sent: Sent, leaf: Any, name: str, nan: bool) -> list[Cause]:
    """Return the cause of a NaN (or an infinity) in the gradient of `leaf`."""
    value = getattr(leaf, "value", None)
    if not finite(value):
        word = "NaN" if _has_nan(value) else "inf"
        return [Cause("argument", name, "", 0, f"`{name}` itself holds {word}.", "look at where it comes from.")]
    share = _source(sent, leaf, nan)
    if share is None:
        return []
    event = sent.event(share.node)
    if finite(event.arguments or ()) and finite(event.results):
        return [_backward_cause(sent, share)]
    return _forward_causes(sent, event, share)


def of_the_value(sent: Sent, root: Event) -> list[Cause]:
    """Return the cause of a result that is NaN or infinite."""
    return _forward_causes(sent, root, None) if not finite(root.results) else []


def _forward_causes(sent: Sent, event: Event, share: Share | None) -> list[Cause]:
    """The operation that first gave what is not finite, and the one that made NaN of its infinity."""
    fault = _origin(sent, event)
    causes = [_forward_cause(sent, fault, share)]
    above = ancestors([event])
    turned = (
        None if _has_nan(fault.results) else next((e for e in sent.watch.events if e in above and _makes_nan(e)), None)
    )
    if turned is not None and fault in ancestors([turned]):
        causes = [] if not finite(fault.arguments or ()) else causes  # a mask of the user's that fills with -inf
        causes.append(_forward_cause(sent, turned, None))
    return causes


def _source(sent: Sent, leaf: Any, nan: bool) -> Share | None:
    """The use, nearest to the result, that gave a cotangent which is not finite though it got finite ones."""
    bad = np.isnan if nan else np.isinf
    seen: set[Any] = set()
    stack: list[Any] = [leaf]
    found: list[Share] = []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        shares = [s for s in sent.shares.get(node, []) if s.g is not None and not np.isfinite(s.g).all()]
        for share in [s for s in shares if bad(s.g).any()] or shares:
            if all(np.isfinite(g).all() for g in sent.got(share.node)):
                found.append(share)
            else:
                stack.append(share.node)
    return max(found, key=lambda s: sent.watch.events.index(sent.event(s.node)), default=None)


def _origin(sent: Sent, event: Event) -> Event:
    """The first operation that gave what is not finite, on the way back from one that computed with it."""
    order = {e: k for k, e in enumerate(sent.watch.events)}
    while True:
        bad = [e for e in _known_behind(event) if not finite(e.results)]
        bad = [e for e in bad if e.op is not None or e.inputs]
        if not bad or (event.arguments is not None and finite(event.arguments)):
            return event
        event = min(bad, key=order.__getitem__)


def _known_behind(event: Event) -> list[Event]:
    """The events that the arguments of one come from; in place of one whose values are not known, those behind that."""
    found: dict[Event, None] = {}
    stack, seen = [given.event for given in event.inputs], {event}
    while stack:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            if one.results:
                found[one] = None
            else:
                stack.extend(given.event for given in one.inputs)
    return list(found)


def _makes_nan(event: Event) -> bool:
    """Whether an operation made NaN of numbers that were none."""
    return event.op is not None and _has_nan(event.results) and not _has_nan(event.arguments or ())


def _has_nan(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(_has_nan(v) for v in value)
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.generic, float, complex)) else np.asarray(0)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _forward_cause(sent: Sent, event: Event, share: Share | None) -> Cause:
    k = _bad_argument(event)
    variable = operand(event, k) or ("" if event.inputs else assigned(event))
    words = quoted(variable)
    reason, advice = forward_words(event, words)
    told = f"{reason}."
    if share is not None and sent.event(share.node) is event:
        mask = _masked_by(sent, share)
        if mask is not None:
            told += f" {mask}"
            advice = _put_before(event, variable)
    return cause_at(event, name_of_op(event), variable, told, advice)


def _bad_argument(event: Event) -> int:
    """Which argument of an operation the words are about."""
    if event.op is not None and key_of(event) in ("divide", "reciprocal", "remainder", "fmod"):
        return 1 if key_of(event) != "reciprocal" else 0
    return next((given.slot[0] for given in event.inputs), 0)


def _backward_cause(sent: Sent, share: Share) -> Cause:
    event, (k, i) = sent.event(share.node), sent.slot(share)
    op, variable = name_of_op(event), operand(event, k, i)
    words = quoted(variable)
    got = sent.got(share.node)
    if event.op is None:
        word = "NaN" if _has_nan(share.g) else "inf"
        return cause_at(event, op, variable, f"the backward of {op} gave {word} for {words}.", "look at its backward.")
    reason, advice = backward_words(event, k, i, got[0], share.g, words)
    told = f"{reason}."
    mask = _masked_by(sent, share)
    if mask is not None:
        told += f" {mask}"
        advice = _put_before(event, variable)
    return cause_at(event, op, variable, told, advice)


def _put_before(event: Event, variable: str) -> str:
    harmless = f"np.where(condition, {variable or 'x'}, 1.0)"
    call = f"... / {harmless}" if key_of(event) == "divide" else f"{name_of_op(event)}({harmless})"
    return f"put harmless numbers in before, not behind: {call}."


def _masked_by(sent: Sent, share: Share) -> str | None:
    """Return words for a NaN of 0 times infinity: the operation that had made the cotangent zero."""
    got = sent.got(share.node)
    if share.g is None or len(got) != 1 or got[0].shape != share.g.shape:
        return None
    at = np.isnan(share.g) & (got[0] == 0)
    if not at.any():
        return None
    node, shape = share.node, share.g.shape
    seen: set[Any] = set()
    while node not in seen:
        seen.add(node)
        for above in sent.shares.get(node, []):
            g = array_of(above.g)
            if g is None or g.shape != shape or (g[at] != 0).any():
                continue
            event, came = sent.event(above.node), sent.got(above.node)
            if any(c.shape == shape and (c[at] != 0).any() for c in came) or any(
                c.shape != shape and c.any() for c in came
            ):
                where = f" at line {event.site.line}" if event.site is not None else ""
                return f"The cotangent there is 0 ({name_of_op(event)}{where} leaves it out), but 0 * inf is NaN."
            node = above.node
            break
    return "The cotangent there is 0, but 0 * inf is NaN."
