"""scipy.ndimage's linear filters: a correlation with a border, and what is made of it.

The transpose of a correlation is the full convolution, of which what falls on the border is added where the border was copied
from. SciPy's modes are np.pad's under other names.
"""

from __future__ import annotations

from typing import Any

from scipy import ndimage

from ...unpatched import np
from ..batching import BatchedCall, shifted
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, composed, rule
from ..result_types import RUN
from .scipy_functions import arrays, made, of_scipy, refused
from .scipy_signal import convolved
from .shaping import along, around, fold_pad
from .support import decided, is_traced

_PADS: dict[str, Any] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def _bordered(x: Any, pairs: Any, mode: str, cval: Any) -> Any:
    """An array with the border that a mode gives it."""
    words: Any = {"constant_values": cval} if _PADS[mode] == "constant" and cval != 0 else {}
    return np.pad(x, pairs, _PADS[mode], **words)


def _folded(g: Any, pair: tuple[int, int], axis: int, mode: str, n: int) -> Any:
    """The cotangent of an array of length `n` along an axis, from that with its border."""
    if _PADS[mode] == "constant":
        return g[along(axis, slice(pair[0], pair[0] + n))]
    shape = list(np.shape(g))
    shape[axis] = n
    return fold_pad(g, tuple(around(pair, axis, len(shape))), _PADS[mode], tuple(shape), g.dtype)


# Along one axis.

line = of_scipy(
    "scipy.ndimage", ndimage.correlate1d, "input, weights, axis=-1, output=None, mode='reflect', cval=0.0, origin=0",
    Kind.bilinear, memory=NEW, types=RUN,
)  # fmt: skip


