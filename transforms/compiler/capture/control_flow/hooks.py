"""Hooks of converted code while a capture runs, for its loops and branches, and the calls and numbers in them."""

from __future__ import annotations

from typing import Any

from .....runtime.registry import require
from .....tracer.core.dispatch import apply
from .....tracer.core.tensor_base import Operand, plain_shape
from ...frontend.attempts import LoopRejected
from .branches import Branches
from .lists import Collected, Listed, of_lists
from .loops import Loops
from .numbers import is_number
from .purity import impure

__all__ = ["Regions"]


class Regions(Loops, Branches):
    """The regions of one capture."""

    def call(self, f: Any) -> Any:
        """Return the function that a call runs."""
        ours = of_lists(f) or self._least(f)
        if ours is None:
            reason = None if self.unseen and not self.strict else impure(f, self.capture)
            if reason is not None:
                if self.strict:
                    raise LoopRejected(reason, self.capture.site())
                self.unseen = True
                self.capture.messages.print_now()
        return NotImplemented if ours is None else ours

    def iadd(self, op: Any, x: Any, y: Any) -> Any:
        """`x += y` and its like."""
        return NotImplemented

    def append(self, place: Any, value: Any) -> Any:
        """`place.append(value)`."""
        return place.appended(value) if isinstance(place, (Collected, Listed)) else NotImplemented

    def truth(self, value: Any, line: int, reason: str) -> Any:
        """A condition that stayed Python's."""
        return NotImplemented

    def trips(self, iterable: Any, line: int, reason: str) -> Any:
        """A loop that stayed Python's."""
        return NotImplemented

    def float_(self, *args: Any) -> Any:
        """`float(x)`, of a counter; of other values it is a constant, which no region can hold."""
        if len(args) == 1 and is_number(args[0]) and type(args[0]._value) is not float and self.strict:
            return apply(require(float), args, {})
        return NotImplemented

    def int_(self, *args: Any, **options: Any) -> Any:
        """`int(x)`, of a counter."""
        counter = len(args) == 1 and not options and is_number(args[0]) and type(args[0]._value) is int
        return args[0] if counter and self.strict else NotImplemented

    def name(self, value: Any, name: str) -> None:
        """A name is read that Python could find unbound."""
        if getattr(value, "_ir", None) in self.unsure:
            raise LoopRejected(f"reads `{name}`, which only some ways through it bind", self.capture.site())

    def bool_(self, *args: Any) -> Any:
        """`bool(x)`."""
        return NotImplemented

    def len_(self, x: Any) -> Any:
        """`len(x)`."""
        if isinstance(x, Operand) and plain_shape(x):
            return x.shape[0]
        return NotImplemented
