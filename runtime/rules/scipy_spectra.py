"""scipy.signal's spectra, and changes of the sampling rate: means of windowed Fourier transforms, and filters between samples.

A spectrum is that of segments, each without its trend and under a window (P. D. Welch, "The use of fast Fourier transform for the
estimation of power spectra", 1967). A rate changes by p/q where p-1 zeros come between samples, a filter takes away what is above
both rates, and each q-th sample stays (R. E. Crochiere and L. R. Rabiner, Multirate Digital Signal Processing, chapter 2).
"""

from __future__ import annotations

import math
from typing import Any

from scipy import signal

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, op, rule
from .fft import fitted
from .scipy_filters import detrend, sosfilt, sosfiltfilt
from .scipy_functions import arrays, made, refused
from .scipy_ndimage import line
from .support import literal

op(
    signal.firwin, "numtaps, cutoff, *, width=None, window='hamming', pass_zero=True, scale=True, fs=None", Kind.creation,
    path="scipy.signal.firwin", may_raise=True, types=lambda numtaps: np.empty(numtaps),
)  # fmt: skip
rule(signal.firwin, numtaps=None)  # the coefficients depend on the frequencies

_windows = np.lib.stride_tricks.sliding_window_view


def _window(name: str, window: Any, length: int | None, n: int, x: Any) -> Any:
    """The window over segments of a length, which is that of a window that is an array, and at most that of the signal."""
    if not isinstance(window, (str, tuple, float)):
        window = arrays(window, x)[0]
        if length is not None and length != np.shape(window)[0]:
            raise ValueError("value specified for nperseg is different from length of window")
        return window
    if length is not None and length > n:
        raise refused(f"signal.{name}", f"segments of {length} in a signal of {n}", f"set nperseg={n}")
    return made(signal.get_window, x, window, min(256, n) if length is None else length)


