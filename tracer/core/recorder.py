"""The recorder's protocol: the calls that it hears while a function is captured, and the questions that it answers."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Recorder"]


class Recorder(Protocol):
    """The protocol of a recorder, which is told of all that happens while a function is captured; the compiler implements it.

    The first methods tell it something, and the others ask how the code is to go on. Tensors and nodes are the tracer's.
    """

    # what happens
    def call(self, op: Any, bound: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
        """An op ran on `bound`; returns what the node of the call keeps (None: the capture is over)."""

    def backward_begins(self) -> Any:
        """Cotangents or tangents begin to flow; returns what `backward_ends` takes."""

    def backward(self, node: Any, g: Any) -> Any:
        """The engine arrives at `node` with the cotangent `g`; returns what the engine goes on with."""

    def added(self, edge: Any, total: Any, g: Any) -> Any:
        """Return the sum of two cotangents that arrive at the node `edge`."""

    def of_its_own(self, g: Any, others: Any) -> Any:
        """Return a gradient that shares no memory with the `others`, whichever way branches go."""

    def chosen(self, node: Any, g: Any, sums: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Return what `node` gives by `run(g, sums)`, of a cotangent that not all ways through a branch have."""

    def tangent(self, node: Any) -> None:
        """The forward engine arrives at `node`."""

    def moved(self, node: Any, t: Any) -> None:
        """The forward engine leaves `node`, whose result has the tangent `t`."""

    def backward_ends(self, before: Any) -> None:
        """Cotangents or tangents have arrived."""

    def user_code(self, runs: bool) -> bool:
        """A derivative that the user wrote begins or is over; returns whether one ran before."""

    def left(self, tensor: Any, how: str, spec: str = "") -> None:
        """The value of `tensor` leaves it, by the exit `how` (`bool`, `float`, `array` ...)."""

    def wrote(self, base: Any) -> None:
        """`base` stands for an array of the caller, and is written into."""

    def wrote_differentiated(self, base: Any) -> None:
        """A value that requires grad is written into `base`; raises where that would lose the gradient."""

    def became(self, tensor: Any, new: Any) -> None:
        """A write gave `tensor`, or a view of what was written, the value of `new`."""

    def printed(self, *values: Any, **options: Any) -> None:
        """The user's code prints: print what is to be seen now."""

    def quieted(self, by: int) -> None:
        """The user's code turns NumPy's warnings off (1), or on again (-1)."""

    def cuts(self, what: str) -> None:
        """The code changes what is differentiated, in a way that a kept loop would not repeat."""

    def refuse(self, reason: str) -> None:
        """The code does what generated source would not: the capture is over."""

    # how the code goes on
    def may_write(self, base: Any) -> None:
        """Raise where a loop that is being kept cannot write into the memory of `base`."""

    def shape(self, tensor: Any) -> tuple[int, ...]:
        """Return the shape of `tensor`, of sizes that remember where they are from."""

    def of_sizes(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return what `fn`, a function of numbers, gives of sizes, traced; NotImplemented where none is among `args`."""

    def drew(
        self, owner: Any, fn: Callable[..., Any], code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Draw by `fn`, a method of the generator `owner` behind a module, called by `code`; returns the numbers, traced."""

    def new_generator(self, *args: Any, **kwargs: Any) -> Any:
        """Return a handle of what `np.random.default_rng` makes of these arguments."""

    def own_generator(self, home: types.ModuleType) -> Any:
        """Return a handle of gradscribe's own generator, the `default_generator` of the module `home`."""

    def catches(self) -> bool:
        """Return whether the code may go on after an error."""

    def in_loop(self) -> bool:
        """Return whether a loop that is being kept runs."""

    def undecided(self, tensor: Any) -> bool:
        """Return whether each trip of a kept loop changes `tensor`, so that nothing can be decided by it."""

    def behind_effects(self, tensor: Any) -> bool:
        """Return whether `tensor` rests on an effect, so that a decision by it would come too late."""

    def is_abandoned(self) -> bool:
        """Return whether the run is to be forgotten, with what it wrote."""

    def code_scope(self) -> Any:
        """Return the scope that captured code is rebuilt over (transforms/user_code/scope.py)."""

    def control_flow(self) -> Any:
        """Return what keeps loops and branches (transforms/compiler/frontend/operators.py), or None."""
