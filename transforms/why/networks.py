"""Words for functions of gs.functional that pass no gradient on: about the function that the user called, not about its parts."""

from __future__ import annotations

from ...tracer.core.watching import Event
from .report import Cause
from .source import first_argument, quoted, within

__all__ = ["cancelled", "flat"]

_FAR_BELOW, _FAR_ABOVE = "so far below 0", "so far above 0"
_FLAT = {
    "relu6": "outside of 0 to 6", "hardtanh": "outside of its bounds", "hardsigmoid": "outside of -3 to 3",
    "hardswish": "not above -3", "hardshrink": "between -lambd and lambd", "softshrink": "between -lambd and lambd",
    "threshold": "not above the threshold", "selu": _FAR_BELOW, "celu": _FAR_BELOW, "gelu": _FAR_BELOW,
    "silu": _FAR_BELOW, "mish": _FAR_BELOW, "softplus": _FAR_BELOW, "logsigmoid": _FAR_ABOVE, "softsign": "so large",
    "sigmoid": "so far from 0",
}  # fmt: skip
_SURE = (
    "the predictions are the targets to the last bit, or nothing counts (what is ignored, a weight of 0)",
    "look at the logits: so large a difference is flat.",
)
_NOTHING_LEFT = {
    "cross_entropy": _SURE, "binary_cross_entropy_with_logits": _SURE,
    "embedding": ("every row that is asked for is that of padding_idx, which takes no gradient", "look at the indices."),
    "dropout": ("all elements were dropped", "drop fewer: `p` is their share."),
}  # fmt: skip
_CONSTANT = (
    "its result has mean 0 and variance 1 whatever goes in, so that what is computed from it here stays the same",
    "a sum of what is normalised is constant: that may be right.",
)
_CANCELLED = {
    "cross_entropy": _SURE,
    **dict.fromkeys(["layer_norm", "batch_norm", "group_norm", "instance_norm"], _CONSTANT),
}


def flat(event: Event) -> Cause | None:
    """The cause, where an operation within such a function had a cotangent and gave none."""
    called = within(event)
    name = called.rpartition(".")[2]
    if name in _NOTHING_LEFT:
        reason, advice = _NOTHING_LEFT[name]
        return _cause(event, name, f"in {called}: {reason}.", advice)
    if name not in _FLAT:
        return None
    how = _FLAT[name]
    bits = " to the last bit" if how.startswith("so ") else ""
    reason = f"{quoted(first_argument(event))} is {how} wherever a cotangent arrives, where {called} is flat{bits}."
    return _cause(event, name, reason, "scale its argument, or start elsewhere.")


def cancelled(event: Event) -> Cause | None:
    """The cause, where cotangents within a loss or a normalisation add up to zero."""
    called = within(event)
    name = called.rpartition(".")[2]
    if name in _FLAT:
        return flat(event)
    words = _CANCELLED.get(name)
    return None if words is None else _cause(event, name, f"in {called}: {words[0]}.", words[1])


def _cause(event: Event, name: str, reason: str, advice: str) -> Cause:
    site = event.site
    filename, line = ("", 0) if site is None else (site.code.co_filename, site.line)
    return Cause(name, first_argument(event), filename, line, reason, advice)
