"""What an array is that gradients are taken of: NumPy's own, and CuPy's, which are known once somebody has imported it."""

from __future__ import annotations

import sys
import weakref
from _thread import _local  # threading.local: the rest of threading is slow to import
from collections.abc import Callable
from typing import Any

from ..unpatched import np

__all__ = [
    "ARRIVALS", "PLACE", "SMALL", "as_numpys", "computing_with", "is_array", "is_class_of_cupys", "is_cupys", "is_plain_array",
    "is_writeable", "library_of_arrays", "number_of", "on_host", "on_numpys_host", "one_of", "own_memory", "owner_of", "seen",
    "when_arrived",
]  # fmt: skip

_ndarray, _array, _asarray = np.ndarray, np.array, np.asarray  # NumPy's own, wherever rules make arrays
SMALL = 1 << 14  # bytes of an array up to which all of it is looked at or copied without a thought
_SEEN = 16  # numbers of a larger one that are looked at
_ONES: Any = weakref.WeakValueDictionary()  # CuPy's arrays have no hash


class _Arrivals:
    """Whether arrays of CuPy's have arrived in this process, and who prepares for them."""

    def __init__(self) -> None:
        self.any = False
        self.listeners: list[Callable[[type], None]] = []


ARRIVALS = _Arrivals()


def when_arrived(listener: Callable[[type], None]) -> Callable[[type], None]:
    """Decorator: let `listener(class)` know of the class of CuPy's arrays when the first of them is met."""
    ARRIVALS.listeners.append(listener)
    return listener


def is_class_of_cupys(cls: type) -> bool:
    """Whether a class is that of CuPy's arrays; this never imports CuPy. The first time all who wait for them are told."""
    if cls is not getattr(sys.modules.get("cupy"), "ndarray", None):
        return False
    if not ARRIVALS.any:
        ARRIVALS.any = True
        for listener in ARRIVALS.listeners:
            listener(cls)
    return True


def is_cupys(value: Any) -> bool:
    """Whether a value is an array of CuPy's."""
    return type(value).__module__ == "cupy" and is_class_of_cupys(type(value))


def is_plain_array(value: Any) -> bool:
    """Whether a value is an array that ops compute with as it is: of NumPy's own class, and no subclass, or of CuPy's."""
    kind = type(value)
    return kind is _ndarray or (kind.__module__ == "cupy" and is_class_of_cupys(kind))


def is_array(value: Any) -> bool:
    """Whether a value is an array of numbers, of NumPy's classes or of CuPy's."""
    return isinstance(value, _ndarray) or is_cupys(value)


def is_writeable(array: Any) -> bool:
    """Whether writes into an array are its own affair: NumPy has a flag, CuPy broadcasts into views that take writes."""
    if isinstance(array, _ndarray):
        return array.flags.writeable
    return all(step or n <= 1 for step, n in zip(array.strides, array.shape, strict=True))


def one_of(dtype: Any, beside: Any) -> Any:
    """The number one that a backward pass begins with: a scalar of NumPy's, or an array of CuPy's where the result is one."""
    if not is_cupys(beside):
        return dtype.type(1)
    made = sys.modules["cupy"].ones((), dtype)
    _ONES[id(made)] = made
    return made


def number_of(array: Any) -> Any:
    """The number that is known to stand in an array without a look at it: what `one_of` gave; None of all others."""
    return array.dtype.type(1) if _ONES.get(id(array)) is array else None


def own_memory(array: Any) -> Any:
    """A copy of an array, by the library whose it is: `np.array`, or the method of CuPy's."""
    return _array(array) if isinstance(array, _ndarray) else array.copy()


def owner_of(array: Any) -> Any:
    """The array that owns the memory which `array` shows."""
    while is_plain_array(array.base):
        array = array.base
    return array


def seen(array: Any) -> bytes:
    """All of a small array, and some numbers of a large one; nothing of one on a device, which that would wait for."""
    if ARRIVALS.any and is_cupys(array):
        return b""
    found: bytes = array.tobytes() if array.nbytes <= SMALL else array.flat[:: array.size // _SEEN].tobytes()
    return found


def as_numpys(value: Any) -> Any:
    """`np.asarray` of NumPy's own, which refuses arrays of CuPy's."""
    return _asarray(value)


def on_host(value: Any) -> Any:
    """The numbers of a value as NumPy's array, for who asks for them: a text, `item`, `tolist`, a pickle."""
    return value.get() if is_cupys(value) else _asarray(value)


def on_numpys_host(who: str, values: Any) -> None:
    """Raise TypeError where an array of CuPy's stands among these: finite differences and exports take NumPy's."""
    if any(map(is_cupys, values)):
        raise TypeError(
            f"{who} takes arrays of NumPy's, but was given one of CuPy's: pass a copy on the host (x.get())"
        )


def library_of_arrays(value: Any) -> Any:
    """The module whose arrays stand in a value, or in a tree of them: CuPy where there is one of its; None without it."""
    kind = type(value)
    if kind is _ndarray or kind is float or kind is int:
        return None
    if is_cupys(value):
        return sys.modules["cupy"]
    parts: Any = ()
    if isinstance(value, (list, tuple)):
        parts = value
    elif kind is dict:
        parts = value.values()
    elif hasattr(kind, "__dataclass_fields__"):
        parts = vars(value).values() if hasattr(value, "__dict__") else ()
    return next((found for part in parts if (found := library_of_arrays(part)) is not None), None)


class _Place(_local):
    module: Any = None  # in which rules make arrays; None: NumPy


PLACE = _Place()


class computing_with:  # reads as a statement
    """Let rules make arrays in a module (None: NumPy) for a block."""

    __slots__ = ("before", "module")

    def __init__(self, module: Any) -> None:
        self.module = module

    def __enter__(self) -> None:
        self.before, PLACE.module = PLACE.module, self.module

    def __exit__(self, *exc: object) -> None:
        PLACE.module = self.before
