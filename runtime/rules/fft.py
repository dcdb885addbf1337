"""Fourier transforms, each the transpose of another one; registered when somebody has imported numpy.fft.

Where a length differs from the axis it is cut or filled with zeros, and so is the cotangent, the other way round. A
transform that gives or takes half a spectrum stands for the whole: the frequencies between the first and the middle one
count twice. Formulas: W. L. Briggs and V. E. Henson, The DFT (1995), chapters 2 and 4.
"""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, along_axis, shifted
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, op, primitive, rule, takes_out
from .places import place_of
from .shaping import along, around

linear = Kind.linear

_ONE = "x, n=None, axis=-1, norm=None"
_TWO = "x, s=None, axes=(-2, -1), norm=None"
_MANY = "x, s=None, axes=None, norm=None"

for _frequencies in (np.fft.fftfreq, np.fft.rfftfreq):
    op(_frequencies, "n, d=1.0, device=None", Kind.creation)
    rule(_frequencies, n=None, d=lambda g, out, d: spacing_back(g, out, d))


def spacing_back(g: Any, out: Any, d: Any) -> Any:
    """The cotangent of the spacing `d` of points, of whose frequencies each is inversely proportional to it."""
    return -np.sum(g * out) / d


def batched_spacing(call: BatchedCall) -> Any:
    """The frequencies of unit spacing, over each spacing."""
    return call.run(d=1.0) / np.expand_dims(call["d"], 1) if call.only("d") else NotImplemented


batching(np.fft.fftfreq, np.fft.rfftfreq)(batched_spacing)


op(np.fft.fftshift, "x, axes=None", linear, memory=NEW)
rule(np.fft.fftshift, x=lambda g, axes: np.fft.ifftshift(g, axes))

op(np.fft.ifftshift, "x, axes=None", linear, memory=NEW)
rule(np.fft.ifftshift, x=lambda g, axes: np.fft.fftshift(g, axes))


@batching(np.fft.fftshift, np.fft.ifftshift)
def batched_shift(call: BatchedCall) -> Any:
    """Along axes that are one further back."""
    axes = call["axes"]
    axes = tuple(range(call.ndim("x"))) if axes is None else axes
    return call.run(axes=shifted(axes, call.ndim("x")))


def fitted(x: Any, shape: Any, axes: Any) -> Any:
    """`x` cut, or filled with zeros, to the lengths of `shape` along `axes`."""
    for axis in axes:
        length, wanted = np.shape(x)[axis], shape[axis]
        if length > wanted:
            x = x[along(axis, slice(wanted))]
        elif length < wanted:
            x = np.pad(x, around((0, wanted - length), axis % len(shape), len(shape)))
    return x


@primitive("x, index", linear)
def doubled(x: Any, index: Any) -> Any:
    """Twice `x`, but for the piece at `index`."""
    out = 2 * x
    out[index] /= 2
    return out


rule(doubled, x=lambda g, index: doubled(g, index))


@batching(doubled)
def batched_doubled(call: BatchedCall) -> Any:
    """Twice `x`, but for the piece at the index."""
    found = place_of(call, call.ndim("x"), array_mapped=True)
    return call.run(index=found.index) if found is not None and call.only("x") else NotImplemented


