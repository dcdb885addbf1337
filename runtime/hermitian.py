"""Hermitian arguments of ops: their gradients are symmetrised, so that finite differences must move them symmetrically."""

from __future__ import annotations

import contextlib
from _thread import _local  # threading.local: the rest of threading is slow to import
from collections.abc import Callable, Iterator
from typing import Any

from ..unpatched import np
from .registry import require

__all__ = ["hermitian_part", "noting_hermitian", "symmetrising", "takes_hermitian"]


class _Reading(_local):
    """The thread's answer to matrices that such ops get: record them, symmetrise them, or nothing."""

    noted: list[tuple[str, bool]] | None = None  # who notes them: the op, and whether the matrix is Hermitian
    symmetrised = False  # the op is given the Hermitian part


_READING = _Reading()


def takes_hermitian(
    fn: Callable[..., Any],
    when: Callable[..., bool] = lambda *args, **words: True,
    upper: Callable[..., bool] = lambda *args, **words: False,
) -> None:
    """State that an op takes its first argument for Hermitian (`when` its arguments say so), and symmetrises its gradient.

    Such an op reads one triangle (the `upper` one, where its arguments say so), so that its plain finite differences know
    nothing of the other one. A matrix of which the other triangle holds something else is mirrored before: its gradient is
    that of the triangle that is read, and zero in the other one.
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
        if hasattr(x, "_value") and when(x, *args, **words) and not _is_hermitian(x):
            return fn(_mirrored(x, upper(x, *args, **words)), *args, **words)
        return NotImplemented if others is None else others(x, *args, **words)

    op.forms = read


def hermitian_part(x: Any) -> Any:
    """The mean of a matrix, or of each of a stack of them, and its conjugate transpose."""
    flipped = np.swapaxes(x, -1, -2)
    return (x + (np.conj(flipped) if flipped.dtype.kind == "c" else flipped)) / 2


def _mirrored(x: Any, upper: bool) -> Any:
    """A Hermitian matrix, or each of a stack of them, of which one triangle is given."""
    strict = np.triu(x, 1) if upper else np.tril(x, -1)
    flipped = np.swapaxes(strict, -1, -2)
    if x.dtype.kind != "c":
        return (np.triu(x) if upper else np.tril(x)) + flipped
    return strict + np.conj(flipped) + np.real(np.triu(np.tril(x)))


def _is_hermitian(x: Any) -> bool:
    a = np.asarray(getattr(x, "_value", x))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or (a.dtype.kind != "c" and (a == np.swapaxes(a, -1, -2)).all()):
        return True  # as most often; or NumPy's own error follows
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
