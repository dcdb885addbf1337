"""The pieces of a function that jumps: the outcomes of all that it decides by values that are differentiated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...runtime.ops import MISSING, Op, Vjp
from ...unpatched import np
from .tensor_base import Operand
from .thread_state import LOCAL, during

__all__ = ["Pieces", "pieces"]


class Pieces:
    """A watch that hears decisions alone; where two runs of a function decide alike, it is smooth between them."""

    def __init__(self, outer: Any) -> None:
        self.outer = outer  # gs.why's, which goes on
        self.outcomes: list[Any] = []

    @property
    def node(self) -> Any:
        """The node whose backward runs, as gs.why knows it."""
        return None if self.outer is None else self.outer.node

    @node.setter
    def node(self, node: Any) -> None:
        if self.outer is not None:
            self.outer.node = node

    @property
    def signature(self) -> int:
        """All outcomes so far as one number."""
        return hash(tuple(self.outcomes))

    def operation(
        self, op: Op, bound: tuple[Any, ...], values: tuple[Any, ...], results: tuple[Any, ...], node: Any
    ) -> None:
        """An op ran: where it jumps, and an argument is differentiated, the piece of it that these arguments lie in is noted."""
        if self.outer is not None:
            self.outer.operation(op, bound, values, results, node)
        piece = op.base.piece
        if not LOCAL.grad or not any(map(_is_followed, bound)):
            return
        found = tuple([t._value for t in results])
        if piece is None and any(op.vjps.values()):
            # What an op has no derivative in counts by the whole numbers: the order of a Bessel function.
            for p, b, value in zip(op.params, bound, values, strict=False):
                if op.vjps.get(p.name, MISSING) is None and _is_followed(b):
                    x = np.asarray(value).real
                    self.outcomes.append((id(op.base), _told(np.floor(x)), _told(np.ceil(x))))
            return
        if piece is not None:
            named = dict(zip([p.name for p in op.params], values, strict=False))
            named["out"] = found if op.n_out != 1 else found[0]
            found = (_asked(piece, named),)
        self.outcomes.append((id(op.base), *map(_told, found)))

    def leaves(self, tensor: Any, how: str) -> None:
        """A value leaves its Tensor, to be rounded or tested."""
        if self.outer is not None:
            self.outer.leaves(tensor, how)
        if how in ("int", "index", "step", "bool") and tensor._node is not None and LOCAL.grad:
            x = float(np.real(tensor._value))
            whole = (math.floor(x), math.ceil(x)) if math.isfinite(x) else x
            self.outcomes.append((how, x != 0 if how == "bool" else whole))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing if self.outer is None else getattr(self.outer, name)


def _nothing(*_: Any, **__: Any) -> None:
    """All else decides nothing."""


def _asked(piece: Vjp, named: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return piece.fn(*[named[name] for name in piece.names])


def _told(value: Any) -> Any:
    array = np.asarray(value)
    return hash((array + 0).tobytes() if array.dtype.kind in "fc" else array.tobytes())  # of -0.0 as well


def _is_followed(x: Any) -> bool:
    if isinstance(x, Operand):
        return x._node is not None
    return isinstance(x, (list, tuple)) and any(map(_is_followed, x))


@contextmanager
def pieces() -> Iterator[Pieces]:
    """Hear what a block decides; within a block that is heard already, the modes need not change."""
    before = LOCAL.watch
    heard = Pieces(before.outer if type(before) is Pieces else before)
    if type(before) is not Pieces:
        with during("watch", heard):
            yield heard
        return
    LOCAL.watch = heard
    try:
        yield heard
    finally:
        LOCAL.watch = before
