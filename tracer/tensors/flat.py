"""`t.flat`: the elements of a Tensor in order, read and written by one index, as ndarray's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...runtime.unpatched import np
from ..core.dispatch import stack_nested

__all__ = ["Flat"]


class Flat:
    """The iterator `t.flat`, which takes an index, too.

    >>> import numpy as np, gradscribe as gs
    >>> gs.grad(lambda x: np.sum(np.outer(x, x).flat[::3]))(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(self, base: Any) -> None:
        self.base = base
        self._rest: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ravel(self.base))

    def __next__(self) -> Any:
        self._rest = iter(self) if self._rest is None else self._rest
        return next(self._rest)

    def __len__(self) -> int:
        return int(np.size(self.base))

    def __getitem__(self, key: Any) -> Any:
        found = np.ravel(self.base)[key]
        return found.copy() if isinstance(key, slice) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        np.put(self.base, np.atleast_1d(np.arange(len(self))[key]).tolist(), stack_nested(value))

    def copy(self) -> Any:
        """The elements, as a Tensor of one axis."""
        return np.ravel(self.base).copy()
