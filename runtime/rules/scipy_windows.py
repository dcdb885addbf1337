"""scipy.signal's windows: arrays of numbers by their length, and Kaiser's and others in their parameter."""

from __future__ import annotations

from typing import Any

from scipy import signal, special
from scipy.signal import windows

from ..ops import Kind
from ..registry import composed, undifferentiable
from ..unpatched import np
from .scipy_functions import made, refused

PLAIN = (
    "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine", "flattop", "hamming", "hann", "lanczos",
    "nuttall", "parzen", "triang",
)  # fmt: skip

for _name in PLAIN:
    undifferentiable(
        getattr(windows, _name), "M, sym=True", Kind.creation, path=f"scipy.signal.windows.{_name}",
        types=lambda M: np.empty(M),
    )  # fmt: skip
undifferentiable(
    signal.get_window, "window, Nx, fftbins=True", Kind.creation, path="scipy.signal.get_window", types=lambda Nx: np.empty(Nx)
)


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
