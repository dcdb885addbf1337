"""Cuts of the path between an argument and the result, and the words for each way to cut it."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ...tracer.core.watching import Event, Input
from .paths import ancestors, carries, followers, key_of, name_of_op
from .report import Cause, cause_at
from .source import assigned, derived_from, operand, quoted, reads_of, within, written_call

__all__ = ["cuts", "cuts_on_the_way"]

_KEEP = "compute with {name} itself"
# What gives the numbers of a Tensor without the graph: why nothing goes back, and what to do.
_PASSES = {
    "detach": (
        "detach() gives the numbers of {name} without the graph",
        f"{_KEEP}, or detach only what is to be constant",
    ),
    "stop_gradient": ("gs.stop_gradient makes a constant of {name}", _KEEP),
    "data": (".data gives the numbers of {name} without the graph", _KEEP),
    "tensor": (
        "gs.tensor copies the numbers of {name} into a new leaf, which knows nothing of where they come from",
        _KEEP,
    ),
}
# What takes a value out of its Tensor, into Python or NumPy.
_EXITS = {
    "item": "item() makes a Python number of {name}",
    "tolist": "tolist() makes Python numbers of {name}",
    "float": "float() makes a Python number of {name}",
    "int": "int() makes a Python number of {name}",
    "complex": "complex() makes a Python number of {name}",
    "index": "{name} becomes a plain index",
    "numpy": "numpy() makes a plain array of {name}",
    "array": "np.array makes a plain array of {name}",
    "dlpack": "{name} goes to another library",
    "pickle": "a copy of {name} is pickled",
    "bool": "{name} only decides a branch (`if`, `while`, `and`, `assert`)",
}
_DELIBERATE = frozenset([*_PASSES, "no_grad", "inference_mode"])
_GOES_OUT = ", and no gradient comes back from there"


def cuts(
    events: list[Event], leaf: Event, root: Event | None, name: str, function: Any = None, inner: Container[Event] = ()
) -> list[Cause]:
    """Why no gradient comes from `root` back to `leaf`, which the user calls `name`; `inner` are differentiated within."""
    behind, live = followers(events, leaf)
    found = _on_the_way(events, live, root, name) if root in behind else []
    if found:
        return found
    consumed = {given.event for event in events for given in event.inputs}
    ends = [event for event in events if event in behind and event not in consumed and event is not leaf]
    exits = [event for event in ends if event.how in _EXITS and event.how != "bool"]
    if exits:
        return list(dict.fromkeys(_exit(event, name) for event in exits))
    lost = [event for event in ends if event.how not in _EXITS and not _decides(event)]
    if lost:
        return [_unused(lost[-1], lost[-1] in inner)]
    if ends:
        return [_exit(ends[0], name)]
    return [_never_used(name, function)]


def cuts_on_the_way(events: list[Event], leaf: Event, root: Event | None, name: str) -> list[Cause]:
    """The cuts that somebody made on purpose on other paths from `root` to `leaf`, beside one that carries a gradient."""
    live = followers(events, leaf)[1]
    return [cause for cause in _on_the_way(events, live, root, name, only_own=True) if cause.op in _DELIBERATE]


def _on_the_way(
    events: list[Event], live: set[Event], root: Event | None, name: str, only_own: bool = False
) -> list[Cause]:
    """The cuts between a result and the events from which a gradient would go back; those by nature, and ours, last."""
    above = set() if root is None else ancestors([root])
    found: dict[Cause, bool] = {}
    for event in events:
        for given in event.inputs if event in above else ():
            if given.event in live and not carries(event, given):
                found.setdefault(_cut(event, given, name), _is_own(event))
    return sorted([c for c in found if found[c] or not only_own], key=lambda c: not found[c] or c.op not in _DELIBERATE)


def _is_own(event: Event) -> bool:
    """Whether the user wrote what an event is, and not a function of ours that the user called (`F.cross_entropy` detaches)."""
    if event.how not in _PASSES:
        return not within(event)
    call = written_call(event.site)
    return not call or call.rpartition(".")[2] in (event.how, "stop_gradient")


def _cut(event: Event, given: Input, name: str) -> Cause:
    """One cut: `event` used what came from the argument in a way by which no gradient goes back."""
    if not given.tracked and given.event.node is not None:  # the numbers of something that has a place in the graph
        return _plain_numbers(given.event)
    variable = operand(event, *given.slot) or (name if given.event.how == "leaf" else "")
    words = quoted(variable)
    if event.how in _PASSES:
        call = written_call(event.site)
        how = "stop_gradient" if call.endswith("stop_gradient") else event.how
        if how in ("stop_gradient", "tensor"):
            variable = operand(event, 0) or variable
        elif not variable and call.endswith(f".{how}"):
            variable = call.removesuffix(f".{how}")
        words = quoted(variable)
        reason, advice = _PASSES[how]
        return cause_at(event, how, variable, f"{reason.format(name=words)}.", f"{advice.format(name=words)}.")
    if event.how == "leaf":
        reason = f"{words} became a leaf of its own (requires_grad=True), and the graph begins there anew."
        return cause_at(event, "requires_grad", variable, reason, _KEEP.format(name=words) + ".")
    op = name_of_op(event)
    if event.how in _EXITS:
        return _exit(event, name)
    if not event.grad:
        mode = "inference_mode" if event.inference else "no_grad"
        reason = f"{op} ran inside gs.{mode}(), where nothing is recorded: its result does not know that it came from {words}."
        return cause_at(event, mode, variable, reason, f"take this line out of gs.{mode}(), or use gs.enable_grad().")
    return cause_at(event, op, variable, *_by_nature(event, given, op, words))


def _by_nature(event: Event, given: Input, op: str, words: str) -> tuple[str, str]:
    kinds = {getattr(getattr(r, "dtype", None), "kind", "") for r in event.results}
    if event.op is not None and key_of(event) == "astype":
        dtype = getattr(event.results[0], "dtype", "integers") if event.results else "integers"
        return (
            f"{words} is cast to {dtype}, and integers have no gradient.",
            "keep it floating, and cast a copy for indices.",
        )
    if key_of(event) == "index_set":
        dtype = getattr(event.results[0], "dtype", "integers")
        return (
            f"{words} is written into an array of {dtype}, and integers have no gradient.",
            "make that array of floats.",
        )
    if kinds == {"b"} and derived_from(event) is not None:
        reason = "its pieces are told apart by a comparison, and within a piece it is constant."
        return reason, "the second derivative of a piecewise linear function is zero: that may be right."
    if kinds == {"b"}:
        reason = f"{op} gives true or false, which does not change with small changes of {words}: no gradient goes through it."
        return (
            reason,
            "weight by a smooth function (1 / (1 + np.exp(-x))), or let the values, not the test, carry the gradient.",
        )
    if kinds and kinds <= {"i", "u", "b"}:
        return (
            f"{op} gives integers (a position, a count), which do not change with small changes of {words}.",
            "use what is found there (x[i], np.max), or a smooth form such as a softmax.",
        )
    k = given.slot[0]
    parameter = event.op.params[k].name if event.op is not None and k < len(event.op.params) else ""
    return (
        f"{op} has no derivative with respect to its argument `{parameter}`, {words}.",
        "let the value come in elsewhere.",
    )


def _plain_numbers(event: Event) -> Cause:
    op = name_of_op(event)
    if event.op is None:
        reason = f"what {op} gave here carries no gradient: forward marked it so (mark_non_differentiable), or it holds integers."
        return cause_at(event, op, assigned(event), reason, "use another of its results.")
    if any(getattr(getattr(r, "dtype", None), "kind", "") in "iub" for r in event.results):
        reason = f"of the results of {op} those are used that hold integers, which have no gradient."
        return cause_at(event, op, assigned(event), reason, "use another of its results.")
    reason = f"what {op} gave here is used as plain numbers, by way of the same memory."
    return cause_at(event, op, assigned(event), reason, "use its result as it came.")


def _decides(event: Event) -> bool:
    """Whether an operation gave Python's true or false: nothing but a branch is made of that."""
    return any(type(result) is bool for result in event.results)


