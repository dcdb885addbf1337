"""scipy.ndimage's resampling: images read between their pixels, differentiated in the image and in the places.

P. Thevenaz, T. Blu, M. Unser, "Interpolation revisited", IEEE Trans. Medical Imaging 19, 2000: coefficients by a filter that is
linear in the image, and B-splines around each place. A place on a border between pieces has the derivative to the right.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import scipy.ndimage
from scipy import ndimage, special

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, primitive, rule
from ..result_types import UNKNOWN
from .scipy_functions import arrays, made, refused, taken
from .support import is_traced

_PAD = 12  # as SciPy pads, where the border has no end


def _like(x: Any) -> Any:
    return np.empty(np.shape(x), np.result_type(x, np.float32)) if np.size(x) else UNKNOWN


@primitive("x, order, mode", Kind.linear, types=lambda x: _like(x))
def prefilter(x: Any, order: Any, mode: Any) -> Any:
    """`ndimage.spline_filter`, which does not dispatch: the coefficients of the splines through an image."""
    return scipy.ndimage.spline_filter(x, order, np.result_type(x, np.float32), mode)


@primitive("g, order, mode", Kind.linear, types=lambda g: _like(g))
def prefilter_back(g: Any, order: Any, mode: Any) -> Any:
    """The transpose of `prefilter`: along each axis the filter of the identity, as a matrix."""
    out = np.array(g, np.result_type(g, np.float32))
    for axis in range(g.ndim):
        filtered = scipy.ndimage.spline_filter1d(np.eye(g.shape[axis], dtype=out.dtype), order, 1, out.dtype, mode)
        out = np.ascontiguousarray(np.moveaxis(np.tensordot(filtered, out, (1, axis)), 0, axis))
    return out


rule(prefilter, x=lambda g, order, mode: prefilter_back(g, order, mode))
rule(prefilter_back, g=lambda g, order, mode: prefilter(g, order, mode))


def _folded(i: Any, n: int, mode: str) -> Any:
    """Positions beyond the ends, as a mode reads them."""
    if mode == "grid-wrap":
        return np.mod(i, n)
    if mode in ("nearest", "grid-constant"):
        return np.clip(i, 0, n - 1)
    if mode == "reflect":
        i = np.mod(i, 2 * n)
        return np.where(i >= n, 2 * n - 1 - i, i)
    if n == 1:
        return i * 0
    i = np.mod(i, 2 * (n - 1))
    return np.where(i > n - 1, 2 * (n - 1) - i, i)


def _through(places: list[Any], lengths: Any) -> Any:
    """Positions along each axis as one, counted through."""
    found: Any = places[0]
    for n, i in zip(lengths[1:], places[1:], strict=True):
        found = found * n + i
    return found


def _weights(x: Any, order: int) -> tuple[Any, list[Any]]:
    """The first position around each place, and the B-splines there."""
    base = np.floor(x) if order % 2 else np.floor(x + 0.5)
    t = x - base
    first = base.astype(np.intp) - order // 2
    if order == 0:
        return first, [np.ones_like(t)]
    if order == 1:
        return first, [1.0 - t, t]
    if order == 2:
        return first, [0.5 * (0.5 - t) ** 2, 0.75 - t * t, 0.5 * (0.5 + t) ** 2]
    u = 1.0 - t
    if order == 3:
        inner = [(t * t * (t - 2.0) * 3.0 + 4.0) / 6.0, (u * u * (u - 2.0) * 3.0 + 4.0) / 6.0]
        return first, [u**3 / 6.0, *inner, t**3 / 6.0]
    if order == 4:
        beside = [((((-4.0 * y + 20.0) * y - 30.0) * y + 5.0) * y + 13.75) / 24.0 for y in (1.0 + t, u)]
        middle = (0.25 * t * t - 0.625) * t * t + 115.0 / 192.0
        return first, [(0.5 - t) ** 4 / 24.0, beside[0], middle, beside[1], (0.5 + t) ** 4 / 24.0]
    near = [((-y / 12.0 + 0.25) * y * y - 0.5) * y * y + 0.55 for y in (t, u)]
    far = [((((5.0 * y - 45.0) * y + 150.0) * y - 210.0) * y + 75.0) * y / 120.0 + 0.425 for y in (1.0 + t, 1.0 + u)]
    return first, [u**5 / 120.0, far[0], *near, far[1], t**5 / 120.0]


def _in_period(x: Any, n: int) -> Any:
    """Places in an image whose first and last pixel are one, so that its period is `n - 1`."""
    if n == 1:
        return 0.0 * x
    m = n - 1
    return np.where(x < 0, x + m * (np.floor(-x / m) + 1), np.where(x > m, x - m * np.floor(x / m), x))


def _check(name: str, output: Any, order: int, mode: str) -> None:
    if output is not None:
        raise refused(f"ndimage.{name}", "`output=`", "use what it returns")
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in ("constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-wrap"):
        raise RuntimeError("boundary mode not supported")


def _read(image: Any, places: list[Any], order: int, mode: str, cval: Any, filtered: bool) -> Any:
    """An image at places, one array of coordinates an axis."""
    mode = "reflect" if mode == "grid-mirror" else mode
    outside: Any = None
    if mode == "constant":
        for x, n in zip(places, np.shape(image), strict=True):
            here = (x < 0) | (x > n - 1)
            outside = here if outside is None else outside | here
    if order > 1 and not filtered:
        if mode in ("nearest", "grid-constant"):
            words: Any = {"constant_values": cval} if mode == "grid-constant" else {}
            image, places = np.pad(image, _PAD, "constant" if words else "edge", **words), [x + _PAD for x in places]
        image = prefilter(image, order, mode)
    if mode == "wrap":
        places = [_in_period(x, n) for x, n in zip(places, np.shape(image), strict=True)]
    elif mode == "grid-constant":  # beyond one pixel more there is nothing but the constant
        image, places = np.pad(image, 1, constant_values=cval), [x + 1 for x in places]
    rows = []
    for x, n in zip(places, np.shape(image), strict=True):
        first, weights = _weights(x, order)
        rows.append([(_folded(first + j, n, mode), w) for j, w in enumerate(weights)])
    found: Any = None
    flat = np.reshape(image, (-1,))
    for corner in itertools.product(*rows):
        term = taken(flat, _through([i for i, _ in corner], np.shape(image)))
        for _, w in corner:
            term = term * w
        found = term if found is None else found + term
    return found if outside is None else np.where(outside, cval, found)


@composed(ndimage.map_coordinates)
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at coordinates."""
    _check("map_coordinates", output, order, mode)
    input, coordinates = arrays(input, coordinates)
    input, coordinates = (x * 1.0 if x.dtype.kind in "biu" else x for x in (input, coordinates))
    places = [coordinates[k] for k in range(np.ndim(input))]
    return _read(input, places, order, mode, cval, not prefilter)


