"""scipy.signal's windows: arrays of numbers by their length, and Kaiser's and others in their parameter."""

from __future__ import annotations

from typing import Any

from scipy import signal, special
from scipy.signal import windows

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, op, rule, undifferentiable
from .scipy_functions import arrays, made, refused
from .support import is_traced

PLAIN = (
    "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine", "flattop", "hamming", "hann", "lanczos",
    "nuttall", "parzen", "triang",
)  # fmt: skip

for _name in PLAIN:
    undifferentiable(
        getattr(windows, _name), "M, sym=True", Kind.creation, path=f"scipy.signal.windows.{_name}",
        types=lambda M: np.empty(M),
    )  # fmt: skip
op(signal.get_window, "window, Nx, fftbins=True", Kind.creation, path="scipy.signal.get_window", types=lambda Nx: np.empty(Nx))
rule(signal.get_window, Nx=None)  # a window that is a number is the parameter of a Kaiser window


def _places(beside: Any, M: int, sym: bool) -> Any:
    """How far each place is from the middle, of which the last one is left out of a window that is not symmetric."""
    n = M if sym else M + 1
    return (made(np.arange, beside, n) - (n - 1.0) / 2.0)[:M]


@composed(windows.kaiser)
def kaiser(M: int, beta: Any, sym: bool = True, **options: Any) -> Any:
    """Kaiser's window."""
    if M < 2:
        raise refused("signal.windows.kaiser", "less than two places", "it is 1")
    half = ((M if sym else M + 1) - 1.0) / 2.0
    place = _places(beta, M, sym) / half
    return special.i0(beta * np.sqrt(np.maximum(1.0 - place * place, 0.0))) / special.i0(beta)


@composed(windows.gaussian)
def gaussian(M: int, std: Any, sym: bool = True, **options: Any) -> Any:
    """Gauss' bell."""
    place = _places(std, M, sym)
    return np.exp(-(place * place) / (2.0 * std * std))


@composed(windows.exponential)
def exponential(M: int, center: Any = None, tau: Any = 1.0, sym: bool = True, **options: Any) -> Any:
    """An exponential on both sides of its middle."""
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    place = _places(tau, M, sym)
    if center is not None:
        place = made(np.arange, tau, M) - center
    return np.exp(-np.abs(place) / tau)


@composed(windows.general_gaussian)
def general_gaussian(M: int, p: Any, sig: Any, sym: bool = True, **options: Any) -> Any:
    """A bell whose exponent is a parameter, too."""
    place = np.abs(_places(p if is_traced(p) else sig, M, sym)) / sig
    middle = place == 0  # where a power of zero has no slope in the exponent
    return np.where(middle, 1.0, np.exp(-0.5 * np.where(middle, 1.0, place) ** (2 * p)))


def _waves(M: int, a: Any, sym: bool) -> Any:
    """The sum of cosines with these weights, of which every second one is subtracted."""
    turn = 2.0 * np.pi / ((M if sym else M + 1) - 1.0)
    angles = (made(np.arange, a, M if sym else M + 1) * turn - np.pi)[:M]
    return sum([a[k] * np.cos(k * angles) for k in range(int(np.shape(a)[0]))])


@composed(windows.general_cosine)
def general_cosine(M: int, a: Any, sym: bool = True, **options: Any) -> Any:
    """A sum of cosines, by its weights."""
    if M < 2:
        raise refused("signal.windows.general_cosine", "less than two places", "it is 1")
    return _waves(M, arrays(a)[0], sym)


@composed(windows.general_hamming)
def general_hamming(M: int, alpha: Any, sym: bool = True, **options: Any) -> Any:
    """Hamming's window of any share."""
    if M < 2:
        raise refused("signal.windows.general_hamming", "less than two places", "it is 1")
    return _waves(M, np.stack([alpha, 1.0 - alpha]), sym)


@composed(windows.tukey)
def tukey(M: int, alpha: Any = 0.5, sym: bool = True, **options: Any) -> Any:
    """A window that is flat, but for cosines at both ends that make up a share of it."""
    if M < 2:
        raise refused("signal.windows.tukey", "less than two places", "it is 1")
    n = M if sym else M + 1
    place = made(np.arange, alpha, n)[:M] / (n - 1.0)
    near = np.minimum(place, 1.0 - place)
    inside = near < alpha / 2.0
    return np.where(inside, 0.5 * (1.0 - np.cos(2.0 * np.pi * near / np.where(inside, alpha, 1.0))), 1.0)
