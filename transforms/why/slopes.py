"""Slopes of zero: why an operation gives a cotangent of zero for an argument, in words read off its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracer.core.watching import Event
from .paths import key_of, name_of_op
from .source import operand, quoted

__all__ = ["SELECTS", "zero_words"]

# They pass a cotangent on as it is, in other places: where it is zero, somebody behind them made it so.
SELECTS = frozenset(
    ["getitem", "take", "take_along_axis", "compress", "extract", "concatenate", "stack", "vstack", "hstack", "dstack",
     "column_stack", "append", "split", "array_split", "reshape", "ravel", "transpose", "diagonal", "trace", "roll", "pad",
     "delete"]
)  # fmt: skip


class At:
    """An argument of an operation and what arrived there: what the words are made of."""

    def __init__(self, event: Event, slot: tuple[int, int], g: Any, words: str) -> None:
        self.event, self.slot, self.words = event, slot, words
        self.op, self.key = name_of_op(event), key_of(event)
        self.g = np.asarray(g)

    def value(self, k: int | str) -> Any:
        """The value of an argument, by position or name; KeyError where that is not known."""
        if isinstance(k, str):
            names = [p.name for p in self.event.op.params]
            if k not in names:
                raise KeyError(k)
            k = names.index(k)
        if self.event.arguments is None or k >= len(self.event.arguments) or self.event.arguments[k] is None:
            raise KeyError(k)
        return self.event.arguments[k]

    @property
    def own(self) -> Any:
        """The value of the argument itself."""
        found = self.value(self.slot[0])
        return found[self.slot[1]] if self.slot[1] >= 0 else found

    @property
    def result(self) -> Any:
        """The result of the operation."""
        if not self.event.results:
            raise KeyError("result")
        return self.event.results[0]

    def name(self, k: int | str, i: int = -1) -> str:
        """Return the user's text of another argument."""
        if isinstance(k, str):
            k = [p.name for p in self.event.op.params].index(k)
        return quoted(operand(self.event, k, i), "the other argument")

    def where(self, condition: Any) -> str:
        """At how many elements that count a condition holds: "at all 12 elements", "where the cotangent is not zero"."""
        shape = np.broadcast_shapes(self.g.shape, np.shape(condition))
        held, felt = np.broadcast_to(condition, shape), np.broadcast_to(self.g != 0, shape)
        n = held.size
        if held.all():
            return "" if n == 1 else f" at all {n} elements"
        if held[felt].all():
            return f" at the {int(np.count_nonzero(felt))} of {n} elements that have a cotangent"
        return f" at {int(np.count_nonzero(held))} of {n} elements"


Words = tuple[str, str]


def zero_words(event: Event, slot: tuple[int, int], g: Any, words: str, part: bool = False) -> Words:
    """Why the operation gave zero (`part`: in part) for an argument, and what to do."""
    at = At(event, slot, g, words)
    known = _WORDS.get(at.key) if event.op is not None else None
    if event.op is not None and any(p.name == "into" for p in event.op.params) and not part:
        known = _masked
    if known is not None:
        try:
            found = known(at) if not part or at.key in _CHOOSES else None
        except (KeyError, ValueError, TypeError, IndexError):  # a value that was not kept
            found = None
        if found is not None:
            return found
    if part and at.key in SELECTS:
        return f"{at.op} leaves those elements of {words} out that lead back", "look at what it picks."
    if part:
        reason = f"{at.op} passes nothing on to some elements of {words}, which are those that lead back"
        return reason, "look at what it picks."
    return f"{at.op} gives a cotangent of zero for {words}: its derivative there is zero", "try other arguments."


def _larger(at: At) -> Words:
    k = at.slot[0]
    smaller = at.key in ("minimum", "fmin")
    own, other = np.asarray(at.own), np.asarray(at.value(1 - k))
    loses = own > other if smaller else own < other
    relation = "above" if smaller else "below"
    reason = f"{at.words} is {relation} {at.name(1 - k)}{at.where(loses)}, and {at.op} passes nothing on to what it does not take"
    advice = "start elsewhere, or use a form with a slope on both sides (np.where(z > 0, z, 0.01 * z))."
    return reason, advice


