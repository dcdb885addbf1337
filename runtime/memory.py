"""Memory facts: whether the results of an op lie in new memory or in that of its arguments. Each op says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["MAY", "NEW", "VIEW", "Fact", "Memory", "kind_of"]


class Memory(NamedTuple):
    """Whether results share memory with arguments, as it is under every NumPy and SciPy that we support.

    `new`: each result has memory of its own, made by this call, which may be written. `view`: they lie in the memory of the
    arguments, where those are arrays. `may`: either, by the values, the dtypes, or the version. `of` names the parameters
    that are meant; none are named where it is any of them.
    """

    how: str
    of: tuple[str, ...] = ()


NEW, VIEW, MAY = Memory("new"), Memory("view"), Memory("may")

# What an op states: that, or a function of the arguments that it names, as a rule does. In a graph an argument may be a Value.
Fact = Memory | Callable[..., Memory]


def kind_of(x: Any) -> str:
    """The kind of the dtype of an array or a Value, as in `np.dtype.kind`; nothing of a number of Python's or a list."""
    dtype = getattr(getattr(x, "type", x), "dtype", None)
    return "" if dtype is None else dtype.kind
