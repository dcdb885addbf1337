"""PyTorch's functions of tensors under `gs.`: `gs.matmul(x, w)`, `gs.max(t, dim=1)`, with PyTorch's arguments.

They mean what PyTorch means by them, of Tensors and, with arrays as results, of arrays. Most are the method of that name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import DtypeError, ShapeError
from ...runtime.registry import require
from ...runtime.rules import shaping
from ...unpatched import np
from ..core import tensor_base
from ..core.dispatch import apply, has_tensor
from ..core.site import blame
from ..core.tensor_base import Operand, levels_of, wrap
from ..core.thread_state import grad_mode, recording
from .torch_arithmetic import BINARY
from .torch_methods import FUNCTIONS
from .torch_shaping import axis_of

__all__: list[str] = []


# Of a number or an array and a Tensor: NumPy's function, in which a number stays weak.
_DIRECT: dict[str, Callable[..., Any]] = {name: fn for fn, names in BINARY.items() for name in names.split()}
_DIRECT |= {
    "add": np.add, "sub": np.subtract, "subtract": np.subtract, "div": np.true_divide, "divide": np.true_divide,
    "matmul": np.matmul, "mm": np.matmul, "mv": np.matmul, "bmm": np.matmul, "dot": np.dot, "inner": np.inner,
    "outer": np.outer, "kron": np.kron,
}  # fmt: skip


def _plain(found: Any) -> Any:
    """A result with arrays in the place of Tensors."""
    if isinstance(found, Operand):
        return found._value
    if isinstance(found, (tuple, list)):
        parts = [_plain(part) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


def _function(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a method is, of Tensors and of arrays."""
    direct = _DIRECT.get(name)

    @functools.wraps(method)
    def function(input: Any, *args: Any, **words: Any) -> Any:
        if isinstance(input, Operand):
            return method(input, *args, **words)
        if has_tensor((args, words)):
            if direct is not None and "alpha" not in words and "rounding_mode" not in words:
                return direct(input, *args, *[words.pop(k) for k in ("other", "exponent") if k in words], **words)
            return method(apply(require(np.array), (input,), {}), *args, **words)
        with recording(None), grad_mode(False):
            return _plain(method(wrap(np.asarray(input)), *args, **words))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{method.__doc__ or ''}\n\n    PyTorch's function of that name, of a Tensor or an array."
    return function


# Those whose arguments the method takes in NumPy's meaning ------------------------------------------


def _own(method: Callable[..., Any]) -> Callable[..., Any]:
    return _function(method.__name__, method)


def _extreme(name: str) -> Callable[..., Any]:
    def function(self: Any, *args: Any, **words: Any) -> Any:
        if args and (isinstance(args[0], Operand) or is_array(args[0])):
            words["other"], args = args[0], args[1:]
        if "other" in words:
            return getattr(np, f"{name}imum")(self, words["other"])
        words |= dict(zip(("dim", "keepdim"), args, strict=False))
        return getattr(self, name)(**words)

    function.__doc__ = f"""The {name}imum of all; with `dim` (values, indices); of two tensors that of each pair."""
    return _function(name, function)


max, min = _extreme("max"), _extreme("min")


@_own
def sort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along an axis, and their places: (values, indices)."""
    return self.sort(dim=dim, descending=descending)


@_own
def argsort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The places of the elements in order along an axis."""
    return self.argsort(dim=dim, descending=descending)


@_own
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped."""
    return np.swapaxes(self, dim0, dim1)


@_own
def squeeze(self: Any, dim: Any = None) -> Any:
    """Without its axes of length one, or those of them that `dim` names."""
    named = (
        range(self.ndim)
        if dim is None
        else [axis_of(self, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    )
    return np.squeeze(self, tuple([k for k in named if k < self.ndim and self.shape[k] == 1]))


@_own
def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
    """Where the elements are not zero: a row for each, or with `as_tuple` places for each axis."""
    return self.nonzero(as_tuple=as_tuple)


def _spread(self: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> tuple[Any, Any]:
    """The variance and the mean."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    axis = None if dim is None or dim == () or dim == [] else tuple(dim) if isinstance(dim, (tuple, list)) else dim
    return np.var(self, axis=axis, ddof=ddof, keepdims=keepdim), np.mean(self, axis=axis, keepdims=keepdim)


