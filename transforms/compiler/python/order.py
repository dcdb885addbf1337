"""The order of effects: whether an expression that draws may be written where its result is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import is_effect
from ..analysis.effects import stays

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["Order"]


class Order:
    """The places of calls that may raise or have an effect, by the expressions that they are written within."""

    def __init__(self, graph: Graph) -> None:
        self.calls = graph.calls
        self.within: dict[Value, set[int]] = {}

    def may_wait(self, emitter: Emitter, call: Call, out: Value) -> bool:
        """Whether what makes a value, and all that is written within it, may be computed as late as its one reader is.

        An effect crosses nothing that may raise, nor another effect, and is the only one of its expression.
        """
        within = {k for v in call.reads if v in emitter.folded for k in self.within.get(v, ())}
        within |= {emitter.facts.place[call]} if stays(call) else set()
        if not within:
            return True
        reader = emitter.facts.users[out][-1] if emitter.facts.uses[out] == 1 else None
        beside = [v for v in reader.reads if v is not out and v in emitter.folded] if reader is not None else []
        others = {k for v in beside for k in self.within.get(v, ())}
        if self._has_effect(within | others) and (others or reader in emitter.facts.in_tiles):
            return False
        barrier = stays if self._has_effect(within) else is_effect
        until = len(self.calls) if reader is None else emitter.facts.place[reader]
        if any(barrier(self.calls[k]) for k in range(min(within) + 1, until) if k not in within):
            return False
        self.within[out] = within
        return True

    def has_effect(self, emitter: Emitter, v: Any) -> bool:
        """Whether the expression of a value has an effect, and so is not to be lost."""
        return isinstance(v, Value) and v in emitter.folded and self._has_effect(self.within.get(v, set()))

    def _has_effect(self, places: set[int]) -> bool:
        return any(is_effect(self.calls[k]) for k in places)
