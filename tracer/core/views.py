"""Views: which Tensor another is seen through, and by which operations."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from ...runtime.arrays import is_array, is_cupys, is_plain_array
from ...runtime.ops import Kind, Op
from ...runtime.registry import require
from ...unpatched import np
from . import tensor_base, versions
from .graph import AccumulateGrad
from .tensor_base import Operand, alias, follow, is_inference, made_in_inference, wrap
from .thread_state import LOCAL, cuts

__all__ = [
    "STALE", "View", "custom_view", "detached", "forbid_writes", "live_views", "note_itself", "note_view", "put",
    "require_grad_too", "whole",
]  # fmt: skip

CUSTOM = "output "  # how `View.made` begins for what a Function gave
DETACHED = "detached"  # `View.made` of `detach()` inside a transform: it shares values, and no graph
STALE: dict[type, type] = {}  # of a class of Tensors the one of stale views (memory/view_renewal.py)


ndarray = np.ndarray
_new = tuple.__new__  # what the class of a named tuple does, without a call of Python
_FIRST = (0, -1)  # the slot of a first argument that is no list


class Step(NamedTuple):
    """One op on the way from a base to its view."""

    op: Op
    bound: tuple[Any, ...]
    slot: tuple[int, int]  # which argument is what the view is of, and where in its sequence (or -1)
    position: int  # which of several results (or -1)


class View(NamedTuple):
    """The relation of a view to its base: the base, the ops that lead from it, and the reason why it may not be written into."""

    base: Any
    steps: tuple[Step, ...]
    made: str  # "", "in no_grad mode", "in inference mode", DETACHED, or the name of the node that gave several views
    many: bool = False  # whether a Function gave it beside others


def note_view(tensor: Any, op: Op, bound: tuple[Any, ...], position: int = -1) -> None:
    """Remember that `tensor`, the result of `op` (one of several: `position`), shares memory with an argument."""
    value, here = tensor._value, LOCAL.__dict__
    if type(value) is not ndarray and not is_plain_array(value):
        return
    first = bound[0]
    if op.kind is Kind.shaping and _is_of(value, first) and value.size:
        slot, source = _FIRST, first
    else:
        slot, source = _source(value, bound)
    if source is None or source is tensor:
        return
    unusual = type(source) is not tensor_base.tensor_class and is_inference(source)
    if unusual and not here["depth"]:  # no more is known of it than the memory
        tensor._node = None
        made_in_inference(tensor)
        return
    earlier = getattr(source, "_view", None)
    made = "" if here["grad"] else "in inference mode" if here["inference"] else "in no_grad mode"
    if not here["depth"]:
        versions.share(value, source._value)
        if op.n_out != 1:
            made = made or f"{op.title}Backward0"
    base: Any = source
    rest = (None, *bound[1:]) if slot is _FIRST else put(bound, slot, None)
    steps: tuple[Step, ...] = (_new(Step, (op, rest, slot, position)),)
    if earlier is not None:
        base, steps, made = earlier.base, earlier.steps + steps, made or earlier.made
    tensor._view = _new(View, (base, steps, made, earlier is not None and earlier.many))
    views = getattr(base, "_views", None)
    if views is None:
        views = base._views = []
    elif len(views) >= 16 and len(views) & (len(views) - 1) == 0:
        views[:] = [v for v in views if v() is not None]
    views.append(weakref.ref(tensor))
    if unusual:
        made_in_inference(tensor)
    elif not here["grad"] and tensor._node is None and not here["depth"] and base._node is not None:
        _require_grad_as_base(tensor)


def _require_grad_as_base(view: Any) -> None:
    """Let a view without a history, as one that no_grad makes, require grad since its base does: as in PyTorch, a leaf."""
    if view._value.dtype.kind in "fc" and not tensor_base.is_volatile(view):
        view._node = AccumulateGrad(view, view._value)
        view._node.lent = True


def require_grad_too(base: Any, requires_grad: bool) -> None:
    """Let the views of a leaf require grad with it, or no longer."""
    for view in live_views(base):
        if type(view) in STALE.values() or is_inference(view) or view._view.made == DETACHED:
            continue
        node = view._node
        if requires_grad and node is None:
            _require_grad_as_base(view)
        elif not requires_grad and type(node) is AccumulateGrad and node.lent:
            view._leave_graph()


def note_itself(tensor: Any, bound: tuple[Any, ...]) -> None:
    """Remember that `tensor` is one of the arguments, which an op gave back as it was."""
    for argument in bound:
        if isinstance(argument, Operand) and argument._value is tensor._value:
            note_view(tensor, require(np.positive), (argument,))
            return


def _is_of(value: Any, first: Any) -> bool:
    """Whether an array surely shows the memory of a Tensor: both have one owner."""
    base = value.base
    if base is None or type(first) is not tensor_base.tensor_class:
        return False
    shown = first._value
    return base is shown or ((type(shown) is ndarray or is_plain_array(shown)) and base is shown.base)


def _share_memory(value: Any, other: Any) -> bool:
    if type(other) is np.float64 or is_cupys(value) != is_cupys(other):
        return False
    return bool(np.may_share_memory(value, other))


def _source(value: Any, bound: tuple[Any, ...]) -> tuple[tuple[int, int], Any]:
    """The argument whose memory a result shows, and where it stands."""
    for k, argument in enumerate(bound):
        several = type(argument) is tuple or type(argument) is list
        for i, one in enumerate(argument if several else (argument,)):
            if isinstance(one, Operand) and _share_memory(value, one._value):
                return (k, i if several else -1), one
    return (-1, -1), None


def put(bound: tuple[Any, ...], slot: tuple[int, int], source: Any) -> tuple[Any, ...]:
    """The arguments with `source` in its place (None: nothing, so that a view does not hold what it does not need)."""
    k, i = slot
    if i >= 0:
        source = (*bound[k][:i], source, *bound[k][i + 1 :])
    return (*bound[:k], source, *bound[k + 1 :])


def whole(source: Any) -> Any:
    """All of a Tensor as a view of it: what a Function gives for an input that it returns."""
    made = wrap(source._value)
    if getattr(source, "_ir", None) is not None:
        made._ir = source._ir
    follow(made, source)
    if is_array(source._value):
        note_view(made, require(np.positive), (source,))
    return made


def detached(source: Any) -> Any:
    """`source` on the same memory (inside a transform: the same values, that follow its writes), without the graph."""
    cuts("detaches a value")
    made = alias(source)
    if not LOCAL.depth:
        made._value = versions.own_array(source)
        if source._node is None:
            versions.note_twice(made._value)
    if LOCAL.depth and is_array(source._value):
        note_view(made, require(np.positive), (source,))
        made._view = made._view._replace(made=DETACHED)
    return tensor_base.made_volatile(made) if tensor_base.is_volatile(source) else made


def forbid_writes(output: Any, inputs: list[Any], k: int, name: str, several: bool) -> None:
    """Note of output `k` of a Function that it shows the memory of an input: after a write its gradient would be another."""
    view = getattr(output, "_view", None)
    bases = [getattr(t, "_view", None) for t in inputs]
    if view is not None and any(view.base is t for t in (*inputs, *[b.base for b in bases if b is not None])):
        output._view = view._replace(made=f"{CUSTOM}{k} of {name}", many=several)


def custom_view(view: View, what: str) -> str:
    """Why a write into the memory that a Function's output shares with an input is refused."""
    return (
        f"O{view.made[1:]} is a view and{what}{' has been' if what else ' is being'} modified inplace. "
        + ("This view is the output of a function that returns multiple views. " if view.many else "")
        + "This view was created inside a custom Function (or because an input was returned as-is) on the memory of an input: "
        "after the write its gradient would not be the Function's. Write into a copy (x.clone())."
    )


def live_views(base: Any) -> list[Any]:
    """The views of `base` that still exist."""
    found = [ref() for ref in getattr(base, "_views", ())]
    return [view for view in found if view is not None]
