"""Eager writes in place, all of them: `x += y`, `x[i] = v`, `x.add_(y)`, `out=` and NumPy's functions that write.

On bare Tensors the memory is written, its version moves, and the graph of the Tensor (of a view: of its base, and through it
of every other view) goes on behind the write, as in PyTorch. Inside a transform NumPy's meaning holds: traced_writes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array, is_plain_array, is_writeable
from ...runtime.errors import AutogradError, DtypeError, ShapeError
from ...runtime.ops import Op
from ...runtime.registry import ops_of, require
from ...runtime.rules.indexing import index_set
from ...runtime.rules.shaping import view_as_complex, view_as_real
from ...unpatched import np
from ..core import dispatch, tensor_base, versions, volatile
from ..core.graph import AccumulateGrad, Node, meta_of, next_sequence
from ..core.site import blame
from ..core.tensor_base import Operand, is_inference, is_volatile, made_volatile, plain_shape, wrap
from ..core.thread_state import LOCAL
from ..core.views import CUSTOM, custom_view, live_views
from . import traced_writes
from .view_renewal import index_of, is_what_stands_there, node_before, renew, retain_anew, set_stale

__all__ = ["count_write", "go_on", "may_write", "replace_data", "set_item", "snapshot", "update", "write"]


def may_write(target: Any, how: str, *sources: Any) -> bool:
    """Raise where `target` may not be changed in place; tell the recorder that it is. Whether the graph goes on with it."""
    view = getattr(target, "_view", None)
    no_history = bool(tensor_base.volatile_class) and volatile.among((target, *sources))
    if LOCAL.depth:
        if no_history:
            raise blame(AutogradError(f"`{how}` {_VOLATILE} inside a transform: {_NO_GRAD}"))
        traced_writes.may_write(target, how)
        if LOCAL.grad and view is not None and view.made.startswith("in "):
            parts = (view.base, *sources)
            if any(isinstance(part, Operand) and part._node is not None for part in parts):
                raise blame(AutogradError(_forbidden(view)))
        return False
    if is_inference(target) and not LOCAL.inference:
        raise blame(
            AutogradError(
                f"Inplace update to inference tensor outside InferenceMode (`{how}`): write into x.clone(), "
                "or inside gs.inference_mode()."
            )
        )
    value = target._value
    if is_plain_array(value) and not is_writeable(value):
        raise blame(ValueError(_read_only(value)))
    if LOCAL.mutation is not None and is_plain_array(value):
        LOCAL.mutation.before_write(value)
    if not LOCAL.grad:
        return False
    if no_history and not is_volatile(target):
        if view is not None or live_views(target):
            raise blame(
                AutogradError(f"`{how}` writes something volatile into a view, or into what has views: {_NO_GRAD}")
            )
        if type(target._node) is AccumulateGrad:
            raise blame(_of_a_leaf("a leaf", how))
        made_volatile(target)
    if no_history:
        return False
    parts = (target, *sources) if view is None else (target, view.base, *sources)
    if not any(isinstance(part, Operand) and part._node is not None for part in parts):
        return False
    if view is not None:
        if view.made:
            raise blame(AutogradError(_forbidden(view)))
        if target._node is not None and view.base.is_leaf:
            raise blame(_of_a_leaf("a view of a leaf", how))
    if type(target._node) is AccumulateGrad:
        raise blame(_of_a_leaf("a leaf", how))
    return True


_VOLATILE = "writes something volatile into a Tensor, or into a volatile one,"
_NO_GRAD = "write into a copy (x.clone()), and use gs.no_grad() in place of volatile=True"


def _of_a_leaf(what: str, how: str) -> AutogradError:
    return AutogradError(
        f"{what} Variable that requires grad is being used in an in-place operation (`{how}`). "
        "Write under gs.no_grad(), or into a copy (x.clone())."
    )


def _read_only(value: np.ndarray[Any, Any]) -> str:
    if 0 in value.strides and value.size > 1:
        return (
            "assignment destination is read-only: more than one element of the written-to tensor refers to a single "
            "memory location, since it was broadcast. Write into a copy (x.clone())."
        )
    return "assignment destination is read-only: NumPy may not write into this array. Write into a copy (x.clone())."


_OUTSIDE = {"in no_grad mode": "with grad mode enabled", "in inference mode": "in normal mode, with grad mode enabled"}


def _forbidden(view: Any) -> str:
    if view.made.startswith("in "):
        return (
            f"A view was created {view.made} and is being modified inplace {_OUTSIDE[view.made]}. Given that this use "
            "case is ambiguous and error-prone, it is forbidden: whether the write belongs to the graph is not clear. Make the "
            "view and write both inside the block, or both outside."
        )
    if view.made.startswith(CUSTOM):
        return custom_view(view, "")
    position = next(step.position for step in view.steps if step.position >= 0)
    return (
        f"Output {position} of {view.made} is a view and is being modified inplace. This view is the output of a function "
        "that returns multiple views, which cannot be written: write into x[a:b], or compute a new tensor."
    )


def update(target: Any, compute: Callable[[Any], Any], how: str, *sources: Any) -> Any:
    """Write `compute(target)` into `target`, and give `target`; `sources` are what else it is computed from."""
    tracked = may_write(target, how, *sources)
    adds = bool(LOCAL.depth) and how in ("x += y", "x -= y")
    if adds and traced_writes.increase(target, how, *sources):
        return target
    begun = traced_writes.begun_increase(target, how, *sources) if adds else None
    _commit(target, compute(snapshot(target) if tracked else target), how)
    if begun is not None:
        target._read = begun._replace(increased=target._value)
    return target


def rebound(scalar: Any, new: Any, how: str, other: Any) -> Any:
    """Return what a name of a NumPy scalar stands for after `how`: the new scalar, for NumPy has no others."""
    begun = traced_writes.begun_increase(scalar, how, other) if LOCAL.depth and how in ("x += y", "x -= y") else None
    if begun is not None and isinstance(new, Operand):
        made: Any = new
        made._read = begun._replace(increased=new._value)
    return new


def snapshot(target: Any) -> Any:
    """The Tensor as it is before a write: what a computation saves of this does not change with it."""
    return wrap(np.array(target._value), node_before(target))


def write(target: Any, new: Any, how: str) -> None:
    """Write `new`, which was computed from `target`, into it."""
    may_write(target, how, new)
    _commit(target, new, how)


def set_item(target: Any, index: Any, value: Any, how: str = "x[i] = v", title: str = "CopySlices") -> None:
    """`target[index] = value`, by a node called `title`."""
    if isinstance(value, (list, tuple)):
        if dispatch.has_tensor(value):
            value = dispatch.stack_nested(value)
        else:
            value = np.asarray(value) if LOCAL.recorder is None else dispatch.apply(require(np.array), (value,), {})
    tracked = may_write(target, how, value)
    if LOCAL.depth:
        if is_what_stands_there(value, target, index):
            return  # the second half of `x[i] += v`
        if traced_writes.increase_at(target, index, value):
            return
        traced_writes.rebind(target, _fitted(target, index_set(target, index, value), how))
        return
    store = _store if LOCAL.profiler is None else LOCAL.profiler.timed(how, "op", _store)
    store(target, index, value, how, title, tracked)


def _store(target: Any, index: Any, value: Any, how: str, title: str, tracked: bool) -> None:
    array = versions.own_array(target)
    node = _set_node(target, index, value, title) if tracked else None
    array[dispatch.unwrap(index)] = dispatch.unwrap(value)
    if LOCAL.watch is not None:
        LOCAL.watch.wrote(target, value, node)
    versions.bump(array, how)
    _go_on(target, node, tracked)


def _set_node(target: Any, index: Any, value: Any, title: str) -> Any:
    """The node of `target[index] = value`."""
    bound = (wrap(target._value, node_before(target)), index, value)
    raw = tuple([dispatch.unwrap(b) for b in bound])
    return dispatch.node_of(_INDEX_SET.titled(title), bound, raw, (raw[0],), several=False)


def replace_data(target: Any, value: Any) -> None:
    """`target.data = value`: other memory for a Tensor, whose history and gradient stay."""
    if isinstance(value, Operand):
        given = value._value if LOCAL.depth else versions.own_array(value)
    else:
        given = np.asarray(value)
    old = versions.own_array(target)
    if given.dtype.kind not in "biufc" or (target._node is not None and given.dtype.kind not in "fc"):
        raise blame(
            DtypeError(f"x.data = v needs numbers that can be differentiated as before, but v has {given.dtype}")
        )
    same = (given.__array_interface__["data"], given.shape, given.strides, given.dtype)
    if same == (old.__array_interface__["data"], old.shape, old.strides, old.dtype):
        return  # `x.data += v` ends here: the memory is its own already
    target._value = given = given if LOCAL.depth else versions.replace(target, given)
    if type(target._node) is AccumulateGrad:
        target._node.value, target._node.meta = given, meta_of(given)


def _commit(target: Any, new: Any, how: str) -> None:
    """Let `target` hold what `new` holds, and its history be that of `new`."""
    if not isinstance(new, Operand):
        if LOCAL.recorder is not None and type(new) in (bool, int, float) and target._value.dtype.kind == "f":
            traced_writes.rebind(target, index_set(target, ..., new))
            return
        new = wrap(np.asarray(new))
    fitted = _fitted(target, new, how)
    if LOCAL.depth:
        traced_writes.rebind(target, fitted)
        return
    array = versions.own_array(target)
    node = None if is_volatile(target) else fitted._node
    tracked = LOCAL.grad and (node is not None or target._node is not None)
    keeps = fitted is new and _keep_result(node, new._value, array)
    array[...] = fitted._value
    if LOCAL.watch is not None:
        LOCAL.watch.wrote(target, fitted, node)
    versions.bump(array, how)
    if keeps and node is not None:
        node.seq = next_sequence()  # it saved what stands there since the write
    _go_on(target, node, tracked)


def count_write(targets: list[Any], how: str) -> None:
    """Count writes that the user's own code made in the forward of a Function."""
    for target in targets:
        versions.bump(versions.own_array(target), how)