@_own
def var_mean(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """(variance, mean) of all elements or along axes; the variance divides by n - 1, or by n less `correction`."""
    return _spread(self, dim, unbiased, keepdim, correction)


@_own
def var(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The variance of all elements or along axes, which divides by n - 1, or by n less `correction`."""
    return _spread(self, dim, unbiased, keepdim, correction)[0]


@_own
def std_mean(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """(standard deviation, mean) of all elements or along axes; as `var_mean`."""
    return std(self, dim, unbiased, keepdim, correction=correction), _spread(self, dim, unbiased, keepdim, correction)[
        1
    ]


@_own
def std(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The square root of `var`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    axis = None if dim is None or dim == () or dim == [] else tuple(dim) if isinstance(dim, (tuple, list)) else dim
    return np.std(self, axis=axis, ddof=ddof, keepdims=keepdim)


@_own
def searchsorted(self: Any, input: Any, *, right: bool = False, side: str | None = None) -> Any:
    """Where in a sorted sequence elements would be put in."""
    return np.searchsorted(self, input, side=side or ("right" if right else "left"))  # type: ignore[call-overload]


@_own
def bucketize(self: Any, boundaries: Any, *, right: bool = False) -> Any:
    """Which of the parts between sorted boundaries each element lies in."""
    return np.searchsorted(boundaries, self, side="right" if right else "left")


@_own
def view_as_real(self: Any) -> Any:
    """The real and the imaginary part of each element in a new last axis, as a view: ShapeError of what is not complex."""
    if self.dtype.kind != "c":
        raise blame(DtypeError(f"view_as_real is only supported for complex tensors, and this one is {self.dtype}"))
    return shaping.view_as_real(self)


@_own
def view_as_complex(self: Any) -> Any:
    """The complex numbers whose two parts stand side by side in the last axis, as a view: ShapeError where they do not."""
    if self.dtype.kind != "f" or self.dtype.itemsize == 2:
        raise blame(
            DtypeError(
                f"view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: {self.dtype}"
            )
        )
    if not self.ndim or self.shape[-1] != 2:
        raise blame(
            ShapeError(f"Tensor must have a last dimension of size 2 for view_as_complex, not {tuple(self.shape)}")
        )
    if not levels_of(self) and self.strides[-1] != self.itemsize:
        raise blame(
            ShapeError("Tensor must have a last dimension with stride 1 for view_as_complex: take t.contiguous()")
        )
    return shaping.view_as_complex(self)


# Those that are no method: NumPy's functions take Tensors and arrays -----------------------------------


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Any:
    """Tensors joined along an axis: `np.concatenate`."""
    return np.concatenate(tensors, axis=dim if axis is None else axis)


concat = concatenate = cat


def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of one shape joined along a new axis."""
    return np.stack(tensors, axis=dim)


def hstack(tensors: Any) -> Any:
    """Tensors joined along the second axis, or the first where there is one."""
    return np.hstack(tensors)


def vstack(tensors: Any) -> Any:
    """Tensors joined as rows."""
    return np.vstack(tensors)


row_stack = vstack


def dstack(tensors: Any) -> Any:
    """Tensors joined along the third axis."""
    return np.dstack(tensors)


def column_stack(tensors: Any) -> Any:
    """Tensors joined as columns."""
    return np.column_stack(tensors)


def einsum(equation: str, *operands: Any) -> Any:
    """Einstein's sum, of operands one by one or in a list."""
    listed = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    return np.einsum(equation, *listed)


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum of products over these axes: a number, or a list of axes of each."""
    return np.tensordot(a, b, dims)


def where(condition: Any, *values: Any) -> Any:
    """The elements of one tensor where the condition is true, else of another; of a condition alone its places."""
    return np.where(condition, *values)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """The coordinates of a grid, one tensor for each of these axes; the first axis is that of the first tensor."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return tuple(np.meshgrid(*listed, indexing=indexing))  # type: ignore[call-overload]


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Tensors in the shape that broadcasting gives them."""
    return tuple(np.broadcast_arrays(*tensors))


def _at_least(fn: Callable[..., Any]) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
        found = tuple([fn(t) for t in listed])
        return found[0] if listed is tensors and len(found) == 1 else found

    function.__name__ = function.__qualname__ = fn.__name__
    function.__doc__ = f"`np.{fn.__name__}` of each tensor."
    return function


atleast_1d, atleast_2d, atleast_3d = [_at_least(fn) for fn in (np.atleast_1d, np.atleast_2d, np.atleast_3d)]


def complex(real: Any, imag: Any) -> Any:
    """The complex numbers of these real and imaginary parts."""
    return real + 1j * imag


def polar(abs: Any, angle: Any) -> Any:
    """The complex numbers of these absolute values and angles."""
    return abs * (np.cos(angle) + 1j * np.sin(angle))


def real(input: Any) -> Any:
    """The real part."""
    return np.real(input)


def imag(input: Any) -> Any:
    """The imaginary part."""
    return np.imag(input)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among others."""
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements, a row for each."""
    return np.vander(x, N, increasing)


def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral along an axis, by the trapezoidal rule."""
    return np.trapezoid(y, x, dx, dim)


trapz = trapezoid


def is_tensor(obj: Any) -> bool:
    """Whether this is a Tensor."""
    return isinstance(obj, Operand)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in FUNCTIONS.split():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _function(name, _method(name))
    return found


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **words: Any) -> Any:
        return getattr(self, name)(*args, **words)

    method.__doc__ = getattr(tensor_base.tensor_class, name).__doc__
    return method
