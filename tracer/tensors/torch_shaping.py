"""Tensor's methods of PyTorch that give the elements another shape or order, repeat them, or take a part."""

from __future__ import annotations

import math
from typing import Any

from ...runtime.arrays import is_plain_array
from ...runtime.errors import AutogradError, ShapeError
from ...runtime.rules.indexing import index_set
from ...unpatched import np
from ..core.count import axis_among, size_of
from ..core.site import blame
from ..core.tensor_base import levels_of, wrap
from ..core.thread_state import LOCAL, refuse
from ..core.versions import own_array
from .constructors import arange, zeros
from .torch_methods import Methods

__all__ = ["METHODS", "axis_of"]

METHODS = Methods()
_method = METHODS.take


def axis_of(self: Any, dim: Any, more: int = 0) -> int:
    """`dim` counted from the front; IndexError where the tensor (with `more` axes) has no such axis."""
    return axis_among(self.ndim + more, dim)


@_method
def view(self: Any, *shape: Any, dtype: Any = None, size: Any = None) -> Any:
    """The elements in another shape (`view(2, 3)`, `view((2, 3))`), or their bytes as another dtype (`view(dtype)`).

    The memory is shared: ShapeError where that is not possible. Bytes have no gradient: an error where one is asked for.
    """
    if len(shape) == 1 and size is None and dtype is None and not isinstance(shape[0], (int, tuple, list, np.integer)):
        if isinstance(shape[0], type) and issubclass(shape[0], np.ndarray):
            shape = ()
        else:
            dtype, shape = shape[0], ()
    if dtype is not None:
        return _bytes_as(self, np.dtype(dtype))
    if not shape and size is None:
        return self[...]
    found: Any = np.reshape(self, size_of(shape, size))
    one, other = found._value, self._value
    arrays = is_plain_array(one) and is_plain_array(other) and one.size and not levels_of(self)
    if arrays and not np.may_share_memory(one, other):
        raise blame(
            ShapeError(
                f"view size is not compatible with input tensor's size and stride: shape {tuple(self.shape)} and strides "
                f"{self.strides} give no view of shape {tuple(found.shape)}. Use .reshape(...) instead."
            )
        )
    return found


def _bytes_as(self: Any, dtype: Any) -> Any:
    if self.dtype == dtype:
        return self[...]
    refuse("looks at the bytes of a traced array as another dtype (`view(dtype)`)")
    if self._node is not None or levels_of(self):
        raise blame(
            AutogradError(
                f"x.view({dtype}) looks at the bytes of {self.dtype} numbers, which have no gradient: convert the numbers "
                f"(x.astype({dtype})), or take x.detach().view({dtype})."
            )
        )
    return wrap((np.asarray(self._value) if LOCAL.depth else own_array(self)).view(dtype))


@_method
def view_as(self: Any, other: Any) -> Any:
    """The elements in the shape of another tensor."""
    return self.view(other.shape)


@_method
def reshape_as(self: Any, other: Any) -> Any:
    """The elements in the shape of another tensor."""
    return np.reshape(self, other.shape)


@_method
def flatten(self: Any, order: Any = "C", end_dim: int = -1, start_dim: int | None = None) -> Any:
    """A copy in one axis, in NumPy's order; `flatten(start_dim, end_dim)` joins these axes, as PyTorch does."""
    if isinstance(order, str) and start_dim is None and end_dim == -1:
        return np.ravel(np.copy(self), order=order)  # type: ignore[call-overload]
    if not self.ndim:
        return np.reshape(self, (1,))
    first = axis_of(self, (0 if isinstance(order, str) else order) if start_dim is None else start_dim)
    last = axis_of(self, end_dim) + 1
    return np.reshape(self, (*self.shape[:first], math.prod(self.shape[first:last]), *self.shape[last:]))


@_method
def unflatten(self: Any, dim: int, sizes: Any) -> Any:
    """One axis as several, of these lengths (one of which may be -1)."""
    axis = axis_of(self, dim)
    return np.reshape(self, (*self.shape[:axis], *sizes, *self.shape[axis + 1 :]))


@_method
def expand(self: Any, *sizes: Any, size: Any = None) -> Any:
    """A view in which axes of length one are repeated, and new ones stand in front; -1 leaves a length as it is."""
    given = size_of(sizes, size)
    new = len(given) - self.ndim
    if new < 0 or any(n == -1 for n in given[:new]):
        raise blame(
            ShapeError(
                f"expand({', '.join(map(str, given))}): the number of sizes provided ({len(given)}) must be greater or equal "
                f"to the number of dimensions in the tensor ({self.ndim}), and the new ones, in front, cannot be -1"
            )
        )
    wanted = tuple([self.shape[k - new] if type(n) is int and n == -1 else n for k, n in enumerate(given)])
    return np.broadcast_to(self, wanted)


@_method
def expand_as(self: Any, other: Any) -> Any:
    """A view in the shape of another tensor."""
    return np.broadcast_to(self, other.shape)


@_method
def sum_to_size(self: Any, *size: Any) -> Any:
    """The sums over the axes in which another shape was broadcast to that of the tensor."""
    shape = size_of(size)
    extra = self.ndim - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[extra:], strict=True)):
        raise blame(ShapeError(f"size {tuple(shape)} is not expandable to size {tuple(self.shape)}"))
    axes = [*range(extra), *[extra + k for k, n in enumerate(shape) if n == 1]]
    return np.reshape(np.sum(self, axis=tuple(axes)), shape)