class _Segments:
    """The segments of signals along the last axis, and what their transforms are weighted by."""

    def __init__(self, name: str, x: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any) -> None:
        if callable(detrend):
            raise refused(f"signal.{name}", "a function as detrend=", "take the trend from the signal before")
        self.x, self.fs, self.detrend = x, fs, detrend
        self.window = _window(name, window, nperseg, np.shape(x)[-1], x)
        self.length: int = np.shape(self.window)[0]
        overlap = self.length // 2 if noverlap is None else noverlap
        if overlap >= self.length:
            raise ValueError("noverlap must be less than nperseg.")
        self.step = self.length - overlap
        self.nfft: int = self.length if nfft is None else nfft
        if self.nfft < self.length:
            raise ValueError("nfft must be greater than or equal to nperseg.")

    def transforms(self, x: Any, onesided: bool) -> Any:
        """The transforms of the segments of a signal."""
        parts = _windows(x, self.length, axis=-1)[..., :: self.step, :]
        if self.detrend == "constant":
            parts = parts - np.mean(parts, axis=-1, keepdims=True)
        elif self.detrend:
            parts = detrend(parts, axis=-1, type=self.detrend)
        return (np.fft.rfft if onesided else np.fft.fft)(parts * self.window, self.nfft)

    def scale(self, scaling: str) -> Any:
        """What a spectrum is multiplied by."""
        if scaling not in ("density", "spectrum"):
            raise ValueError(f"Unknown scaling: {scaling!r}")
        if scaling == "density":
            return 1.0 / (self.fs * np.sum(self.window * self.window))
        return 1.0 / np.sum(self.window) ** 2

    def frequencies(self, onesided: bool) -> Any:
        """The frequencies of the transforms."""
        return made(np.fft.rfftfreq if onesided else np.fft.fftfreq, self.x, self.nfft, 1.0 / self.fs)

    def doubled(self) -> Any:
        """How often each frequency of a one-sided spectrum stands for itself and its negative."""
        k = made(np.arange, self.x, self.nfft // 2 + 1)
        return np.where((k == 0) | (2 * k == self.nfft), 1.0, 2.0)

    def times(self, n: int) -> Any:
        """The times of the middles of the segments of a signal of `n` samples."""
        return (made(np.arange, self.x, (n - self.length) // self.step + 1) * self.step + self.length / 2) / self.fs


def _densities(name: str, x: Any, y: Any, scaling: str, onesided: bool, *settings: Any) -> tuple[Any, Any, Any]:
    """The frequencies and the cross spectrum of each segment, along the axis before the last; and the segments."""
    onesided = onesided and x.dtype.kind != "c" and y.dtype.kind != "c"
    n = max(np.shape(x)[-1], np.shape(y)[-1])
    x, y = (fitted(v, (*np.shape(v)[:-1], n), (-1,)) for v in (x, y))
    segments = _Segments(name, x, *settings)
    found = segments.transforms(x, onesided)
    if y is x:
        spectra = np.real(found) ** 2 + np.imag(found) ** 2
    else:
        spectra = np.conj(found) * segments.transforms(y, onesided)
    spectra = spectra * segments.scale(scaling)
    return segments.frequencies(onesided), spectra * segments.doubled() if onesided else spectra, segments


def _median(x: Any) -> Any:
    """The median of spectra, without its bias: that of a sum of squares lies below its mean."""
    n = np.shape(x)[-2]
    bias = 1.0 + sum(1.0 / (2 * k + 1) - 1.0 / (2 * k) for k in range(1, (n - 1) // 2 + 1))
    if x.dtype.kind == "c":
        return (np.median(np.real(x), axis=-2) + 1j * np.median(np.imag(x), axis=-2)) / bias
    return np.median(x, axis=-2) / bias


@composed(signal.csd)
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """The cross spectral density of two signals, by Welch's method."""
    same = y is x
    (x,) = arrays(x)
    x = np.moveaxis(x, axis, -1)
    y = x if same else np.moveaxis(arrays(y, x)[0], axis, -1)
    settings = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, spectra, _ = _densities("csd", x, y, scaling, return_onesided, *settings)
    if average not in ("mean", "median"):
        raise ValueError(f"average must be 'mean' or 'median', not {average!r}")
    found = np.mean(spectra, axis=-2) if average == "mean" else _median(spectra)
    return frequencies, np.moveaxis(found, -1, axis)


@composed(signal.welch)
def welch(x: Any, fs: Any = 1.0, window: Any = "hann", *settings: Any, **options: Any) -> Any:
    """The power spectral density of a signal, by Welch's method."""
    return csd(x, x, fs, window, *settings, **options)


@composed(signal.coherence)
def coherence(x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", *settings: Any, **options: Any) -> tuple[Any, Any]:
    """The magnitude squared coherence of two signals."""
    frequencies, xy = csd(x, y, fs, window, *settings, **options)
    own = csd(x, x, fs, window, *settings, **options)[1] * csd(y, y, fs, window, *settings, **options)[1]
    return frequencies, (np.real(xy) ** 2 + np.imag(xy) ** 2) / own


@composed(signal.periodogram)
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    """The power spectral density of a signal as one segment."""
    (x,) = arrays(x)
    n = np.shape(x)[axis]
    if nfft is not None and nfft < n:
        raise refused("signal.periodogram", f"nfft={nfft} of {n} samples", "cut the signal before")
    return csd(x, x, fs, "boxcar" if window is None else window, n, 0, nfft, detrend, return_onesided, scaling, axis)


@composed(signal.spectrogram)
def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The spectra of the segments of a signal, one after the other."""
    (x,) = arrays(x)
    x = np.moveaxis(x, axis, -1)
    n = np.shape(x)[-1]
    if noverlap is None:
        noverlap = np.shape(_window("spectrogram", window, nperseg, n, x))[0] // 8
    settings = (fs, window, nperseg, noverlap, nfft, detrend)
    if mode == "psd":
        frequencies, found, segments = _densities("spectrogram", x, x, scaling, return_onesided, *settings)
    elif mode in ("complex", "magnitude", "angle"):
        onesided = return_onesided and x.dtype.kind != "c"
        segments = _Segments("spectrogram", x, *settings)
        frequencies = segments.frequencies(onesided)
        found = segments.transforms(x, onesided) * np.sqrt(segments.scale(scaling))
        found = found if mode == "complex" else np.abs(found) if mode == "magnitude" else np.angle(found)
    else:
        raise refused("signal.spectrogram", f"mode={mode!r}", "take mode='angle', and np.unwrap of it")
    found = np.swapaxes(found, -1, -2)
    return frequencies, segments.times(n), np.moveaxis(found, -2, axis if axis >= 0 else axis - 1)


@composed(signal.stft)
def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None, nfft: Any = None,
    detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros", padded: bool = True, axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The short-time Fourier transform, of a signal with zeros on both sides."""
    if boundary not in ("zeros", None):
        raise refused("signal.stft", f"boundary={boundary!r}", "extend the signal before")
    (x,) = arrays(x)
    x = np.moveaxis(x, axis, -1)
    given = min(nperseg, np.shape(x)[-1]) if isinstance(window, (str, tuple, float)) else None
    segments = _Segments("stft", x, fs, window, given, noverlap, nfft, detrend)
    half = 0 if boundary is None else segments.length // 2
    n = np.shape(x)[-1] + 2 * half
    more = (-(n - segments.length) % segments.step) % segments.length if padded else 0
    x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(half, half + more)])
    onesided = return_onesided and x.dtype.kind != "c"
    scale = segments.scale("density" if scaling == "psd" else scaling)
    found = np.swapaxes(segments.transforms(x, onesided) * np.sqrt(scale), -1, -2)
    times = segments.times(n + more)
    times = times if boundary is None else times - segments.length / 2 / fs
    return segments.frequencies(onesided), times, np.moveaxis(found, -2, axis if axis >= 0 else axis - 1)


@composed(signal.istft)
def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    input_onesided: bool = True, boundary: bool = True, time_axis: int = -1, freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[Any, Any]:  # fmt: skip
    """The signal of a short-time Fourier transform: its segments under the window, added up (D. Griffin, J. Lim, 1984)."""
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    (z,) = arrays(Zxx)
    if np.ndim(z) < 2 or time_axis % np.ndim(z) == freq_axis % np.ndim(z):
        raise ValueError("Input stft must have an axis of frequencies and another one of times!")
    place = time_axis % np.ndim(z) - (freq_axis % np.ndim(z) < time_axis % np.ndim(z))
    z = np.moveaxis(z, (freq_axis, time_axis), (-2, -1))
    n = 2 * (np.shape(z)[-2] - 1) if input_onesided else np.shape(z)[-2]
    length = n if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = length if input_onesided and length == n + 1 else n
    step = length - (length // 2 if noverlap is None else int(noverlap))
    if step < 1 or nfft < length:
        raise ValueError("noverlap must be less than nperseg, and nfft at least nperseg.")
    win = _window("istft", window, length, length, z)
    segments = np.swapaxes((np.fft.irfft if input_onesided else np.fft.ifft)(z, nfft, axis=-2)[..., :length, :], -1, -2)
    size = np.sum(win) if scaling == "spectrum" else np.sqrt(fs * np.sum(win * win))
    count = np.shape(segments)[-2]
    starts = made(np.arange, z, count) * step
    total = length + (count - 1) * step
    found, norm = _overlaid(segments * (size * win), starts, total), _overlaid(win * win + 0.0 * starts[:, None], starts, total)
    if boundary:
        found, norm = (v[..., length // 2 : total - length // 2] for v in (found, norm))
    x = found / np.where(norm > 1e-10, norm, 1.0)
    times = made(np.arange, z, np.shape(x)[0]) / float(fs)
    return times, np.moveaxis(x, -1, place)


def _overlaid(parts: Any, starts: Any, total: int) -> Any:
    """The sum of segments that begin at some places of a signal."""
    count, length = np.shape(parts)[-2:]
    at = made(np.arange, parts, total) - starts[:, None]
    inside = (at >= 0) & (at < length)
    rows = made(np.arange, parts, count)[:, None]
    return np.sum(np.where(inside, parts[..., rows, np.clip(at, 0, length - 1)], 0.0), axis=-2)


@composed(signal.lombscargle)
def lombscargle(
    x: Any, y: Any, freqs: Any, precenter: Any = False, normalize: Any = False, *, weights: Any = None,
    floating_mean: bool = False,
) -> Any:  # fmt: skip
    """The power of sinusoids that are fitted to uneven samples (M. Zechmeister, M. Kürster, 2009, equations 7 to 20)."""
    x, y, freqs, weights = arrays(x, y, freqs, weights)
    kind = {False: "power", True: "normalize"}.get(normalize, normalize)
    if kind not in ("power", "normalize"):
        raise refused("signal.lombscargle", f"normalize={normalize!r}", "take normalize='power' or 'normalize'")
    y = y - np.mean(y) if precenter is True else y
    n = np.shape(x)[0]
    w = np.ones_like(x) / n if weights is None else weights / np.sum(weights)
    angles = x[:, None] * freqs
    mean = np.sum(w * y)

    def moments(phase: Any) -> tuple[Any, ...]:
        cos, sin = np.cos(phase), np.sin(phase)
        c, s = (w @ cos, w @ sin) if floating_mean else (0.0, 0.0)
        return (
            w @ (cos * cos) - c * c, 1.0 - w @ (cos * cos) - s * s, w @ (cos * sin) - c * s, (w * y) @ cos - mean * c,
            (w * y) @ sin - mean * s,
        )  # fmt: skip

    cc, ss, cs, _, _ = moments(angles)
    cc, ss, _, yc, ys = moments(angles - 0.5 * np.arctan2(2.0 * cs, cc - ss))
    least = np.finfo(np.float64).epsneg
    power = 2.0 * (yc * yc / np.maximum(cc, least) + ys * ys / np.maximum(ss, least))
    if kind == "power":
        return power * (n / 4.0)
    return power * (0.5 / (np.sum(w * y * y) - (mean * mean if floating_mean else 0.0)))


@composed(signal.freqz)
def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: Any = 2 * math.pi,
    include_nyquist: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The response of a digital filter at frequencies: the two polynomials of it, at points of the unit circle."""
    b, a = (np.atleast_1d(v) for v in arrays(b, a))
    if np.ndim(b) > 1 or np.ndim(a) > 1 or plot is not None:
        raise refused("signal.freqz", "several filters at once, or a plot", "ask for one after the other")
    if worN is None or np.ndim(worN) == 0:
        n = 512 if worN is None else int(worN)
        last = 2 * math.pi if whole else math.pi
        steps = n - 1 if include_nyquist and not whole else n
        w = made(np.arange, b, n) * (last / steps)
    else:
        w = arrays(worN, b)[0] * (2 * math.pi / fs)
    found = []
    for taps in (b, a):
        k = made(np.arange, b, np.shape(taps)[0])
        found.append(np.exp(-1j * (w[:, None] * k)) @ (taps + 0j))
    return w * (fs / (2 * math.pi)), found[0] / found[1]


@composed(signal.resample)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """A real signal at another number of samples, by its Fourier transform."""
    (x,) = arrays(x)
    if domain != "time" or window is not None or x.dtype.kind == "c":
        raise refused("signal.resample", "domain='freq', window=, or a complex signal", "weight a transform by np.fft")
    x = np.moveaxis(x, axis, -1)
    n = np.shape(x)[-1]
    m = min(num, n)
    found = np.fft.rfft(x)[..., : m // 2 + 1]
    if m % 2 == 0 and num != n:  # the last frequency stands for itself and its negative where there are more of them
        k = made(np.arange, x, m // 2 + 1)
        found = found * np.where(2 * k == m, 2.0 if num < n else 0.5, 1.0)
    y = np.moveaxis(np.fft.irfft(found * (num / n), num), -1, axis)
    if t is None:
        return y
    return y, t[0] + (t[1] - t[0]) * (n / num) * made(np.arange, x, num)


@composed(signal.upfirdn)
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0) -> Any:
    """A signal with zeros between its samples, filtered, of which each `down`-th sample stays."""
    h, x = arrays(h, x)
    if mode != "constant" or cval != 0 or np.ndim(h) != 1:
        raise refused("signal.upfirdn", "a border, or several filters", "extend the signal before")
    x = np.moveaxis(x, axis, -1)
    *others, n = np.shape(x)
    if up > 1:
        spread = np.pad(x[..., None], [(0, 0)] * (len(others) + 1) + [(0, up - 1)])
        x = np.reshape(spread, (*others, n * up))[..., : (n - 1) * up + 1]
    m = np.shape(h)[0]
    wide = np.pad(x, [(0, 0)] * len(others) + [(m - 1, m - 1)])
    found = line(wide, np.flip(h), axis=-1, mode="constant")[..., m // 2 : m // 2 + np.shape(x)[-1] + m - 1]
    return np.moveaxis(found[..., ::down], -1, axis)


@composed(signal.resample_poly)
def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant", cval: Any = None
) -> Any:
    """A signal at `up / down` times its rate, by a filter without a delay."""
    (x,) = arrays(x)
    if padtype != "constant" or cval not in (None, 0):
        raise refused("signal.resample_poly", f"padtype={padtype!r}", "take the trend from the signal before")
    up, down = up // math.gcd(up, down), down // math.gcd(up, down)
    if up == down == 1:
        return np.copy(x)
    n = np.shape(x)[axis]
    if isinstance(window, (str, tuple)):
        half = 10 * max(up, down)
        h = made(signal.firwin, x, 2 * half + 1, 1.0 / max(up, down), window=window)
    else:
        h = arrays(window, x)[0]
        half = (np.shape(h)[0] - 1) // 2
    count = -(-n * up // down)
    before = down - half % down
    first = (half + before) // down
    length = np.shape(h)[0] + before
    after = max(0, (first + count - 1) * down + 1 - ((n - 1) * up + length))
    found = upfirdn(np.pad(h * float(up), (before, after)), x, up, down, axis)
    return found[tuple([slice(None)] * (axis % np.ndim(x)) + [slice(first, first + count)])]


@composed(signal.decimate)
def decimate(x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """Each `q`-th sample of a signal that is filtered before."""
    (x,) = arrays(x)
    if ftype == "fir" and zero_phase:
        order = 20 * q if n is None else int(n)
        return resample_poly(x, 1, q, axis, made(signal.firwin, x, order + 1, 1.0 / q, window="hamming"))
    if ftype != "iir":
        raise refused("signal.decimate", f"ftype={ftype!r}, zero_phase={zero_phase}", "filter, and take each q-th sample")
    sos = literal(signal.cheby1(8 if n is None else int(n), 0.05, 0.8 / q, output="sos").tolist(), x)
    y = (sosfiltfilt if zero_phase else sosfilt)(sos, x, axis=axis)
    return y[tuple([slice(None)] * (axis % np.ndim(x)) + [slice(None, None, q)])]


@composed(signal.chirp)
def chirp(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", phi: Any = 0, vertex_zero: bool = True, *, complex: bool = False
) -> Any:
    """A cosine whose frequency moves from `f0` to `f1`: of the integral of the frequency."""
    t, f0, t1, f1, phi = (literal(v, t, f0, t1, f1, phi) if isinstance(v, (list, tuple)) else v for v in (t, f0, t1, f1, phi))
    if method in ("linear", "lin", "li"):
        cycles = f0 * t + 0.5 * ((f1 - f0) / t1) * t * t
    elif method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2
        cycles = f0 * t + beta * t**3 / 3 if vertex_zero else f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3
    elif method in ("logarithmic", "log", "lo"):
        rate = np.log(f1 / f0) / t1
        cycles = f0 * np.expm1(rate * t) / rate
    else:
        raise refused("signal.chirp", f"method={method!r}", "take np.cos of 2 pi times the integral of the frequency")
    phase = 2 * math.pi * cycles + phi * (math.pi / 180)
    return np.exp(1j * phase) if complex else np.cos(phase)
