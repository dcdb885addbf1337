"""Aliases in regions: arrays that may be one memory under two names, by the outcome of a loop or a branch. A write rejects it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....runtime.arrays import is_plain_array
from .....runtime.ir.graph import Value
from .....tracer.core.tensor_base import Operand
from .....tracer.core.views import live_views
from ...frontend.attempts import LoopRejected
from .frames import Frame, Frames
from .state import Leaves, Params
from .steps import Layers

__all__ = ["Sharing"]


class Sharing(Frames):
    """Marks on arrays that may share memory: a write into a marked one ends the attempt (`may_write`)."""

    def entangle(self, *values: Any) -> None:
        """Mark arrays that may show one memory, where nobody knows whether they do."""
        self.entangled.update(base._ir for base in map(_base_of, values) if getattr(base, "_ir", None) is not None)

    def shared_by_branch(
        self, start: Leaves, arms: Sequence[Leaves], params: Sequence[Params], frames: Sequence[Frame],
        results: dict[int, Any], written: set[int],
    ) -> None:  # fmt: skip
        """Mark what a branch gives that is, by the way that it goes, an array from before it; `results` are by leaf."""
        for arm, own, frame in zip(arms, params, frames, strict=True):
            seen: list[Any] = []
            for k, result in results.items():
                base = None if k in written else _base_of(arm.values[k])
                if base is None:
                    continue
                before = _before(base, start, own)
                if before is not None or base._ir not in frame.made:
                    self.entangle(result, base if before is None else before)
                if any(base is other for other in seen):
                    self.entangle(result, *[results[j] for j in results if _base_of(arm.values[j]) is base])
                seen.append(base)

    def apart_in_loop(
        self, start: Leaves, found: Leaves, params: Params, starts: Sequence[Any], inv: Sequence[Value], written: Sequence[int]
    ) -> None:  # fmt: skip
        """Raise LoopRejected where what a loop writes into has another name in it."""
        shown = [*[_base_of(found.values[k]) for k in start.places], *map(_base_of, found.items())]
        for j in written:
            own, outer = params.tensors[j], start.values[start.places[j]]
            others = any(base is own for m, base in enumerate(shown) if m != j) or list(starts).count(starts[j]) > 1
            views = any(getattr(view, "_ir", None) in (*inv, *starts) for view in live_views(outer))
            if others or views or own._ir in self.entangled:
                raise LoopRejected(f"writes into `{start.names[start.places[j]]}`, which has another name, too")

    def alone_in_loop(
        self, start: Leaves, found: Leaves, others: Sequence[Any], walked: Sequence[tuple[Layers, Sequence[Any]]]
    ) -> None:
        """Raise LoopRejected where an item of a list that a loop walks is known by another name, or written into.

        Its cotangent would be added up in another order than in eager mode.
        """
        leaves = [leaf._ir for one, _ in walked for column in one.leaves for leaf in column]
        if len({*leaves}) < len(leaves) or not {*leaves}.isdisjoint(v for v in others if isinstance(v, Value)):
            raise LoopRejected("walks a list and reads an item of it in another way")
        shown = [_base_of(v) for v in (*[found.values[k] for k in start.places], *found.items())]
        for one, tensors in walked:
            if any(base is t for base in shown for t in tensors):
                raise LoopRejected("keeps an item of a list behind its trip")
            if one.changed():
                raise LoopRejected("writes into an item of the list that it walks")

    def shared_by_loop(
        self, start: Leaves, found: Leaves, params: Params, frame: Frame, results: Sequence[Any], written: Sequence[int],
        runs: bool,
    ) -> None:  # fmt: skip
        """Mark what a loop gives, or puts into a list, that may be an array from before it, or has two names."""
        shown = [_base_of(found.values[k]) for k in start.places]
        items = [_base_of(item) for item in found.items()]
        for j, base in enumerate([*shown, *items]):
            result = results[j] if j < len(shown) else None
            if base is None or j in written:
                continue
            before = _before(base, start, params)
            if before is not None or base._ir not in frame.made:
                self.entangle(result, base if before is None else before)
            elif base._ir in self.entangled or sum(base is other for other in (*shown, *items)) > 1:
                self.entangle(result)
            if result is not None and not runs:
                self.entangle(result, start.values[start.places[j]])


def _base_of(value: Any) -> Any:
    """The array that a value is, or is a view of; None for what is no array."""
    if not isinstance(value, Operand) or not is_plain_array(value._value):
        return None
    view = getattr(value, "_view", None)
    return value if view is None else view.base


def _before(base: Any, start: Leaves, params: Params) -> Any:
    """The variable from before a region that one of its own Tensors stands for."""
    places = zip(start.places, params.tensors, strict=True)
    return next((start.values[k] for k, own in places if own is base), None)
