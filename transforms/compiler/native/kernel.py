"""Kernels: a built library as a function of Python's, without a step between the call and the C."""

from __future__ import annotations

import contextvars
import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import threads
from .build import BuildError
from .emit import Kernel

__all__ = ["Loaded"]

_DTYPES = tuple(map(np.dtype, ("float64", "float32", "int64", "bool")))
_NEW, _SCALAR = 93, 60  # the places of PyArray_New and PyArray_Scalar in NumPy's table of functions
_PRODUCTS = ("dgemm", "sgemm", "dgemv", "sgemv", "dtrsm", "strsm")
_FASTCALL = 0x80
_MOST = 1024  # rows of lengths that follow from values, through which each call looks
_kept = ctypes.c_int64()  # bytes that kernels keep for their next calls


class _Lengths(ctypes.Structure):
    """The Lengths of the prelude."""

    _fields_ = (
        ("n", ctypes.c_int64), ("rows", ctypes.POINTER(ctypes.c_int64)), ("last", ctypes.POINTER(ctypes.c_int64))
    )  # fmt: skip


class _State(ctypes.Structure):
    """The State of the prelude."""

    _fields_ = (
        ("head", ctypes.c_int64), ("type_at", ctypes.c_int64), ("array_type", ctypes.c_void_p), ("array", ctypes.c_void_p),
        ("scalar", ctypes.c_void_p), ("descr", ctypes.c_void_p * 4), ("number", ctypes.c_int64 * 4),
        ("errors", ctypes.c_void_p), ("usual", ctypes.c_void_p), ("fallback", ctypes.c_void_p),
        ("calls", ctypes.POINTER(ctypes.c_void_p)), ("constants", ctypes.POINTER(ctypes.c_void_p)),
        ("seen", ctypes.POINTER(ctypes.c_uint8)), ("hits", ctypes.POINTER(ctypes.c_int64)), ("probing", ctypes.c_int64),
        ("gemm", ctypes.c_void_p * 2), ("gemv", ctypes.c_void_p * 2), ("trsm", ctypes.c_void_p * 2),
        ("wide", ctypes.c_int64), ("shared", ctypes.c_void_p), ("kept", ctypes.POINTER(ctypes.c_int64)),
        ("lengths", ctypes.POINTER(_Lengths)),
    )  # fmt: skip


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    )  # fmt: skip


