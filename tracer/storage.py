"""In-place writes inside a transform: Tensors get new values, never new bytes, and views follow their base.

NumPy's meaning without touching memory that a node saved: a write makes a new array, the base Tensor (and each
living view of it) takes it over, and the caller's own array receives the result when the transform is left.
`out=`, `where=` and `dtype=` of ufuncs are here too, so that no rule mentions them.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import AutogradError, GradientLossError
from ..runtime.ops import Op, Vjp
from ..runtime.rules.indexing import index_set
from . import dispatch
from .modes import LOCAL
from .operand import Operand, wrap
from .site import blame

__all__ = ["View", "apply_masked", "apply_out", "may_write", "note_view", "set_item", "with_words", "write"]


class View(NamedTuple):
    """How a Tensor is seen through another: the base and the ops that lead from it."""

    base: Any
    steps: tuple[tuple[Op, tuple[Any, ...], int], ...]


def note_view(tensor: Any, op: Op, bound: tuple[Any, ...], position: int = -1) -> None:
    """Remember that `tensor`, made by a shaping op inside a transform, shares memory with its argument."""
    source = bound[0]
    value = tensor._value
    if not isinstance(source, Operand) or type(value) is not np.ndarray or tensor is source:
        return
    if value.base is None or not np.may_share_memory(value, source._value):
        return
    earlier = getattr(source, "_view", None)
    base: Any = source if earlier is None else earlier.base
    steps = () if earlier is None else earlier.steps
    tensor._view = View(base, (*steps, (op, bound[1:], position)))
    views = getattr(base, "_views", None)
    if views is None:
        views = base._views = []
    elif len(views) >= 16 and len(views) & (len(views) - 1) == 0:
        views[:] = [v for v in views if v() is not None]
    views.append(weakref.ref(tensor))


def _replay(view: View) -> Any:
    found = view.base
    for op, rest, position in view.steps:
        found = dispatch.run(op, (found, *rest))
        if position >= 0:
            found = found[position]
    return found


def set_item(target: Any, index: Any, value: Any) -> None:
    """`target[index] = value`."""
    if not isinstance(value, Operand) and not isinstance(value, np.ndarray):
        value = np.asarray(value) if not dispatch.has_tensor(value) else dispatch.stack_nested(value)
    may_write(target, "x[i] = v")
    write(target, index_set(target, index, value))


def may_write(target: Any, how: str) -> None:
    """Raise where `target` may not be changed in place; tell the recorder that it is."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.fail(f"writes in place (`{how}`)")
    if not LOCAL.depth:
        raise blame(
            AutogradError(
                f"`{how}` would change a Tensor in place, which works inside a function under gs.grad "
                "or gs.value_and_grad, and not yet on bare Tensors. Make a new one: x = x + y, np.where(mask, v, x)."
            )
        )
    view = getattr(target, "_view", None)
    base = target if view is None else view.base
    if (
        view is not None and base._value.flags.writeable and not target._value.flags.writeable
    ):  # np.broadcast_to, diagonal
        raise blame(ValueError("assignment destination is read-only"))
    caller = getattr(base, "_caller", None)
    if caller is None:
        return
    if not caller.flags.writeable:
        raise blame(
            ValueError("assignment destination is read-only: the array that the caller passed may not be written")
        )
    for other in LOCAL.arguments:
        if other is not base and np.may_share_memory(other._caller, caller):
            raise blame(
                AutogradError(
                    f"`{how}` writes into an argument that shares memory with another argument; "
                    "pass a copy of one of them (x.copy())"
                )
            )


