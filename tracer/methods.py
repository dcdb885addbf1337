"""The methods of Tensor: ndarray's, by NumPy's meaning, and the forms that PyTorch adds where NumPy rejects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.ops import Kind
from ..runtime.registry import lookup, ops, require
from ..runtime.rules.elementwise import astype, sigmoid
from . import storage
from .dispatch import apply, apply1
from .tensor import Tensor

__all__: list[str] = []

_TORCH_WORDS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "correction": "ddof", "input": "x", "other": "y",
    "shifts": "shift", "exponent": "y",
}  # fmt: skip


def _words(kwargs: dict[str, Any]) -> dict[str, Any]:
    """PyTorch's keyword names in NumPy's."""
    if not kwargs:
        return kwargs
    if "unbiased" in kwargs:
        kwargs["ddof"] = int(kwargs.pop("unbiased"))
    return {_TORCH_WORDS.get(k, k): v for k, v in kwargs.items()}


def _method(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return apply(op, (self, *args), _words(kwargs))

    op = require(fn)
    method.__doc__ = f"`{op.path}` of this tensor."
    return method


def _unary(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, **kwargs: Any) -> Any:
        return apply(op, (self,), _words(kwargs)) if kwargs else apply1(op, self)

    op = require(fn)
    method.__doc__ = f"`{op.path}` of this tensor."
    return method


def _shape(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 else args


def _axes(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


def _reshape(self: Any, *args: Any, shape: Any = None, order: str = "C") -> Any:
    return np.reshape(self, _shape(args) if shape is None else shape, order=order)  # type: ignore[call-overload]


def _flatten(self: Any, order: Any = "C", end_dim: int = -1, start_dim: int | None = None) -> Any:
    if isinstance(order, str) and start_dim is None:
        return np.ravel(np.copy(self), order=order)  # type: ignore[call-overload]
    first = (order if start_dim is None else start_dim) % self.ndim
    last = end_dim % self.ndim + 1
    return np.reshape(self, (*self.shape[:first], -1, *self.shape[last:]))


def _expand(self: Any, *shape: Any) -> Any:
    given = _shape(shape)
    wanted = (given,) if isinstance(given, int) else tuple(given)
    new = len(wanted) - self.ndim
    return np.broadcast_to(self, tuple([self.shape[k - new] if n == -1 else n for k, n in enumerate(wanted)]))


def _where(self: Any, condition: Any, other: Any) -> Any:
    return np.where(condition, self, other)


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return np.clip(self, min, max, out=out)  # by position: NumPy 2.0 has the bounds under other names


def _split(self: Any, split_size: Any, dim: int = 0) -> Any:
    if isinstance(split_size, int):
        cuts = list(range(split_size, self.shape[dim], split_size))
    else:
        cuts = [int(n) for n in np.cumsum(split_size)[:-1]]
    return tuple(np.split(self, cuts, axis=dim))


def _transpose(self: Any, *axes: Any, dim0: int | None = None, dim1: int | None = None) -> Any:
    if dim0 is not None or dim1 is not None:
        return np.swapaxes(self, *axes, *[d for d in (dim0, dim1) if d is not None])
    if len(axes) == 2 and self.ndim > 2:  # NumPy would reject it; PyTorch swaps the two
        return np.swapaxes(self, *axes)
    return np.transpose(self, _axes(axes) if axes else None)


def _view(self: Any, *shape: Any) -> Any:
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple)):
        raise TypeError("Tensor.view(dtype) would reinterpret bytes, which has no gradient; use astype")
    return np.reshape(self, _shape(shape))


def _astype(
    self: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    return astype(self, np.dtype(dtype))


def _copy(self: Any, order: str = "C") -> Any:
    return np.copy(self, order=order)  # type: ignore[call-overload]


def _sort(self: Any, axis: int = -1, **options: Any) -> None:
    storage.update(self, lambda x: np.sort(x, axis=axis, **options), "x.sort()")


def _partition(self: Any, kth: Any, axis: int = -1, **options: Any) -> None:
    storage.update(self, lambda x: np.partition(x, kth, axis=axis, **options), "x.partition(k)")


def _fill(self: Any, value: Any) -> None:
    storage.set_item(self, ..., value, "x.fill(v)", "Fill")


def _flat_transposed(self: Any) -> Any:
    return np.transpose(self)


_FROM_NUMPY = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min",
    "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace",
    "var",
)  # fmt: skip
_TORCH_NAMES: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "pow": np.power, "matmul": np.matmul,
    "mm": np.matmul, "neg": np.negative, "abs": np.absolute, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "maximum": np.maximum, "minimum": np.minimum, "unsqueeze": np.expand_dims, "outer": np.outer, "permute": np.transpose,
    "amax": np.max, "amin": np.min, "flip": np.flip, "roll": np.roll, "sign": np.sign,
}  # fmt: skip


def _install() -> None:
    for name in _FROM_NUMPY:
        if lookup(getattr(np, name)) is not None:
            setattr(Tensor, name, _method(getattr(np, name)))
    for op in ops():
        one = op.kind in (Kind.elementwise, Kind.linear) and op.signature == "x" and isinstance(op.fn, np.ufunc)
        if one and not hasattr(Tensor, op.name):
            setattr(Tensor, op.name, _unary(op.fn))
    for name, fn in _TORCH_NAMES.items():
        if not hasattr(Tensor, name) and lookup(fn) is not None:
            setattr(Tensor, name, _method(fn))
    for name, method in {
        "reshape": _reshape, "transpose": _transpose, "view": _view, "astype": _astype, "copy": _copy, "sort": _sort,
        "choose": lambda self, choices, out=None, mode="raise": np.choose(self, choices, out=out, mode=mode),
        "compress": lambda self, condition, axis=None: np.compress(condition, self, axis=axis),
        "partition": _partition, "put": lambda self, indices, values, mode="raise": np.put(self, indices, values, mode=mode),
        "fill": _fill, "flatten": _flatten, "clone": _copy, "dim": lambda self: self.ndim, "numel": lambda self: self.size,
        "permute": lambda self, *axes, dims=None: np.transpose(self, _axes(axes) if dims is None else dims),
        "t": _flat_transposed, "conj": lambda self: np.conjugate(self), "conjugate": lambda self: np.conjugate(self),
        "expand": _expand, "where": _where, "clamp": _clip, "clip": _clip, "sigmoid": lambda self: sigmoid(self), "split": _split,
    }.items():  # fmt: skip
        setattr(Tensor, name, method)
    properties: dict[str, Any] = {
        "T": property(_flat_transposed, doc="The axes in reverse order."),
        "mT": property(lambda self: np.swapaxes(self, -1, -2), doc="The last two axes swapped."),
        "real": property(lambda self: np.real(self), doc="The real part."),
        "imag": property(lambda self: np.imag(self), doc="The imaginary part."),
        "flat": property(lambda self: iter(np.ravel(self)), doc="The elements in order."),
    }
    for name, value in properties.items():
        setattr(Tensor, name, value)


_install()
