"""scipy.signal's convolutions, and autograd's: along any axes, with products over others summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scipy import signal

from ...unpatched import np
from ..batching import BatchedCall, shifted
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, composed, primitive, rule
from ..result_types import RUN
from .contraction import conj
from .scipy_functions import arrays, of_scipy

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


# SciPy's own, each along all axes but fftconvolve and oaconvolve: the cotangent of one array is the convolution of the result's
# with the other array reversed, of the places where that lies wholly within it.


def _whole(g: Any, x_shape: Any, y_shape: Any, axes: Any) -> Any:
    """The cotangent of the full convolution, of which a mode has kept the middle, also of axes that were broadcast."""
    pairs = []
    for axis, (n, m, kept) in enumerate(zip(x_shape, y_shape, np.shape(g), strict=True)):
        missing = (n + m - 1 if axis in axes else max(n, m)) - kept
        pairs.append((missing // 2, missing - missing // 2))
    return np.pad(g, pairs) if any(p != (0, 0) for p in pairs) else g


def _fitting(found: Any, shape: Any) -> Any:
    """A cotangent summed over the axes that were of length 1."""
    spread = tuple([k for k, n in enumerate(shape) if n == 1 != np.shape(found)[k]])
    return np.sum(found, axis=spread, keepdims=True) if spread else found


def _along(axes: Any, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))
    return tuple([a % ndim for a in ((axes,) if isinstance(axes, int) else axes)])


def by_transforms(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Register a convolution by Fourier transforms, along some axes, the others being broadcast."""
    made = of_scipy("scipy.signal", fn, "in1, in2, mode='full', axes=None", Kind.bilinear, memory=NEW, types=RUN)

    def back(g: Any, other: Any, own_shape: Any, other_shape: Any, in1_shape: Any, in2_shape: Any, axes: Any) -> Any:
        along = _along(axes, len(own_shape))
        if not along:
            return _fitting(g * other, own_shape)
        found = made(_whole(g, in1_shape, in2_shape, along), np.flip(other, along), mode="valid", axes=along)
        return _fitting(found, own_shape)

    rule(
        fn,
        in1=lambda g, in2, in1_shape, in2_shape, axes: back(g, in2, in1_shape, in2_shape, in1_shape, in2_shape, axes),
        in2=lambda g, in1, in1_shape, in2_shape, axes: back(g, in1, in2_shape, in1_shape, in1_shape, in2_shape, axes),
    )
    return made


fftconvolve, oaconvolve = by_transforms(signal.fftconvolve), by_transforms(signal.oaconvolve)


@batching(signal.fftconvolve, signal.oaconvolve)
def batched_transforms(call: BatchedCall) -> Any:
    """Along axes that are one further back; what is not mapped is broadcast over the batch."""
    ndim = call.ndim("in1")
    if not call.only("in1", "in2") or not ndim or (call["mode"] == "same" and not call.is_mapped("in1")):
        return NotImplemented  # that mode gives as many examples as the first array has
    changes = {name: call[name] if call.is_mapped(name) else call[name][None] for name in ("in1", "in2")}
    return call.run(axes=shifted(_along(call["axes"], ndim), ndim), **changes)


convolve_all = of_scipy(
    "scipy.signal", signal.convolve, "in1, in2, mode='full', method='auto'", Kind.bilinear, memory=NEW, types=RUN
)  # fmt: skip


def _convolved_back(g: Any, other: Any, in1_shape: Any, in2_shape: Any, method: Any) -> Any:
    if not in1_shape:
        return g * other
    return convolve_all(_whole(g, in1_shape, in2_shape, range(np.ndim(g))), np.flip(other), mode="valid", method=method)


rule(
    signal.convolve,
    in1=lambda g, in2, in1_shape, in2_shape, method: _convolved_back(g, in2, in1_shape, in2_shape, method),
    in2=lambda g, in1, in1_shape, in2_shape, method: _convolved_back(g, in1, in1_shape, in2_shape, method),
)

correlate = of_scipy(
    "scipy.signal", signal.correlate, "in1, in2, mode='full', method='auto'", Kind.bilinear, memory=NEW, types=RUN
)  # fmt: skip
rule(
    signal.correlate,
    in1=lambda g, in2, in1_shape, in2_shape, method: _convolved_back(
        g, np.flip(conj(in2)), in1_shape, in2_shape, method
    ),
    in2=lambda g, in1, in1_shape, in2_shape, method: conj(
        np.flip(_convolved_back(g, in1, in1_shape, in2_shape, method))
    ),
)

convolve_planes = of_scipy(
    "scipy.signal", signal.convolve2d, "in1, in2, mode='full'", Kind.bilinear, memory=NEW, types=RUN
)  # fmt: skip
rule(
    signal.convolve2d,
    in1=lambda g, in2, in1_shape, in2_shape: convolve_planes(
        _whole(g, in1_shape, in2_shape, (0, 1)), np.flip(in2), mode="valid"
    ),
    in2=lambda g, in1, in1_shape, in2_shape: convolve_planes(
        _whole(g, in1_shape, in2_shape, (0, 1)), np.flip(in1), mode="valid"
    ),
)


_BORDERS: dict[str, Any] = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def planes(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, turned: bool = False) -> Any:
    """The convolution of two images under a border; of a second one that was turned around "same" begins one later."""
    plain = boundary == "fill" and isinstance(fillvalue, (int, float)) and fillvalue == 0
    if mode == "valid" or (plain and (mode == "full" or not turned)):
        return convolve_planes(in1, in2, mode=mode)
    words: Any = {"constant_values": fillvalue} if boundary == "fill" else {}
    pads = [(n - 1, n - 1) for n in np.shape(in2)]
    wide = np.pad(in1, pads, _BORDERS[boundary], **words)
    found = convolve_planes(wide, in2, mode="valid")
    if mode == "same":
        starts = [m // 2 if turned else (m - 1) // 2 for m in np.shape(in2)]
        found = found[tuple([slice(k, k + n) for k, n in zip(starts, np.shape(in1), strict=True)])]
    return found


@composed(signal.convolve2d)
def _convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    in1, in2 = arrays(in1, in2)
    return planes(in1, in2, mode, boundary, fillvalue)


@composed(signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution with the second image turned around."""
    in1, in2 = arrays(in1, in2)
    if mode == "valid" and any(m > n for n, m in zip(np.shape(in1), np.shape(in2), strict=True)):
        return planes(in2, np.conj(in1)[::-1, ::-1], mode, boundary, fillvalue)[::-1, ::-1]
    return planes(in1, np.conj(in2)[::-1, ::-1], mode, boundary, fillvalue, turned=True)
