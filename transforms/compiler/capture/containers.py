"""Containers among the arguments, of which the code gets copies: the changes that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...trees import flatten, unflatten

__all__ = ["Containers"]


class Containers:
    """The containers among the arguments `own`, beside the `copies` that the code gets."""

    def __init__(self, own: Any, copies: Any) -> None:
        self._held = [(one, copy, _items(copy)) for one, copy in _pairs(own, copies)]

    def changed(self) -> list[tuple[Any, Any]]:
        """The containers that hold something else now, each with its copy, which does."""
        return [(own, copy) for own, copy, before in self._held if not _are_same(before, _items(copy))]

    def give_back(self, plain: Callable[[Any], Any]) -> None:
        """Let the caller's own containers hold what their copies do, with plain values in place of Tensors."""
        by_copy = {id(copy): own for own, copy, _ in self._held}

        def value(x: Any) -> Any:
            if id(x) in by_copy:
                return by_copy[id(x)]
            leaves, structure = flatten(x)
            return unflatten(structure, map(plain, leaves))

        for own, copy in self.changed():
            if isinstance(own, list):
                own[:] = map(value, copy)
            elif isinstance(own, dict):
                items = {k: value(x) for k, x in copy.items()}
                own.clear()
                own.update(items)
            else:
                for name, x in _items(copy):
                    object.__setattr__(own, name, value(x))


def _pairs(own: Any, copy: Any) -> Iterator[tuple[Any, Any]]:
    if own is copy or not (isinstance(own, (list, dict, tuple)) or hasattr(type(own), "__dataclass_fields__")):
        return
    if not isinstance(own, tuple):
        yield own, copy
    copies = dict(_items(copy))
    for k, one in _items(own):
        yield from _pairs(one, copies[k])


def _items(container: Any) -> list[tuple[Any, Any]]:
    if isinstance(container, dict):
        return list(container.items())
    if isinstance(container, (list, tuple)):
        return list(enumerate(container))
    fields = type(container).__dataclass_fields__
    return [(name, getattr(container, name)) for name in fields if hasattr(container, name)]


def _are_same(before: list[tuple[Any, Any]], now: list[tuple[Any, Any]]) -> bool:
    return len(before) == len(now) and all(
        k == other and x is y for (k, x), (other, y) in zip(before, now, strict=True)
    )
