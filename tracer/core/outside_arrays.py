"""Arrays from outside that nodes save: small ones as copies, and of large ones what they held, so that a later write raises.

A plain array beside a Tensor is the user's own, and NumPy tells nobody when it is written. Backward would then compute with
numbers that forward has not seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import SMALL, as_numpys, is_cupys, is_plain_array, owner_of, seen
from ...runtime.ops import Plan
from ...unpatched import np
from .tensor_base import Operand
from .thread_state import LOCAL

__all__ = ["MEMORIES", "kept", "kept_values", "was_written"]

# Words of 8 bytes in a row of those that are added up: a prime number, so that rows that change places are noticed.
_WORDS = 251


class Memory:
    """What an array from outside held when a node saved it."""

    __slots__ = ("array", "made", "run", "seen", "sums")

    def __init__(self, array: np.ndarray[Any, Any], made: weakref.ref[Any], sums: bytes | None) -> None:
        self.array = weakref.ref(array)
        self.made = made  # what nodes have of it
        self.seen = seen(array)
        self.sums = sums  # None of a copy
        self.run: Callable[[], Any] | None = None  # the run of backward that has looked at it last


_LATEST: dict[int, Memory] = {}  # by the id of the array
MEMORIES: dict[int, Memory] = {}  # of large ones, by the id of what nodes have of it


def kept(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a node saves of an array from outside: a copy, or of a large one a view by which what it held is found."""
    if is_cupys(array):  # to look at it would wait for the device
        return array
    if array.dtype.kind not in "biufc":  # whose memory no buffer shows, as that of dates
        return array.copy()
    key = id(array)
    latest = _LATEST.get(key)
    if latest is not None and latest.array() is array and latest.seen == seen(array):
        found: np.ndarray[Any, Any] | None = latest.made()
        if found is not None:
            return found
    small = array.nbytes <= SMALL and (array.flags.c_contiguous or array.flags.f_contiguous)
    made = array.copy(order="K") if small else as_numpys(array.data)  # in which views of it end, too
    place = id(made)

    def forget(_: Any, latest: dict[int, Memory] = _LATEST, memories: dict[int, Memory] = MEMORIES) -> None:
        """No node has it any more. (Defaults outlive the module when Python ends.)"""
        if latest.get(key) is memory:
            del latest[key]
        memories.pop(place, None)

    memory = _LATEST[key] = Memory(array, weakref.ref(made, forget), None if small else _sums(array))
    if not small:
        MEMORIES[place] = memory
    return made


def kept_values(plan: Plan, bound: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that a node with this plan may save, in the place of those of its call."""
    made = list(values)
    for k in plan.constants:
        if k < len(bound):  # behind that stands what the mode of singular points adds
            made[k] = _kept(bound[k], values[k])
    return tuple(made)


def _kept(given: Any, value: Any) -> Any:
    if type(value) in (tuple, list):
        if len(value) != len(given) or not any(is_plain_array(v) or type(v) in (tuple, list) for v in value):
            return value
        parts = list(map(_kept, given, value))
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    return kept(value) if is_plain_array(value) and not isinstance(given, Operand) else value


def was_written(value: Any) -> bool:
    """Whether a saved value shows a large array that holds something else since; it is looked at once in a run of backward."""
    memory = MEMORIES.get(id(value))
    if memory is None and is_plain_array(value) and value.base is not None:
        memory = MEMORIES.get(id(owner_of(value)))
    made = None if memory is None else memory.made()
    if memory is None or made is None:
        return False
    run = LOCAL.run
    if run is not None and memory.run is not None and memory.run() is run:
        return False
    if seen(made) != memory.seen or _sums(made) != memory.sums:
        return True
    memory.run = None if run is None else weakref.ref(run)
    return False


def _sums(array: np.ndarray[Any, Any]) -> bytes:
    """The sums of an array's bits, by words that stand so many words apart."""
    if not array.flags.c_contiguous:
        array = array.T if array.flags.f_contiguous else array.copy()
    raw = array.reshape(-1).view(np.uint8)
    end = raw.size - raw.size % (8 * _WORDS)
    words = raw[:end].view(np.uint64).reshape(-1, _WORDS)
    sums: bytes = np.add.reduce(words, axis=0).tobytes() + raw[end:].tobytes()
    return sums
