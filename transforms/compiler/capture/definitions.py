"""Class definitions, remembered so that any change of one is noticed in about a microsecond."""

from __future__ import annotations

import operator
from collections.abc import Container

__all__ = ["Definitions"]


class Definitions:
    """The names in a class, and all that they stand for but the values named in `apart`, which are told by themselves."""

    __slots__ = ("_all", "_names", "_values", "owner")

    def __init__(self, owner: type, apart: Container[str] = ()) -> None:
        self.owner = owner
        self._all = frozenset(vars(owner))
        self._names = tuple([name for name in vars(owner) if name not in apart])
        self._values = tuple([vars(owner)[name] for name in self._names])

    def hold(self) -> bool:
        """Whether the class has these names still, and under them the same objects."""
        space = vars(self.owner)
        return space.keys() == self._all and all(map(operator.is_, map(space.get, self._names), self._values))
