"""Iterables of loops that are known without running them: ranges, rows of an array, and `zip` and the like of those."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .....runtime.ir.graph import type_of
from .....tracer.core.tensor_base import Operand, levels_of, plain_shape
from ....trees import LEAF, flatten, unflatten
from ...frontend.attempts import LoopRejected
from .frames import FEW
from .lists import Listed

__all__ = [
    "Counted", "Layers", "RangeSteps", "Steps", "Together", "known", "layers_of", "named", "place_name", "steps_of",
]  # fmt: skip


class Steps:
    """So many items, of which each follows from its place."""

    n: Any  # an int, or a traced one

    def item(self, i: Any) -> Any:
        """The item at place `i`, which may be traced."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return map(self.item, range(self.n))

    def rest(self) -> Steps:
        """All but the first item."""
        return Later(self, 1)

    def backward(self) -> Steps:
        """The items in reverse."""
        return Backward(self)

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        """The lists among what it walks, each with what the loop calls its items: a name, or a tuple of such."""
        return []


class RangeSteps(Steps):
    """`range(start, stop, step)`."""

    def __init__(self, start: Any, step: int, n: Any) -> None:
        self.start = start
        self.step = step
        self.n = n

    @classmethod
    def of(cls, args: Sequence[Any]) -> Any:
        """Of traced numbers or sizes; NotImplemented where the count does not simply follow."""
        if len(args) == 1:
            return cls(0, 1, args[0])
        if len(args) == 2:
            return cls(args[0], 1, args[1] if type(args[0]) is int and not args[0] else args[1] - args[0])
        start, stop, step = args
        if type(step) is not int or not step:
            return NotImplemented
        return cls(start, step, (stop - start + (step - 1 if step > 0 else step + 1)) // step)

    def item(self, i: Any) -> Any:
        found = i if self.step == 1 else i * self.step
        return found if type(self.start) is int and not self.start else self.start + found

    def plain(self) -> range:
        """Return the iterable that Python would have made."""
        return range(self.start, self.start + self.step * self.n, self.step)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __len__(self) -> int:
        return len(self.plain())

    def __getitem__(self, index: Any) -> Any:
        return self.plain()[index]

    def __contains__(self, value: Any) -> bool:
        return value in self.plain()


class Rows(Steps):
    """An array, row by row."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.n = array.shape[0]

    def item(self, i: Any) -> Any:
        return self.array[i]


class Layers(Steps):
    """A list of arrays, or of trees of arrays, that are all of the same types: the layers of a network."""

    def __init__(self, items: Sequence[Any], leaves: list[list[Any]], structure: Any) -> None:
        self.items = items
        self.leaves = leaves  # of each item
        self.structure = structure
        self.n = len(items)
        self.index: Any = None
        self.trip: Any = None
        self.name: str | None = None
        self.before: list[Any] = []

    def begin(self, index: Any, target: Any, make: Callable[[Any, str | None], Any]) -> list[Any]:
        """Return Tensors for the leaves of the item of a trip, whose number is `index`; `target` is what the loop calls it."""
        first = self.leaves[0]
        names = [target] if self.structure is LEAF else target if isinstance(target, tuple) else _keys_of(self.items[0])
        known = names if len(names) == len(first) else [None] * len(first)
        self.name = target if isinstance(target, str) and self.structure is not LEAF else None
        made = [make(leaf, name if isinstance(name, str) else None) for leaf, name in zip(first, known, strict=True)]
        self.index, self.trip = index, unflatten(self.structure, made)
        self.before = [t._ir for t in made]
        return made

    def changed(self) -> bool:
        """Whether a trip has written into its item."""
        leaves, structure = flatten(self.trip)
        return structure != self.structure or [t._ir for t in leaves if isinstance(t, Operand)] != self.before

    def item(self, i: Any) -> Any:
        if not isinstance(i, Operand):
            return self.items[i]
        if i is not self.index:
            raise LoopRejected("walks a list from another place")
        return self.trip

    def rest(self) -> Steps:
        return Layers(self.items[1:], self.leaves[1:], self.structure)

    def backward(self) -> Steps:
        return Layers(self.items[::-1], self.leaves[::-1], self.structure)

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        return [(self, target)]


def _keys_of(item: Any) -> list[Any]:
    """Return the keys, or the names of the fields, of an item, in the order of its leaves."""
    if type(item) is dict:
        return flatten({key: key for key in item})[0]
    return list(getattr(item, "_fields", getattr(item, "__dataclass_fields__", ())))


def layers_of(items: Any) -> Layers | None:
    """Return the steps of a list whose items are alike in all but the values of their arrays; None for another."""
    if len(items) < FEW:
        return None
    leaves: list[list[Any]] = []
    first: Any = None
    for item in items:
        found, structure = flatten(item)
        if not found or not all(map(_is_whole, found)):
            return None
        kind = structure, [type_of(leaf._value) for leaf in found]
        if first is None:
            first = kind
        elif kind != first:
            return None
        leaves.append(found)
    return Layers(items, leaves, structure)


def _is_whole(leaf: Any) -> bool:
    """Whether a leaf is a traced array with axes, and not one of each example of a vmap."""
    return isinstance(leaf, Operand) and bool(plain_shape(leaf)) and not levels_of(leaf)


class Later(Steps):
    """All but the first few of others."""

    def __init__(self, others: Steps, skip: int) -> None:
        self.others = others
        self.skip = skip
        self.n = others.n - skip

    def item(self, i: Any) -> Any:
        return self.others.item(i + self.skip)

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        return self.others.layers(target)


class Counted(Steps):
    """`enumerate(others, start)`."""

    def __init__(self, others: Steps, start: int) -> None:
        self.others = others
        self.start = start
        self.n = others.n

    def item(self, i: Any) -> Any:
        return (i + self.start if self.start else i, self.others.item(i))

    def rest(self) -> Steps:
        return Counted(self.others.rest(), self.start + 1) if self.layers() else super().rest()

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        return self.others.layers(target[1] if isinstance(target, tuple) and len(target) == 2 else None)


class Together(Steps):
    """`zip(*others)`."""

    def __init__(self, others: Sequence[Steps]) -> None:
        self.others = others
        self.n = min([one.n for one in others], key=int)

    def item(self, i: Any) -> Any:
        return tuple([one.item(i) for one in self.others])

    def rest(self) -> Steps:
        return Together([one.rest() for one in self.others]) if self.layers() else super().rest()

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        parts = target if isinstance(target, tuple) and len(target) == len(self.others) else [None] * len(self.others)
        return [found for one, part in zip(self.others, parts, strict=True) for found in one.layers(part)]


class Backward(Steps):
    """`reversed(others)`."""

    def __init__(self, others: Steps) -> None:
        self.others = others
        self.n = others.n

    def item(self, i: Any) -> Any:
        return self.others.item(self.n - 1 - i)

    def layers(self, target: Any = None) -> list[tuple[Layers, Any]]:
        return self.others.layers(target)


def place_name(steps: Steps | None, target: Any) -> str | None:
    """Return the name of the trip's number in a loop with such a target; None where it has none."""
    if isinstance(steps, Counted) and steps.start == 0 and isinstance(target, tuple):
        target = target[0]
    elif not isinstance(steps, RangeSteps):
        return None
    elif not (isinstance(steps.start, int) and (steps.start, steps.step) == (0, 1)):
        return "trip"
    return target if isinstance(target, str) else None


def named(steps: Steps | None, target: Any, item: Any) -> Any:
    """The item that a trip is given; a number that follows from the place is called what the loop calls it."""
    made = getattr(item, "_ir", None)
    if isinstance(steps, RangeSteps) and isinstance(target, str) and made is not None and made.name is None:
        made.name = target
    return item


def known(n: Any) -> bool:
    """Whether a number of trips is known while capturing: an int, or a size."""
    return isinstance(n, int)


def steps_of(iterable: Any) -> Steps | None:
    """The steps of what a loop runs over; None where each item must be asked for."""
    if isinstance(iterable, Steps):
        return iterable
    if type(iterable) is range:
        return RangeSteps(iterable.start, iterable.step, len(iterable))
    if isinstance(iterable, Listed):
        return Rows(iterable.array())
    if isinstance(iterable, Operand) and plain_shape(iterable):
        return Rows(iterable)
    return layers_of(iterable) if type(iterable) in (list, tuple) else None
