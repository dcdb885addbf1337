"""gs.why of a bare Tensor: from what was recorded under `with gs.why():`, else from what its own history still knows."""

from __future__ import annotations

import dataclasses
import sys
import types
from typing import Any

import numpy as np

from ...runtime.arrays import on_numpys_host
from ...tracer.core.engine import run_backward
from ...tracer.core.graph import AccumulateGrad, edge_of, reached_from, sequence
from ...tracer.core.site import Site, is_library, is_ours
from ...tracer.core.tensor_base import Operand
from ...tracer.core.watching import Event, Watch, watching
from .answers import answer_for, answer_for_result
from .cuts import cuts
from .paths import ancestors, followers, name_of_op, node_of
from .report import Answer, Cause, Why, cause_at, state_of

__all__ = ["why_of_tensor"]

_AGAIN = "Run it again under `with gs.why():`, and ask there: then the line is known."


def why_of_tensor(tensor: Any, watch: Watch | None) -> Why:
    """Return the report on the gradient of a Tensor, and on the gradients that it was to give to others."""
    on_numpys_host("gs.why", [tensor._value])
    names = _names_of(_frame())
    name = names.get(id(tensor), "tensor")
    recorded = watch is not None
    if watch is not None and watch.producer(tensor) is None:
        watch = None
    with watching(None):
        if tensor._node is None or getattr(tensor._node, "lent", False):
            return Why(name, [_without_graph(tensor, name, watch, recorded)])
        if type(tensor._node) is AccumulateGrad:
            return _leaf(tensor, name, watch)
        return _computed(tensor, name, names, watch)


def _without_graph(tensor: Any, name: str, watch: Watch | None, recorded: bool) -> Answer:
    """A Tensor that does not require grad."""
    found = None if watch is None else watch.producer(tensor)
    if watch is not None and found is not None:
        event = found[0]
        above = ancestors([event])
        leaves = [e for e in watch.events if e in above and e.how == "leaf"]
        causes = [c for leaf in leaves for c in cuts(watch.events, leaf, event, _own_name(leaf))]
        if causes:
            note = "It does not require grad, since every path from what does was cut."
            return Answer(name, "None", tuple(dict.fromkeys(causes)), None, note)
        reason = "it does not require grad, and nothing that it was computed from does."
        advice = "make what you want the gradient of with gs.tensor(..., requires_grad=True)."
        return Answer(name, "None", (cause_at(event, name_of_op(event), name, reason, advice),))
    if tensor.dtype.kind not in "fc":
        reason = f"it holds {tensor.dtype}, and only floating point and complex numbers have gradients."
        return Answer(name, "None", (Cause("dtype", name, "", 0, reason, "convert it first: x.astype(float)."),))
    seen = getattr(tensor, "_view", None)
    if seen is not None and seen.made.startswith("in "):
        mode = seen.made.removeprefix("in ").removesuffix(" mode")
        op, reason = mode, f"it was made in gs.{mode}(), where nothing is recorded."
    elif tensor._node is not None:
        op, reason = (
            "view",
            "it is a view that was made before its base required grad, and no part of the graph of that.",
        )
    elif tensor.is_inference():
        op, reason = "inference_mode", "it was made in gs.inference_mode(), and can take part in no graph."
    elif recorded:
        reason = "it does not require grad, and no operation of the block made it: it is a constant there."
        advice = "make it with gs.tensor(..., requires_grad=True)."
        return Answer(name, "None", (Cause("requires_grad", name, "", 0, reason, advice),))
    else:
        op = "requires_grad"
        reason = (
            "it does not require grad: it was made without requires_grad=True, from nothing that requires grad, or it was "
            "cut off (detach, .data, gs.no_grad, a cast to integers, a comparison)."
        )
    return Answer(name, "None", (Cause(op, name, "", 0, reason, ""),), None, _AGAIN)