def _clip(at: At) -> Words | None:
    x = np.asarray(at.own)
    low, high = _first(at, "a_min", "min"), _first(at, "a_max", "max")
    parts = [
        f"{relation} {bound}{at.where(outside)}"
        for bound, outside, relation in (
            (low, None if low is None else x < low, "below"), (high, None if high is None else x > high, "above")
        )
        if outside is not None and outside.any()
    ]  # fmt: skip
    if not parts:
        return None
    reason = f"{at.words} is {' and '.join(parts)}, where {at.op} is constant"
    return reason, "widen the range, or clip a copy and keep what carries the gradient."


def _first(at: At, *names: str) -> Any:
    for name in names:
        try:
            found = at.value(name)
        except KeyError:
            continue
        if found is not np._NoValue:
            return found
    return None


def _where(at: At) -> Words:
    condition = np.asarray(at.value(0)) != 0
    taken = "false" if at.slot[0] == 1 else "true"
    held = ~condition if at.slot[0] == 1 else condition
    name = f"the condition {at.name(0)}" if at.name(0).startswith("`") else "its condition"
    reason = f"{name} is {taken}{at.where(held)}, so that np.where takes nothing from {at.words}"
    return reason, "check the condition at these arguments."


def _product(at: At) -> Words | None:
    k = 1 - at.slot[0]
    other = np.asarray(at.value(k))
    name = at.name(k)
    is_literal = name.strip("`-+.0") == "" and name != "``"
    reason = f"{at.words} is multiplied by {name}" if is_literal else f"{name} is 0{at.where(other == 0)}"
    reason += ", and the derivative of a product is its other factor"
    if (
        other.any()
        and not (other == 0)[np.broadcast_to(at.g != 0, other.shape) if other.shape == at.g.shape else ...].all()
    ):
        return None
    return reason, "is that factor meant?" if is_literal else f"see where {name} becomes 0."


def _contraction(at: At) -> Words:
    k, i = at.slot
    if i >= 0:  # np.einsum, np.linalg.multi_dot
        others = [(j, np.asarray(v)) for j, v in enumerate(at.value(k)) if j != i]
        j, other = min(others, key=lambda one: np.count_nonzero(one[1]))
        name = at.name(k, j)
    else:
        other, name = np.asarray(at.value(1 - k)), at.name(1 - k)
    if other.any():
        reason = f"{name} has zeros wherever a cotangent arrives, so that {at.op} passes nothing on to {at.words}"
        return reason, "look at both."
    reason = f"all elements of {name} are 0, and they are the derivative of {at.op} by {at.words}"
    return reason, f"start {name} from other numbers (all zeros never learn)."


def _divide(at: At) -> Words:
    if at.slot[0] == 0:
        huge = np.abs(np.asarray(at.value(1))) > 1e150
        return f"{at.name(1)} is so large{at.where(huge)} that 1 / {at.name(1)} underflows to 0", "scale it."
    x = at.name(0)
    zero = np.asarray(at.value(0)) == 0
    return f"{x} is 0{at.where(zero)}, so that the quotient is 0 whatever {at.words} is", f"look at {x}."


def _extreme(at: At) -> Words:
    least = "min" in at.key
    reason = f"the {'smallest' if least else 'largest'} element is another one: {at.op} passes its cotangent on to that alone"
    return reason, "a smooth form (scipy.special.logsumexp, a mean) has a gradient of every element."


def _picks(at: At) -> Words:
    return f"{at.op} picks other elements, and passes its cotangent on to those alone", "look at which it picks."


def _steps(at: At) -> Words:
    reason = f"{at.op} is constant between its steps, so that its derivative by {at.words} is zero everywhere"
    return reason, f"leave it away, or pass the gradient straight through: x + gs.stop_gradient({at.op}(x) - x)."


def _exp(at: At) -> Words:
    x = np.asarray(at.own)
    at_most = f" ({at.words} is at most {np.max(x, initial=-np.inf):.4g})"
    reason = f"{at.op} underflows to 0{at.where(np.asarray(at.result) == 0)}{at_most}, and it is its own derivative"
    return reason, "subtract the largest element before np.exp, or work with logarithms (logsumexp, log-softmax)."


def _saturated(at: At) -> Words:
    x = np.asarray(at.own)
    low, high = float(np.min(x, initial=np.inf)), float(np.max(x, initial=-np.inf))
    span = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    reason = f"{at.op} is saturated: {at.words} is {span}, where it is flat to the last bit"
    return reason, "scale its argument, or use a loss that takes logits."