class Loaded:
    """A kernel in this process: `function` takes the arguments by position, and calls `fallback(why, *arguments)`.

    `why` is 1 for what C leaves to NumPy, 2 for an arm that no checked call has taken, and 3 for another `np.errstate`.
    `probe` is the kernel for a call that does not count: it takes every arm, which then counts as taken, looks at no
    `np.errstate`, and calls `unprobed`.
    """

    def __init__(
        self, path: str, kernel: Kernel, fallback: Callable[..., Any], unprobed: Callable[..., Any], name: str = "entry"
    ) -> None:
        try:
            self._library = ctypes.CDLL(path)
            entry = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        except (OSError, AttributeError) as error:
            raise BuildError(f"its library could not be loaded: {error}") from None
        self.kernel = kernel
        self._method = _Method(b"kernel", entry, _FASTCALL, None)
        self._seen = (ctypes.c_uint8 * (kernel.arms + 1))()
        self._taken = 0
        self._hits = (ctypes.c_int64 * kernel.paths)()
        self._rows: list[tuple[int, ...]] = []  # of lengths that follow from values
        self._last = (ctypes.c_int64 * (kernel.lengths + 1))()
        self._tables: list[Any] = []  # the one that C looks at, and older ones that a call may still look at
        self._lengths = _Lengths(0, None, ctypes.cast(self._last, ctypes.POINTER(ctypes.c_int64)))
        self._errors = _errors()
        self._fallbacks = fallback, unprobed
        self._states = [self._state(call, probing) for probing, call in enumerate(self._fallbacks)]
        made = ctypes.pythonapi.PyCFunction_NewEx
        made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        self.function: Callable[..., Any]
        self.probe: Callable[..., Any]
        method = ctypes.addressof(self._method)
        # in the place of their module stands this object, which lives as long as they do
        self.function, self.probe = [made(method, ctypes.addressof(state), self) for state in self._states]

    def learn(self) -> None:
        """Serve the lengths that follow from values which the last probe had."""
        row = tuple(self._last[: self.kernel.lengths])
        if not row or row in self._rows:
            return
        n, width = len(self._rows), len(row)
        if n == _MOST:
            return
        self._rows.append(row)
        if not self._tables or len(self._tables[-1]) == n * width:
            table = (ctypes.c_int64 * (2 * max(n, 8) * width))(*[x for known in self._rows for x in known])
            self._tables.append(table)
            self._lengths.rows = ctypes.cast(table, ctypes.POINTER(ctypes.c_int64))
        else:
            self._tables[-1][n * width : (n + 1) * width] = row
        self._lengths.n = n + 1

    def is_usual_again(self) -> bool:
        """Whether NumPy's error state is that by default, though it was set anew: it counts as usual from now on."""
        variable, usual = self._errors
        now = variable.get()
        if now is usual or _settings() != contextvars.Context().run(_settings):
            return False
        self._errors = variable, now
        for state in self._states:
            state.usual = id(now)
        return True

    def calls(self) -> int:
        """How many calls the kernel has ended."""
        return self._taken + sum(self._hits)

    def taken(self) -> list[int]:
        """How many calls ended in each return of the kernel since this was asked last."""
        found = list(self._hits)
        for path, n in enumerate(found):
            self._hits[path] -= n
        self._taken += sum(found)
        return found

    def _state(self, fallback: Callable[..., Any], probing: int) -> _State:
        """What C knows of Python; the objects in it this holds."""
        table, (errors, usual) = _table(), self._errors
        state = _State()
        state.head = object.__basicsize__
        state.type_at = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
        state.array_type, state.array, state.scalar = id(np.ndarray), table[_NEW], table[_SCALAR]
        for k, dtype in enumerate(_DTYPES):
            state.descr[k], state.number[k] = id(dtype), dtype.num
        state.errors, state.usual, state.fallback = id(errors), id(usual), id(fallback)
        state.calls, state.constants = _pointers(self.kernel.calls), _pointers(self.kernel.constants)
        state.seen = ctypes.cast(self._seen, ctypes.POINTER(ctypes.c_uint8))
        state.hits = ctypes.cast(self._hits, ctypes.POINTER(ctypes.c_int64))
        state.probing = probing
        blas = _blas()
        if blas is not None:
            state.gemm[:], state.gemv[:], state.trsm[:], state.wide = blas
        state.kept = ctypes.pointer(_kept)
        state.lengths = ctypes.pointer(self._lengths)
        state.shared = threads.shared(self._library)
        return state


def _pointers(values: tuple[Any, ...]) -> Any:
    made = (ctypes.c_void_p * (len(values) + 1))(*map(id, values), None)
    return ctypes.cast(made, ctypes.POINTER(ctypes.c_void_p))


def _table() -> Any:
    """NumPy's table of functions, in the order that its binary interface promises."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule: Any = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@functools.cache
def _blas() -> tuple[list[int], list[int], list[int], bool] | None:
    """The products and systems of the BLAS that NumPy stands on, and whether its ints have 64 bits; None where it shows none."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except OSError:
        return None
    for form, wide in (
        ("scipy_cblas_{}64_", True),
        ("cblas_{}64_", True),
        ("scipy_cblas_{}", False),
        ("cblas_{}", False),
    ):
        try:
            found = [ctypes.cast(getattr(library, form.format(name)), ctypes.c_void_p).value for name in _PRODUCTS]
        except AttributeError:
            continue
        if all(found):
            whole = [p for p in found if p]
            return whole[:2], whole[2:4], whole[4:], wide
    return None


def _settings() -> Any:
    """NumPy's error state here: masks, the size of buffers, and what is called."""
    return np._core.umath._get_extobj_dict()  # type: ignore[attr-defined]


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
