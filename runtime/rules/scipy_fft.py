"""scipy.fft: Fourier, cosine, sine and Hankel transforms, each the transpose of another one.

Those of Fourier go back as NumPy's do (`fft.py`). Of cosines and sines the second and third type are each other's transpose
and the first and fourth their own, but for the end points, which count once or twice by `orthogonalize=`: the definitions
are those of SciPy's documentation. The logarithmic Hankel transform (A. J. S. Hamilton, "Uncorrelated modes of the
non-linear power spectrum", Mon. Not. R. Astron. Soc. 312, 2000, appendix B) is a correlation in the logarithm, and so its own
transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import fft

from ...unpatched import np
from ..batching import BatchedCall, along_axis, shifted
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, primitive, rule
from .fft import batched_axes, batched_shift, batched_spacing, fitted, mirrored, over, spacing_back
from .scipy_functions import of_scipy

Function = Callable[..., Any]
linear = Kind.linear

_REST = "overwrite_x=False, workers=None, *, plan=None"

for _frequencies in (fft.fftfreq, fft.rfftfreq):
    of_scipy("scipy.fft", _frequencies, "n, d=1.0, xp=None, device=None", Kind.creation)
    rule(_frequencies, n=None, d=lambda g, out, d: spacing_back(g, out, d))
    batching(_frequencies)(batched_spacing)

fftshift = of_scipy("scipy.fft", fft.fftshift, "x, axes=None", linear, memory=NEW)
ifftshift = of_scipy("scipy.fft", fft.ifftshift, "x, axes=None", linear, memory=NEW)
rule(fft.fftshift, x=lambda g, axes: ifftshift(g, axes))
rule(fft.ifftshift, x=lambda g, axes: fftshift(g, axes))
batching(fft.fftshift, fft.ifftshift)(batched_shift)


# Fourier transforms along one axis.


def _along_one(fn: Function) -> Function:
    signature = "x, n=None, axis=-1, norm=None"
    made = of_scipy(
        "scipy.fft", fn, f"{signature}, workers=None", linear, whole=f"{signature}, {_REST}", memory=NEW
    )  # fmt: skip
    batching(fn)(along_axis)
    return made


fft1, ifft1, rfft, irfft, hfft, ihfft = map(_along_one, (fft.fft, fft.ifft, fft.rfft, fft.irfft, fft.hfft, fft.ihfft))


def _whole(fn: Function, same: Function) -> None:
    """Whole spectra: the same transform of the cotangent."""
    rule(
        fn,
        x=lambda g, x_shape, axis, norm, workers: fitted(same(g, None, axis, norm, workers=workers), x_shape, (axis,)),
    )


def _halved(fn: Function, whole: Function) -> None:
    """Half a spectrum of real points: the frequencies left out had no cotangent."""
    rule(
        fn,
        x=lambda g, x_shape, n, axis, norm, workers: fitted(
            np.real(whole(g, x_shape[axis] if n is None else n, axis, norm, workers=workers)), x_shape, (axis,)
        ),
    )


def _both(fn: Function, half: Function) -> None:
    """Real points of half a spectrum: each frequency answers for its mirror image."""
    rule(
        fn,
        x=lambda g, x_shape, axis, norm, workers: fitted(
            mirrored(half(g, None, axis, norm, workers=workers), np.shape(g)[axis], axis), x_shape, (axis,)
        ),
    )


_whole(fft.fft, fft1)
_whole(fft.ifft, ifft1)
_halved(fft.rfft, fft1)
_halved(fft.ihfft, ifft1)
_both(fft.irfft, ihfft)
_both(fft.hfft, rfft)


# Along several axes: of half a spectrum the last one is halved, and the others are whole.


def _along_several(fn: Function, two: bool, memory: Any = NEW) -> Function:
    signature = f"x, s=None, axes={'(-2, -1)' if two else None}, norm=None"
    made = of_scipy(
        "scipy.fft", fn, f"{signature}, workers=None", linear, whole=f"{signature}, {_REST}", memory=memory
    )  # fmt: skip
    batching(fn)(batched_axes)
    return made


fft2, ifft2, _, _, _, _ = (
    _along_several(f, True, memory)
    for f, memory in (
        (fft.fft2, MAY), (fft.ifft2, MAY), (fft.rfft2, NEW), (fft.irfft2, NEW), (fft.hfft2, NEW), (fft.ihfft2, NEW),
    )
)  # fmt: skip
fftn, ifftn, _, _, _, _ = (
    _along_several(f, False, memory)
    for f, memory in (
        (fft.fftn, MAY), (fft.ifftn, MAY), (fft.rfftn, NEW), (fft.irfftn, NEW), (fft.hfftn, NEW), (fft.ihfftn, NEW),
    )
)  # fmt: skip


def whole_back(same: Function, g: Any, x_shape: Any, s: Any, axes: Any, norm: Any, workers: Any) -> Any:
    """The cotangent of whole spectra."""
    axes = over(x_shape, s, axes)
    return fitted(same(g, None, axes, norm, workers=workers), x_shape, axes)


def halved_back(whole: Function, g: Any, x_shape: Any, s: Any, axes: Any, norm: Any, workers: Any) -> Any:
    """The cotangent of real points of which half a spectrum was taken."""
    axes = over(x_shape, s, axes)
    last = x_shape[axes[-1]] if s is None else s[-1]
    lengths = (*[np.shape(g)[a] for a in axes[:-1]], last)
    return fitted(np.real(whole(g, lengths, axes, norm, workers=workers)), x_shape, axes)


def both_back(
    half: Function, others: Function, g: Any, x_shape: Any, s: Any, axes: Any, norm: Any, workers: Any
) -> Any:
    """The cotangent of half a spectrum that gave real points."""
    axes = over(x_shape, s, axes)
    last = axes[-1]
    found = mirrored(half(g, None, last, norm, workers=workers), np.shape(g)[last], last)
    return fitted(others(found, None, axes[:-1], norm, workers=workers) if axes[:-1] else found, x_shape, axes)


def _of_several(fn: Function, back: Function, *through: Function) -> None:
    rule(fn, x=lambda g, x_shape, s, axes, norm, workers: back(*through, g, x_shape, s, axes, norm, workers))


for _fn in (fft.fft2, fft.fftn):
    _of_several(_fn, whole_back, fftn)
for _fn in (fft.ifft2, fft.ifftn):
    _of_several(_fn, whole_back, ifftn)
for _fn in (fft.rfft2, fft.rfftn):
    _of_several(_fn, halved_back, fftn)
for _fn in (fft.ihfft2, fft.ihfftn):
    _of_several(_fn, halved_back, ifftn)
for _fn in (fft.irfft2, fft.irfftn):
    _of_several(_fn, both_back, ihfft, ifftn)
for _fn in (fft.hfft2, fft.hfftn):
    _of_several(_fn, both_back, rfft, fftn)


# Cosines and sines.


@primitive("x, axis, step, factor", linear)
def ends_scaled(x: Any, axis: Any, step: Any, factor: Any) -> Any:
    """`x` with its first and last element along an axis times `factor` (`step` 0), with the first (1), or the last (-1)."""
    out = x * 1.0
    ends = np.moveaxis(out, axis, 0)
    ends[(slice(-1, None), slice(None, None, max(len(ends) - 1, 1)), slice(1))[step + 1]] *= factor
    return out


rule(ends_scaled, x=lambda g, axis, step, factor: ends_scaled(g, axis, step, factor))


@batching(ends_scaled)
def batched_ends(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") else NotImplemented


_TRANSPOSE = {1: 1, 2: 3, 3: 2, 4: 4}


def cosines_back(
    back: Function, sine: bool, g: Any, x_shape: Any, type: int, kind: int, axes: Any, norm: Any, workers: Any,
    orthogonalize: Any,
) -> Any:  # fmt: skip
    """The cotangent of cosine or sine transforms along `axes`, which are of a `kind` up to a factor: that of the other type."""
    usual = norm == "ortho"
    if g.dtype.kind == "c" and orthogonalize is not None and bool(orthogonalize) is not usual:
        raise NotImplementedError(
            "SciPy ignores `orthogonalize` of complex numbers, so that there is no gradient of it: transform real(x) and imag(x)"
        )
    orthogonal = usual if orthogonalize is None else orthogonalize
    step = -1 if sine else 1
    for axis in axes if not orthogonal else ():
        if kind == 2:
            g = ends_scaled(g, axis, step, 2)
        elif kind == 1 and not sine:
            g = ends_scaled(g, axis, 0, 2)
    found = back(g, _TRANSPOSE[type], None, axes, norm, workers=workers, orthogonalize=orthogonalize)
    for axis in axes if not orthogonal else ():
        if kind == 3:
            found = ends_scaled(found, axis, step, 0.5)
        elif kind == 1 and not sine:
            found = ends_scaled(found, axis, 0, 0.5)
    return fitted(found, x_shape, axes)


def _of_cosines(one: Function, several: Function, sine: bool, inverse: bool = False) -> None:
    kind = _TRANSPOSE.__getitem__ if inverse else int  # the inverse of one type is a multiple of the other

    for fn, lengths, axes in ((one, "n", "axis=-1"), (several, "s", "axes=None")):
        made = of_scipy(
            "scipy.fft", fn, f"x, type=2, {lengths}=None, {axes}, norm=None, workers=None, orthogonalize=None", linear,
            whole=f"x, type=2, {lengths}=None, {axes}, norm=None, overwrite_x=False, workers=None, orthogonalize=None",
            memory=NEW if fn is one else MAY,
        )  # fmt: skip
    batching(one)(along_axis)
    batching(several)(batched_axes)
    rule(
        one,
        x=lambda g, x_shape, type, axis, norm, workers, orthogonalize: cosines_back(
            made, sine, g, x_shape, type, kind(type), (axis,), norm, workers, orthogonalize
        ),
    )
    rule(
        several,
        x=lambda g, x_shape, type, s, axes, norm, workers, orthogonalize: cosines_back(
            made, sine, g, x_shape, type, kind(type), over(x_shape, s, axes), norm, workers, orthogonalize
        ),
    )


_of_cosines(fft.dct, fft.dctn, sine=False)
_of_cosines(fft.idct, fft.idctn, sine=False, inverse=True)
_of_cosines(fft.dst, fft.dstn, sine=True)
_of_cosines(fft.idst, fft.idstn, sine=True, inverse=True)


# The logarithmic Hankel transform, along the last axis.

fht = of_scipy("scipy.fft", fft.fht, "a, dln, mu, offset=0.0, bias=0.0", linear, memory=NEW)
ifht = of_scipy("scipy.fft", fft.ifht, "A, dln, mu, offset=0.0, bias=0.0", linear, memory=NEW)
rule(fft.fht, a=lambda g, dln, mu, offset, bias: fht(g, dln, mu, offset, bias))
rule(fft.ifht, A=lambda g, dln, mu, offset, bias: ifht(g, dln, mu, offset, bias))


@batching(fft.fht, fft.ifht)
def batched_hankel(call: BatchedCall) -> Any:
    """As it is, along the last axis."""
    name = call.op.params[0].name
    return call.run() if call.only(name) and call.ndim(name) else NotImplemented
