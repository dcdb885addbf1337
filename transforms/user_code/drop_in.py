"""NumPy and SciPy for bare eager code, too: `import gradscribe.numpy as np` in place of `import numpy as np`."""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any

import numpy as np

from ...tracer.core.dispatch import has_tensor
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL
from .array_makers import JOINERS
from .namespaces import replacement, stands_for
from .scipy_names import Distribution

__all__ = ["Namespace", "namespace"]


class _ArrayMeta(type):
    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, np.ndarray | Operand)


class ndarray(metaclass=_ArrayMeta):  # NumPy's name
    """np.ndarray, of which a Tensor is an instance."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return np.ndarray(*args, **kwargs)


def _both(fn: Any) -> Any:
    """Return the replacement of `fn` for Tensors: inside transforms, and where one is among the arguments."""
    ours = None if isinstance(fn, type) and fn is not np.vectorize else replacement(fn)
    if not isinstance(ours, types.FunctionType):
        return fn if ours is None else ours

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (ours if LOCAL.depth or has_tensor(args) or has_tensor(kwargs) else fn)(*args, **kwargs)

    call.__module__ = __name__  # it is ours
    stands_for(call, ours)
    return call


_ALONE = ("numpy.numpy_boxes", "scipy.misc")  # of autograd, and of an older SciPy


class Namespace(types.ModuleType):
    """A module of NumPy's or SciPy's whose functions take Tensors everywhere; what needs no stand-in is the original."""

    def __init__(self, name: str, real: Any, own: dict[str, Any]) -> None:
        super().__init__(name, "What bears this name in NumPy or SciPy, for Tensors and arrays alike.")
        self.__dict__.update(own, __path__=[], _real=real)

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__["_real"]
        if name.startswith("__") or real is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(real, name)
        if isinstance(value, types.ModuleType):
            own = value.__name__ == f"{real.__name__}.{name}"
            found: Any = importlib.import_module(f"{self.__name__}.{name}") if own else value
        else:
            found = _both(value) if callable(value) else JOINERS.get(id(value), value)
        if callable(found) or isinstance(found, types.ModuleType):  # a number may change
            self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        own = [name for name in self.__dict__ if name != "_real" and not name.startswith("__")]
        return sorted({*own, *(dir(self._real) if self._real is not None else [])})


def namespace(name: str, path: str) -> Namespace:
    """The module `name`, which stands for `path` of NumPy or SciPy; of a module that is ours alone, one without."""
    return Namespace(name, None if path in _ALONE else _real(name, path), _own(path))


def _real(name: str, path: str) -> Any:
    """The module `path`, or what its parent has under that name: autograd's `scipy.stats.norm` is a module."""
    parent, _, last = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path or not parent:
            raise
    found = _both(getattr(importlib.import_module(parent), last, None))
    if not isinstance(found, Distribution):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return found


def _own(module: str) -> dict[str, Any]:
    """Return the replacements in the namespace of a module."""
    if module == "numpy":
        return {"ndarray": ndarray}
    if module == "numpy.numpy_boxes":
        return {"ArrayBox": Operand}
    if module == "scipy.misc":
        from scipy import special

        return {"logsumexp": _both(special.logsumexp)}
    if module == "scipy.signal":
        from ...runtime.rules.scipy_signal import convolve

        return {"convolve": convolve}
    return {}
