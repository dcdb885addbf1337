"""The methods of Tensor: ndarray's, by NumPy's meaning, and the forms that PyTorch adds where NumPy rejects them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.ops import Kind
from ...runtime.registry import registered, require
from ...runtime.rules.elementwise import astype
from ...runtime.rules.support import is_traced
from ...unpatched import np
from ..core.count import size_of
from ..core.dispatch import apply, apply1, stack_nested
from ..core.thread_state import LOCAL
from ..memory import eager_writes
from . import torch_methods
from .casts import as_complex
from .tensor import Tensor

__all__: list[str] = []

_TORCH_WORDS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "correction": "ddof", "input": "x", "other": "y",
    "shifts": "shift", "exponent": "y",
}  # fmt: skip


class Flat:
    """The iterator `t.flat`, which takes an index, too.

    >>> import numpy as np, gradscribe as gs
    >>> gs.grad(lambda x: np.sum(np.outer(x, x).flat[::3]))(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(self, base: Any) -> None:
        self.base = base
        self._rest: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ravel(self.base))

    def __next__(self) -> Any:
        self._rest = iter(self) if self._rest is None else self._rest
        return next(self._rest)

    def __len__(self) -> int:
        return int(np.size(self.base))

    def __getitem__(self, key: Any) -> Any:
        found = np.ravel(self.base)[key]
        return found.copy() if isinstance(key, slice) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_traced(key):
            places = np.flatnonzero(key) if key.dtype == bool else key
        else:
            places = np.atleast_1d(np.arange(len(self))[key]).tolist()
        np.put(self.base, places, stack_nested(value))

    def copy(self) -> Any:
        """The elements, as a Tensor of one axis."""
        return np.ravel(self.base).copy()


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


def _reduction(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        words = _words(kwargs)
        if args and type(args[0]) is bool and spreads:  # std(unbiased)
            words["ddof"], args = int(args[0]), ()
        elif len(args) > 1 and type(args[1]) is bool:  # sum(dim, keepdim), std(dim, unbiased, keepdim)
            words |= dict(zip(("ddof", "keepdims") if spreads else ("keepdims",), args[1:], strict=False))
            args = args[:1]
        if args and type(args[0]) is list:
            args = (tuple(args[0]), *args[1:])
        elif type(words.get("axis")) is list:
            words["axis"] = tuple(words["axis"])
        return apply(op, (self, *args), words)

    op, spreads = require(fn), fn in (np.std, np.var)
    method.__doc__ = f"`{op.path}` of this tensor."
    return method


def _unary(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, **kwargs: Any) -> Any:
        return apply(op, (self,), _words(kwargs)) if kwargs or several else apply1(op, self)

    op = require(fn)
    several = op.n_out != 1
    method.__doc__ = f"`{op.path}` of this tensor."
    return method


def _reshape(self: Any, *args: Any, shape: Any = None, order: str = "C", copy: bool | None = None) -> Any:
    size = size_of(args, shape)
    if copy is not None:
        np.reshape(self._value, size, order=order, copy=copy)  # type: ignore[call-overload]  # NumPy's own errors
        if copy:
            return np.reshape(np.copy(self), size, order=order)  # type: ignore[call-overload]
    return apply(_RESHAPE, (self, size) if order == "C" else (self, size, order), {})


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return np.clip(self, min, max, out=out)  # by position: NumPy 2.0 has the bounds under other names


def _astype(
    self: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    same = not copy and is_array(self._value) and self.dtype == np.dtype(dtype)
    return self if same and order in ("K", "A") else astype(self, np.dtype(dtype))


def _copy(self: Any, order: str = "C") -> Any:
    if LOCAL.depth and not is_array(self._value):
        return self  # a number, whose copy is a number
    return np.copy(self, order=order)  # type: ignore[call-overload]


def _partition(self: Any, kth: Any, axis: int = -1, **options: Any) -> None:
    eager_writes.update(self, lambda x: np.partition(x, kth, axis=axis, **options), "x.partition(k)")


def _fill(self: Any, value: Any) -> None:
    eager_writes.set_item(self, ..., value, "x.fill(v)", "Fill")


def _part_written(part: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """`z.real = v` or `z.imag = v`."""

    def write(self: Any, value: Any) -> None:
        eager_writes.set_item(part(self), ..., value, f"z.{part.__name__} = v")

    return write


_RESHAPE, _TRANSPOSE = require(np.reshape), require(np.transpose)
_FROM_NUMPY = (
    "argpartition", "cumprod", "cumsum", "dot", "ravel", "round", "searchsorted", "squeeze", "swapaxes", "take", "trace",
)  # fmt: skip
_REDUCTIONS = ("all", "any", "argmax", "argmin", "mean", "prod", "std", "sum", "var")


def _conjugate(self: Any) -> Any:
    """The complex conjugate; a real array inside a transform is its own, and Python's numbers stay Python's."""
    if type(self._value) is complex:
        return as_complex(np.conjugate(self))
    of_itself = LOCAL.depth and is_array(self._value) and self.dtype.kind != "c"
    return self if of_itself or type(self._value) is float else np.conjugate(self)


def _install() -> None:
    for name in _FROM_NUMPY:
        setattr(Tensor, name, _method(getattr(np, name)))
    for name in _REDUCTIONS:
        setattr(Tensor, name, _reduction(getattr(np, name)))
    for op in registered():
        one = op.kind in (Kind.elementwise, Kind.linear) and op.signature == "x" and isinstance(op.fn, np.ufunc)
        if one and not hasattr(Tensor, op.name):
            setattr(Tensor, op.name, _unary(op.fn))
    torch_methods.install(Tensor)
    for name, method in {
        "reshape": _reshape, "astype": _astype, "copy": _copy, "clip": _clip, "partition": _partition, "fill": _fill,
        "choose": lambda self, choices, out=None, mode="raise": np.choose(self, choices, out=out, mode=mode),
        "compress": lambda self, condition, axis=None, out=None: np.compress(condition, self, axis=axis, out=out),
        "put": lambda self, indices, values, mode="raise": np.put(self, indices, values, mode=mode),
        "conj": _conjugate, "conjugate": _conjugate,
        "T": property(lambda self: apply(_TRANSPOSE, (self,), {}), doc="The axes in reverse order."),
        "mT": property(lambda self: np.swapaxes(self, -1, -2), doc="The last two axes swapped."),
        "real": property(lambda self: np.real(self), _part_written(np.real), doc="The real part."),
        "imag": property(lambda self: np.imag(self), _part_written(np.imag), doc="The imaginary part."),
        "flat": property(Flat, lambda self, value: Flat(self).__setitem__(slice(None), value), doc="The elements in order."),
    }.items():  # fmt: skip
        setattr(Tensor, name, method)


_install()
