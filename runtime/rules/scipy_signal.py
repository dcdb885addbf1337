"""scipy.signal.convolve: along any axes, with products over others summed, as one op whose transposes are itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import signal

from ..ops import Kind
from ..registry import composed, primitive, rule
from ..result_types import RUN
from ..unpatched import np

__all__ = ["convolve"]


@primitive("x, y", Kind.bilinear, types=RUN)
def convolved(x: Any, y: Any) -> Any:
    """Where `y` lies wholly within `x`: (rows, sums, *many) with (sums, columns, *few) to (rows, columns, *places)."""
    return np.moveaxis(
        np.tensordot(
            np.lib.stride_tricks.sliding_window_view(x, y.shape[2:], tuple(range(2, x.ndim))),
            np.flip(y, tuple(range(2, y.ndim))),
            ((1, *range(x.ndim, 2 * x.ndim - 2)), (0, *range(2, y.ndim))),
        ),
        -1,
        1,
    )


def _spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, np.ndim(x)))


def _padded(g: Any, y_shape: Any) -> Any:
    """With as many zeros on each side as `y` can stand over."""
    return np.pad(g, ((0, 0), (0, 0), *[(n - 1, n - 1) for n in y_shape[2:]]))


rule(
    convolved,
    x=lambda g, y, y_shape: convolved(_padded(g, y_shape), np.flip(np.swapaxes(y, 0, 1), _spatial(y))),
    y=lambda g, x: np.flip(convolved(np.swapaxes(x, 0, 1), np.flip(g, _spatial(g))), _spatial(g)),
)


def _product(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=int))


def convolve(
    x: Any, y: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full", method: str = "auto"
) -> Any:
    """The convolution of two arrays along `axes`, a list for each (all by default), summed over the pairs `dot_axes`.

    The result has the other axes of `x`, the other axes of `y`, then those convolved: of length `n + m - 1`
    (`mode="full"`), of `x`'s length (`"same"`), or where one lies wholly within the other (`"valid"`).
    Raises ValueError where lists of axes differ in length, or neither array lies within the other.

    >>> import numpy as np
    >>> from gradscribe.runtime.rules.scipy_signal import convolve
    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
    array([ 1., 12., 23., 30.])
    """
    if isinstance(axes, str):  # scipy's third argument
        axes, mode = None, axes
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full', not {mode!r}")
    along = (tuple(range(np.ndim(x))), tuple(range(np.ndim(y)))) if axes is None else axes
    (x_along, x_dot), (y_along, y_dot) = [
        tuple([tuple([k % np.ndim(z) for k in given[j]]) for given in (along, dot_axes)]) for j, z in enumerate((x, y))
    ]
    if len(x_along) != len(y_along) or len(x_dot) != len(y_dot):
        raise ValueError(f"convolve takes as many axes of one array as of the other, but got {axes} and {dot_axes}")
    x_rest = tuple([k for k in range(np.ndim(x)) if k not in (*x_along, *x_dot)])
    y_rest = tuple([k for k in range(np.ndim(y)) if k not in (*y_along, *y_dot)])
    rows, columns = [tuple([np.shape(z)[k] for k in rest]) for z, rest in ((x, x_rest), (y, y_rest))]
    many, few = [tuple([np.shape(z)[k] for k in ks]) for z, ks in ((x, x_along), (y, y_along))]
    sums = _product([np.shape(x)[k] for k in x_dot])
    wide = np.reshape(np.transpose(x, (*x_rest, *x_dot, *x_along)), (_product(rows), sums, *many))
    slim = np.reshape(np.transpose(y, (*y_dot, *y_rest, *y_along)), (sums, _product(columns), *few))
    pads: list[tuple[int, int]] = [(n - 1, n - 1) for n in few]
    if mode == "same":
        pads = [((n - 1) - (n - 1) // 2, (n - 1) // 2) for n in few]
    if mode == "valid":
        if all(n < m for n, m in zip(many, few, strict=True)):  # the other way round
            found = np.swapaxes(convolved(np.swapaxes(slim, 0, 1), np.swapaxes(wide, 0, 1)), 0, 1)
            return np.reshape(found, (*rows, *columns, *np.shape(found)[2:]))
        if any(n < m for n, m in zip(many, few, strict=True)):
            raise ValueError(
                f"for 'valid' mode, one must be at least as large as the other in every dimension: {many} and {few}"
            )
        pads = [(0, 0) for _ in few]
    if any(p != (0, 0) for p in pads):
        wide = np.pad(wide, ((0, 0), (0, 0), *pads))
    found = convolved(wide, slim)
    return np.reshape(found, (*rows, *columns, *np.shape(found)[2:]))


@composed(signal.convolve)
def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return convolve(in1, in2, mode=mode)
