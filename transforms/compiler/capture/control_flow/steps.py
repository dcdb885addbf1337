"""Iterables of loops that are known without running them: ranges, rows of an array, and `zip` and the like of those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .....tracer.core.tensor_base import Operand, plain_shape
from .lists import Listed

__all__ = ["Backward", "Counted", "RangeSteps", "Steps", "Together", "known", "named", "place_name", "steps_of"]


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


class Later(Steps):
    """All but the first few of others."""

    def __init__(self, others: Steps, skip: int) -> None:
        self.others = others
        self.skip = skip
        self.n = others.n - skip

    def item(self, i: Any) -> Any:
        return self.others.item(i + self.skip)


class Counted(Steps):
    """`enumerate(others, start)`."""

    def __init__(self, others: Steps, start: int) -> None:
        self.others = others
        self.start = start
        self.n = others.n

    def item(self, i: Any) -> Any:
        return (i + self.start if self.start else i, self.others.item(i))


class Together(Steps):
    """`zip(*others)`."""

    def __init__(self, others: Sequence[Steps]) -> None:
        self.others = others
        self.n = min([one.n for one in others], key=int)

    def item(self, i: Any) -> Any:
        return tuple([one.item(i) for one in self.others])


class Backward(Steps):
    """`reversed(others)`."""

    def __init__(self, others: Steps) -> None:
        self.others = others
        self.n = others.n

    def item(self, i: Any) -> Any:
        return self.others.item(self.n - 1 - i)


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
    return None
