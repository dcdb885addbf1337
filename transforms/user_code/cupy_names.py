"""CuPy's functions inside a transform: NumPy's of the same names, which know Tensors, with what they make on the device."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import computing_with
from ...runtime.registry import composition, lookup
from ...tracer.core.dispatch import has_tensor
from ...tracer.protocols.interop import answered

__all__ = ["from_host", "names_of_cupy", "numpys_name", "on_device"]

_PAIRS = {
    "cupy": "numpy",
    "cupy.linalg": "numpy.linalg",
    "cupy.fft": "numpy.fft",
    "cupyx.scipy.special": "scipy.special",
}


@functools.lru_cache(maxsize=2)
def _numpys(cupy: types.ModuleType, loaded: frozenset[str]) -> dict[int, Any]:
    """NumPy's functions by the identity of CuPy's; what draws random numbers as its name."""
    found: dict[int, Any] = {}
    for theirs in loaded:
        module, ours = sys.modules[theirs], importlib.import_module(_PAIRS[theirs])
        for name in dir(module):
            value, fn = getattr(module, name, None), getattr(ours, name, None)
            if not callable(value) or isinstance(value, type) or fn is None or value is fn:
                continue
            if lookup(fn) is not None or composition(fn) is not None or fn in answered():
                found[id(value)] = fn
    return found


def numpys_name(value: Any) -> Any:
    """The function of NumPy's or SciPy's that one of CuPy's is named after; None of all else."""
    cupy = sys.modules.get("cupy")
    if cupy is None or not callable(value):
        return None
    return _numpys(cupy, frozenset(name for name in _PAIRS if name in sys.modules)).get(id(value))


def names_of_cupy(value: Any) -> str | None:
    """The name of one of CuPy's functions that draw random numbers, `cupy.random.normal`; None of all else."""
    module = sys.modules.get("cupy.random")
    name = getattr(value, "__name__", None)
    if module is None or not isinstance(name, str) or getattr(module, name, None) is not value:
        return None
    return f"cupy.random.{name}"


def from_host(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion of CuPy's, `cupy.asarray`: ours of what holds Tensors, else CuPy's own, which takes arrays of NumPy's."""

    @functools.wraps(ours)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if has_tensor(a) else theirs)(a, *args, **kwargs)

    return call


def on_device(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that makes its arrays with CuPy, whatever it is given."""
    cupy = sys.modules["cupy"]

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        with computing_with(cupy):
            return fn(*args, **kwargs)

    return call
