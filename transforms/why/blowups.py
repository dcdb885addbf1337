"""Blow-ups: why an operation gave NaN or an infinity, forward or in its derivative, in words read off its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracer.core.watching import Event
from .paths import key_of, name_of_op
from .source import operand

__all__ = ["backward_words", "forward_words"]

_POSITIVE = "keep its argument above 0: np.maximum(x, eps), or np.where(x > 0, x, 1.0) where it is left out anyway."
_NO_INFINITY = "keep infinities out: a large finite number (-1e30) masks as well."
_DENOMINATOR = "keep the denominator away from 0 (y + eps), or np.where(y != 0, y, 1.0) where it is left out anyway."

Words = tuple[str, str]


def forward_words(event: Event, words: str) -> Words:
    """Why the result of an operation is not finite, and what to do."""
    op = name_of_op(event)
    values = [
        np.asarray(a) for a in event.arguments or () if isinstance(a, (np.ndarray, np.generic, float, complex, int))
    ]
    result = np.asarray(event.results[0]) if event.results else np.asarray(np.nan)
    known = _FORWARD.get(key_of(event)) if event.op is not None else None
    if values and all(np.isfinite(v).all() for v in values if v.dtype.kind in "fc"):
        found = known(values, result, words, event) if known is not None else None
        return found or _overflow(event, result, words)
    return _of_infinities(event, op, words)


def _count(at: Any) -> str:
    n = np.size(at)
    k = int(np.count_nonzero(at))
    return "" if n == 1 else f" at all {n} elements" if k == n else f" at {k} of {n} elements"


def _log(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    name = name_of_op(event)
    edge = -1 if key_of(event) == "log1p" else 0
    x = v[0]
    if x.dtype.kind == "c":
        return (f"{name} of 0{_count(x == 0)} is not finite", _POSITIVE) if (x == edge).any() else None
    if (x < edge).any():
        return f"{words} is below {edge}{_count(x < edge)}, and {name} of that is NaN", _POSITIVE
    if (x == edge).any():
        at = _count(x == edge)
        return f"{words} is {edge}{at}, and {name} of {edge} is -inf (its derivative there is infinite)", _POSITIVE
    return None


def _divide(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    x, y = v[0], v[1]
    zero = np.broadcast_to(y == 0, out.shape)
    if not zero.any():
        return None
    both = zero & np.broadcast_to(x == 0, out.shape)
    if both.any():
        return f"{words} is 0{_count(both)} where what it divides is 0, too, and 0 / 0 is NaN", _DENOMINATOR
    return f"{words} is 0{_count(y == 0)}, and a division by 0 is infinite", _DENOMINATOR


def _reciprocal(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    zero = v[0] == 0
    return (f"{words} is 0{_count(zero)}, and a division by 0 is infinite", _DENOMINATOR) if zero.any() else None


def _power(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    if len(v) < 2:
        return None
    x, p = np.broadcast_arrays(v[0], v[1])
    if ((x == 0) & (p < 0)).any():
        return f"{words} is 0{_count((x == 0) & (p < 0))}, and 0 to a negative power is infinite", _DENOMINATOR
    if np.isnan(out).any() and (x < 0).any():
        return f"{words} is below 0{_count(x < 0)}, and a fractional power of that is NaN", _POSITIVE
    return None


def _sqrt(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    if v[0].dtype.kind != "c" and (v[0] < 0).any():
        return f"{words} is below 0{_count(v[0] < 0)}, and its square root is NaN", _POSITIVE
    return None


def _outside(low: float, high: float) -> Callable[[list[Any], Any, str, Event], Words | None]:
    def words_of(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
        bad, bounded = ~np.isfinite(out), np.isfinite(high)
        span = f"from {low:g} to {high:g}" if bounded else f"from {low:g} on"
        reason = f"{name_of_op(event)} is finite {span} (at the edge at most), and {words} is not inside{_count(bad)}"
        return reason, f"keep its argument inside: np.clip(x, {low:g} + eps, {high:g} - eps)." if bounded else _POSITIVE

    return words_of


def _exp(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    x = np.real(v[0])
    most = np.log(np.finfo(out.dtype).max)
    if key_of(event) == "exp2":
        most = most / np.log(2)
    greatest = f"{np.max(x, initial=-np.inf):.4g}"
    reason = f"{words} is up to {greatest}, and {name_of_op(event)} overflows {out.dtype} above {most:.4g}"
    return (
        reason,
        "subtract the largest element first, or work with logarithms (np.logaddexp, scipy.special.logsumexp).",
    )


def _mean(v: list[Any], out: Any, words: str, event: Event) -> Words | None:
    if v[0].size:
        return None
    return (
        f"{words} is empty, and {name_of_op(event)} of nothing is NaN",
        "check the mask or the range that selected it.",
    )


def _overflow(event: Event, result: Any, words: str) -> Words:
    op = name_of_op(event)
    if result.dtype.kind in "fc" and np.isnan(result).any():
        return f"{op} of {words} is NaN", "look at the values there."
    return f"{op} overflows: the result is beyond what {result.dtype} holds", "scale the numbers down."


_INDETERMINATE = {
    "subtract": "inf - inf", "add": "inf - inf", "multiply": "0 * inf", "divide": "inf / inf", "matmul": "0 * inf or inf - inf",
    "dot": "0 * inf or inf - inf", "sum": "a sum of inf and -inf", "mean": "a sum of inf and -inf", "remainder": "inf % y",
}  # fmt: skip


def _of_infinities(event: Event, op: str, words: str) -> Words:
    given = [
        operand(event, k) for k, a in enumerate(event.arguments or ())
        if isinstance(a, (np.ndarray, np.generic, float)) and np.asarray(a).dtype.kind in "fc" and not np.isfinite(a).all()
    ]  # fmt: skip
    held = " and ".join(f"`{g}`" for g in given if g) or words
    nan_given = any(
        isinstance(a, (np.ndarray, np.generic, float)) and np.isnan(np.asarray(a, complex)).any()
        for a in event.arguments or ()
    )
    if nan_given:
        return f"{held} held NaN when it came to {op}", "look at where these numbers come from (np.isnan)."
    out = np.asarray(event.results[0]) if event.results else np.asarray(np.inf)
    if np.isnan(out).any():
        how = _INDETERMINATE.get(key_of(event), f"{op} of an infinity")
        return f"{held} is infinite, and {how} is NaN", _NO_INFINITY
    return f"{held} held an infinity when it came to {op}", _NO_INFINITY


def backward_words(event: Event, k: int, i: int, g: Any, given: Any, words: str) -> Words:
    """Why an operation gave NaN or an infinity for an argument, though its values and its cotangent are finite."""
    op = name_of_op(event)
    kind = "NaN" if np.isnan(given).any() else "infinite"
    arguments = event.arguments or ()
    own: Any = arguments[k] if k < len(arguments) else None
    own = own[i] if i >= 0 and type(own) in (list, tuple) and i < len(own) else own
    x = np.asarray(own) if isinstance(own, (np.ndarray, np.generic, float, complex)) else None
    if x is None:
        return f"the derivative of {op} by {words} is {kind} there", "move the arguments away from that point."
    edges = _EDGES.get(key_of(event), ())
    for edge in edges:
        if (x == edge).any():
            reason = f"{words} is {edge:g}{_count(x == edge)}, where the derivative of {op} is infinite"
            return reason, _EDGE_ADVICE.get(key_of(event), "keep its argument away from there.")
    if key_of(event) in ("power", "float_power") and k == 0 and (x == 0).any():
        return f"{words} is 0{_count(x == 0)}, where the derivative of a power below 1 is infinite", _POSITIVE
    if key_of(event) in ("divide", "log", "reciprocal", "power", "float_power"):
        least = float(np.min(np.abs(np.asarray(arguments[-1] if key_of(event) == "divide" else x)), initial=np.inf))
        return f"{op} has a derivative beyond what {x.dtype} holds: the smallest divisor is {least:.3g}", _DENOMINATOR
    return f"the derivative of {op} by {words} is {kind} there", "move the arguments away from that point."


_EDGES: dict[str, tuple[float, ...]] = {
    "sqrt": (0.0,), "cbrt": (0.0,), "log": (0.0,), "log2": (0.0,), "log10": (0.0,), "log1p": (-1.0,), "arcsin": (-1.0, 1.0),
    "arccos": (-1.0, 1.0), "arctanh": (-1.0, 1.0), "arccosh": (1.0,), "reciprocal": (0.0,), "norm": (0.0,), "hypot": (0.0,),
    "arctan2": (0.0,), "vector_norm": (0.0,),
}  # fmt: skip
_EDGE_ADVICE = {
    "sqrt": "add a small number under the root: np.sqrt(x + eps).",
    "norm": "add a small number under the root.",
}
_FORWARD: dict[str, Callable[[list[Any], Any, str, Event], Words | None]] = {
    **dict.fromkeys(["log", "log2", "log10", "log1p"], _log), **dict.fromkeys(["exp", "exp2", "expm1", "cosh", "sinh"], _exp),
    **dict.fromkeys(["mean", "var", "std", "max", "min"], _mean), "divide": _divide, "reciprocal": _reciprocal, "sqrt": _sqrt,
    **dict.fromkeys(["power", "float_power"], _power), **dict.fromkeys(["arcsin", "arccos"], _outside(-1, 1)),
    "arctanh": _outside(-1, 1), "arccosh": _outside(1, np.inf),
}  # fmt: skip