def _relu(at: At) -> Words:
    low = np.asarray(at.own) <= 0
    return f"{at.words} is not above 0{at.where(low)}, where {at.op} is flat", "start elsewhere, or use leaky_relu."


def _softmax(at: At) -> Words:
    most = float(np.max(np.asarray(at.result), initial=-np.inf))
    reason = (
        f"{at.op} is saturated (its largest element is {most:.4g}), or all of its elements count the same behind it"
    )
    return reason, "scale its argument, or use a loss that takes logits."


def _power(at: At) -> Words | None:
    x, p = np.asarray(at.value(0)), np.asarray(at.value(1))
    if at.slot[0] == 0 and not p.any():
        return f"{at.words} to the power 0 is 1 everywhere", "use another exponent."
    if at.slot[0] == 0 and (x == 0).any():
        return f"{at.words} is 0{at.where(x == 0)}, where the derivative of {at.op} is 0", "start elsewhere."
    if at.slot[0] == 1:
        still = at.where((x == 0) | (x == 1))
        return f"{at.name(0)} is 0 or 1{still}, whose powers do not change with {at.words}", "look at the base."
    return None


def _flat(at: At) -> Words | None:
    x = np.asarray(at.own)
    if not (x == 0).any():
        return None
    reason = f"{at.words} is 0{at.where(x == 0)}, where the derivative of {at.op} is 0 (docs/kinks.md)"
    return reason, "start elsewhere."


def _factors(at: At) -> Words:
    zeros = int(np.count_nonzero(np.asarray(at.own) == 0))
    return f"{zeros} factors are 0, so that each product of the others is 0", "take the zeros out, or add logarithms."


def _written(at: At) -> Words:
    if at.slot[0] != 0:
        reason = f"what was written from {at.words} was overwritten or left out later"
        return reason, "look at the writes behind this line."
    reason = f"all of {at.words} that carries a cotangent is overwritten here, and the numbers that stood there count no more"
    return reason, "write into a copy, or keep what was there: x * mask, np.where(mask, x, v)."


def _masked(at: At) -> Words:
    unused = ~np.asarray(at.value("where"))
    return f"where= is false{at.where(unused)}, so that nothing is computed from {at.words}", "look at the mask."


def _difference(at: At) -> Words:
    reason = f"all elements of {at.words} are equal, where {at.op} has the derivative 0 by convention (docs/kinks.md)"
    return reason, "start elsewhere."


# None where the values do not say why.
_WORDS: dict[str, Callable[[At], Words | None]] = {
    **dict.fromkeys(["maximum", "minimum", "fmax", "fmin"], _larger),
    "clip": _clip, "where": _where, "multiply": _product, "divide": _divide,
    **dict.fromkeys(
        ["matmul", "dot", "inner", "outer", "vdot", "vecdot", "matvec", "vecmat", "convolve", "correlate", "einsum",
         "multi_dot", "tensordot"], _contraction),
    **dict.fromkeys(["max", "min", "amax", "amin", "nanmax", "nanmin", "ptp"], _extreme),
    **dict.fromkeys(["sort", "partition", "median", "quantile", "percentile", "nanmedian", "nanquantile"], _picks),
    **dict.fromkeys(
        ["floor", "ceil", "rint", "trunc", "round", "around", "fix", "sign", "heaviside", "floor_divide"], _steps),
    **dict.fromkeys(["exp", "exp2"], _exp),
    **dict.fromkeys(
        ["tanh", "sigmoid", "logistic", "real_sigmoid", "expit", "erf", "erfc", "ndtr", "expm1", "arctan", "elu", "softplus"],
        _saturated),
    **dict.fromkeys(["power", "float_power"], _power), **dict.fromkeys(["relu", "relu6"], _relu),
    **dict.fromkeys(["softmax", "log_softmax"], _softmax),
    **dict.fromkeys(["square", "absolute", "fabs", "cos", "cosh", "sinc", "norm", "vector_norm", "hypot"], _flat),
    **dict.fromkeys(["prod", "cumprod", "nanprod"], _factors),
    **dict.fromkeys(["std", "var", "nanstd", "nanvar"], _difference),
    "index_set": _written,
}  # fmt: skip
_CHOOSES = frozenset([
    "maximum", "minimum", "fmax", "fmin", "where", "clip", "max", "min", "amax", "amin", "nanmax", "nanmin", "ptp", "sort",
    "partition", "median", "quantile", "percentile", "nanmedian", "nanquantile", "index_set",
])  # fmt: skip