def _leaf(tensor: Any, name: str, watch: Watch | None) -> Why:
    """A leaf that asks for a gradient."""
    state, node = state_of(tensor.grad), tensor._node
    if state == "healthy":
        return Why(name, [Answer(name, state, gradient=tensor.grad._value)])
    runs = [] if watch is None else list(watch.arrived)
    if watch is not None and not runs:
        return Why(name, [_without_backward(tensor, name, state, watch)])
    if watch is None:
        reason = {
            "None": "no backward has come to it: none was called since it was made (or .grad was reset), or no path leads from "
            "the result to it.",
            "zero": "what backward added up here is zero.",
        }.get(state, f"what backward added up here holds {state}.")
        cause = Cause("", name, "", 0, reason, "")
        return Why(name, [Answer(name, state, (cause,), tensor.grad, _AGAIN)])
    came = [run for run in runs if node in watch.arrived[run]]
    if state == "None" and state_of(_g(watch, runs[-1], node)) != "None":
        reason = "backward brought it a gradient, and afterwards .grad was set to None (zero_grad does that)."
        cause = Cause("zero_grad", name, "", 0, reason, "look at .grad before it is reset.")
        return Why(name, [Answer(name, state, (cause,))])
    bad = [run for run in came if state_of(_g(watch, run, node)) == state]
    if came and not bad and state == "zero":
        reason = "backward brought it a gradient that is not zero; .grad was set to zero, or several runs cancel."
        return Why(
            name, [Answer(name, state, (Cause("zero_grad", name, "", 0, reason, "look at .grad before that."),))]
        )
    run = runs[-1] if state == "None" else (bad or came or runs)[-1]
    gradient = None if state == "None" else _g(watch, run, node)
    answer = answer_for(watch, run, watch.event_of(run.roots[0]), node, name, gradient)
    earlier = state == "None" and any(state_of(_g(watch, one, node)) != "None" for one in came)
    note = "That is the last backward; an earlier one brought it a gradient, and .grad was reset since."
    return Why(name, [dataclasses.replace(answer, note=note if earlier else "")])


def _without_backward(tensor: Any, name: str, state: str, watch: Watch) -> Answer:
    """A leaf of a block in which no backward ran: it was not called, or what it was called on had no graph."""
    leaf = watch.event_of(tensor._node)
    behind, live = followers(watch.events, leaf)
    last = next((e for e in reversed(watch.events) if e in behind and e is not leaf), None)
    if last is None or last in live:
        reason = "backward was not called in this block, so that nothing was added to its .grad."
        return Answer(name, state, (Cause("", name, "", 0, reason, ""),), tensor.grad)
    note = "No backward ran in this block: what was computed last requires no grad."
    return Answer(name, state, tuple(cuts(watch.events, leaf, last, name)), tensor.grad, note)


def _g(watch: Watch, run: Any, node: Any) -> Any:
    return watch.arrived[run].get(node)


def _computed(tensor: Any, name: str, names: dict[int, str], watch: Watch | None) -> Why:
    """Return the report on an operation: if others were computed from it, on its own gradient; else on those that it gives."""
    node = node_of(tensor._node)
    grad = None if not (tensor.retains_grad or getattr(tensor, "_grad", None) is not None) else tensor.grad
    roots = [] if watch is None else [node_of(r) for run in watch.arrived for r in run.roots]
    used = watch is not None and any(g.event.node is node for e in watch.events if e.op is not None for g in e.inputs)
    if (used or np.size(tensor._value) != 1) and node not in roots:
        return Why(name, [_not_a_leaf(tensor, name, grad, watch)])
    known = None if watch is None else next((run for run in watch.arrived if tensor._node in run.roots), None)
    if watch is not None and known is not None:
        return _given(tensor, name, names, watch, known)
    leaves = {edge: None for edge in sorted(reached_from([tensor._node]), key=sequence) if type(edge) is AccumulateGrad}
    if any(getattr(n, "saved", ()) is None for n in reached_from([tensor._node])):
        states = [(names.get(id(n._variable()), ""), n.grad) for n in leaves]
        answers = [Answer(label or f"leaf_{k}", state_of(g), (), g) for k, (label, g) in enumerate(states)]
        return Why(name, answers, ["Its graph was freed by a backward through it, and can be asked no more.", _AGAIN])
    fresh = watch if watch is not None else Watch()
    seed = np.ones(*edge_of(tensor).meta)
    with watching(fresh):
        run_backward([(tensor._node, seed if seed.shape else seed[()])], leaves, retain_graph=True, create_graph=False)
    why = _given(tensor, name, names, fresh, next(reversed(fresh.arrived)))
    if watch is None and not why.healthy and not why.lineno:
        why.remarks.append(_AGAIN)
    return why