def _indices(image: Any, shape: Any) -> list[Any]:
    """The positions of an image's pixels along each axis, which broadcast against each other."""
    n = len(shape)
    along: Callable[[int], Any] = lambda k: [-1 if a == k else 1 for a in range(n)]
    return [np.reshape(made(np.arange, image, size) * 1.0, along(k)) for k, size in enumerate(shape)]


def _all(places: list[Any], shape: Any) -> list[Any]:
    return [np.broadcast_to(x, tuple(shape)) for x in places]


@composed(ndimage.affine_transform)
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at the places that a matrix and an offset lead to."""
    _check("affine_transform", output, order, mode)
    input, matrix, offset = arrays(input, matrix, offset)
    n = np.ndim(input)
    shape = np.shape(input) if output_shape is None else tuple(output_shape)
    grid = _indices(input, shape)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == n + 1:
        offset, matrix = matrix[:n, n], matrix[:n, :n]
    moved: Callable[[int], Any] = lambda k: offset[k] if np.ndim(offset) else offset
    if np.ndim(matrix) == 1:
        places = [matrix[k] * grid[k] + moved(k) for k in range(n)]
    else:
        places = [sum([matrix[k, a] * grid[a] for a in range(n)]) + moved(k) for k in range(n)]
    return _read(input, _all(places, shape), order, mode, cval, not prefilter)


@composed(ndimage.shift)
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True
) -> Any:
    """An image that is moved."""
    _check("shift", output, order, mode)
    input, shift = arrays(input, shift)
    grid = _indices(input, np.shape(input))
    places = [x - (shift[k] if np.ndim(shift) else shift) for k, x in enumerate(grid)]
    return _read(input, _all(places, np.shape(input)), order, mode, cval, not prefilter)


@composed(ndimage.zoom)
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
    *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """An image of another size."""
    _check("zoom", output, order, mode)
    if is_traced(zoom) and np.ndim(zoom):
        raise refused("ndimage.zoom", "a factor that is differentiated", "take affine_transform")
    factors = list(zoom) if isinstance(zoom, (list, tuple, np.ndarray)) else [zoom] * np.ndim(input)
    (input,) = arrays(input)
    shape = tuple([round(n * float(z)) for n, z in zip(np.shape(input), factors, strict=True)])
    less, half = (0, 0.5) if grid_mode else (1, 0.0)  # whether a pixel is a cell or a point
    scales = [(n - less) / (m - less) if m > less else 1.0 for n, m in zip(np.shape(input), shape, strict=True)]
    places = [(x + half) * s - half if half else x * s for x, s in zip(_indices(input, shape), scales, strict=True)]
    return _read(input, _all(places, shape), order, mode, cval, not prefilter)


@composed(ndimage.rotate)
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image that is turned in a plane by degrees."""
    _check("rotate", output, order, mode)
    if reshape and is_traced(angle):
        raise refused("ndimage.rotate", "an angle that is differentiated and reshape=True", "state reshape=False")
    (image,) = arrays(input)
    ndim = np.ndim(image)
    if ndim < 2:
        raise ValueError("input array should be at least 2D")
    if len(axes) != 2 or len({a % ndim for a in axes if -ndim <= a < ndim}) != 2:
        raise ValueError("invalid rotation plane specified")
    plane = sorted(a % ndim for a in axes)
    image = np.moveaxis(image, plane, (-2, -1))
    lengths, rest = np.shape(image)[-2:], np.shape(image)[:-2]
    c, s = special.cosdg(angle), special.sindg(angle)
    shape = lengths
    if reshape:
        corners = np.array([[c, s], [-s, c]]) @ np.array([[0, 0, lengths[0], lengths[0]], [0, lengths[1], 0, lengths[1]]])
        shape = tuple([int(n) for n in np.ptp(corners, axis=1) + 0.5])
    (y, x), (low, left) = [(n - 1) / 2 for n in shape], [(n - 1) / 2 for n in lengths]
    p, q = _indices(image, shape)
    places = _all([c * p + s * q + (low - (c * y + s * x)), c * q - s * p + (left - (c * x - s * y))], shape)
    pictures = np.reshape(image, (-1, *lengths))
    found = np.stack([_read(one, places, order, mode, cval, not prefilter) for one in pictures])
    return np.moveaxis(np.reshape(found, (*rest, *shape)), (-2, -1), plane)


@composed(ndimage.spline_filter)
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the splines through an image."""
    if output is not np.float64:
        raise refused("ndimage.spline_filter", "`output=`", "use what it returns")
    (input,) = arrays(input)
    return input * 1.0 if order in (0, 1) else prefilter(input * 1.0, order, mode)
