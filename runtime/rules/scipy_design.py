"""scipy.signal's design of finite filters, by samples of the response and by least squares: in frequencies, gains and weights.

A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, chapter 7; I. Selesnick, Linear-phase FIR filter design by
least squares, 2005 (the normal equations, a Toeplitz and a Hankel matrix).
"""

from __future__ import annotations

import math
from typing import Any

from scipy import signal

from ...unpatched import np
from ..registry import composed
from .scipy_functions import arrays, made, refused, taken
from .support import happens


@composed(signal.firwin2)
def firwin2(
    numtaps: int, freq: Any, gain: Any, *, nfreqs: int | None = None, window: Any = "hamming", antisymmetric: bool = False,
    fs: float | None = None,
) -> Any:  # fmt: skip
    """The inverse transform of a response that is linear between points, and a window."""
    freq, gain = arrays(freq, gain)
    top = 1.0 if fs is None else 0.5 * fs
    count = 1 + 2 ** math.ceil(math.log2(numtaps)) if nfreqs is None else nfreqs
    if np.shape(freq)[0] != np.shape(gain)[0]:
        raise ValueError("freq and gain must be of same length.")
    if numtaps >= count:
        raise ValueError(f"ntaps must be less than nfreqs, but firwin2 was called with ntaps={numtaps} and nfreqs={nfreqs}")
    if happens(freq[0] != 0) or happens(freq[-1] != top):
        raise ValueError("freq must start with 0 and end with fs/2.")
    if happens(freq[1:] < freq[:-1]):
        raise ValueError("The values in freq must be nondecreasing.")
    if happens(freq[1:] == freq[:-1]):
        raise refused("signal.firwin2", "a frequency that occurs twice", "keep them apart by a little, or take firls")
    odd = numtaps % 2 == 1
    at_ends = [gain[-1]] if not antisymmetric and not odd else [gain[0]] if antisymmetric and not odd else []
    at_ends = [gain[0], gain[-1]] if antisymmetric and odd else at_ends
    if any(happens(g != 0) for g in at_ends):
        raise ValueError("A filter of this type must have zero gain at zero frequency, at the Nyquist frequency, or both.")
    x = made(np.arange, gain, count) * (top / (count - 1))
    angle = made(np.arange, gain, count) * (-(numtaps - 1) / 2.0 * math.pi / (count - 1))
    response = np.interp(x, freq, gain) * np.exp(1j * angle) * (1j if antisymmetric else 1.0)
    taps = np.fft.irfft(response, 2 * (count - 1))[:numtaps]
    if window is not None:
        taps = taps * made(signal.get_window, gain, window, numtaps, False)
    if antisymmetric and odd:
        middle = made(np.arange, gain, numtaps) == numtaps // 2
        taps = np.where(middle, 0.0, taps)
    return taps


@composed(signal.firls)
def firls(numtaps: int, bands: Any, desired: Any, *, weight: Any = None, fs: float | None = None) -> Any:
    """The filter whose response is nearest to lines in bands."""
    bands, desired, weight = arrays(bands, desired, weight)
    if numtaps % 2 == 0 or numtaps < 1:
        raise ValueError("numtaps must be odd and >= 1")
    half = (numtaps - 1) // 2
    edges = np.reshape(bands / (1.0 if fs is None else 0.5 * fs), (-1, 2))
    gains = np.reshape(desired * 1.0, (-1, 2))
    if np.shape(edges) != np.shape(gains):
        raise ValueError("desired must have one entry per frequency.")
    low, high = edges[:, 0], edges[:, 1]
    if happens(low >= high) or happens(high[:-1] > low[1:]) or happens(low < 0) or happens(high > 1):
        raise ValueError("bands must be increasing, and lie between 0 and fs/2.")
    if happens(gains < 0) or (weight is not None and happens(weight < 0)):
        raise ValueError("desired and weight must be non-negative.")
    weight = np.ones_like(gains[:, 0]) if weight is None else np.reshape(weight, (-1,))
    n = np.reshape(made(np.arange, gains, numtaps) * 1.0, (-1, 1))
    integral = np.sinc(high * n) * high - np.sinc(low * n) * low
    q = integral @ weight
    row = made(np.arange, gains, half + 1)
    column = np.reshape(row, (-1, 1))
    matrix = taken(q, np.abs(column - row)) + taken(q, column + row)
    slope = (gains[:, 1] - gains[:, 0]) / (high - low)
    start = gains[:, 0] - low * slope
    n = n[: half + 1]
    turn = np.where(n == 0, 1.0, n * math.pi)
    sides = [
        f * (slope * f + start) * np.sinc(f * n) + slope * np.where(n == 0, -f * f / 2.0, np.cos(f * turn) / turn**2)
        for f in (low, high)
    ]
    a = np.linalg.solve(matrix, (sides[1] - sides[0]) @ weight)
    return np.concatenate([np.flip(a[1:]), 2 * a[:1], a[1:]])
