"""Writes inside a transform: Tensors get new values, never new bytes, and views follow their base.

NumPy's meaning without touching memory that a node saved: a write makes a new array, the base Tensor (and each
living view of it) takes it over, and the caller's own array receives the result when the transform is left.
"""

from __future__ import annotations

import operator
import weakref
from typing import Any, NamedTuple

from ...runtime.arrays import is_array, is_plain_array, is_writeable
from ...runtime.errors import AutogradError
from ...runtime.registry import require
from ...runtime.rules.indexing import index_add, index_increase, index_set, names_once
from ...runtime.rules.shaping import view_as_complex, view_as_real
from ...unpatched import np
from ..core.site import blame
from ..core.tensor_base import Operand, cover, follow, levels_of, wrap
from ..core.thread_state import LOCAL, refuse
from ..core.views import CUSTOM, DETACHED, View, custom_view, live_views
from .view_renewal import index_of, replay

__all__ = ["begun_increase", "increase", "increase_at", "into_base", "may_write", "note_read", "rebind"]

_WRITES_DETACHED = (
    "inside a transform a Tensor that requires grad cannot be written into what x.detach() gave: that shares the memory of "
    "x, whose graph the write must not change. Write into a copy (x.detach().copy())."
)

_GETITEM = require(operator.getitem)
_held = Operand.__dict__["_value"]  # also where a vmap that is left hides it


def may_write(target: Any, how: str) -> None:
    """Raise where NumPy would not write, or where the write would reach another argument of the transform."""
    view = getattr(target, "_view", None)
    base = target if view is None else view.base
    if LOCAL.recorder is not None and getattr(base, "_ir", None) is None:
        refuse(f"writes in place into an array of unknown origin (`{how}`)")
    if view is not None and is_writeable(base._value) and not is_writeable(target._value):  # np.broadcast_to, diagonal
        raise blame(ValueError("assignment destination is read-only"))
    if view is not None and view.made.startswith(CUSTOM):
        raise blame(AutogradError(custom_view(view, "")))
    if LOCAL.recorder is not None:
        LOCAL.recorder.may_write(base)
    caller = getattr(base, "_caller", None)
    if isinstance(caller, Operand) and LOCAL.depth > 1:
        may_write(caller, how)
    if caller is None or isinstance(caller, Operand):
        return
    if not is_writeable(caller):
        raise blame(
            ValueError("assignment destination is read-only: the array that the caller passed may not be written")
        )
    if LOCAL.recorder is not None:
        LOCAL.recorder.wrote(base)
    for other in LOCAL.arguments:
        if other is not base and is_array(other._caller) and np.may_share_memory(other._caller, caller):
            raise blame(
                AutogradError(
                    f"`{how}` writes into an argument that shares memory with another argument; "
                    "pass a copy of one of them (x.copy())"
                )
            )


def rebind(target: Any, new: Any) -> None:
    """Give `target`, its base and every living view of that base the value that a write of `new` leaves."""
    view = getattr(target, "_view", None)
    base = target if view is None else view.base
    if LOCAL.recorder is not None and LOCAL.differentiating and new._node is not None:
        LOCAL.recorder.wrote_differentiated(base)
    goes_on = LOCAL.grad  # else the graph is as if nothing had been written, as on bare Tensors
    if view is not None:
        if view.made == DETACHED:
            if goes_on and new._node is not None:
                raise blame(AutogradError(_WRITES_DETACHED))
            goes_on = False
        new = into_base(view, new)
    base._value = new._value if is_array(new._value) else np.asarray(new._value)
    follow(base, new)
    if goes_on:
        base._node = new._node
    _recorded_as(base, new)
    if getattr(base, "_caller", None) is not None and all(w is not base for w in LOCAL.written):
        LOCAL.written.append(base)
    for seen in live_views(base):
        if seen._view.made.startswith(CUSTOM):
            raise blame(AutogradError(custom_view(seen._view, " its base or another view of its base")))
        fresh, before = replay(seen._view), seen._value
        seen._value = fresh._value
        follow(seen, fresh)
        if goes_on and not seen._view.made:  # else it stays the constant that it is
            seen._node = fresh._node
        elif LOCAL.watch is not None:
            LOCAL.watch.renewed(seen, before)
        _recorded_as(seen, fresh)


def increase(target: Any, how: str, v: Any) -> bool:
    """Write `x[i] += v` or `x[i] -= v`, where `target` is the view `x[i]`, as one addition at a place of x; whether it is one.

    So the cotangent of x passes as it is, where that of two steps (read, write) is zero at the place and added to there.
    """
    view = getattr(target, "_view", None)
    if view is None or len(view.steps) != 1 or view.steps[0].op.base is not _GETITEM:
        return False
    if view.made and not view.made.startswith("in "):
        return False
    index = view.steps[0].bound[1]
    if not names_once(index) or not _may_increase(target, v):
        return False
    rebind(view.base, index_add(view.base, index, _added(how, v)))
    return True


def _may_increase(target: Any, v: Any) -> bool:
    """Whether `target += v` leaves the dtype and shape of both as they are."""
    held, given = target._value, v._value if isinstance(v, Operand) else v
    if not (is_array(held) or isinstance(held, np.generic)) or held.dtype.kind != "f":
        return False
    if levels_of(target) or levels_of(v):
        return False
    if type(given) in (int, float):
        return True
    fits = (is_array(given) or isinstance(given, np.generic)) and given.dtype == held.dtype
    return fits and (np.shape(given) == held.shape or not np.shape(given))


