"""Writes inside a transform: Tensors get new values, never new bytes, and views follow their base.

NumPy's meaning without touching memory that a node saved: a write makes a new array, the base Tensor (and each
living view of it) takes it over, and the caller's own array receives the result when the transform is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.errors import AutogradError
from ..runtime.rules.indexing import index_set
from .modes import LOCAL
from .site import blame
from .views import index_of, live_views, replay

__all__ = ["may_write", "rebind"]


def may_write(target: Any, how: str) -> None:
    """Raise where NumPy would not write, or where the write would reach another argument of the transform."""
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


def rebind(target: Any, new: Any) -> None:
    """Give `target`, its base and every living view of that base the value that a write of `new` leaves."""
    view = getattr(target, "_view", None)
    base = target if view is None else view.base
    if view is not None:
        new = index_set(base, index_of(view), new)
    base._value = new._value if isinstance(new._value, np.ndarray) else np.asarray(new._value)
    base._node = new._node
    if getattr(base, "_caller", None) is not None and all(w is not base for w in LOCAL.written):
        LOCAL.written.append(base)
    for seen in live_views(base):
        fresh = replay(seen._view)
        seen._value, seen._node = fresh._value, fresh._node
