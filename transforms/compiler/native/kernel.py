"""Kernels: a built library as a function of Python's, without a step between the call and the C."""

from __future__ import annotations

import contextvars
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .build import BuildError
from .emit import Kernel

__all__ = ["Loaded"]

_DTYPES = tuple(map(np.dtype, ("float64", "float32", "int64", "bool")))
_NEW, _SCALAR = 93, 60  # the places of PyArray_New and PyArray_Scalar in NumPy's table of functions
_FASTCALL = 0x80


class _State(ctypes.Structure):
    """The State of the prelude."""

    _fields_ = (
        ("head", ctypes.c_int64), ("type_at", ctypes.c_int64), ("array_type", ctypes.c_void_p), ("array", ctypes.c_void_p),
        ("scalar", ctypes.c_void_p), ("descr", ctypes.c_void_p * 4), ("number", ctypes.c_int64 * 4),
        ("errors", ctypes.c_void_p), ("usual", ctypes.c_void_p), ("fallback", ctypes.c_void_p),
        ("calls", ctypes.POINTER(ctypes.c_void_p)), ("constants", ctypes.POINTER(ctypes.c_void_p)),
        ("seen", ctypes.POINTER(ctypes.c_uint8)), ("probing", ctypes.c_int64),
    )  # fmt: skip


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    )  # fmt: skip


class Loaded:
    """A kernel in this process: `function` takes the arguments by position, and calls `fallback(why, *arguments)`.

    `why` is 1 for what C leaves to NumPy, 2 for an arm that no checked call has taken, and 3 for another `np.errstate`.
    """

    def __init__(self, path: str, kernel: Kernel, fallback: Callable[..., Any], name: str = "entry") -> None:
        try:
            self._library = ctypes.CDLL(path)
            entry = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        except (OSError, AttributeError) as error:
            raise BuildError(f"its library could not be loaded: {error}") from None
        errors, usual = _errors()
        table = _table()
        self.kernel = kernel
        self._held = (fallback, kernel, errors, usual, _DTYPES)
        self._seen = (ctypes.c_uint8 * (kernel.arms + 1))()
        state = self._state = _State()
        state.head = object.__basicsize__
        state.type_at = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
        state.array_type, state.array, state.scalar = id(np.ndarray), table[_NEW], table[_SCALAR]
        for k, dtype in enumerate(_DTYPES):
            state.descr[k], state.number[k] = id(dtype), dtype.num
        state.errors, state.usual, state.fallback = id(errors), id(usual), id(fallback)
        state.calls, state.constants = _pointers(kernel.calls), _pointers(kernel.constants)
        state.seen = ctypes.cast(self._seen, ctypes.POINTER(ctypes.c_uint8))
        self._method = _Method(b"kernel", entry, _FASTCALL, None)
        address = ctypes.addressof(state)
        self._self = address  # an int of Python's, which the function holds, too
        made = ctypes.pythonapi.PyCFunction_NewEx
        made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self.function: Callable[..., Any] = made(ctypes.addressof(self._method), address, None)

    def probing(self) -> bool:
        """Whether a call is on its way that does not count."""
        return bool(self._state.probing)

    def probed(self, *args: Any) -> Any:
        """Call it, arms that it has not taken yet among what it runs through, and without a look at `np.errstate`."""
        self._state.probing += 1
        try:
            return self.function(*args)
        finally:
            self._state.probing -= 1


def _pointers(values: tuple[Any, ...]) -> Any:
    made = (ctypes.c_void_p * (len(values) + 1))(*map(id, values), None)
    return ctypes.cast(made, ctypes.POINTER(ctypes.c_void_p))


def _table() -> Any:
    """NumPy's table of functions, in the order that its binary interface promises."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule: Any = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def _errors() -> tuple[Any, Any]:
    """The variable that `np.errstate` sets, and its value by default."""
    variable = getattr(
        np._core.umath,  # type: ignore[attr-defined]
        "_extobj_contextvar",
        None,
    )
    if not isinstance(variable, contextvars.ContextVar):
        raise BuildError("this NumPy does not show its error state")
    return variable, contextvars.Context().run(variable.get)
