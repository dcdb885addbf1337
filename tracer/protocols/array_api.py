"""The namespace of Tensors by the array API standard: NumPy's own functions, and creation that gives Tensors."""

from __future__ import annotations

import functools
import types
from typing import Any

from ...unpatched import np
from ..core.tensor_base import Operand, wrap
from .exchange import from_dlpack

__all__ = ["VERSIONS", "namespace"]

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_CREATION = frozenset([
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like",
    "fftfreq", "rfftfreq",
])  # fmt: skip


def namespace(api_version: str | None = None) -> Any:
    """Return the namespace of `t.__array_namespace__()`; ValueError for a version of the standard that it does not follow."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"the namespace of Tensors follows the array API standard {', '.join(VERSIONS)}, not {api_version!r}"
        )
    return _NAMESPACE


class _Namespace(types.ModuleType):
    """A namespace of NumPy's, in which what makes arrays makes Tensors."""

    def __init__(self, name: str, module: Any, ours: dict[str, Any]) -> None:
        super().__init__(name, f"{module.__name__} by the array API standard, of Tensors.")
        self.__dict__["_module"] = module
        self.__dict__.update(ours)

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_module"]
        if not hasattr(module, name) and name in _LATER and module is np:
            value: Any = _LATER[name]
        elif name == "fft" and module is np:
            value = _Namespace(f"{self.__name__}.fft", np.fft, {})
        else:
            value = getattr(module, name)
        value = self.__dict__[name] = _creating(value) if name in _CREATION else value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.__dict__["_module"]), *self.__dict__})


def _creating(fn: Any) -> Any:
    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        made = fn(*args, **kwargs)
        return made if isinstance(made, Operand) else wrap(made)

    return create


def _asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    if not isinstance(obj, Operand):
        return wrap(np.asarray(obj, dtype=dtype, copy=copy))
    tensor: Any = obj
    if dtype is None or tensor.dtype == dtype:
        return tensor.copy() if copy else tensor
    if copy is False:
        raise ValueError(f"a copy is needed to make {np.dtype(dtype)} of a Tensor of {tensor.dtype}")
    return tensor.astype(dtype)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    return from_dlpack(x, device=device, copy=copy)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x if not copy and x.dtype == dtype else x.astype(dtype)


def _cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    axis = 0 if axis is None else axis
    found = np.cumsum(x, axis=axis, dtype=dtype)
    if not include_initial:
        return found
    shape = tuple([1 if k == axis % len(x.shape) else n for k, n in enumerate(x.shape)])
    return np.concatenate([np.zeros(shape, found.dtype), found], axis=axis)


_LATER = {  # what NumPy 2.0 has not yet
    "cumulative_sum": _cumulative_sum,
    "unstack": lambda x, /, *, axis=0: tuple(np.moveaxis(x, axis, 0)),
}
_NAMESPACE = _Namespace(
    "gradscribe.array_api", np, {"asarray": _asarray, "from_dlpack": _from_dlpack, "astype": _astype}
)
