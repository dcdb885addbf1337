"""Views: which Tensor another is seen through, and the views' part of the graph after a write into that memory."""

from __future__ import annotations

import math
import operator
import weakref
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import AutogradError, NoRuleError
from ..runtime.ops import Op
from ..runtime.registry import ops_of, require
from . import dispatch, operand, versions
from .graph import AccumulateGrad
from .modes import LOCAL, cuts, grad_mode, recording
from .operand import Operand, alias, follow, is_inference, made_in_inference, plain_shape, wrap
from .site import blame

__all__ = [
    "View", "index_of", "is_what_stands_there", "live_views", "node_before", "note_itself", "note_view", "renew", "replay",
    "require_grad_too", "retain_anew", "set_stale",
]  # fmt: skip


CUSTOM = "output "  # how `View.made` begins for what a Function gave
DETACHED = "detached"  # `View.made` of `detach()` inside a transform: it shares values, and no graph

_GETITEM, _PARTS = require(operator.getitem), ops_of(np.real, np.imag)


class Step(NamedTuple):
    """One op on the way from a base to its view."""

    op: Op
    bound: tuple[Any, ...]
    slot: tuple[int, int]  # which argument is what the view is of, and where in its sequence (or -1)
    position: int  # which of several results (or -1)


class View(NamedTuple):
    """How a Tensor is seen through another: the base, the ops that lead from it, and what forbids to write into it."""

    base: Any
    steps: tuple[Step, ...]
    made: str  # "", "in no_grad mode", "in inference mode", DETACHED, or the name of the node that gave several views
    many: bool = False  # whether a Function gave it beside others


def note_view(tensor: Any, op: Op, bound: tuple[Any, ...], position: int = -1) -> None:
    """Remember that `tensor`, the result of `op` (one of several: `position`), shares memory with an argument."""
    value = tensor._value
    if type(value) is not np.ndarray:
        return
    slot, source = _source(value, bound)
    if source is None or source is tensor:
        return
    if is_inference(source) and not LOCAL.depth:  # no more is known of it than the memory
        tensor._node = None
        made_in_inference(tensor)
        return
    earlier = getattr(source, "_view", None)
    made = "" if LOCAL.grad else "in inference mode" if LOCAL.inference else "in no_grad mode"
    if not LOCAL.depth:
        versions.share(value, source._value)
        if op.n_out != 1:
            made = made or f"{op.title}Backward0"
    base: Any = source
    steps: tuple[Step, ...] = (Step(op, _put(bound, slot, None), slot, position),)
    if earlier is not None:
        base, steps, made = earlier.base, earlier.steps + steps, made or earlier.made
    tensor._view = View(base, steps, made, earlier is not None and earlier.many)
    views = getattr(base, "_views", None)
    if views is None:
        views = base._views = []
    elif len(views) >= 16 and len(views) & (len(views) - 1) == 0:
        views[:] = [v for v in views if v() is not None]
    views.append(weakref.ref(tensor))
    if is_inference(source):
        made_in_inference(tensor)
    elif not LOCAL.grad and tensor._node is None and not LOCAL.depth and base._node is not None:
        _require_grad_as_base(tensor)


def _require_grad_as_base(view: Any) -> None:
    """Let a view without a history, as one that no_grad makes, require grad since its base does: as in PyTorch, a leaf."""
    if view._value.dtype.kind in "fc" and not operand.is_volatile(view):
        view._node = AccumulateGrad(view, view._value)
        view._node.lent = True


def require_grad_too(base: Any, requires_grad: bool) -> None:
    """Let the views of a leaf require grad with it, or no longer."""
    for view in live_views(base):
        if type(view) in _stale.values() or is_inference(view) or view._view.made == DETACHED:
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


def _source(value: Any, bound: tuple[Any, ...]) -> tuple[tuple[int, int], Any]:
    """The argument whose memory a result shows, and where it stands."""
    for k, argument in enumerate(bound):
        several = type(argument) is tuple or type(argument) is list
        for i, one in enumerate(argument if several else (argument,)):
            if isinstance(one, Operand) and np.may_share_memory(value, one._value):
                return (k, i if several else -1), one
    return (-1, -1), None


def _put(bound: tuple[Any, ...], slot: tuple[int, int], source: Any) -> tuple[Any, ...]:
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
    if isinstance(source._value, np.ndarray):
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
    if LOCAL.depth and isinstance(source._value, np.ndarray):
        note_view(made, require(np.positive), (source,))
        made._view = made._view._replace(made=DETACHED)
    return operand.made_volatile(made) if operand.is_volatile(source) else made


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