def write(target: Any, new: Any, how: str = "x[...] = v") -> None:
    """Give `target`, its base and every living view of that base the value that a write of `new` leaves."""
    may_write(target, how)
    old = target._value
    if not isinstance(new, Operand):
        new = wrap(np.asarray(new))
    value = new._value
    if np.result_type(value) != old.dtype:
        if isinstance(value, np.ndarray | np.generic) and not np.can_cast(value, old.dtype, "same_kind"):
            raise blame(
                TypeError(
                    f"Cannot cast the result of `{how}` from {value.dtype!r} to {old.dtype!r} with casting rule 'same_kind'"
                )
            )
        new = new.astype(old.dtype)
    if np.shape(value) != old.shape:
        if np.broadcast_shapes(np.shape(value), old.shape) != old.shape:
            raise blame(
                ValueError(
                    f"non-broadcastable output operand with shape {old.shape} "
                    f"doesn't match the broadcast shape {np.shape(value)}"
                )
            )
        new = np.broadcast_to(new, old.shape)
    view = getattr(target, "_view", None)
    if view is None:
        _rebind(target, new)
        return
    base = view.base
    if len(view.steps) == 1 and view.steps[0][0].name == "getitem":
        _rebind(base, index_set(base, view.steps[0][1][0], new))
        return
    positions = np.arange(base._value.size).reshape(base._value.shape)
    seen = _replay(View(wrap(positions), view.steps))._value  # which elements of the base the view shows
    flat = index_set(np.ravel(base), seen, new)
    _rebind(base, np.reshape(flat, base._value.shape))


def _rebind(base: Any, new: Any) -> None:
    base._value = new._value if isinstance(new._value, np.ndarray) else np.asarray(new._value)
    base._node = new._node
    if getattr(base, "_caller", None) is not None and all(w is not base for w in LOCAL.written):
        LOCAL.written.append(base)
    for ref in getattr(base, "_views", ()):
        view = ref()
        if view is not None:
            fresh = _replay(view._view)
            view._value, view._node = fresh._value, fresh._node


def with_words(op: Op, kwargs: dict[str, Any]) -> Op:
    """The op of a ufunc that was called with `dtype=`, `casting=` and the like."""
    made = op.derived.get("words")
    if made is None:
        words = "dtype=None, casting='same_kind', order='K', subok=True, signature=None"
        made = op.derived["words"] = Op(
            op.fn, f"{op.signature}, *, {words}", op.kind, path=op.path, title=op.title, vjps=op.vjps
        )
    return made


def _masked(op: Op) -> Op:
    """The op of a ufunc under `where=` and `out=`: what stood in `out` before is one more argument, `into`."""
    made = op.derived.get("masked")
    if made is not None:
        return made
    n = len(op.params)

    def call(*args: Any, **words: Any) -> Any:
        arrays, (into, where) = args[:n], args[n : n + 2]
        out = None if into is None else np.array(into)
        return op.fn(*arrays, out=out, where=where, **words)

    call.__name__ = op.name
    made = op.derived["masked"] = Op(
        call, f"{op.signature}, into, where, *, dtype=None, casting='same_kind'", op.kind, path=op.path, title=op.title
    )
    for name, vjp in op.vjps.items():
        made.vjps[name] = None if vjp is None else _mask_vjp(vjp)
    made.vjps["into"] = Vjp(lambda g, where: np.where(where, 0, g))
    made.vjps["where"] = None
    return made


def _mask_vjp(vjp: Vjp) -> Vjp:
    def formula(g: Any, where: Any, *named: Any) -> Any:
        found = vjp.fn(*[g if n == "g" else named[j] for j, n in enumerate(vjp.names)])
        return found if where is True else np.where(where, found, 0)

    made = Vjp(formula)
    made.names = ("g", "where", *["out" if n == "g" else n for n in vjp.names])
    return made


def apply_masked(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with `where=` or `out=`: compute into a copy, then write that back."""
    words = dict(kwargs)
    out = words.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    where = words.pop("where", True)
    if LOCAL.recorder is not None:
        LOCAL.recorder.fail(
            "writes in place (`out=`)" if out is not None else "uses `where=` of a ufunc, which leaves values undefined"
        )
    result = dispatch.apply(
        _masked(op), (*args, out, where), {k: v for k, v in words.items() if k in ("dtype", "casting")}
    )
    return result if out is None else _into(out, result)


def apply_out(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`out=` of a function that is not a ufunc."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.fail("writes in place (`out=`)")
    words = dict(kwargs)
    return _into(words.pop("out"), dispatch.apply(op, args, words))


def _into(out: Any, result: Any) -> Any:
    if isinstance(out, Operand):
        write(out, result, "out=")
        return out
    if result._node is not None:
        raise blame(
            GradientLossError(
                "out= is a NumPy array, but the result requires grad, which the array would lose. "
                "Leave out= away, or make the buffer inside the function under gs.grad (np.zeros there can hold Tensors)."
            )
        )
    out[...] = result._value
    return out
