"""Lists that a kept loop appends to, one item a trip, as its body and the code behind it see them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .....tracer.core.tensor_base import Operand
from ....user_code.namespaces import replacement
from ...frontend.attempts import LoopRejected

__all__ = ["GROWN", "Collected", "Listed", "last_of", "of_lists"]


class _Grown:
    """The structure of such a list, as a part of a loop's state."""

    def __repr__(self) -> str:
        return "a list that grows"


GROWN = _Grown()
MOST = 3  # last items of a list that a loop carries


class _Partial:
    """Stands for a list of which not everything is known; what cannot be answered ends the attempt to keep the loop."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise LoopRejected(
            "uses a list, which a loop appends to, in another way than np.stack(list), list[k] or len(list)"
        )

    __iter__ = __contains__ = __add__ = __mul__ = __eq__ = __setitem__ = __delitem__ = __reversed__ = __bool__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


class Collected(_Partial):
    """Such a list in the body of the loop: its last items are carried, if it had any before the loop."""

    def __init__(self, carried: Sequence[Any]) -> None:
        self.carried = list(carried)
        self.new: list[Any] = []
        self.behind: Callable[[Any], int | None] = _unknown  # an index, counted from the end that the trip finds

    @property
    def last(self) -> list[Any]:
        """Return as many of the last items as are carried."""
        return [*self.carried, *self.new][-len(self.carried) :] if self.carried else []

    def appended(self, value: Any) -> Collected:
        """The list, one item longer."""
        self.new.append(value)
        return self

    def one(self, name: str) -> Any:
        """The item that a trip appended."""
        if len(self.new) != 1:
            raise LoopRejected(f"appends {len(self.new)} items to `{name}` in a trip")
        return self.new[0]

    def __getitem__(self, index: Any) -> Any:
        items = [*self.carried, *self.new]
        place = None
        if type(index) is int and index < 0:
            place = index + len(items)
        elif isinstance(index, Operand):
            behind = self.behind(index)
            place = None if behind is None else behind + len(self.carried)
        return items[place] if place is not None and 0 <= place < len(items) else self._refuse()

    def __len__(self) -> int:
        self._refuse()


def _unknown(index: Any) -> int | None:
    """Return the item that an index is known to mean: none."""
    return None


class Listed(_Partial):
    """Such a list behind the loop: what it had before, and the stack that the loop gives; `count` items, if that is known."""

    def __init__(self, regions: Any, before: list[Any], stack: Any, count: int | None) -> None:
        self.regions = regions
        self.before = list(before)
        self.stack = stack
        self.count = count
        self.latest: list[Any] = []  # the last items, where the loop carries them
        self.later: list[Any] = []

    def appended(self, value: Any) -> Listed:
        """The list, with an item behind those of the loop."""
        self.later.append(value)
        return self

    def _known(self) -> int:
        if self.count is None:
            raise LoopRejected("makes an array of a list that a loop fills, whose length depends on values")
        return self.count

    def array(self) -> Any:
        """The items as rows."""
        rows = self.regions.rows(self.stack, self._known())
        if not self.before and not self.later:
            return rows
        parts = [_rows(part) for part in (self.before, self.later) if part]
        return np.concatenate([parts[0], rows, *parts[1:]] if self.before else [rows, *parts])

    def __len__(self) -> int:
        return self._known() + len(self.before) + len(self.later)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and not self.later and -len(self.latest) <= index < 0:
            self.regions.entangle(self.latest[index])
            return self.latest[index]
        if isinstance(index, int) and type(index) is not bool:
            at = index + len(self) if index < 0 else index
            if 0 <= at < len(self.before):
                return self.before[at]
            at -= len(self.before)
            if 0 <= at < self._known():  # one of the loop's: what stands around them is not needed
                rows = self.regions.rows(self.stack, self._known())
                self.regions.entangle(rows)
                return rows[index if index < 0 and not self.later else at]
            at -= self._known()
            if 0 <= at < len(self.later):
                return self.later[at]
        elif isinstance(index, slice):
            self._refuse()
        rows = self.array()
        self.regions.entangle(rows)
        return rows[index]


def _rows(items: list[Any]) -> Any:
    """A few items as rows; of plain numbers the list, which NumPy makes an array of where it is read."""
    plain = all(isinstance(item, (int, float, complex, np.generic)) for item in items)
    return items if plain else np.stack(items)


def last_of(value: Any) -> list[Any]:
    """Return the part of such a list that a loop carries: its last items, at most so many, where it has some."""
    return value.last if isinstance(value, Collected) else list(value[-MOST:])


def _stacked(f: Callable[..., Any], items: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(items, Listed):
        return f(items, *args, **kwargs)
    rows = items.array()
    if f in (np.array, np.asarray) or (f is np.stack and not args and kwargs.get("axis", 0) == 0):
        return rows if not args and set(kwargs) <= {"axis"} else f(rows, *args, **kwargs)
    if f is np.stack:
        return np.moveaxis(rows, 0, args[0] if args else kwargs["axis"])
    if f is np.concatenate and not args and kwargs.get("axis", 0) == 0 and rows.ndim > 1:
        return np.reshape(rows, (rows.shape[0] * rows.shape[1], *rows.shape[2:]))
    if f is np.vstack and rows.ndim > 1:
        return rows if rows.ndim == 2 else np.reshape(rows, (rows.shape[0] * rows.shape[1], *rows.shape[2:]))
    items._refuse()


_TAKES_LISTS: dict[Any, Callable[..., Any]] = {
    form: functools.partial(_stacked, f)
    for f in (np.array, np.asarray, np.stack, np.concatenate, np.vstack)
    for form in (f, replacement(f))
}


def of_lists(f: Any) -> Any:
    """Return the replacement of a function of NumPy's that may get such a list; None for all others."""
    try:
        found = _TAKES_LISTS.get(f)
    except TypeError:
        return None
    return None if found is None else functools.partial(_chosen, f, found)


def _chosen(f: Any, ours: Any, *args: Any, **kwargs: Any) -> Any:
    return ours(*args, **kwargs) if args and isinstance(args[0], Listed) else f(*args, **kwargs)
