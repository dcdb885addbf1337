"""Tensor's methods of PyTorch about dtype and memory, new tensors like this one, and random numbers written into it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array, owner_of
from ...unpatched import np
from ..core.count import elements, size_of
from ..core.exits import leave
from ..core.tensor_base import Operand
from ..core.versions import own_array
from ..memory import eager_writes
from ..protocols.exchange import on_cpu
from ..random.generator import generator as _generator
from .constructors import empty, finished, full, ones, zeros
from .tensor import tensor
from .torch_methods import Methods

__all__ = ["METHODS", "UntypedStorage"]

METHODS = Methods()
_method = METHODS.take


# Dtypes and devices

_DEVICES = ("cpu", "cuda", "mps", "xpu", "meta")  # what PyTorch calls them


def _cast(name: str, kind: str) -> Callable[..., Any]:
    def method(self: Any) -> Any:
        return self if self.dtype == dtype else self.astype(dtype)

    dtype = np.dtype(kind)
    method.__doc__ = f"This tensor as {kind}: itself, where it is."
    method.__name__ = name
    return method


METHODS |= {
    name: _cast(name, kind)
    for name, kind in {
        "half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
        "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64",
    }.items()
}  # fmt: skip


@_method
def to(
    self: Any, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False
) -> Any:
    """This tensor with another dtype: `to(np.float32)`, `to(other)`, `to("cpu")`; itself, where nothing is to be done.

    Raises ValueError for another device than the CPU.
    """
    for given in args:
        if isinstance(given, Operand) or is_array(given):
            dtype = given.dtype
        elif isinstance(given, str) and given.partition(":")[0] in _DEVICES:
            device = given
        elif given is not None and not isinstance(given, bool):
            dtype = given
    on_cpu(device)
    if dtype is not None and self.dtype != np.dtype(dtype):
        return self.astype(dtype)
    return np.copy(self) if copy else self


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the dtype; `type(dtype)` casts to another."""
    return self.dtype.name if dtype is None else to(self, dtype=dtype)


@_method
def type_as(self: Any, other: Any) -> Any:
    """This tensor with the dtype of another."""
    return to(self, dtype=other.dtype)


@_method
def is_floating_point(self: Any) -> Any:
    """Whether the elements are floats."""
    return self.dtype.kind == "f"


@_method
def is_complex(self: Any) -> Any:
    """Whether the elements are complex."""
    return self.dtype.kind == "c"


@_method
def is_signed(self: Any) -> Any:
    """Whether the elements may be negative."""
    return self.dtype.kind in "ifc"


@_method
def is_same_size(self: Any, other: Any) -> Any:
    """Whether two tensors have one shape."""
    return tuple(self.shape) == tuple(other.shape)


@_method
def cpu(self: Any) -> Any:
    """This tensor, which lies on the CPU."""
    return self


@_method
def get_device(self: Any) -> int:
    """-1, as PyTorch says of tensors on the CPU."""
    return -1


METHODS |= {
    "is_cpu": property(lambda self: True, doc="Whether the memory is the CPU's: it is."),
    "is_cuda": property(lambda self: False, doc="Whether the memory is a GPU's: it is not."),
    "is_sparse": property(lambda self: False, doc="Whether only some elements are stored: no."),
}


# Memory


@_method
def dim(self: Any) -> Any:
    """The number of axes."""
    return self.ndim


@_method
def numel(self: Any) -> Any:
    """The number of elements."""
    return elements(self.shape)


@_method
def element_size(self: Any) -> Any:
    """Bytes per element."""
    return self.itemsize