class Read(NamedTuple):
    """Where `x[positions]` or a scalar was read, and, once `+= v` was done to it, what is needed for one addition there."""

    source: weakref.ref[Any]
    held: weakref.ref[Any]  # the array of the source then
    parts: tuple[Any, ...]  # of the index; arrays as copies, since the user's own may be written
    increased: Any = None  # the array that `+= v` has made
    how: str = ""
    v: Any = None
    given: Any = None  # what v was then


def note_read(found: Any, source: Any, index: Any) -> None:
    """Remember of `found`, which is `source[index]`, where it was read."""
    parts = index if isinstance(index, tuple) else (index,)
    if not isinstance(found, Operand) or not is_plain_array(source._value) or any(isinstance(p, list) for p in parts):
        return
    if is_plain_array(found._value) or isinstance(found._value, np.generic):
        made: Any = found
        made._read = Read(weakref.ref(source), weakref.ref(source._value), tuple(map(_as_it_is, parts)))


def _as_it_is(part: Any) -> Any:
    if isinstance(part, Operand):
        return part, part._value
    return np.array(part) if is_plain_array(part) else part


def begun_increase(target: Any, how: str, v: Any) -> Read | None:
    """What is to be remembered of `target += v`, before that is done, where `target` was read at positions."""
    read: Any = getattr(target, "_read", None)
    if type(read) is tuple:  # of whole numbers
        source, held, index = read
        read = Read(source, held, index if type(index) is tuple else (index,))
    if type(read) is not Read or read.increased is not None or not _may_increase(target, v):
        return None
    return read._replace(how=how, v=v, given=_as_it_is(v))


def increase_at(target: Any, index: Any, value: Any) -> bool:
    """Write `x[positions] += v` or `x[i, j] += v`, of which `value` is the sum, as one addition at places; whether it is one.

    As `increase`: the cotangent of x passes as it is.
    """
    read: Any = getattr(value, "_read", None)
    if type(read) is not Read or read.increased is None or read.increased is not value._value:
        return False
    parts = index if isinstance(index, tuple) else (index,)
    if read.held() is not target._value or read.source() is not target or len(parts) != len(read.parts):
        return False
    if not all(map(_is_as_it_was, (*parts, read.v), (*read.parts, read.given))):
        return False
    added = _added(read.how, read.v)
    rebind(target, (index_add if names_once(index) else index_increase)(target, index, added))
    return True


def _added(how: str, v: Any) -> Any:
    """What `x += v` or `x -= v` adds."""
    return -v if how.startswith("x -=") else v


def _is_as_it_was(part: Any, kept: Any) -> bool:
    if isinstance(part, Operand):
        return type(kept) is tuple and kept[0] is part and kept[1] is part._value
    if is_plain_array(part):
        return is_plain_array(kept) and np.array_equal(part, kept)
    return type(part) is type(kept) and part == kept


def _hand_back(tensor: Any) -> None:
    """A transform is left: what it wrote into an argument stands in the caller's array, or in the Tensor of an outer one."""
    caller = tensor._caller
    if isinstance(caller, Operand):
        if LOCAL.depth:
            new = wrap(_held.__get__(tensor), tensor._node if LOCAL.differentiating and LOCAL.grad else None)
            if getattr(tensor, "_ir", None) is not None:
                new._ir = tensor._ir
            cover(new, levels_of(caller))
            rebind(caller, new)
    else:
        caller[...] = _held.__get__(tensor)


setattr(type(LOCAL), "hand_back", staticmethod(_hand_back))  # noqa: B010


def into_base(view: Any, new: Any) -> Any:
    """Return the base of a view once the view is `new`: step by step back, each as a person would write it."""
    sources = [view.base]
    for step in view.steps[:-1]:
        sources.append(replay(View(sources[-1], (step,), "")))
    for step, source in zip(reversed(view.steps), reversed(sources), strict=True):
        name, words = step.op.name, step.bound[1:]
        if name == "getitem":
            new = index_set(source, words[0], new)
        elif name == "transpose" and words[0] is None:
            new = np.transpose(new)
        elif name == "swapaxes":
            new = np.swapaxes(new, *words)
        elif name == "moveaxis":
            new = np.moveaxis(new, words[1], words[0])
        elif name == "positive":
            pass
        elif name == "view_as_real":
            new = view_as_complex(np.copy(new, order="C"))
        elif name == "view_as_complex":
            new = view_as_real(new)
        elif name in ("real", "imag") and source.dtype.kind == "c":
            parts = [new, np.imag(source)] if name == "real" else [np.real(source), new]
            new = view_as_complex(np.stack(parts, axis=-1))
        elif name in ("expand_dims", "squeeze") or (name in ("reshape", "ravel") and "C" in words):
            new = np.reshape(new, source.shape)
        else:
            new = index_set(source, index_of(View(source, (step,), "")), new)
    return new


def _recorded_as(tensor: Any, new: Any) -> None:
    """Let a Tensor be what `new` is in the graph that is being captured."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.became(tensor, new)
