"""Ints that change from call to call: inputs of the source, as long as it can compute with them at run time."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.arrays import is_array
from ....runtime.ir.graph import Value, values_in
from ....runtime.ir.known_ops import COMPARISONS, FLOAT
from ....runtime.registry import ops_of, require
from ....runtime.rules.indexing import index_add, index_add_at, index_increase, index_set
from ....runtime.rules.messages import PRINTS

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["NeededError", "NumberNeededError", "Numbers", "is_float", "with_python_alone"]

_INDEXED = dict.fromkeys(map(require, (operator.getitem, index_set, index_add, index_add_at, index_increase)), 1)
_ARITHMETIC = COMPARISONS | ops_of(np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute)
_ORDERED = _ARITHMETIC | ops_of(np.floor_divide, np.remainder)


class NumberNeededError(Exception):
    """A run with Tensors in place of numbers, or of one array twice, went wrong; a plain one would perhaps not."""


class NeededError(BaseException):
    """The source must know the numbers that stand at `places`; no handler of the user's may notice."""

    def __init__(self, places: frozenset[Any]) -> None:
        super().__init__("the values of these numbers are needed")
        self.places = places


class Numbers:
    """The numbers of one capture that are inputs because they change, and Python's numbers that follow from them."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.outside = False  # whether one of them was read from outside the function
        self.places: frozenset[Any] = frozenset()  # where those of them stand that are ints
        self.bounds: frozenset[Any] = frozenset()  # which of these a range ends at
        self.needed: frozenset[Any] = frozenset()  # of which the source has to know the value after all
        self._of: dict[Value, frozenset[Any]] = {}  # what follows from numbers, and from which ints

    def enter(self, value: Any, place: Any, name: str = "") -> Any:
        """The Tensor of a number at a place: an input."""
        number = self.capture.new_input(value, name)
        number._caller = value
        ints = frozenset([place]) if type(value) is int else frozenset()
        self.places |= ints
        self._of[number._ir] = ints
        return number

    def follow(self, op: Any, args: tuple[Any, ...], outs: tuple[Value, ...]) -> bool:
        """An operation takes place; whether the source can follow the numbers in it. Else the capture ends."""
        given = [v for v in values_in(args) if v in self._of] if self._of else []
        if not given:
            return True
        ints = frozenset[Any]().union(*[self._of[v] for v in given])
        why = self._why_not(op, args, given, bool(ints))
        if why is not None:
            self.need(ints, why)
            return False
        self.result(args, outs)
        return True

    def result(self, args: tuple[Any, ...], outs: tuple[Value, ...]) -> None:
        """Note that the results of an operation follow from its arguments."""
        given = [self._of[v] for v in values_in(args) if v in self._of] if self._of else []
        if given:
            ints = frozenset[Any]().union(*given)
            self._of.update((out, ints) for out in outs if out.type.kind == "python")

    def _why_not(self, op: Any, args: tuple[Any, ...], given: list[Value], of_ints: bool) -> str | None:
        """Why the source cannot follow the numbers `given` to an operation."""
        if of_ints and self.capture._catching:
            return f"calls {op.path} with an int that changes, beside code that catches errors"
        if any(v.type.dtype.kind in "ib" for v in given):
            return None if _follows(op, args, given) else f"calls {op.path} with an int that changes"
        alone = with_python_alone(op, args)
        return "calculates with a number that changes, as Python does and NumPy does not" if alone else None

    def leave(self, ir: Any, how: str) -> None:
        """A value is taken out of a Tensor: a decision becomes a guard, but a place that decides again is in a loop."""
        ints = self._of.get(ir)
        if ints and (how != "bool" or self.capture.site() in self.capture.decided):
            self.need(ints, f"takes {how}() of an int that changes")

    def bound(self, tensors: Any) -> None:
        """The ends of a range."""
        for tensor in tensors:
            ir: Any = getattr(tensor, "_ir", None)
            self.bounds |= self._of.get(ir, frozenset())

    def has_int(self, ir: Any) -> bool:
        """Whether a value follows from ints that change."""
        return bool(self._of.get(ir))

    def need(self, places: frozenset[Any], reason: str) -> None:
        """The numbers at some places have to be known: the run is given up, or where something was done already, it goes on."""
        capture = self.capture
        if places and self.may_run_again():
            self.needed |= places
            capture.generators.take_back()
            capture.abandoned = True
            raise NeededError(places)
        capture.refuse(reason)

    def may_run_again(self) -> bool:
        """Whether the run has done nothing that can be seen from outside, or that could not be taken back."""
        capture, regions = self.capture, self.capture.regions
        if capture.failed is not None or capture.postponed or capture._instances.changed:
            return False
        if regions is not None:  # what it prints waits for the end
            return not regions.unseen
        return all(call.op not in PRINTS for call in capture.findings.graph.calls)


def _follows(op: Any, args: tuple[Any, ...], given: list[Value]) -> bool:
    """Whether the source gives what Python gives, of whatever value the ints among `given` are."""
    place = _INDEXED.get(op)
    if place is not None:
        return not any(v in given for part in _parts(args[place]) for v in values_in(part))
    alone = all(_is_pythons(a) for a in args)
    return op.base in _ORDERED and (op.infix is not None or not alone)


def _parts(index: Any) -> list[Any]:
    """The slices and lists of an index: what stands in them gives the length of the result."""
    return [part for part in (index if type(index) is tuple else (index,)) if not isinstance(part, Value)]


def _is_pythons(x: Any) -> bool:
    return x.type.kind == "python" if isinstance(x, Value) else not (isinstance(x, np.generic) or is_array(x))


def is_float(value: Any) -> bool:
    """Whether a value is one that can be an input: a float or complex number, and of no subclass of the user's."""
    return type(value) in (float, complex) or isinstance(value, (np.floating, np.complexfloating))


def with_python_alone(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether an operation is Python's own, of Python's numbers alone, where NumPy's could differ in the last digit."""
    if op is FLOAT:
        return True
    return (
        op.infix is not None
        and op.base not in _ARITHMETIC
        and all(getattr(a, "type", None) is None or a.type.kind == "python" for a in args)
    )
