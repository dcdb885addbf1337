"""scipy.signal's filters: an infinite response and its transpose, which runs backward in time, and what is made of it.

Of A(z) y = B(z) x the derivative is A dy = dB x + B dx - dA y (A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal
Processing, chapter 6); the states before and after are those of the transposed direct form II, as SciPy has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.signal
from scipy import signal

from ...unpatched import np
from ..batching import BatchedCall, along_axis, shifted
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, composed, primitive, rule
from ..result_types import BY_VALUE, RUN
from .fft import fitted
from .scipy_functions import arrays, made, of_scipy, refused
from .scipy_ndimage import line_back, median_filter, windows_around
from .shaping import along
from .support import happens

run = of_scipy("scipy.signal", signal.lfilter, "b, a, x, axis=-1", Kind.opaque, memory=NEW, may_raise=True)


def _backward(b: Any, a: Any, g: Any, axis: int) -> Any:
    """The transpose of a filter: the filter, backward in time."""
    return np.flip(run(b, a, np.flip(g, axis), axis=axis), axis)


@primitive("x, y, count, axis", Kind.bilinear, types=RUN)
def lags(x: Any, y: Any, count: Any, axis: Any) -> Any:
    """The sum of `x` times `y` delayed by 0, 1 ... samples."""
    rows = np.moveaxis(x, axis, 0)
    other = np.moveaxis(y, axis, 0)
    out = np.array([np.sum(rows[k:] * other[: max(len(other) - k, 0)]) for k in range(count)])
    return out


@primitive("taps, x, axis", Kind.bilinear, types=RUN)
def delayed(taps: Any, x: Any, axis: Any) -> Any:
    """The sum of `x` delayed by 0, 1 ... samples, times each of the taps."""
    whole = np.apply_along_axis(np.convolve, axis, x, taps)
    out = np.take(whole, np.arange(x.shape[axis]), axis)
    return out


rule(
    lags,
    x=lambda g, y, axis: delayed(g, y, axis),
    y=lambda g, x, axis: np.flip(delayed(g, np.flip(x, axis), axis), axis),
)
rule(
    delayed,
    taps=lambda g, x, axis, taps_shape: lags(g, x, taps_shape[0], axis),
    x=lambda g, taps, axis: np.flip(delayed(taps, np.flip(g, axis), axis), axis),
)
rule(
    signal.lfilter,
    b=lambda g, a, x, axis, b_shape: lags(g, run(np.ones_like(a[:1]), a, x, axis=axis), b_shape[0], axis),
    a=lambda g, a, out, axis, a_shape: -lags(g, run(np.ones_like(a[:1]), a, out, axis=axis), a_shape[0], axis),
    x=lambda g, b, a, axis: _backward(b, a, g, axis),
)


@batching(signal.lfilter)
def batched_filter(call: BatchedCall) -> Any:
    """Along an axis that is one further back, where the filter is one for all."""
    if not call.only("x") or not call.ndim("x"):
        return NotImplemented
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


def _vector(x: Any) -> Any:
    return x if np.ndim(x) else np.atleast_1d(x)


def _parts(x: Any, axis: int) -> list[Any]:
    return [x[along(axis, slice(k, k + 1))] for k in range(np.shape(x)[axis])]


@composed(signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter, and with a state before it also the state after it."""
    b, a, x, zi = arrays(b, a, x, zi)
    b, a = _vector(b), _vector(a)
    if zi is None:
        return run(b, a, x, axis=axis)
    out, size, n = _from_state(b, a, x, axis, zi), np.shape(zi)[axis % np.ndim(x)], np.shape(x)[axis]
    zi = zi + np.zeros_like(x[along(axis, slice(1))])
    b, a = b / a[0], a / a[0]
    after = []
    for k in range(size):
        state = zi[along(axis, slice(k + n, k + n + 1))] if k + n < size else np.zeros_like(x[along(axis, slice(1))])
        for j in range(min(size - k, n)):
            last = along(axis, slice(n - 1 - j, n - j))
            if k + 1 + j < np.shape(b)[0]:
                state = state + b[k + 1 + j] * x[last]
            if k + 1 + j < np.shape(a)[0]:
                state = state - a[k + 1 + j] * out[last]
        after.append(state)
    return out, np.concatenate(after, axis=axis)