def replay(view: View) -> Any:
    """The view anew, from what its base is now."""
    found = view.base
    for step in view.steps:
        found = dispatch.run(step.op, _put(step.bound, step.slot, found))
        if step.position >= 0:
            found = found[step.position]
    return found


def is_what_stands_there(value: Any, target: Any, index: Any) -> bool:
    """Whether a value is the view `target[index]` itself."""
    view = getattr(value, "_view", None)
    if view is None or view.steps[-1].op.base is not _GETITEM:
        return False
    source = getattr(target, "_view", None)
    base, before = (target, ()) if source is None else (source.base, source.steps)
    return view.base is base and view.steps[:-1] == before and _same_index(view.steps[-1].bound[1], index)


def _same_index(one: Any, other: Any) -> bool:
    ones, others = [i if isinstance(i, tuple) else (i,) for i in (one, other)]
    return len(ones) == len(others) and all(
        type(a) is type(b) and isinstance(a, (int, slice, type(None), type(...))) and a == b
        for a, b in zip(ones, others, strict=True)
    )


def index_of(view: View) -> Any:
    """The index under which the base has what the view shows."""
    base = view.base._value
    if len(view.steps) == 1 and view.steps[0].op.base is _GETITEM:
        return view.steps[0].bound[1]
    if base.dtype.kind == "c" and any(step.op.base in _PARTS for step in view.steps):
        raise blame(
            NoRuleError("a write into z.real or z.imag has no gradient rule in gradscribe: write z = re + 1j * im anew")
        )
    shape = plain_shape(view.base)
    if not shape:
        return ()
    positions = np.arange(math.prod(shape)).reshape(shape)
    with grad_mode(False), recording(None):
        seen = replay(view._replace(base=wrap(positions)))._value
    return np.unravel_index(seen, shape)


# A view whose base was written has another place in the graph, worked out when it is next asked for: until then it is of
# a class in which `_node` is a property. So no operation looks whether a Tensor is such a view.
_slot = Operand.__dict__["_node"]
_stale: dict[type, type] = {}


def set_stale(view: Any) -> None:
    """Let the node of `view` follow from its base's when it is next asked for."""
    cls = type(view)
    if cls in _stale.values():
        return
    found = _stale.get(cls)
    if found is None:
        members = {"__slots__": (), "_node": property(_renewed, _replaced), "__doc__": cls.__doc__}
        found = _stale[cls] = type(cls.__name__, (cls,), {**members, "__module__": cls.__module__})
    view.__class__ = found


def _renewed(view: Any) -> Any:
    seen: View = view._view
    if seen.made.startswith("in "):
        raise blame(
            AutogradError(
                f"A view was created {seen.made} and its base or another view of its base has been modified inplace with "
                "grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden: whether the view "
                "takes part in the graph is not clear. Make the view and write both inside the block, or both outside."
            )
        )
    if seen.made.startswith(CUSTOM):
        raise blame(AutogradError(custom_view(seen, " its base or another view of its base")))
    with grad_mode(True):
        node = replay(seen)._node
    extra = getattr(_slot.__get__(view), "extra", None)
    view.__class__ = type(view).__base__
    view._node = node
    retain_anew(view, extra)
    return node


def renew(view: Any) -> None:
    """Let a view that is stale follow its base now."""
    if type(view) in _stale.values():
        _renewed(view)


def retain_anew(tensor: Any, before: Any) -> None:
    """Let a Tensor with a new node go on to retain its gradient; `before` is what its earlier node had beyond the usual."""
    if before is not None and before.retain is not None and tensor._node is not None:
        before.retain = None
        tensor.retain_grad()


def node_before(target: Any) -> Any:
    """The node that a write into `target` goes on from.

    Of a view another one than its own, where that has hooks: they belong to the value before, which the write does not come from
    through the view, but from the base. So does PyTorch.
    """
    node = target._node
    view = getattr(target, "_view", None)
    if view is None or LOCAL.depth or getattr(node, "extra", None) is None:
        return node
    if not (node.extra.hooks or node.extra.retain is not None):
        return node
    with grad_mode(True):
        return replay(view)._node


def _replaced(view: Any, node: Any) -> None:
    view.__class__ = type(view).__base__
    view._node = node