def _given(tensor: Any, name: str, names: dict[int, str], watch: Watch, run: Any) -> Why:
    """The gradients that came to the leaves in one run of backward from a Tensor."""
    root = watch.event_of(tensor._node)
    above = ancestors([root])
    found = {e.node: None for e in watch.events if e.how == "leaf" and e in above}
    found |= {edge: None for edge in reached_from([tensor._node]) if type(edge) is AccumulateGrad}
    answers = []
    for k, leaf in enumerate(sorted(found, key=sequence)):
        label = names.get(id(leaf._variable()), "") or f"leaf_{k}"
        answers.append(answer_for(watch, run, root, leaf, label, _g(watch, run, leaf)))
    if all(answer.state not in ("NaN", "inf") for answer in answers):
        of_result = answer_for_result(watch, run, root, tensor)
        answers += [] if of_result is None else [of_result]
    return Why(name, answers, [] if answers else ["no leaf that requires grad is behind it."])


def _not_a_leaf(tensor: Any, name: str, grad: Any, watch: Watch | None) -> Answer:
    """A result in the middle of the graph: backward keeps no gradient of it unless it is told to."""
    event = None if watch is None else watch.event_of(tensor._node)
    state = state_of(grad)
    if state == "healthy":
        return Answer(name, state, gradient=grad._value)
    if grad is not None and watch is not None and event is not None:
        runs = [run for run in watch.arrived if tensor._node in watch.arrived[run]]
        if runs:
            return answer_for(watch, runs[-1], watch.event_of(runs[-1].roots[0]), tensor._node, name, grad)
    op = tensor.grad_fn.name() if event is None or event.op is None else name_of_op(event)
    site = _site(tensor, event)
    reason = f"`{name}` is not a leaf: {op} made it, and backward fills .grad of leaves alone."
    advice = (
        f"{name}.retain_grad() before backward; or make it the leaf: gs.tensor(..., requires_grad=True) behind all that changes "
        "its numbers, not before."
    )
    place = ("", 0) if site is None else (site.code.co_filename, site.line)
    return Answer(name, state, (Cause(op, name, *place, reason, advice),), grad)


def _site(tensor: Any, event: Event | None) -> Site | None:
    """The line that made a Tensor: from the record, or what anomaly mode noted."""
    if event is not None:
        return event.site
    extra = tensor.grad_fn.extra
    trace = None if extra is None else extra.trace
    return trace.sites[-1] if trace is not None and trace.sites else None


def _own_name(leaf: Event) -> str:
    names = _names_of(_frame())
    return names.get(id(leaf.node._variable()), "") or "its leaf"


def _frame() -> types.FrameType | None:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame


def _names_of(frame: types.FrameType | None) -> dict[int, str]:
    """Return the names of Tensors in the user's frame, also in dicts, lists and attributes of objects."""
    found: dict[int, str] = {}
    if frame is None:
        return found
    for space in (frame.f_locals, frame.f_globals):
        for name, value in list(space.items()):
            if isinstance(value, Operand):
                found.setdefault(id(value), name)
            elif isinstance(value, (list, tuple, dict)):
                pairs = value.items() if isinstance(value, dict) else enumerate(value)
                for key, one in pairs:
                    if isinstance(one, Operand):
                        found.setdefault(id(one), f"{name}[{key!r}]")
            elif hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
                for key, one in vars(value).items():
                    if isinstance(one, Operand):
                        found.setdefault(id(one), f"{name}.{key}")
    return found