@_method
def stride(self: Any, dim: int | None = None) -> Any:
    """Elements (not bytes, as NumPy's `strides`) from one to the next along each axis, or along one."""
    steps = tuple([n // self.itemsize for n in self.strides])
    return steps if dim is None else steps[dim]


@_method
def is_contiguous(self: Any) -> Any:
    """Whether the elements lie in memory in order."""
    step, wanted = stride(self), 1
    for n, found in zip(reversed(self.shape), reversed(step), strict=True):
        if n > 1 and found != wanted:
            return False
        wanted *= max(int(n), 1)
    return True


def _memory(self: Any) -> np.ndarray[Any, Any]:
    """The array of a tensor, where somebody asks for the place of its memory."""
    leave(self, "memory")
    return own_array(self)  # type: ignore[no-any-return]


def _address(array: np.ndarray[Any, Any]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


@_method
def data_ptr(self: Any) -> int:
    """The address of the first element: equal of two tensors that begin at one place in memory."""
    return _address(_memory(self))


@_method
def storage_offset(self: Any) -> int:
    """Elements from the beginning of the memory to the first one."""
    array = _memory(self)
    return (_address(array) - _address(owner_of(array))) // array.itemsize


class UntypedStorage:
    """The memory that a tensor shows, all of it: what `t.untyped_storage()` gives."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def data_ptr(self) -> int:
        """Its address: equal of two tensors that share memory."""
        return _address(self._array)

    def nbytes(self) -> int:
        """Its length in bytes."""
        return self._array.nbytes

    size = __len__ = nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return self.data_ptr()

    def __repr__(self) -> str:
        return f"<{self.nbytes()} bytes at {self.data_ptr():#x}>"


@_method
def untyped_storage(self: Any) -> UntypedStorage:
    """The whole memory that this tensor shows a part of: `t.untyped_storage().data_ptr()`."""
    return UntypedStorage(owner_of(_memory(self)))


METHODS |= {"type": type_, "nelement": numel, "ndimension": dim}


# New tensors


@_method
def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A new leaf with a copy of `data` and the dtype of this tensor."""
    return finished(tensor(data, dtype=self.dtype if dtype is None else dtype), requires_grad, device)


def _new(create: Callable[..., Any], words: str) -> Callable[..., Any]:
    def method(self: Any, *sizes: Any, size: Any = None, dtype: Any = None, **options: Any) -> Any:
        return create(size_of(sizes, size), dtype=self.dtype if dtype is None else dtype, **options)

    method.__doc__ = f"A new tensor of a shape, {words}, with the dtype of this one."
    return method


METHODS["new_zeros"] = _new(zeros, "of zeros")
METHODS["new_ones"] = _new(ones, "of ones")
METHODS["new_empty"] = _new(empty, "of whatever stands in its memory")


@_method
def new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    """A new tensor of a shape, filled with one number, with the dtype of this one."""
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype, **options)


# Random numbers


def _drawn(name: str, draw: Callable[..., Any], words: str) -> None:
    def method(self: Any, *args: Any, generator: Any = None, **named: Any) -> Any:
        eager_writes.set_item(self, ..., draw(_generator(generator), self, *args, **named), f"x.{name}()", title)
        return self

    title = name.strip("_").title().replace("_", "")
    method.__name__ = name
    method.__doc__ = f"Write random numbers {words} into this tensor, which it returns. `generator` is NumPy's."
    METHODS[name] = method


_drawn("uniform_", lambda g, x, low=0.0, high=1.0: g.uniform(low, high, x.shape), "from [low, high)")
_drawn("normal_", lambda g, x, mean=0.0, std=1.0: g.normal(mean, std, x.shape), "of a normal distribution (mean, std)")
_drawn(
    "log_normal_",
    lambda g, x, mean=1.0, std=2.0: g.lognormal(mean, std, x.shape),
    "whose logarithm is normal (mean, std)",
)
_drawn("bernoulli_", lambda g, x, p=0.5: g.random(x.shape) < p, "0 and 1, the latter with probability p,")
_drawn("exponential_", lambda g, x, lambd=1.0: g.exponential(1.0 / lambd, x.shape), "of the rate `lambd`")
_drawn("geometric_", lambda g, x, p: g.geometric(p, x.shape), "of trials until the first success, of probability p,")
_drawn(
    "random_", lambda g, x, *ends: g.integers(*(ends or (_most(x),)), size=x.shape), "from the ints low, ..., high - 1"
)


def _most(x: Any) -> int:
    """How many whole numbers from 0 on the dtype can tell apart, as PyTorch draws by default."""
    if x.dtype.kind in "iu":
        return int(np.iinfo(x.dtype).max)
    return int(2 ** (1 + np.finfo(x.dtype).nmant)) if x.dtype.kind == "f" else 2


@_method
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Write random numbers of a Cauchy distribution into this tensor, which it returns."""
    even = _generator(generator).uniform(-math.pi / 2, math.pi / 2, self.shape)
    eager_writes.set_item(self, ..., median + sigma * np.tan(even), "x.cauchy_()", "Cauchy")
    return self