def go_on(target: Any, node: Any) -> None:
    """Put `node` behind a Tensor that the user's own code wrote into."""
    if LOCAL.depth:
        traced_writes.rebind(target, wrap(target._value, node))
    else:
        _go_on(target, node, tracked=True)


def _fitted(target: Any, new: Any, how: str) -> Any:
    """`new` in the dtype and shape of what it is written into."""
    value, old = new._value, target._value
    dtype, shape, found = np.result_type(old), plain_shape(target), plain_shape(new)
    if np.result_type(value) != dtype:
        if (is_array(value) or isinstance(value, np.generic)) and not np.can_cast(value, dtype, "same_kind"):
            raise blame(
                DtypeError(
                    f"Cannot cast the result of `{how}` from {value.dtype!r} to {dtype!r} with casting rule 'same_kind' "
                    f"(result type {value.dtype} can't be cast to the desired output type {dtype}): compute a new tensor."
                )
            )
        new = new.astype(dtype)
    if found != shape:
        try:
            fits = np.broadcast_shapes(found, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise blame(
                ShapeError(
                    f"non-broadcastable output operand with shape {shape} doesn't match the broadcast shape {found}"
                )
            )
        new = np.broadcast_to(new, shape)
    if LOCAL.recorder is not None and not is_plain_array(new._value):
        new = np.copy(new)  # of arrays without axes NumPy computes numbers
    return new


def _keep_result(node: Any, result: Any, array: np.ndarray[Any, Any]) -> bool:
    """Let a node that saved its result keep the written memory in its place, so that a later write is noticed."""
    if type(node) is not Node or node.op.n_out != 1 or all(spec.what != "out" for spec in node.plan.saved):
        return False
    kept = []
    for spec, entry in zip(node.plan.saved, node.saved, strict=True):
        if spec.what == "out" and entry is result:
            entry = array
        elif is_plain_array(entry) and np.may_share_memory(entry, array):
            entry = np.array(entry)
        kept.append(entry)
    node.saved = tuple(kept)
    return True


def _go_on(target: Any, node: Any, tracked: bool) -> None:
    """Put `node` (None: a constant) behind `target` after a write, where the graph goes on with that.

    Behind its base, where `target` is a view; the other views follow when they are next asked for.
    """
    if not LOCAL.grad:
        return
    view = getattr(target, "_view", None)
    base = target if view is None else view.base
    if tracked:
        if view is not None:
            node = _written_through(view, wrap(target._value, node))
        extra = getattr(base._node, "extra", None)
        base._node = node
        retain_anew(base, extra)
    retains = view is not None and target.retains_grad
    for seen in live_views(base):
        if tracked or (base._node is None and not seen.is_leaf):  # the latter: of a base that was detached
            set_stale(seen)
    if retains:
        renew(target)  # at once: the gradient that it keeps is from now on that of the new value


_PARTS = ops_of(np.real, np.imag, view_as_real, view_as_complex)


def _written_through(view: Any, new: Any) -> Any:
    """The node of the base of a view that was written and is `new` now."""
    if any(step.op.base in _PARTS for step in view.steps):  # of which no index tells the place
        return traced_writes.into_base(view, new)._node
    return _set_node(view.base, index_of(view), new, "CopySlices")


_INDEX_SET: Op = require(index_set)
