"""Hermitian arguments of ops: their gradients are symmetrised, so that finite differences must move them symmetrically."""

from __future__ import annotations

import contextlib
from _thread import _local  # threading.local: the rest of threading is slow to import
from collections.abc import Callable, Iterator
from typing import Any

from .registry import require
from .unpatched import np

__all__ = ["hermitian_part", "noting_hermitian", "symmetrising", "takes_hermitian"]


class _Reading(_local):
    """The thread's answer to matrices that such ops get: record them, symmetrise them, or nothing."""

    noted: list[tuple[str, bool]] | None = None  # who notes them: the op, and whether the matrix is Hermitian
    symmetrised = False  # the op is given the Hermitian part


_READING = _Reading()


def takes_hermitian(fn: Callable[..., Any], when: Callable[..., bool] = lambda *args, **words: True) -> None:
    """State that an op takes its first argument for Hermitian (`when` its arguments say so), and symmetrises its gradient.

    Such an op reads one triangle, so that its plain finite differences know nothing of the other one.
    """
    op = require(fn)
    op.hermitian = when
    others = op.forms

    def read(x: Any, *args: Any, **words: Any) -> Any:
        reading = _READING
        if (reading.noted is not None or reading.symmetrised) and when(x, *args, **words):
            if reading.noted is not None:
                reading.noted.append((op.path, _is_hermitian(x)))
            if reading.symmetrised:
                reading.symmetrised = False
                try:
                    return fn(hermitian_part(x), *args, **words)
                finally:
                    reading.symmetrised = True
        return NotImplemented if others is None else others(x, *args, **words)

    op.forms = read


def hermitian_part(x: Any) -> Any:
    """The mean of a matrix, or of each of a stack of them, and its conjugate transpose."""
    flipped = np.swapaxes(x, -1, -2)
    return (x + (np.conj(flipped) if flipped.dtype.kind == "c" else flipped)) / 2


def _is_hermitian(x: Any) -> bool:
    a = np.asarray(getattr(x, "_value", x))
    off = np.abs(a - np.conj(np.swapaxes(a, -1, -2)))
    eps = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0.0
    return not np.any(off > 100 * eps * np.max(np.abs(a), initial=0.0))


@contextlib.contextmanager
def noting_hermitian() -> Iterator[list[tuple[str, bool]]]:
    """Note in a block, in which Tensors are computed with, which such ops run, and whether they are given what they expect."""
    before, _READING.noted = _READING.noted, []
    try:
        yield _READING.noted
    finally:
        _READING.noted = before


@contextlib.contextmanager
def symmetrising(wanted: bool = True) -> Iterator[None]:
    """Give such ops, in a block in which Tensors are computed with, the Hermitian part of what they are given."""
    before, _READING.symmetrised = _READING.symmetrised, wanted
    try:
        yield
    finally:
        _READING.symmetrised = before