def _exit(event: Event, name: str) -> Cause:
    source = event.inputs[0].event
    call = written_call(event.site)
    variable = operand(event, 0) or (call.rpartition(".")[0] if call.endswith(event.how) else "")
    variable = variable or (name if source.how == "leaf" else assigned(source))
    words = quoted(variable, "a value that was computed from it")
    how = "bool" if event.how == "op" else event.how
    reason = f"{_EXITS[how].format(name=words)}{_GOES_OUT}."
    advice = (
        "np.where(condition, a, b) has gradients of a and b."
        if how == "bool"
        else "keep the array, and compute with it."
    )
    return cause_at(event, how, variable, reason, advice)


def _unused(event: Event, differentiated: bool) -> Cause:
    variable = assigned(event)
    what = quoted(variable, f"what {name_of_op(event)} gives here")
    if differentiated:
        reason = f"the derivative of {what} was taken, and does not change with it: the function is linear there, or constant."
        return cause_at(
            event, name_of_op(event), variable, reason, "a derivative of a constant is zero: that may be right."
        )
    reason = f"{what} is the last that was computed from it, and nothing that was returned is computed from {what}."
    return cause_at(event, name_of_op(event), variable, reason, "use it in the result, or write over it later.")


def _never_used(name: str, function: Any) -> Cause:
    found = None if function is None else reads_of(function, name)
    if found is None:
        return Cause("unused", name, "", 0, f"no operation took `{name}`.", "use it in what is returned.")
    filename, first, reads = found
    if not reads:
        reason = f"the function takes `{name}` and never reads it."
        return Cause("unused", name, filename, first, reason, "use it, or leave it out of argnums.")
    branch = next((read for read in reads if read[1]), None)
    if branch is not None and all(around for _, around in reads):
        reason = f"`{name}` is read only in a branch that was not taken (decided at line {branch[1]})."
        advice = "a gradient is that of the branch that ran; np.where computes both."
        return Cause("branch", name, filename, branch[0], reason, advice)
    reason = f"`{name}` is read here, but no operation computed with it."
    return Cause("unused", name, filename, reads[-1][0], reason, "compute with its values.")
