"""The number of elements of a Tensor: an int, as in NumPy, that may also be called, as in PyTorch."""

from __future__ import annotations

import operator
from typing import Any

from .site import blame

__all__ = ["Count", "axis_among", "counted", "elements", "size_called", "size_of"]


class Count(int):
    """The value of `t.size`: the number of elements; `t.size()` is the shape, and `t.size(0)` the length of an axis.

    >>> import gradscribe as gs
    >>> t = gs.zeros(2, 3)
    >>> t.size, t.size(), t.size(-1), t.size + 1
    (6, (2, 3), 3, 7)
    """

    shape: tuple[int, ...]
    __gradscribe_int__ = True  # inside a transform its type is int

    def __call__(self, dim: Any = None) -> Any:
        """The shape, or the length of one axis; IndexError where there is no such axis."""
        return size_called(self.shape, dim)

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)  # as an int: NumPy takes no subclass for weak

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})


def _plain(value: Any) -> Any:
    """A value with ints in place of counts."""
    if type(value) is list or type(value) is tuple:
        return type(value)([_plain(v) for v in value])
    return int(value) if type(value) is Count else value


def elements(shape: tuple[int, ...]) -> int:
    """The number of elements in a shape; while capturing it follows from the sizes."""
    count = 1
    for n in shape:
        count = n if count == 1 else count * n
    return count


def counted(shape: tuple[int, ...]) -> Count:
    """The number of elements in a shape, which may be called."""
    count: Any = elements(shape)
    made: Count = Count(count) if type(count) is int else count  # else a size that a capture follows
    made.shape = shape
    return made


def size_called(shape: Any, dim: Any = None) -> Any:
    """Return the value of `t.size()` or `t.size(dim)`."""
    if dim is None:
        return shape
    if not shape:
        raise blame(IndexError(f"dimension specified as {dim} but tensor has no dimensions"))
    return shape[axis_among(len(shape), dim)]


def axis_among(n: int, dim: Any) -> int:
    """`dim` counted from the front of n axes, of which a number counts as having one; IndexError where there is none such."""
    axis, n = operator.index(dim), max(n, 1)
    if not -n <= axis < n:
        raise blame(IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {axis})"))
    return axis % n


def size_of(args: tuple[Any, ...], size: Any = None) -> Any:
    """The shape that PyTorch's forms say: `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if size is not None:
        if args:
            raise TypeError(f"the shape is given twice: as {args} and as size={size}")
        return size
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return args[0]
    return args