def _from_state(b: Any, a: Any, x: Any, axis: int, zi: Any) -> Any:
    """The filter from a state on, which is an input of its own."""
    lengths = [1] * np.ndim(x)
    lengths[axis] = np.shape(x)[axis]
    state = fitted(zi, lengths, (axis % np.ndim(x),))
    return run(b, a, x, axis=axis) + run(a[:1], a, state, axis=axis)


@composed(signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state in which a filter answers a constant input by a constant."""
    b, a = map(_vector, arrays(b, a))
    n = max(np.shape(a)[0], np.shape(b)[0])
    b, a = fitted(b, (n,), (0,)) / a[0], fitted(a, (n,), (0,)) / a[0]
    rest = b[1:] - a[1:] * b[0]
    first = np.sum(rest) / np.sum(a)
    return np.cumsum(a)[:-1] * first - np.concatenate([np.zeros_like(rest[:1]), np.cumsum(rest)[:-1]])


def _sections(sos: Any) -> list[tuple[Any, Any]]:
    return [(sos[k, :3], sos[k, 3:]) for k in range(np.shape(sos)[0])]


@composed(signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Sections of second order, one after the other."""
    sos, x, zi = arrays(sos, x, zi)
    after = []
    for k, (b, a) in enumerate(_sections(sos)):
        if zi is None:
            x = run(b, a, x, axis=axis)
        else:
            x, state = lfilter(b, a, x, axis, zi[k])
            after.append(state)
    return x if zi is None else (x, np.stack(after))


@composed(signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    """The states in which the sections answer a constant input by a constant."""
    (sos,) = arrays(sos)
    scale, found = 1.0, []
    for b, a in _sections(sos):
        found.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(found)


def _extended(x: Any, kind: Any, edge: int, axis: int) -> Any:
    """A signal that goes on at both ends: mirrored at them, mirrored and turned around, or constant."""
    if kind is None or edge == 0:
        return x
    if kind == "constant":
        return np.pad(x, [(edge, edge) if k == axis % np.ndim(x) else (0, 0) for k in range(np.ndim(x))], "edge")
    left, right = np.flip(x[along(axis, slice(1, edge + 1))], axis), np.flip(x[along(axis, slice(-edge - 1, -1))], axis)
    if kind == "odd":
        left, right = 2 * x[along(axis, slice(1))] - left, 2 * x[along(axis, slice(-1, None))] - right
    return np.concatenate([left, x, right], axis=axis)


@composed(signal.filtfilt)
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad", irlen: Any = None
) -> Any:
    """The filter forward and backward in time."""
    if method == "gust":
        return _gustafsson(b, a, x, axis, irlen)
    if method != "pad":
        raise ValueError("method must be 'pad' or 'gust'.")
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None.")
    b, a, x = arrays(b, a, x)
    b, a = _vector(b), _vector(a)
    edge = 0 if padtype is None else 3 * max(np.shape(a)[0], np.shape(b)[0]) if padlen is None else padlen
    if np.shape(x)[axis] <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    state = lfilter_zi(b, a) if max(np.shape(a)[0], np.shape(b)[0]) > 1 else None
    if state is not None:
        lengths = [1] * np.ndim(x)
        lengths[axis] = np.shape(state)[0]
        state = np.reshape(state, lengths)
    y = _extended(x, padtype, edge, axis)
    for _ in range(2):
        first = y[along(axis, slice(1))]
        y = run(b, a, y, axis=axis) if state is None else _from_state(b, a, y, axis, state * first)
        y = np.flip(y, axis)
    return y[along(axis, slice(edge, np.shape(y)[axis] - edge))] if edge else y


def _gustafsson(b: Any, a: Any, x: Any, axis: int, irlen: Any) -> Any:
    """The filter in both orders, from the states in which they differ least.

    F. Gustafsson, Determining the initial states in forward-backward filtering, IEEE Trans. Signal Processing 46, 1998.
    """
    b, a, x = arrays(b, a, x)
    b, a = _vector(b), _vector(a)
    order = max(np.shape(a)[0], np.shape(b)[0]) - 1
    if order == 0:
        return (b[0] / a[0]) ** 2 * x
    x = np.moveaxis(x, axis, -1)
    n = np.shape(x)[-1]
    m = n if irlen is None or n <= 2 * irlen else irlen
    whole: Callable[[Any], Any] = lambda y: run(b, a, y)
    first = run(a[:1], a, fitted(np.ones_like(a[:1]), (m,), (0,)))
    seen = np.stack([np.concatenate([np.zeros_like(first[:k]), first[: m - k]]) for k in range(order)], axis=1)
    turned = np.flip(seen, 0)
    passed = run(b, a, turned, axis=0)
    back = np.flip(passed, 0)
    there = np.flip(whole(np.flip(whole(x), -1)), -1)
    apart = whole(np.flip(whole(np.flip(x, -1)), -1)) - there
    if m == n:
        matrix = np.concatenate([back - seen, turned - passed], axis=1)
    else:
        apart = np.concatenate([apart[..., :m], apart[..., n - m :]], axis=-1)
        none = np.zeros_like(seen)
        matrix = np.concatenate(
            [np.concatenate([back - seen, none], axis=1), np.concatenate([none, turned - passed], axis=1)]
        )
    flat = np.reshape(apart, (-1, np.shape(apart)[-1]))
    states = np.linalg.lstsq(matrix, flat.T, rcond=None)[0]
    left, right = [np.reshape(part.T, (*np.shape(x)[:-1], m)) for part in (back @ states[:order], turned @ states[order:])]
    rest = np.zeros_like(x[..., : n - m])
    found = there + np.concatenate([left, rest], axis=-1) + np.concatenate([rest, right], axis=-1)
    return np.moveaxis(found, -1, axis)


@composed(signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Sections of second order, forward and backward in time."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None.")
    sos, x = arrays(sos, x)
    count = np.shape(sos)[0]
    if padtype is not None and padlen is None:
        zeros = min(sum(1 for k in range(count) if happens(sos[k, column] == 0)) for column in (2, 5))
        padlen = 3 * (2 * count + 1 - zeros)
    edge = 0 if padtype is None else padlen
    if np.shape(x)[axis] <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    lengths = [1] * np.ndim(x)
    lengths[axis] = 2
    state = np.reshape(sosfilt_zi(sos), (count, *lengths))
    y = _extended(x, padtype, edge, axis)
    for _ in range(2):
        y, _after = sosfilt(sos, y, axis, state * y[along(axis, slice(1))])
        y = np.flip(y, axis)
    return y[along(axis, slice(edge, np.shape(y)[axis] - edge))] if edge else y


# Linear maps of a signal.

detrend = of_scipy(
    "scipy.signal", signal.detrend, "data, axis=-1, type='linear', bp=0", Kind.linear, memory=MAY, may_raise=True,
    whole="data, axis=-1, type='linear', bp=0, overwrite_data=False",
)  # fmt: skip
rule(signal.detrend, data=lambda g, axis, type, bp: detrend(g, axis=axis, type=type, bp=bp))  # a projection, and symmetric


@batching(signal.detrend)
def batched_detrend(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    if not call.only("data") or not call.ndim("data"):
        return NotImplemented
    return call.run(axis=shifted(call["axis"], call.ndim("data")))


_SAVGOL = "x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode='interp', cval=0.0"
savgol = of_scipy("scipy.signal", signal.savgol_filter, _SAVGOL, Kind.linear, memory=NEW, may_raise=True)
batching(signal.savgol_filter)(along_axis)



def _savgol_back(
    g: Any, window_length: int, polyorder: int, deriv: int, delta: Any, axis: int, mode: str
) -> Any:
    """The transpose: of a correlation, and where it fits polynomials to the ends, of what it makes of unit pulses there."""
    left = (window_length - 1) // 2
    unit = made(np.eye, g, window_length, None, 0, g.dtype)
    taps = savgol(unit, window_length, polyorder, deriv, delta, axis=0, mode="constant")[left]
    if mode != "interp":
        return line_back(g, taps, axis, mode, left)
    g, half = np.moveaxis(g, axis, -1), window_length // 2
    n = np.shape(g)[-1]
    none, rest = [(0, 0)] * (np.ndim(g) - 1), n - window_length
    pulses = savgol(unit, window_length, polyorder, deriv, delta, axis=0)
    first, last = g[..., :half] @ pulses[:half], g[..., n - half :] @ pulses[window_length - half :]
    middle = line_back(np.pad(g[..., half : n - half], [*none, (half, half)]), taps, -1, "constant", left)
    found = middle + np.pad(first, [*none, (0, rest)]) + np.pad(last, [*none, (rest, 0)])
    return np.moveaxis(found, -1, axis)


rule(
    signal.savgol_filter,
    x=lambda g, window_length, polyorder, deriv, delta, axis, mode: _savgol_back(
        g, window_length, polyorder, deriv, delta, axis, mode
    ),
)


@composed(signal.hilbert)
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """The analytic signal: what has negative frequencies is left away."""
    (x,) = arrays(x)
    n = np.shape(x)[axis] if N is None else N
    steps = np.reshape(made(np.arange, x, n), [n if a == axis % np.ndim(x) else 1 for a in range(np.ndim(x))])
    factors = np.where((steps == 0) | (2 * steps == n), 1.0, np.where(2 * steps < n, 2.0, 0.0))
    return np.fft.ifft(np.fft.fft(x, n, axis) * factors, axis=axis)


@primitive(
    "x, height, threshold, distance, prominence, width, wlen, rel_height, plateau_size", Kind.opaque, may_raise=True,
    memory=NEW, types=BY_VALUE,
)  # fmt: skip
def peaks(
    x: Any, height: Any, threshold: Any, distance: Any, prominence: Any, width: Any, wlen: Any, rel_height: Any, plateau_size: Any
) -> Any:
    """The places of peaks, which stay the same at signals nearby."""
    return scipy.signal.find_peaks(x, height, threshold, distance, prominence, width, wlen, rel_height, plateau_size)[0]


rule(peaks, x=None)


class _Properties(dict[str, Any]):
    """What `find_peaks` gives beside the places, as far as it has a derivative."""

    def __missing__(self, name: str) -> Any:
        raise refused("signal.find_peaks", f"its property {name!r}", "compute it from the signal at the peaks")


@composed(signal.find_peaks)
def find_peaks(
    x: Any, height: Any = None, threshold: Any = None, distance: Any = None, prominence: Any = None, width: Any = None,
    wlen: Any = None, rel_height: Any = 0.5, plateau_size: Any = None,
) -> tuple[Any, _Properties]:  # fmt: skip
    """The places of peaks, and their heights where these are asked for."""
    (x,) = arrays(x)
    found = peaks(x, height, threshold, distance, prominence, width, wlen, rel_height, plateau_size)
    return found, _Properties({} if height is None else {"peak_heights": x[found]})


@composed(signal.medfilt)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """The median in the window around each number, beyond which lie zeros."""
    (x,) = arrays(volume)
    size = 3 if kernel_size is None else kernel_size
    if np.any(np.asarray(size) % 2 != 1):
        raise ValueError("Each element of kernel_size should be odd.")
    return median_filter(x, size, mode="constant")


@composed(signal.wiener)
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """Wiener's filter: each number is drawn to the mean around it, the more, the less varies there (J. S. Lim, 1990)."""
    im, noise = arrays(im, noise)
    size: Any = 3 if mysize is None else mysize
    if np.any(np.asarray(size) % 2 != 1):
        raise refused("signal.wiener", "an even window", "take an odd one")
    within = tuple(range(np.ndim(im), 2 * np.ndim(im)))
    mean, square = (np.mean(windows_around(v, size, "constant"), axis=within) for v in (im, im * im))
    variance = square - mean * mean
    noise = np.mean(variance) if noise is None else noise
    return np.where(variance < noise, mean, mean + (im - mean) * (1.0 - noise / variance))