@_method
def broadcast_to(self: Any, size: Any) -> Any:
    """A view in another shape, by the rules of broadcasting."""
    return np.broadcast_to(self, size)


@_method
def permute(self: Any, *axes: Any, dims: Any = None) -> Any:
    """The axes in another order."""
    return np.transpose(self, size_of(axes, dims))


@_method
def transpose(self: Any, *axes: Any, dim0: int | None = None, dim1: int | None = None) -> Any:
    """The axes in NumPy's order; two axes of a tensor that has more, and `dim0` and `dim1`, are swapped, as in PyTorch."""
    if dim0 is not None or dim1 is not None:
        return np.swapaxes(self, *axes, *[d for d in (dim0, dim1) if d is not None])
    if len(axes) == 2 and self.ndim > 2:  # NumPy would reject it
        return np.swapaxes(self, *axes)
    return np.transpose(
        self, None if not axes else axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    )


@_method
def swapdims(self: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped."""
    return np.swapaxes(self, dim0, dim1)


@_method
def movedim(self: Any, source: Any, destination: Any) -> Any:
    """Axes at other places."""
    return np.moveaxis(self, source, destination)


@_method
def t(self: Any) -> Any:
    """The transpose of a matrix; a vector as it is. ShapeError for more than two axes."""
    if self.ndim > 2:
        raise blame(ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D: use .mT, or .T"))
    return np.transpose(self)


@_method
def adjoint(self: Any) -> Any:
    """The last two axes swapped, conjugated."""
    return np.conjugate(np.swapaxes(self, -1, -2))


METHODS["moveaxis"] = movedim
METHODS["H"] = property(lambda self: np.conjugate(t(self)), doc="A matrix, transposed and conjugated.")
METHODS["mH"] = property(adjoint, doc="The last two axes swapped, conjugated.")


@_method
def unsqueeze(self: Any, dim: int) -> Any:
    """A new axis of length one."""
    return np.expand_dims(self, axis_of(self, dim, 1))


@_method
def flip(self: Any, *axes: Any, dims: Any = None) -> Any:
    """The elements in reverse order along these axes (all, where none is given): a copy in PyTorch, a view here."""
    given = size_of(axes, (dims,) if isinstance(dims, int) else dims)
    return np.flip(self, tuple(given) or None)


@_method
def fliplr(self: Any) -> Any:
    """The columns in reverse order."""
    return np.fliplr(self)


@_method
def flipud(self: Any) -> Any:
    """The rows in reverse order."""
    return np.flipud(self)


@_method
def rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turned by 90 degrees, `k` times."""
    return np.rot90(self, k, dims)


@_method
def roll(self: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved on along an axis; those that fall out come in at the other end."""
    return np.roll(self, shifts, dims)


# Repeats


@_method
def repeat(self: Any, *args: Any, **words: Any) -> Any:
    """Each element so many times, along an axis (NumPy's meaning); three numbers or more are PyTorch's, `tile`."""
    if len(args) > 2 and not words:  # NumPy would reject it
        return np.tile(self, args)
    if "dim" in words:
        words["axis"] = words.pop("dim")
    return np.repeat(self, *args, **words)


@_method
def repeat_interleave(self: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element so many times, along an axis or of all of them in order: what NumPy calls `repeat`."""
    return np.repeat(self, repeats, dim)


@_method
def tile(self: Any, *repeats: Any, dims: Any = None) -> Any:
    """The whole so many times along each axis."""
    return np.tile(self, size_of(repeats, dims))


# Diagonals and triangles


@_method
def diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dim1: Any = None, dim2: Any = None) -> Any:
    """The diagonal of two axes, as the last axis."""
    return np.diagonal(self, offset, axis1 if dim1 is None else dim1, axis2 if dim2 is None else dim2)


@_method
def diag(self: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    return np.diag(self, diagonal)


@_method
def diagflat(self: Any, offset: int = 0) -> Any:
    """The matrix of which the elements are a diagonal."""
    return np.diagflat(self, offset)


@_method
def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices, in the axes `dim1` and `dim2`, of which the last axis is a diagonal."""
    n = self.shape[-1]
    size = n + abs(offset)
    at = arange(n)
    rows, columns = (at, at + offset) if offset >= 0 else (at - offset, at)
    made = index_set(zeros((*self.shape[:-1], size, size), dtype=self.dtype), (..., rows, columns), self)
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@_method
def tril(self: Any, diagonal: int = 0) -> Any:
    """The lower triangle of matrices; zeros above."""
    return np.tril(self, diagonal)


@_method
def triu(self: Any, diagonal: int = 0) -> Any:
    """The upper triangle of matrices; zeros below."""
    return np.triu(self, diagonal)


@_method
def clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy, through which gradients go."""
    return np.copy(self)


@_method
def contiguous(self: Any) -> Any:
    """This tensor, where its elements lie in memory in order; else a copy in which they do."""
    lies = not self.shape or np.asarray(self._value).flags.c_contiguous
    return self if lies and not levels_of(self) else np.copy(self, order="C")
