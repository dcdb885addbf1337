"""Lines of the statements of a Program, as data: the steps of the target decide them, and the printer reads no more.

A line is a statement of Python's, as a tree, and the call that it belongs to. Of a statement that holds others the lines say what
stands around those: they have lines of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....runtime.ir.graph import Call

__all__ = [
    "ForkLines",
    "Head",
    "IfLines",
    "Line",
    "Lines",
    "LoopLines",
    "ReturnLines",
    "TiledLines",
    "UnpackLines",
    "Walked",
]

Line = tuple[Any, Call]
Lines = tuple[Line, ...]
UnpackLines = tuple[Any, ...]  # which belong to no call


class Walked(NamedTuple):
    """The target of a `for`, and its iterable: an expression, or a range of these arguments, in reverse or not."""

    target: Any
    given: Any  # an expression; of a range the tuple of its arguments
    reverse: bool = False


class Head(NamedTuple):
    """`while test:`, or `for place, (a, b) in enumerate(zip(xs, reversed(ys))):`."""

    walked: tuple[Walked, ...] = ()
    place: str | None = None  # the number of a trip, beside what is walked
    test: Any = None


class LoopLines(NamedTuple):
    """The lines of a loop, in this order; its test comes before `asking`, its body before `closing`."""

    before: Lines
    head: Head
    opening: Lines
    asking: Lines
    stop: Any  # the test that ends it, where that is not in the head
    fetched: Lines  # items of lists
    closing: Lines
    beside: Call  # what belongs to no call within


class IfLines(NamedTuple):
    """The lines of a branch: a test, and behind the statements of each arm the assignments of its results; or one line."""

    before: Lines
    test: Any
    closing: tuple[Lines, Lines]
    whole: Lines | None = None  # `c = b if test else 100 * b`; none at all where another line has that in it
    asked: bool = False  # whether the test is written where both arms are empty
    negated: bool = False  # `if not test:`, where only the second arm holds some
    joined: bool = False  # `if a and b:`, where all that the first arm holds is a branch of one arm


class TiledLines(NamedTuple):
    """The lines of a loop over tiles: the arrays that it fills, and names for the tile and the number of its first row."""

    before: Lines
    made: tuple[Any, ...]
    array: Any  # whose rows are counted
    tile: str
    start: str
    mixed: bool  # forward and backward calls
    beside: Call


class ForkLines(NamedTuple):
    """The lines of a path: the test that takes it."""

    before: Lines
    test: Any


class ReturnLines(NamedTuple):
    """The lines of a return: its expression; an `owner` where it stands among the lines of the user's."""

    before: Lines
    value: Any
    variables: frozenset[str]  # that are returned
    owner: Call | None = None