def mirrored(x: Any, n: Any, axis: int) -> Any:
    """Half a spectrum of `n` points with twice each frequency that stands for two."""
    ends = slice(1) if n % 2 else slice(None, None, max(n // 2, 1))
    return doubled(x, along(axis, ends))


# One axis.

op(np.fft.fft, _ONE, linear, memory=NEW)
rule(np.fft.fft, x=lambda g, x_shape, axis, norm: fitted(np.fft.fft(g, None, axis, norm), x_shape, (axis,)))

op(np.fft.ifft, _ONE, linear, memory=NEW)
rule(np.fft.ifft, x=lambda g, x_shape, axis, norm: fitted(np.fft.ifft(g, None, axis, norm), x_shape, (axis,)))

op(np.fft.rfft, _ONE, linear, memory=NEW)
rule(np.fft.rfft, x=lambda g, x_shape, n, axis, norm: halved(np.fft.fft, g, x_shape, n, axis, norm))

op(np.fft.ihfft, _ONE, linear, memory=NEW)
rule(np.fft.ihfft, x=lambda g, x_shape, n, axis, norm: halved(np.fft.ifft, g, x_shape, n, axis, norm))


def halved(whole: Any, g: Any, x_shape: Any, n: Any, axis: int, norm: Any) -> Any:
    """The cotangent of real points of which half a spectrum was taken: the frequencies left out had none."""
    n = x_shape[axis] if n is None else n
    return fitted(np.real(whole(g, n, axis, norm)), x_shape, (axis,))


op(np.fft.irfft, _ONE, linear, memory=NEW)
rule(np.fft.irfft, x=lambda g, x_shape, axis, norm: both(np.fft.ihfft, g, x_shape, axis, norm))

op(np.fft.hfft, _ONE, linear, memory=NEW)
rule(np.fft.hfft, x=lambda g, x_shape, axis, norm: both(np.fft.rfft, g, x_shape, axis, norm))
_ALONG_ONE = (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
takes_out("a n axis norm out", *_ALONG_ONE)
batching(*_ALONG_ONE)(along_axis)


def both(half: Any, g: Any, x_shape: Any, axis: int, norm: Any) -> Any:
    """The cotangent of half a spectrum that gave real points: each frequency answers for its mirror image."""
    return fitted(mirrored(half(g, None, axis, norm), np.shape(g)[axis], axis), x_shape, (axis,))


# Several axes.

for _forward, _inverse, _signature in ((np.fft.fft2, np.fft.ifft2, _TWO), (np.fft.fftn, np.fft.ifftn, _MANY)):
    op(_forward, _signature, linear, memory=MAY)  # along no axes NumPy gives back `x` itself
    rule(_forward, x=lambda g, x_shape, s, axes, norm: whole_back(np.fft.fftn, g, x_shape, s, axes, norm))
    op(_inverse, _signature, linear, memory=MAY)
    rule(_inverse, x=lambda g, x_shape, s, axes, norm: whole_back(np.fft.ifftn, g, x_shape, s, axes, norm))


def over(x_shape: Any, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes of a transform: those named, else the last ones that `s` has lengths for, else all."""
    return tuple(range(-len(x_shape if s is None else s), 0)) if axes is None else tuple(axes)


def whole_back(transform: Any, g: Any, x_shape: Any, s: Any, axes: Any, norm: Any) -> Any:
    """The cotangent under a transform of whole spectra: the same transform."""
    axes = over(x_shape, s, axes)
    return fitted(transform(g, None, axes, norm), x_shape, axes)


for _real, _signature in ((np.fft.rfft2, _TWO), (np.fft.rfftn, _MANY)):
    op(_real, _signature, linear, memory=NEW)
    rule(_real, x=lambda g, x_shape, s, axes, norm: real_back(g, x_shape, s, axes, norm))


def real_back(g: Any, x_shape: Any, s: Any, axes: Any, norm: Any) -> Any:
    """The cotangent under np.fft.rfftn: along its last axis that of np.fft.rfft, along the others that of np.fft.fft."""
    axes = over(x_shape, s, axes)
    n = x_shape[axes[-1]] if s is None or s[-1] == -1 else s[-1]
    lengths = [*[np.shape(g)[a] for a in axes[:-1]], n]
    return fitted(np.real(np.fft.fftn(g, lengths, axes, norm)), x_shape, axes)


for _points, _signature in ((np.fft.irfft2, _TWO), (np.fft.irfftn, _MANY)):
    op(_points, _signature, linear, memory=NEW)
    rule(_points, x=lambda g, x_shape, s, axes, norm: points_back(g, x_shape, s, axes, norm))


def points_back(g: Any, x_shape: Any, s: Any, axes: Any, norm: Any) -> Any:
    """The cotangent under np.fft.irfftn: along its last axis that of np.fft.irfft, along the others that of np.fft.ifft."""
    axes = over(x_shape, s, axes)
    last = axes[-1]
    half = mirrored(np.fft.ihfft(g, None, last, norm), np.shape(g)[last], last)
    return fitted(np.fft.ifftn(half, None, axes[:-1], norm) if axes[:-1] else half, x_shape, axes)


_ALONG_SEVERAL = (
    np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn,
)
takes_out("a s axes norm out", *_ALONG_SEVERAL)


@batching(*_ALONG_SEVERAL)
def batched_axes(call: BatchedCall) -> Any:
    """Along axes that are one further back: those named, else the last ones that `s` has lengths for, else all."""
    ndim, axes = call.ndim("x"), call["axes"]
    if not call.only("x") or not ndim:
        return NotImplemented
    if axes is None:
        axes = tuple(range(-len(call["s"] or range(ndim)), 0))
    return call.run(axes=shifted(tuple(axes), ndim))