def line_back(g: Any, weights: Any, axis: int, mode: str, left: int) -> Any:
    """The cotangent under a correlation whose first weight stands `left` places before its result."""
    axis %= np.ndim(g)
    m, n = np.shape(weights)[0], np.shape(g)[axis]
    wide = np.pad(g, around((m - 1, m - 1), axis, np.ndim(g)))
    full = line(wide, np.flip(weights), axis=axis, mode="constant")[along(axis, slice(m // 2, m // 2 + n + m - 1))]
    return _folded(full, (left, m - 1 - left), axis, mode, n)


def _weights_back(g: Any, input: Any, weights_shape: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    m, axis = weights_shape[0], axis % np.ndim(g)
    left = m // 2 + origin
    wide = _bordered(input, around((left, m - 1 - left), axis, np.ndim(g)), mode, cval)
    rows = int(np.prod(np.shape(g), dtype=int)) // max(np.shape(g)[axis], 1)
    wide, g = np.moveaxis(wide, axis, -1), np.moveaxis(g, axis, -1)
    return convolved(np.reshape(wide, (1, rows, -1)), np.reshape(np.flip(g, -1), (rows, 1, -1)))[0, 0]


rule(
    ndimage.correlate1d,
    input=lambda g, weights, weights_shape, axis, mode, origin: line_back(
        g, weights, axis, mode, weights_shape[0] // 2 + origin
    ),
    weights=lambda g, input, weights_shape, axis, mode, cval, origin: _weights_back(
        g, input, weights_shape, axis, mode, cval, origin
    ),
)


@batching(ndimage.correlate1d)
def batched_line(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    if not call.only("input") or not call.ndim("input"):
        return NotImplemented
    return call.run(axis=shifted(call["axis"], call.ndim("input")))


def _checked(name: str, output: Any, **others: Any) -> None:
    """Raise where a filter is to write into an array, or asked for what has no rule."""
    if output is not None:
        raise refused(f"ndimage.{name}", "`output=`", "use what it returns")
    for option, value in others.items():
        if value is not None:
            raise refused(f"ndimage.{name}", f"`{option}=`", "filter along one axis after the other, by correlate1d")


@composed(ndimage.correlate1d)
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """A correlation along one axis."""
    _checked("correlate1d", output)
    input, weights = arrays(input, weights)
    return line(input, weights, axis=axis, mode=mode, cval=cval, origin=origin)


@composed(ndimage.convolve1d)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """A convolution along one axis: the correlation with the weights reversed."""
    _checked("convolve1d", output)
    input, weights = arrays(input, weights)
    return line(
        input, np.flip(weights), axis=axis, mode=mode, cval=cval, origin=-origin - (np.shape(weights)[0] % 2 == 0)
    )  # fmt: skip


# Along all axes.

box = of_scipy(
    "scipy.ndimage", ndimage.correlate, "input, weights, output=None, mode='reflect', cval=0.0, origin=0",
    Kind.bilinear, memory=NEW, types=RUN,
)  # fmt: skip


def _borders(shape: Any, origin: Any) -> list[tuple[int, int]]:
    """How far weights reach over the ends along each axis."""
    origins = origin if isinstance(origin, (tuple, list)) else [origin] * len(shape)
    return [(m // 2 + o, m - 1 - m // 2 - o) for m, o in zip(shape, origins, strict=True)]


def _box_back(g: Any, weights: Any, mode: str, origin: Any) -> Any:
    shape, lengths = np.shape(weights), np.shape(g)
    full = box(np.pad(g, [(m - 1, m - 1) for m in shape]), np.flip(weights), mode="constant")
    full = full[tuple([slice(m // 2, m // 2 + n + m - 1) for m, n in zip(shape, lengths, strict=True)])]
    for axis, pair in enumerate(_borders(shape, origin)):
        full = _folded(full, pair, axis, mode, lengths[axis])
    return full


def _box_weights_back(g: Any, input: Any, weights_shape: Any, mode: str, cval: Any, origin: Any) -> Any:
    wide = _bordered(input, _borders(weights_shape, origin), mode, cval)
    return convolved(wide[None, None], np.flip(g)[None, None])[0, 0]


rule(
    ndimage.correlate,
    input=lambda g, weights, mode, origin: _box_back(g, weights, mode, origin),
    weights=lambda g, input, weights_shape, mode, cval, origin: _box_weights_back(
        g, input, weights_shape, mode, cval, origin
    ),
)


@composed(ndimage.correlate)
def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None
) -> Any:
    """A correlation along all axes."""
    _checked("correlate", output, axes=axes)
    input, weights = arrays(input, weights)
    return box(input, weights, mode=mode, cval=cval, origin=origin)


@composed(ndimage.convolve)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None
) -> Any:
    """A convolution along all axes."""
    _checked("convolve", output, axes=axes)
    input, weights = arrays(input, weights)
    origins = origin if isinstance(origin, (tuple, list)) else [origin] * np.ndim(weights)
    turned = [-o - (m % 2 == 0) for o, m in zip(origins, np.shape(weights), strict=True)]
    return box(input, np.flip(weights), mode=mode, cval=cval, origin=turned if any(turned) else 0)


# What is made of correlations along one axis after the other.


def _each(value: Any, count: int) -> list[Any]:
    return [value[k] for k in range(len(value))] if np.ndim(value) else [value] * count


def _axes(axes: Any, ndim: int) -> list[int]:
    return list(range(ndim)) if axes is None else [a % ndim for a in ([axes] if isinstance(axes, int) else axes)]


@composed(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """A correlation with Gauss' bell, or a derivative of it."""
    _checked("gaussian_filter1d", output)
    (input,) = arrays(input) if not is_traced(sigma) else arrays(input, sigma)[:1]
    reach = decided(np.floor(truncate * sigma + 0.5)) if radius is None else radius
    x = made(np.arange, input, -reach, reach + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * x**2)
    weights = bell / np.sum(bell)
    if order:
        factors: list[Any] = [1.0]
        for _ in range(order):
            ups = [k * f for k, f in enumerate(factors)][1:] + [0.0, 0.0]
            downs = [0.0, *[-f / (sigma * sigma) for f in factors]]
            factors = [u + d for u, d in zip(ups, downs, strict=True)]
        weights = sum([f * x**k for k, f in enumerate(factors)]) * weights
    return line(input, np.flip(weights), axis=axis, mode=mode, cval=cval)


@composed(ndimage.gaussian_filter)
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, truncate: float = 4.0,
    *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Gauss' bell along each axis."""
    _checked("gaussian_filter", output)
    along_all = _axes(axes, np.ndim(input))
    options = zip(along_all, *[_each(o, len(along_all)) for o in (sigma, order, mode, radius)], strict=True)
    for axis, width, degree, border, reach in options:
        if is_traced(width) or width > 1e-15:
            input = gaussian_filter1d(input, width, axis, degree, None, border, cval, truncate, radius=reach)
    return input


@composed(ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """The mean of neighbours along one axis."""
    _checked("uniform_filter1d", output)
    (input,) = arrays(input)
    return line(input, made(np.full, input, size, 1 / size), axis=axis, mode=mode, cval=cval, origin=origin)


@composed(ndimage.uniform_filter)
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The mean of neighbours along each axis."""
    _checked("uniform_filter", output)
    along_all = _axes(axes, np.ndim(input))
    for axis, n, border, shift in zip(along_all, *[_each(o, len(along_all)) for o in (size, mode, origin)], strict=True):
        if n > 1:
            input = uniform_filter1d(input, n, axis, None, border, cval, shift)
    return input


def _slope(name: str, smooth: list[float]) -> None:
    def filtered(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
        _checked(name, output)
        (input,) = arrays(input)
        ndim = np.ndim(input)
        modes = _each(mode, ndim)
        found = line(input, made(np.array, input, [-1.0, 0.0, 1.0]), axis=axis, mode=modes[axis % ndim], cval=cval)
        for other in range(ndim):
            if other != axis % ndim:
                found = line(found, made(np.array, input, smooth), axis=other, mode=modes[other], cval=cval)
        return found

    composed(getattr(ndimage, name))(filtered)


_slope("sobel", [1.0, 2.0, 1.0])
_slope("prewitt", [1.0, 1.0, 1.0])


@composed(ndimage.laplace)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """The sum of second differences along all axes."""
    _checked("laplace", output, axes=axes)
    (input,) = arrays(input)
    taps, modes = made(np.array, input, [1.0, -2.0, 1.0]), _each(mode, np.ndim(input))
    return sum([line(input, taps, axis=axis, mode=modes[axis], cval=cval) for axis in range(np.ndim(input))])


def _bells(name: str, input: Any, sigma: Any, output: Any, mode: Any, cval: Any, order: int, options: Any) -> list[Any]:
    """Derivatives of the image under Gauss' bell, one an axis."""
    _checked(name, output, axes=options.pop("axes", None))
    n = np.ndim(input)
    orders = [[order if a == axis else 0 for a in range(n)] for axis in range(n)]
    return [gaussian_filter(input, sigma, o, None, mode, cval, **options) for o in orders]


@composed(ndimage.gaussian_laplace)
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, **options: Any
) -> Any:
    """The sum of second derivatives under Gauss' bell."""
    return sum(_bells("gaussian_laplace", input, sigma, output, mode, cval, 2, options))


@composed(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, **options: Any
) -> Any:
    """The length of the gradient under Gauss' bell, whose slope where it is 0 is 0."""
    total = sum([x * x for x in _bells("gaussian_gradient_magnitude", input, sigma, output, mode, cval, 1, options)])
    there = total > 0
    return np.where(there, np.sqrt(np.where(there, total, 1.0)), 0.0)


# Filters by rank: a sorted window, of which one element is taken.


def windows_around(x: Any, size: Any, mode: str, cval: Any = 0.0) -> Any:
    """The window around each element of an array, along further axes."""
    sizes = (size,) * np.ndim(x) if np.ndim(size) == 0 else tuple(size)
    wide = _bordered(x, [(n // 2, n - 1 - n // 2) for n in sizes], mode, cval)
    return np.lib.stride_tricks.sliding_window_view(wide, sizes)


def _sorted_windows(
    name: str, x: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    """The windows around each element of an array, each sorted, along the last axis."""
    if footprint is not None or output is not None or np.any(origin) or axes is not None or not isinstance(mode, str):
        raise refused(f"ndimage.{name}", "footprint=, output=, origin=, axes= or a mode for each axis", "state size= alone")
    (x,) = arrays(x)
    return np.sort(np.reshape(windows_around(x, size, mode, cval), (*np.shape(x), -1)), axis=-1)


@composed(ndimage.rank_filter)
def rank_filter(
    input: Any, rank: int, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element of a rank in the window around each one."""
    return _sorted_windows("rank_filter", input, size, footprint, output, mode, cval, origin, axes)[..., rank]


@composed(ndimage.percentile_filter)
def percentile_filter(
    input: Any, percentile: float, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element below which a part of the window around each one lies."""
    found = _sorted_windows("percentile_filter", input, size, footprint, output, mode, cval, origin, axes)
    count = np.shape(found)[-1]
    percentile = percentile + 100.0 if percentile < 0.0 else percentile
    return found[..., count - 1 if percentile == 100.0 else int(count * percentile / 100.0)]


@composed(ndimage.median_filter)
def median_filter(input: Any, size: Any = None, *settings: Any, **options: Any) -> Any:
    """The element in the middle of the window around each one; the upper of two."""
    if size is None:
        raise refused("ndimage.median_filter", "footprint=", "state size= alone")
    count = size ** np.ndim(input) if np.ndim(size) == 0 else int(np.prod(size))
    return rank_filter(input, count // 2, size, *settings, **options)


@composed(ndimage.maximum_filter)
def maximum_filter(input: Any, size: Any = None, *settings: Any, **options: Any) -> Any:
    """The largest element in the window around each one."""
    return rank_filter(input, -1, size, *settings, **options)


@composed(ndimage.minimum_filter)
def minimum_filter(input: Any, size: Any = None, *settings: Any, **options: Any) -> Any:
    """The smallest element in the window around each one."""
    return rank_filter(input, 0, size, *settings, **options)


@composed(ndimage.center_of_mass)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean place of the elements, weighted by them."""
    if labels is not None or index is not None:
        raise refused("ndimage.center_of_mass", "labels", "take the elements of one label")
    (x,) = arrays(input)
    total = np.sum(x)
    places = [made(np.arange, x, n) for n in np.shape(x)]
    every = range(np.ndim(x))
    sums = [np.sum(x, axis=tuple([b for b in every if b != a])) for a in every]
    return tuple([np.sum(part * k) / total for part, k in zip(sums, places, strict=True)])
