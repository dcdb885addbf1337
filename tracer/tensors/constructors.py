"""PyTorch's constructors of Tensors: `gs.ones(2, 3)`, `gs.arange(5)`, `gs.zeros_like(x)` and their like; NumPy's dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.registry import require
from ...unpatched import np
from ..core.count import size_of
from ..core.dispatch import apply
from ..core.site import pruned
from ..core.tensor_base import Operand, made_in_inference, wrap
from ..core.thread_state import LOCAL
from ..protocols.exchange import on_cpu

__all__ = [
    "arange", "as_tensor", "empty", "empty_like", "eye", "finished", "from_numpy", "full", "full_like", "linspace",
    "logspace", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def finished(made: Any, requires_grad: bool, device: Any = None, dtype: Any = None) -> Any:
    """A new Tensor as it was asked for. Raises ValueError for another device, DtypeError where ints were to require grad."""
    on_cpu(device)
    tensor = made if isinstance(made, Operand) else _wrapped(made if is_array(made) else np.asarray(made))
    if dtype is not None and tensor.dtype != np.dtype(dtype):
        tensor = tensor.astype(dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _wrapped(array: Any) -> Any:
    return made_in_inference(wrap(array)) if LOCAL.inference and not LOCAL.depth else wrap(array)


def _made(
    fn: Callable[..., Any], args: tuple[Any, ...], dtype: Any, device: Any, requires_grad: bool, **words: Any
) -> Any:
    """Return an op's result of these arguments, in its own dtype where none was asked for."""
    if dtype is not None:
        words["dtype"] = dtype
    return finished(apply(require(fn), args, words), requires_grad, device)


def _filled(fn: Callable[..., Any], what: str) -> Callable[..., Any]:
    def create(
        *size_args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        return _made(fn, (size_of(size_args, size),), dtype, device, requires_grad)

    create.__name__ = create.__qualname__ = fn.__name__
    create.__doc__ = f"""A Tensor of the shape `size` {what}; float64 unless `dtype` says otherwise.

    The shape is `gs.{fn.__name__}(2, 3)`, `gs.{fn.__name__}((2, 3))` or `size=(2, 3)`.

    >>> import gradscribe as gs
    >>> gs.{fn.__name__}(2, 3).shape
    (2, 3)
    """
    return create


def _like(fn: Callable[..., Any], what: str) -> Callable[..., Any]:
    def create(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        return _made(fn, (input,), dtype, device, requires_grad)

    create.__name__ = create.__qualname__ = fn.__name__
    create.__doc__ = f"""A Tensor of the shape and (unless `dtype` is given) the dtype of `input`, a Tensor or an array, {what}.

    >>> import gradscribe as gs
    >>> gs.{fn.__name__}(gs.tensor([1.0, 2.0])).shape
    (2,)
    """
    return create


ones: Callable[..., Any] = _filled(np.ones, "filled with ones")
zeros: Callable[..., Any] = _filled(np.zeros, "filled with zeros")
empty: Callable[..., Any] = _filled(np.empty, "of whatever stands in that memory")
ones_like: Callable[..., Any] = _like(np.ones_like, "filled with ones")
zeros_like: Callable[..., Any] = _like(np.zeros_like, "filled with zeros")
empty_like: Callable[..., Any] = _like(np.empty_like, "of whatever stands in that memory")


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A Tensor of the shape `size` filled with one number, whose dtype it has unless `dtype` is given.

    >>> import gradscribe as gs
    >>> gs.full((2,), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _made(np.full, (size, fill_value), dtype, device, requires_grad)


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A Tensor of the shape and, unless `dtype` is given, of the dtype of `input`, filled with one number.

    >>> import gradscribe as gs
    >>> gs.full_like(gs.tensor([1.0, 2.0]), 3)
    tensor([3., 3.])
    """
    return _made(np.full_like, (input, fill_value), dtype, device, requires_grad)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The numbers from `start` (0 where one number is given, which is the end) up to, not including, `end`.

    >>> import gradscribe as gs
    >>> gs.arange(3), gs.arange(1.0, 2.0, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    begin, stop = (0, start) if end is None else (start, end)
    return _made(np.arange, (begin, stop, step), dtype, device, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`steps` numbers at equal distances from `start` to `end`, both included.

    >>> import gradscribe as gs
    >>> gs.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _made(np.linspace, (start, end, steps), dtype, device, requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`base` to the power of `steps` numbers at equal distances from `start` to `end`.

    >>> import gradscribe as gs
    >>> gs.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    return _made(np.logspace, (start, end, steps), dtype, device, requires_grad, base=base)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The matrix of n rows and m (by default n) columns with ones on the diagonal.

    >>> import gradscribe as gs
    >>> gs.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _made(np.eye, (n, m), dtype, device, requires_grad)


@pruned
def from_numpy(array: Any) -> Any:
    """A Tensor on the memory of an array: what is written to the one is seen in the other.

    Raises TypeError for what is no array of numbers.

    >>> import numpy as np, gradscribe as gs
    >>> a = np.zeros(2)
    >>> t = gs.from_numpy(a)
    >>> a[0] = 1.0
    >>> t
    tensor([1., 0.])
    """
    if isinstance(array, Operand):
        return array
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
        raise TypeError(f"expected np.ndarray of numbers (got {type(array).__name__}); gs.tensor makes one of lists")
    return _wrapped(array)


@pruned
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a Tensor: itself where it is one, on the same memory where it is an array, else a new one.

    >>> import gradscribe as gs
    >>> gs.as_tensor([1, 2])
    tensor([1, 2])
    """
    made = data if (isinstance(data, Operand) or is_array(data)) else np.asarray(data)
    if is_array(made) and made.dtype.kind not in "biufc":
        raise TypeError(f"a Tensor holds numbers, but NumPy makes dtype {made.dtype} of {data!r}")
    return finished(made, False, device, dtype)
