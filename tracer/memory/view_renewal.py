"""View renewal: a view's place in the graph after a write into its memory, and its elements' places in the base."""

from __future__ import annotations

import math
import operator
from typing import Any

from ...runtime.errors import AutogradError
from ...runtime.registry import require
from ...unpatched import np
from ..core import dispatch
from ..core.site import blame
from ..core.tensor_base import Operand, plain_shape, wrap
from ..core.thread_state import LOCAL, grad_mode, recording
from ..core.views import CUSTOM, STALE, View, custom_view, put

_GETITEM = require(operator.getitem)

__all__ = ["index_of", "is_what_stands_there", "node_before", "renew", "replay", "retain_anew", "set_stale"]


def replay(view: View) -> Any:
    """The view anew, from what its base is now."""
    found = view.base
    for step in view.steps:
        found = dispatch.run(step.op, put(step.bound, step.slot, found))
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
        (a is b and isinstance(a, Operand))  # the number of a trip
        or (type(a) is type(b) and isinstance(a, (int, slice, type(None), type(...))) and a == b)
        for a, b in zip(ones, others, strict=True)
    )


def index_of(view: View) -> Any:
    """The index under which the base has what the view shows."""
    if len(view.steps) == 1 and view.steps[0].op.base is _GETITEM:
        return view.steps[0].bound[1]
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


def set_stale(view: Any) -> None:
    """Let the node of `view` follow from its base's when it is next asked for."""
    cls = type(view)
    if cls in STALE.values():
        return
    found = STALE.get(cls)
    if found is None:
        members = {"__slots__": (), "_node": property(_renewed, _replaced), "__doc__": cls.__doc__}
        found = STALE[cls] = type(cls.__name__, (cls,), {**members, "__module__": cls.__module__})
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
    if type(view) in STALE.values():
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
